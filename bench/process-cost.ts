/** What a process has cost so far, from Linux's own accounting: user and system time of all its threads, memory. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

const TICKS_PER_S = 100;
const KIB_PER_MIB = 1024;

export interface ProcessCost {
  readonly cpuS: number;
  readonly peakRssMib: number;
  readonly rssMib: number;
}

/** The process must not have been waited for yet. Of a process with threads only, which the sink is, this is the whole tree. */
export function processCost(pid: number): ProcessCost {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15 of the whole line.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuS = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return { cpuS, peakRssMib: memoryOf(status, 'VmHWM'), rssMib: memoryOf(status, 'VmRSS') };
}

/** Time on a processor of the threads that live, to the microsecond: an idle process needs less in a minute than the clock of `processCost` ticks. */
export function threadsCpuS(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'));
  return threads.reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e9, 0);
}

function memoryOf(status: string, name: string): number {
  const match = new RegExp(`${name}:\\s+(\\d+) kB`).exec(status);
  return Math.round(Number(match?.[1] ?? 0) / KIB_PER_MIB);
}

export interface MemorySample {
  readonly atS: number;
  readonly rssMib: number;
}

/** Samples resident memory until stopped. */
export function sampleMemory(pid: number, everyMs: number): { readonly samples: readonly MemorySample[]; stop(): void } {
  const samples: MemorySample[] = [];
  const begunMs = performance.now();
  const timer = setInterval(() => {
    try {
      samples.push({ atS: Math.round((performance.now() - begunMs) / 10) / 100, rssMib: processCost(pid).rssMib });
    } catch {
      clearInterval(timer);
    }
  }, everyMs);
  return { samples, stop: () => clearInterval(timer) };
}

/** Open sockets of a process. */
export function socketCount(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}
