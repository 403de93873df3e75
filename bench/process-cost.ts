/** What a process has cost so far, from Linux's own accounting: user and system time of all its threads, peak memory. */
import { readFileSync } from 'node:fs';

const TICKS_PER_S = 100;

export interface ProcessCost {
  readonly cpuS: number;
  readonly peakRssMib: number;
}

export function processCost(pid: number): ProcessCost {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15 of the whole line.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuS = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return { cpuS, peakRssMib: Math.round(Number(peak?.[1] ?? 0) / 1024) };
}
