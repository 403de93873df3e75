/**
 * One long-running program of the shared folder: started in a process group of its own, awaited until it is ready, and
 * ended with everything that it started. Its output is kept and becomes part of the error when it does not come up.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { servicesFolder, servicesHome } from './shared-folder.ts';

const KEPT_OUTPUT = 20_000;
const GRACE_MS = 8_000;
const POLL_MS = 200;

export interface RunningProcess {
  readonly child: ChildProcess;
  /** The last of what it printed on both outputs. */
  output(): string;
  /** Resolves once the whole group is gone. */
  stop(): Promise<void>;
}

/** Runs a service's `install`, which does nothing where all is there. A file lock keeps two test files apart. */
export async function installService(service: string): Promise<void> {
  const home = servicesHome();
  mkdirSync(home, { recursive: true });
  const script = join(servicesFolder(), service, 'install');
  try {
    await promisify(execFile)('flock', [join(home, `.${service}.lock`), script], { maxBuffer: 64 * 1024 * 1024 });
  } catch (thrown) {
    const { stderr = '' } = thrown as { stderr?: string };
    throw new Error(`the service ${service} could not be installed: ${stderr.slice(-KEPT_OUTPUT)}`, { cause: thrown });
  }
}

export function startProcess(
  command: string, args: readonly string[], environment: Readonly<Record<string, string>>, stdin: 'ignore' | 'pipe' = 'ignore',
): RunningProcess {
  const child = spawn(command, args, { env: { ...process.env, ...environment }, stdio: [stdin, 'pipe', 'pipe'], detached: true });
  let kept = '';
  const keep = (chunk: Buffer): void => { kept = (kept + chunk.toString('utf8')).slice(-KEPT_OUTPUT); };
  // A reader's standard output is its answer; whoever asks takes it from the child.
  if (stdin === 'ignore') child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  child.once('error', (error) => { kept += error.message; });
  const { pid } = child;
  const onParentExit = (): void => { if (pid !== undefined) signalGroup(pid, 'SIGKILL'); };
  process.once('exit', onParentExit);
  const stop = async (): Promise<void> => {
    process.off('exit', onParentExit);
    if (pid !== undefined) await endGroup(pid);
  };
  return { child, output: () => kept, stop };
}

/** Polls `ready` until it resolves to true; stops the process and throws with its output when it ends or takes too long. */
export async function awaitReady(
  name: string, running: RunningProcess, ready: () => Promise<boolean>, timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline && running.child.exitCode === null && running.child.signalCode === null) {
    if (await ready().catch(() => false)) return;
    await sleep(POLL_MS);
  }
  await running.stop();
  throw new Error(`${name} did not come up within ${timeoutMs} ms (exit ${running.child.exitCode}):\n${running.output()}`);
}

/** `accept` judges a 200 answer's body; without it any 2xx is enough. */
export async function answersOk(url: string, accept: (body: string) => boolean = () => true): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  const body = await answer.text();
  return answer.ok && accept(body);
}

/** SIGTERM, then SIGKILL; a JVM started by a shell is in the group too, so no part is left behind. */
async function endGroup(pid: number): Promise<void> {
  signalGroup(pid, 'SIGTERM');
  const deadline = performance.now() + GRACE_MS;
  while (signalGroup(pid, 0)) {
    if (performance.now() > deadline) signalGroup(pid, 'SIGKILL');
    await sleep(POLL_MS / 2);
  }
}

/** False where no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}
