/**
 * Time and randomness of production: the Clock and Entropy ports over Node. Nothing else in the sink asks the
 * machine for either, so that the simulator can replace both.
 */
import { randomBytes } from 'node:crypto';
import type { Clock, Entropy } from '../sink/ports.ts';

/** Longer delays overflow Node's timers, which then fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createSystemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

export function createSystemEntropy(): Entropy {
  return {
    snapshotId: randomSnapshotId,
    uuid: uuidVersion7,
    fraction: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  };
}

function randomSnapshotId(): bigint {
  const id = randomBytes(8).readBigUInt64BE() >> 1n;
  // Zero is not positive, and readers take it for "none"; one draw in 2^63 is drawn again.
  return id === 0n ? randomSnapshotId() : id;
}

/** Version 7 (RFC 9562): the REST specification demands it of idempotency keys; elsewhere any version serves. */
function uuidVersion7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
