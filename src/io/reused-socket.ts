/**
 * A socket that reads into one buffer over and over. Node's own way makes a buffer of 64 KiB for each read and hands it through a
 * stream's queue: an append of gigabytes took 3 % more of CPU by that.
 *
 * `pg` logs in on it first, and keeps what it is handed, so until `takeOver` each read is copied and emitted as any socket would.
 * Where TLS is spoken this socket lies below it and is never asked: what TLS decrypts comes as the events of its own stream.
 */
import { Socket } from 'node:net';

/** Up to 32 reads follow each other before a timer has its turn: of 256 KiB each, the event loop was late by half as much again. */
const READ_BYTES = 64 * 1024;

export interface ReusedSocket {
  readonly socket: Socket;
  /** From now on `onBytes` gets what is read instead of the listeners of `data`; the bytes are its own only until it returns. */
  takeOver(onBytes: (bytes: Uint8Array) => void): void;
}

/** Not connected yet. */
export function openReusedSocket(): ReusedSocket {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  let deliver = (bytes: Buffer): void => void socket.emit('data', Buffer.from(bytes));
  const socket: Socket = new Socket({
    onread: {
      buffer,
      callback(length) {
        deliver(buffer.subarray(0, length));
        return true;
      },
    },
  });
  return { socket, takeOver: (onBytes) => void (deliver = onBytes) };
}
