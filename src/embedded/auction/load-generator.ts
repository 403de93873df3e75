export function startAuction(_s: unknown, _o: unknown): { stop: () => void } {
  return { stop: () => undefined };
}
