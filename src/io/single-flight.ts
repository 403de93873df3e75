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
