/**
 * The threads of the encode pool, and which session works on which.
 *
 * A thread works its messages off in order, and a group of a huge sink can take it a second. So sessions that have become
 * bulk and small ones share no lane: the bulk ones get at most all lanes but one, a small one takes a lane without them, and
 * between the lanes the processors are shared by the operating system. No lane has its role for good: a lone sink of any
 * size stays on the one worker that runs, because a second costs 30 MiB. Where sinks met on a lane lately, the bulk one takes
 * another, so that it is not the small ones that wait for a thread to start. Workers start with their first session; those
 * that had none for a while end, except the last, which the next commit should find running.
 */
import { Worker } from 'node:worker_threads';

import { SinkError } from '../errors.ts';
import type { FromWorker, ToWorker } from './encode-worker.ts';

/** A place for a worker; the worker itself comes with the first use, after a death and after an end for idleness. */
export interface Lane {
  readonly entry: URL;
  /** A worker without a session ends after so long. */
  readonly idleEndMs: number;
  worker: Worker | null;
  /** The sessions on this lane and what they want to hear, by session id. */
  readonly listeners: Map<number, LaneListener>;
  idleTimer: NodeJS.Timeout | null;
  /** Of performance.now(): when two sessions were last on it at once, which takes more than one sink. */
  sharedAtMs: number;
}

export interface LaneListener {
  /** Small sessions keep away from the lane while the session is on it. */
  bulk: boolean;
  onMessage(message: FromWorker): void;
  onDeath(error: SinkError): void;
}

/** One lane more than bulk sessions may use: there is always one without them. */
export function createLanes(workers: number, entry: URL, idleEndMs: number): readonly Lane[] {
  return Array.from({ length: workers + 1 }, (): Lane => ({ entry, idleEndMs, worker: null, listeners: new Map(), idleTimer: null, sharedAtMs: -Infinity }));
}

export function enter(lane: Lane, session: number, listener: LaneListener): void {
  if (lane.idleTimer !== null) clearTimeout(lane.idleTimer);
  lane.idleTimer = null;
  lane.listeners.set(session, listener);
  if (lane.listeners.size > 1) lane.sharedAtMs = performance.now();
}

export function leave(lanes: readonly Lane[], lane: Lane, session: number): void {
  if (!lane.listeners.delete(session) || lane.listeners.size > 0 || lane.idleTimer !== null) return;
  lane.idleTimer = setTimeout(() => {
    lane.idleTimer = null;
    if (lanes.some((other) => other !== lane && other.worker !== null)) endIdle(lane);
  }, lane.idleEndMs);
  // The process may end while a worker idles.
  lane.idleTimer.unref();
}

/** Only an idle worker may go: another session's rows live in its memory. */
export function endIdle(lane: Lane): void {
  const { worker } = lane;
  if (worker === null || lane.listeners.size > 0) return;
  lane.worker = null;
  void worker.terminate();
}

export async function closeLane(lane: Lane, message: string): Promise<void> {
  if (lane.idleTimer !== null) clearTimeout(lane.idleTimer);
  const { worker } = lane;
  if (worker === null) return;
  fail(lane, worker, message);
  await worker.terminate();
}

export function send(lane: Lane, message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
  (lane.worker ?? startWorker(lane)).postMessage(message, transfer);
}

/** The lane has no worker. One that dies before it has a session is replaced by the next use like any other. */
export function startWorker(lane: Lane): Worker {
  const worker = new Worker(lane.entry);
  worker.on('message', (message: FromWorker) => lane.listeners.get(message.session)?.onMessage(message));
  worker.on('error', (thrown: unknown) => {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    fail(lane, worker, `an encode worker died: ${cause}`);
  });
  worker.on('exit', (code) => fail(lane, worker, `an encode worker ended with code ${code}`));
  lane.worker = worker;
  return worker;
}

/** A worker reports its death twice (error, exit), and one replaced on purpose reports it late. */
function fail(lane: Lane, worker: Worker, message: string): void {
  if (lane.worker !== worker) return;
  lane.worker = null;
  const listeners = [...lane.listeners.values()];
  lane.listeners.clear();
  for (const listener of listeners) listener.onDeath(new SinkError('encode-failed', message));
}

function hasBulk(lane: Lane): boolean {
  return lane.listeners.values().some(({ bulk }) => bulk);
}

/** Where a small session works: away from bulk ones, on a running worker if that does not mean company. */
export function smallLane(lanes: readonly Lane[]): Lane {
  const rank = (lane: Lane): number => (hasBulk(lane) ? 3 : lane.listeners.size > 0 ? 0 : lane.worker !== null ? 1 : 2);
  return first(lanes, rank).reduce((best, lane) => (!hasBulk(lane) && lane.listeners.size < best.listeners.size ? lane : best));
}

/**
 * Where a bulk session may work: where bulk ones are already, then on workers that no small session needs, then on new ones.
 * Small sessions that are on such a lane nevertheless stay, the next ones keep away.
 */
export function bulkLanes(lanes: readonly Lane[], session: number): readonly Lane[] {
  const nowMs = performance.now();
  const rank = (lane: Lane): number => {
    if (hasBulk(lane)) return 0;
    const others = lane.listeners.size - (lane.listeners.has(session) ? 1 : 0);
    if (others > 0) return 5;
    if (nowMs - lane.sharedAtMs < lane.idleEndMs) return 4;
    if (lane.listeners.size > 0) return 1;
    return lane.worker !== null ? 2 : 3;
  };
  return first(lanes, rank);
}

/** All lanes but the one of the highest rank. */
function first(lanes: readonly Lane[], rank: (lane: Lane) => number): readonly Lane[] {
  return lanes.toSorted((a, b) => rank(a) - rank(b)).slice(0, -1);
}
