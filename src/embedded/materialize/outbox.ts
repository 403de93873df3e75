/**
 * What goes out on one connection, in order. In: bytes. Out: writes on the socket, on request cut into pieces that
 * the receiver really sees as pieces.
 *
 * Invariant: bytes leave in the order of `send`, also when pieces are cut; after the socket closed, `send` drops
 * and `drained` resolves, so nobody waits for a peer that is gone.
 */
import type { Socket } from 'node:net';

export interface Outbox {
  send(bytes: Uint8Array): void;
  /** Bytes handed over and not yet taken by the kernel. */
  pendingBytes(): number;
  /** Resolves once little is pending, or the socket is closed. */
  drained(): Promise<void>;
  /** Resolves once nothing is pending, or the socket is closed. */
  flushed(): Promise<void>;
}

/** Says how many of the next `available` bytes go out in one write; 0 or less sends all. */
export type CutStream = (available: number) => number;

const LOW_WATER_BYTES = 512 * 1024;

/** Small messages are joined up to this many bytes before they are written. */
const JOIN_BYTES = 64 * 1024;

export function createOutbox(socket: Socket, cut: CutStream | null): Outbox {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let flushing = false;
  let wakers: (() => void)[] = [];

  const pendingBytes = (): number => waitingBytes + socket.writableLength;
  const wake = (): void => {
    const woken = wakers;
    wakers = [];
    for (const resolve of woken) resolve();
  };
  socket.on('drain', wake);
  socket.on('close', wake);

  const flushWhole = (): void => {
    flushing = false;
    if (waiting.length === 0) return;
    const bytes = waiting.length === 1 ? waiting[0] : Buffer.concat(waiting, waitingBytes);
    waiting = [];
    waitingBytes = 0;
    if (bytes !== undefined && !socket.destroyed) socket.write(bytes, wake);
  };

  const flushPieces = async (cutter: CutStream): Promise<void> => {
    while (waitingBytes > 0 && !socket.destroyed) {
      let bytes = Buffer.concat(waiting, waitingBytes);
      waiting = [];
      while (bytes.length > 0 && !socket.destroyed) {
        const wanted = cutter(bytes.length);
        const length = wanted <= 0 ? bytes.length : Math.min(wanted, bytes.length);
        const piece = bytes.subarray(0, length);
        bytes = bytes.subarray(length);
        await new Promise<void>((resolve) => {
          socket.write(piece, () => setImmediate(resolve));
          if (socket.destroyed) resolve();
        });
        waitingBytes -= length;
      }
    }
    flushing = false;
    wake();
  };

  const until = async (limit: number): Promise<void> => {
    while (pendingBytes() > limit && !socket.destroyed) {
      await new Promise<void>((resolve) => wakers.push(resolve));
    }
  };

  return {
    send(bytes) {
      if (socket.destroyed || bytes.length === 0) return;
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (cut === null && waitingBytes >= JOIN_BYTES) {
        flushWhole();
      } else if (!flushing) {
        flushing = true;
        if (cut === null) queueMicrotask(flushWhole);
        else void flushPieces(cut);
      }
    },
    pendingBytes,
    drained: () => until(LOW_WATER_BYTES),
    flushed: () => until(0),
  };
}
