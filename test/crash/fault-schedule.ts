/**
 * Which fault strikes next: a function of the seed and of the order in which requests come. Each kind of request draws from a
 * stream of its own, so that the schedule of commits doesn't hang on how many uploads came between them.
 */
import type { Random } from '../simulation/random.ts';
import type { Exchange, HttpFault } from './fault-proxy-http.ts';
import type { TcpFault } from './fault-proxy-tcp.ts';
import type { Operation } from './http-operations.ts';

export interface Rates {
  /** Of requests, per operation: the chance that something happens to one. */
  readonly http: number;
  /** Of connections to the database. */
  readonly tcp: number;
}

export const QUIET: Rates = { http: 0, tcp: 0 };

const KINDS: readonly HttpFault['kind'][] = [
  'reset-before', 'reset-after', 'reset-after', 'silent-before', 'silent-after', 'delay-before', 'delay-after', 'delay-after', 'late',
  'cut-request', 'cut-answer', 'status-before', 'status-after', 'status-after',
];
const STATUSES = [429, 500, 502, 503, 504] as const;
/** Of a commit, the answer matters most; a load can be stale besides. */
const RATE_FACTORS: Partial<Record<Operation, number>> = { commit: 2, create: 2, token: 0.5, config: 0.5 };

export function httpSchedule(random: Random, rates: () => Rates): (exchange: Exchange) => HttpFault | null {
  const streams = new Map<string, Random>();
  return (exchange) => {
    const { operation, service } = exchange;
    const name = `${service} ${operation}`;
    const stream = streams.get(name) ?? random.stream(name);
    streams.set(name, stream);
    if (!stream.chance(rates().http * (RATE_FACTORS[operation] ?? 1))) return null;
    if (operation === 'load' && stream.chance(0.3)) return { kind: 'stale', fraction: stream.fraction(), forMs: stream.between(200, 2_500) };
    return drawHttp(stream, operation);
  };
}

function drawHttp(random: Random, operation: Operation): HttpFault {
  const kind = random.pick(KINDS);
  switch (kind) {
    case 'reset-before':
    case 'reset-after':
    case 'cut-request':
      return { kind };
    case 'silent-before':
    case 'silent-after':
      return { kind, forMs: random.between(200, 2_500) };
    case 'delay-before':
    case 'delay-after':
      return { kind, forMs: random.between(20, 1_200) };
    case 'late':
      return { kind, forMs: random.between(100, 4_000) };
    case 'cut-answer':
    case 'stale':
      return { kind: 'cut-answer', fraction: random.fraction() };
    case 'status-before':
    case 'status-after':
      return { kind, status: drawStatus(random, operation), retryAfterSeconds: random.chance(0.1) ? 1 : null };
  }
}

/** 409 only where a server may say it: to a commit, a create, or a conditional write. */
function drawStatus(random: Random, operation: Operation): number {
  const mayConflict = operation === 'commit' || operation === 'create' || operation.startsWith('put-');
  return mayConflict && random.chance(0.3) ? 409 : random.pick(STATUSES);
}

const TCP_KINDS: readonly TcpFault['kind'][] = ['refuse', 'reset', 'reset', 'cut', 'cut', 'delay', 'freeze', 'blackhole'];

export function tcpSchedule(random: Random, rates: () => Rates): () => TcpFault | null {
  return () => {
    if (!random.chance(rates().tcp)) return null;
    // From within the login to within a snapshot, each order of magnitude as likely as the next.
    const afterBytes = Math.floor(10 ** (random.fraction() * 5.5));
    return { kind: random.pick(TCP_KINDS), afterBytes, forMs: random.between(100, 3_000) };
  };
}
