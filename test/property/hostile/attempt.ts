/** What a reader may do with hostile input: give a value, or refuse it by a name that blames the input, soon, without quoting it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, SinkError } from '../../../src/errors.ts';

/** A text that hostile inputs hold where a secret or a row value may stand. */
export const MARKER = 'tR4p-V4lUe-0815';

export type Outcome<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

/** Longest time for one input: far above what any takes, far below a hang. Other work shares the machine. */
const DEADLINE_MS = 4000;

/** Runs a reader. Throws, with the input, for everything that hostile input must not bring about. */
export function attempt<T>(read: () => T, input: Uint8Array | string, codes: readonly ErrorCode[]): Outcome<T> {
  const start = performance.now();
  let outcome: Outcome<T>;
  try {
    outcome = { kind: 'read', value: read() };
  } catch (thrown) {
    outcome = refusal(thrown, input, codes);
  }
  const took = performance.now() - start;
  if (took > DEADLINE_MS) throw new Error(`took ${Math.round(took)} ms: ${shown(input)}`);
  return outcome;
}

export function refusal(
  thrown: unknown, input: Uint8Array | string, codes: readonly ErrorCode[],
): { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string } {
  if (!(thrown instanceof SinkError)) throw new Error(`not a named error for ${shown(input)}`, { cause: thrown });
  const { code, message, detail } = thrown;
  if (!codes.includes(code)) throw new Error(`the code ${code} does not blame the input ${shown(input)}`, { cause: thrown });
  const said = `${message} ${detail.cause ?? ''} ${thrown.stack ?? ''}`;
  if (said.includes(MARKER)) throw new Error(`the message quotes the input ${shown(input)}`, { cause: thrown });
  if (message.length > 6000) throw new Error(`a message of ${message.length} characters for ${shown(input)}`);
  return { kind: 'refused', code, message };
}

export function shown(input: Uint8Array | string): string {
  if (typeof input === 'string') return JSON.stringify(input.length > 2000 ? `${input.slice(0, 2000)}…` : input);
  return `hex ${Buffer.from(input).toString('hex').slice(0, 4000)}`;
}

export function corpusFile(name: string): Uint8Array {
  return new Uint8Array(readFileSync(join(import.meta.dirname, 'corpus', name)));
}

/** Heap that `work` leaves behind or needs at its end, in bytes; a coarse measure for what must be bounded. */
export function heapGrowth(work: () => void): number {
  const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  work();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before;
}
