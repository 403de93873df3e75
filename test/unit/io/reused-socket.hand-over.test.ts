import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type ReusedSocket, openReusedSocket } from '../../../src/io/reused-socket.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function connected(): Promise<{ readonly reused: ReusedSocket; readonly peer: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reused = openReusedSocket();
  const accepted = once(server, 'connection');
  reused.socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer] = await accepted as [Socket];
  closers.push(() => reused.socket.destroy(), () => peer.destroy(), () => void server.close());
  return { reused, peer };
}

/** What a listener of data is given, after a first read of `text`. */
async function heard({ reused, peer }: Awaited<ReturnType<typeof connected>>, text: string): Promise<readonly Buffer[]> {
  const reads: Buffer[] = [];
  reused.socket.on('data', (bytes: Buffer) => reads.push(bytes));
  peer.write(text);
  await until(() => reads.length === 1);
  return reads;
}

async function until(isEnough: () => boolean): Promise<void> {
  while (!isEnough()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('GIVEN a socket that reads into one buffer', () => {
  it('WHEN a listener of data keeps what it was given THEN later reads do not change it', async () => {
    const ends = await connected();
    const kept = await heard(ends, 'first');
    ends.peer.write('other');
    await until(() => kept.length === 2);
    expect(kept.map(String)).toEqual(['first', 'other']);
  });

  it('WHEN it is taken over THEN every later byte goes there in order, paused or not, and the end is told', async () => {
    const ends = await connected();
    const { reused, peer } = ends;
    const listened = await heard(ends, 'login');
    const taken: number[] = [];
    reused.takeOver((bytes) => taken.push(...bytes));
    const sent = Uint8Array.from({ length: 500_000 }, (_, index) => (index * 7919) % 251);
    reused.socket.pause();
    peer.end(sent);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const whilePaused = taken.length;
    const ended = once(reused.socket, 'end');
    reused.socket.resume();
    await ended;
    expect(whilePaused).toBe(0);
    expect(Buffer.from(taken).equals(sent)).toBe(true);
    expect(listened.map(String)).toEqual(['login']);
  });
});
