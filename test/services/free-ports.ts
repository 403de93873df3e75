/**
 * Ports that are free at this moment. Between asking and using them another process may take one; the range is drawn
 * at random below the ephemeral ports, so that two test files rarely meet, and a start that fails says so.
 */
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

const LOWEST = 15_000;
const HIGHEST = 31_000;

/** The first of `count` consecutive free ports on the loopback interface. */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const first = randomInt(LOWEST, HIGHEST - count);
    const range = Array.from({ length: count }, (_, index) => first + index);
    const free = await Promise.all(range.map(isFree));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`no ${count} consecutive free ports were found`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
