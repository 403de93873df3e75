/**
 * Moments to kill at. A kill is aimed by watching the proxies: at the first moment of its kind that comes by, whoever asked is
 * called in the very callback that saw it, before the request goes on.
 */
import type { Random } from '../simulation/random.ts';
import type { Exchange, HttpFault, Stage } from './fault-proxy-http.ts';
import type { Watched } from './fault-proxy-tcp.ts';
import type { Operation } from './http-operations.ts';

export interface Aim {
  readonly name: string;
  readonly http: { readonly operation: Operation; readonly stage: Stage; readonly instead: HttpFault | null } | null;
  /** Bytes of a subscription that the client has got. */
  readonly subscriptionBytes: number | null;
}

const at = (operation: Operation, stage: Stage, instead: HttpFault | null = null): Aim => ({
  name: instead === null ? `${operation} ${stage}` : `${operation} ${stage}, ${instead.kind}`, http: { operation, stage, instead }, subscriptionBytes: null,
});

export const A_COMMIT: Aim = at('commit', 'answered');

export const START_AIMS: readonly Aim[] = [
  at('create', 'received'), at('create', 'received', { kind: 'reset-before' }), at('create', 'applied'), at('create', 'answered'),
  { name: 'snapshot streams', http: null, subscriptionBytes: 60_000 },
  at('put-data', 'begun'), at('put-manifest', 'applied'), at('commit', 'received'), at('commit', 'applied'),
];

export const AIMS: readonly Aim[] = [
  at('token', 'answered'), at('load', 'received'), at('load', 'applied'), at('load', 'answered'),
  at('put-data', 'begun'), at('put-data', 'received', { kind: 'cut-request' }), at('put-data', 'applied'), at('put-deletes', 'begun'),
  at('put-deletes', 'applied'), at('put-manifest', 'received'), at('put-manifest', 'applied'),
  at('put-list', 'begun'), at('put-list', 'applied'),
  // The dead sink's commit goes through, never arrives, or arrives when its successor is at work already.
  at('commit', 'begun'), at('commit', 'received'), at('commit', 'received'), at('commit', 'received', { kind: 'reset-before' }),
  at('commit', 'received', { kind: 'late', forMs: 900 }), at('commit', 'received', { kind: 'late', forMs: 2_500 }),
  at('commit', 'applied'), at('commit', 'applied'), at('commit', 'answered'),
  { name: 'subscription begins', http: null, subscriptionBytes: 0 },
  { name: 'subscription runs', http: null, subscriptionBytes: 2_000 },
];

/** The same moment, and nothing else happens to the request. */
export function onlyWatched(aim: Aim): Aim {
  return aim.http === null ? aim : { ...aim, http: { ...aim.http, instead: null } };
}

/** At any moment, each as likely as the other; or at one of the listed ones. */
export function drawAim(random: Random, aims: readonly Aim[]): Aim | null {
  return random.chance(0.35) ? null : random.pick(aims);
}

interface Waiting {
  readonly aim: Aim;
  readonly fire: () => void;
}

export interface Range {
  watchHttp(exchange: Exchange, stage: Stage): HttpFault | null;
  watchTcp(connection: Readonly<Watched>): void;
  /** Calls `fire` at the first such moment; resolves to false where none came in time. */
  wait(aim: Aim, fire: () => void, timeoutMs: number): Promise<boolean>;
}

export function createRange(): Range {
  const waiting = new Set<Waiting>();
  const shoot = (each: Waiting): void => {
    waiting.delete(each);
    each.fire();
  };
  return {
    watchHttp: (exchange, stage) => {
      for (const each of waiting) {
        const { http } = each.aim;
        if (http === null || http.operation !== exchange.operation || http.stage !== stage) continue;
        shoot(each);
        return http.instead;
      }
      return null;
    },
    watchTcp: ({ isSubscription, bytes }) => {
      for (const each of waiting) {
        const wanted = each.aim.subscriptionBytes;
        if (wanted !== null && isSubscription && bytes >= wanted) shoot(each);
      }
    },
    wait: (aim, fire, timeoutMs) => new Promise((resolve) => {
      const each: Waiting = {
        aim,
        fire: () => {
          clearTimeout(timer);
          fire();
          resolve(true);
        },
      };
      const timer = setTimeout(() => {
        waiting.delete(each);
        resolve(false);
      }, timeoutMs);
      waiting.add(each);
    }),
  };
}
