/** What the unit tests of io/ put in the place of time, randomness and the connection of a definition. */
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';
import type { Clock, Entropy } from '../../../src/sink/ports.ts';

export interface ManualClock extends Clock {
  advance(byMs: number): void;
}

/** `nowMs` moves only by `advance`; delays pass at once in real time, so that back-offs don't slow the tests. */
export function manualClock(startMs = 1_800_000_000_000): ManualClock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    advance: (byMs) => {
      nowMs += byMs;
    },
    after: (delayMs, callback) => {
      // Time limits of requests stay real, everything shorter is a back-off.
      const timer = setTimeout(callback, delayMs > 20_000 ? delayMs : 0);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

export const fixedEntropy: Entropy = { snapshotId: () => 7n, uuid: () => '0190a8f0-0000-7000-8000-000000000000', fraction: () => 0.5 };

export function connection(url: string, changes: Partial<CatalogConnection> = {}): CatalogConnection {
  return {
    kind: 'iceberg-catalog', name: 'polaris', catalogType: 'rest', url, warehouse: 'lake', credential: null, scope: null,
    oauth2ServerUrl: null, accessDelegation: null, storageProvider: 's3', awsConnection: null, gcpConnection: null, ...changes,
  };
}

export function withCredential(url: string, changes: Partial<CatalogConnection> = {}): CatalogConnection {
  return connection(url, {
    credential: { clientId: 'materialize', clientSecret: new Secret('s3cr3t-value') }, scope: 'PRINCIPAL_ROLE:ALL', ...changes,
  });
}
