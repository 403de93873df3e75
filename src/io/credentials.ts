/**
 * The storage keys of one table, kept fresh while the sink runs.
 *
 * No timer: freshness is checked at each use, and `prefetch` lets a timer of the caller do it ahead of use. One
 * refresh is in flight at a time, whoever asks. Keys that still live are used on when a refresh fails for a passing
 * reason, so a catalog that is down for a moment doesn't stop uploads.
 */
import { SinkError } from '../errors.ts';
import type { Clock } from '../sink/ports.ts';
import { singleFlight } from './single-flight.ts';
import { type S3Access, type TableStorageProperties, earliestExpiryMs, s3AccessFor } from './storage-properties.ts';

export interface StorageCredentials {
  /** Keys for a location, fresh by our clock. */
  s3Access(location: string): Promise<S3Access>;
  /** The store refused `stale` as expired: newer keys, fetched unless someone else has done so since. */
  renew(location: string, stale: S3Access): Promise<S3Access>;
  /** Takes over what a table response carried anyway, which saves a request of our own. */
  offer(properties: TableStorageProperties): void;
  /** Refreshes when due. For a timer; resolves at once when nothing is due. */
  prefetch(): Promise<void>;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  /** Asks the catalog anew; `held` is what was known before, null at first. */
  readonly fetch: (held: TableStorageProperties | null) => Promise<TableStorageProperties>;
  readonly catalogProperties: () => Promise<Readonly<Record<string, string>>>;
  /** ACCESS DELEGATION was asked for: keys without an expiry are then not taken for permanent ones. */
  readonly delegated: boolean;
}

const AHEAD_MS = 900_000;
const SHORT_LIFE_MS = 1_800_000;
const UNSTATED_LIFE_MS = 300_000;
const FAILED_REFRESH_PAUSE_MS = 10_000;

interface Generation {
  readonly properties: TableStorageProperties;
  readonly expiresAtMs: number | null;
  /** Infinity: never due by itself. */
  refreshAtMs: number;
  /** One access object per set of keys, so that clients can be kept per access. */
  readonly accesses: Map<string, S3Access>;
}

/** When keys fetched now and expiring then are renewed: 900 s ahead, or at half their life when that is short. */
export function refreshTimeMs(fetchedAtMs: number, expiresAtMs: number): number {
  const lifeMs = Math.max(expiresAtMs - fetchedAtMs, 0);
  const due = lifeMs < SHORT_LIFE_MS ? fetchedAtMs + lifeMs / 2 : expiresAtMs - AHEAD_MS;
  // A catalog that caches may hand out the same nearly expired keys again; asking in a busy loop doesn't help.
  return Math.max(due, fetchedAtMs + 500);
}

function carriesKeys(properties: TableStorageProperties): boolean {
  return properties.credentials.length > 0 || properties.config['s3.access-key-id'] !== undefined;
}

export function createStorageCredentials(options: CredentialsOptions): StorageCredentials {
  const { clock } = options;
  let current: Generation | null = null;

  const install = (properties: TableStorageProperties): Generation => {
    const nowMs = clock.nowMs();
    const expiresAtMs = earliestExpiryMs(properties);
    const unstated = options.delegated ? nowMs + UNSTATED_LIFE_MS : Number.POSITIVE_INFINITY;
    const refreshAtMs = expiresAtMs === null ? unstated : refreshTimeMs(nowMs, expiresAtMs);
    current = { properties, expiresAtMs, refreshAtMs, accesses: new Map() };
    return current;
  };
  const refresh = singleFlight(async () => install(await options.fetch(current?.properties ?? null)));

  const fresh = async (): Promise<Generation> => {
    const held = current;
    if (held === null) return await refresh();
    if (clock.nowMs() < held.refreshAtMs) return held;
    try {
      return await refresh();
    } catch (thrown) {
      const transient = thrown instanceof SinkError && thrown.disposition === 'retry';
      const expired = held.expiresAtMs !== null && clock.nowMs() >= held.expiresAtMs;
      if (!transient || expired) throw thrown;
      held.refreshAtMs = clock.nowMs() + FAILED_REFRESH_PAUSE_MS;
      return held;
    }
  };

  const accessOf = async (generation: Generation, location: string): Promise<S3Access> => {
    const access = s3AccessFor(location, await options.catalogProperties(), generation.properties, options.delegated);
    const identity = `${access.accessKeyId} ${access.sessionToken?.reveal() ?? ''}`;
    const same = generation.accesses.get(identity);
    if (same !== undefined) return same;
    generation.accesses.set(identity, access);
    return access;
  };

  return {
    s3Access: async (location) => await accessOf(await fresh(), location),
    renew: async (location, stale) => {
      const held = current;
      if (held !== null) {
        const access = await accessOf(held, location);
        if (access !== stale) return access;
      }
      return await accessOf(await refresh(), location);
    },
    offer: (properties) => {
      const offered = earliestExpiryMs(properties);
      if (current !== null && !carriesKeys(properties)) return;
      const held = current?.expiresAtMs ?? null;
      const older = offered !== null && held !== null && offered <= held;
      if (!older) install(properties);
    },
    prefetch: async () => {
      if (current !== null) await fresh();
    },
  };
}
