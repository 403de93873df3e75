/** One service of the shared folder, started for a test file through its own script and stopped by its process group. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SERVICES = join(process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared'), 'services');

export interface Service {
  stop(): Promise<void>;
}

export async function answers(url: string): Promise<boolean> {
  return await fetch(url).then((answer) => answer.ok, () => false);
}

export async function startService(
  name: string, environment: Readonly<Record<string, string>>, ready: () => Promise<boolean>,
): Promise<Service> {
  const child = spawn(join(SERVICES, name, 'start'), {
    env: { ...process.env, ...environment }, stdio: ['ignore', 'ignore', 'pipe'], detached: true,
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString('utf8')).slice(-4_000);
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const stop = async (): Promise<void> => {
    endGroup(child);
    await exited;
  };
  for (let attempt = 0; attempt < 240 && child.exitCode === null; attempt += 1) {
    if (await ready()) return { stop };
    await sleep(250);
  }
  if (child.exitCode === null) await stop();
  throw new Error(`${name} did not come up: ${log}`);
}

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, 'SIGTERM');
}
