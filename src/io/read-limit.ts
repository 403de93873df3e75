/**
 * How large an object may be that is read whole. Where to read is told by the catalog and by files of other writers, so
 * what lies there may be anything: an object of terabytes, a body that never ends, a device.
 */
import { SinkError } from '../errors.ts';

/** Manifests stay near 8 MB; the list of a table with a million manifests has about 100 MB. */
export const MAX_READ_BYTES = 256 * 1024 * 1024;

/** From the request to the last byte. */
export const READ_TIMEOUT_MS = 600_000;

export function tooLarge(action: string): SinkError {
  return new SinkError('catalog-protocol', `${action}: it exceeds ${MAX_READ_BYTES} bytes, which no manifest has`);
}
