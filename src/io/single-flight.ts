/**
 * One call in flight, shared by all who ask meanwhile: a burst of uploads that all find a stale token or stale
 * keys makes one request, not a hundred. Failures are shared too and are not remembered.
 */
export function singleFlight<T>(call: () => Promise<T>): () => Promise<T> {
  let flight: Promise<T> | null = null;
  return () => {
    flight ??= call().finally(() => {
      flight = null;
    });
    return flight;
  };
}

/**
 * Whoever asks gets a call that begins afterwards: those who ask while one is under way share the next. For a call that makes
 * durable what was there when it began.
 */
export function nextFlight(call: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    next = null;
    underWay = call();
    return underWay;
  };
  return () => {
    next ??= underWay.then(begin, begin);
    return next;
  };
}

export interface Once<T> {
  /** What the call gave; the first to ask makes it, and a call that failed is made again. */
  get(): Promise<T>;
  /** The call that was made and has not failed; null when there is none. */
  begun(): Promise<T> | null;
}

/** One call for good: what it gave is kept, a failure is not. */
export function once<T>(call: () => Promise<T>): Once<T> {
  let kept: Promise<T> | null = null;
  return {
    get() {
      kept ??= call().catch((thrown: unknown) => {
        kept = null;
        throw thrown;
      });
      return kept;
    },
    begun: () => kept,
  };
}
