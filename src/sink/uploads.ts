/**
 * Objects of one incarnation on their way into storage.
 *
 * A failed upload is tried again for as long as its cause may pass and the incarnation lives: the bytes are at hand, so
 * giving up would throw away work that the next incarnation has to repeat. Meanwhile the source is read on, and what does
 * not fit into memory goes to disk. Names are never used twice, so finding an object of our name means that an earlier
 * transmission of the same bytes arrived.
 */
import { RESTART_BACKOFF, backoffMs } from '../commit/retry.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { SinkPorts } from './driver.ts';
import { atMost } from './patience.ts';
import type { ObjectPart, ObjectUpload } from './ports.ts';

const ABORT_PATIENCE_MS = 5_000;

export interface StreamedUpload {
  put(part: ObjectPart): Promise<void>;
  finish(): Promise<void>;
}

export class Uploads {
  readonly #ports: SinkPorts;
  readonly #onRetry: (error: SinkError) => void;
  #abandoned = false;
  readonly #streamed = new Set<ObjectUpload>();
  readonly #wakers = new Set<() => void>();

  /** `onRetry` hears of each failure that is tried again, so that a sink which waits for storage can say so. */
  constructor(ports: SinkPorts, onRetry: (error: SinkError) => void = () => undefined) {
    this.#ports = ports;
    this.#onRetry = onRetry;
  }

  /** Rejects with the cause when it is one that does not pass, or when the incarnation was given up. */
  async put(location: string, bytes: Uint8Array): Promise<void> {
    await this.#persist('upload', () => this.#ports.store.put(location, bytes));
  }

  async get(location: string): Promise<Uint8Array> {
    return this.#persist('read', () => this.#ports.store.get(location));
  }

  /** An object in parts; it is let go with the incarnation unless it was finished. */
  open(location: string): StreamedUpload {
    const upload = this.#ports.store.open(location);
    this.#streamed.add(upload);
    return {
      put: async (part) => await this.#persist('upload part', () => upload.put(part)),
      finish: async () => {
        await this.#persist('finish upload', () => upload.finish());
        this.#streamed.delete(upload);
      },
    };
  }

  /**
   * Resolves when the parts of unfinished objects were let go, or soon after: storage that is down must not hold up the
   * next incarnation, and parts that stay are collected by the bucket's own rules.
   */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    for (const wake of this.#wakers) wake();
    if (this.#streamed.size === 0) return;
    const letGo = Promise.all([...this.#streamed].map((upload) => upload.abort()));
    this.#streamed.clear();
    await atMost(this.#ports.clock, ABORT_PATIENCE_MS, letGo);
  }

  async #persist<T>(what: string, run: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures++) {
      this.#check();
      try {
        return await run();
      } catch (thrown) {
        const error = asSinkError(thrown, 'storage-unavailable', `${what} failed`);
        if (error.disposition !== 'retry') throw error;
        const delayMs = backoffMs(RESTART_BACKOFF, failures, this.#ports.entropy.fraction(), error.detail.retryAfterMs);
        this.#ports.log.write('warn', 'storage-retry', { what, code: error.code, message: error.message, failures, delayMs });
        this.#check();
        this.#onRetry(error);
        await this.#pause(delayMs);
      }
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        this.#wakers.delete(wake);
        resolve();
      };
      const cancel = this.#ports.clock.after(delayMs, wake);
      this.#wakers.add(wake);
    });
  }

  #check(): void {
    if (this.#abandoned) throw new SinkError('source-disconnected', 'the incarnation was given up');
  }
}
