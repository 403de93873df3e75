import { describe, expect, it } from 'vitest';

import { SinkError } from '../../../src/errors.ts';
import { type SubscriptionEvent, createSubscriptionStream } from '../../../src/subscribe/subscription-stream.ts';
import { createFrameReader } from '../../../src/subscribe/wire-frames.ts';
import { COPY_END, copyOut, errorResponse, message, notice, progress, row } from './backend-messages.ts';
import { run } from './flat-events.ts';

const kinds = (...parts: readonly Uint8Array[]): readonly string[] => (
  run(parts, 1).events.map((event) => (event.kind === 'failed' ? event.error.code : event.kind))
);

describe('GIVEN a subscription', () => {
  it('WHEN notices come before, between and after rows THEN they are shown and no row is lost', () => {
    const { events } = run([
      notice('00000', 'welcome'), copyOut(4), progress(5n, 1), row(5n, 1n, 'a'),
      notice('00000', 'cluster replica c.r changed status to "offline"'), row(5n, 1n, 'b'), progress(6n, 1),
      message('S', 'TimeZone\0UTC\0'), COPY_END,
    ], 1);
    expect(events.map((event) => event.kind)).toEqual(
      ['notice', 'progress', 'notice', 'row', 'row', 'progress', 'closed'],
    );
    expect(events[2]).toEqual({
      kind: 'notice', severity: 'NOTICE', code: '00000', message: 'cluster replica c.r changed status to "offline"',
    });
  });

  it('WHEN it is constant THEN its one progress is the last timestamp', () => {
    const { events } = run([copyOut(4), progress(18446744073709551615n, 1)], 1);
    expect(events).toEqual([{ kind: 'progress', frontier: [18446744073709551615n] }]);
  });

  it('WHEN CopyDone comes without CommandComplete THEN it is not closed', () => {
    expect(kinds(copyOut(4), message('c'))).toEqual([]);
  });

  it('WHEN an error comes after rows THEN the rows that no progress closed do not come out', () => {
    expect(kinds(copyOut(4), progress(5n, 1), row(5n, 1n, 'a'), errorResponse('XX000', 'division by zero'),
      message('Z', 'I'))).toEqual(['progress', 'source-evaluation-error']);
  });

  it('WHEN anything follows the end THEN nothing more is said', () => {
    expect(kinds(copyOut(4), COPY_END, row(5n, 1n, 'a'), errorResponse('XX000', 'late'))).toEqual(['closed']);
  });

  it.each<[string, readonly Uint8Array[]]>([
    ['rows before CopyOutResponse', [row(5n, 1n, 'a')]],
    ['a second CopyOutResponse', [copyOut(4), copyOut(4)]],
    ['binary format', [copyOut(4, 1)]],
    ['rows after CopyDone', [copyOut(4), message('c'), row(5n, 1n, 'a')]],
    ['a completion without CopyDone', [copyOut(4), message('C', 'COPY 0\0')]],
    ['a row description', [message('T', '\0\0')]],
    ['ready without an answer', [message('Z', 'I')]],
    ['HTTP', [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]],
    ['an absurd length', [copyOut(4), Buffer.from([0x64, 0x7f, 0xff, 0xff, 0xff])]],
    ['a negative length', [copyOut(4), Buffer.from([0x64, 0xff, 0xff, 0xff, 0xff])]],
    ['a length below its own', [copyOut(4), Buffer.from([0x64, 0, 0, 0, 3])]],
  ])('WHEN the server sends %s THEN it fails with source-protocol', (_, parts) => {
    expect(kinds(...parts)).toEqual(['source-protocol']);
  });

  it('WHEN the relation has other columns than it had THEN it fails with relation-changed', () => {
    expect(kinds(copyOut(5))).toEqual(['relation-changed']);
  });

  it('WHEN the socket ends inside a row THEN it fails and the row does not come out', () => {
    const events: SubscriptionEvent[] = [];
    const stream = createSubscriptionStream({ columnCount: 1, keyColumns: [] }, (event) => events.push(event));
    stream.push(copyOut(4));
    stream.push(row(5n, 1n, 'whole'));
    stream.push(row(5n, 1n, 'divided').subarray(0, 12));
    stream.disconnected('ECONNRESET');
    stream.disconnected('closed');
    expect(events.map((event) => (event.kind === 'failed' ? event.error.code : event.kind))).toEqual(['source-disconnected']);
  });

  it('WHEN the consumer stops it on a progress THEN nothing more comes of the same read', () => {
    const events: string[] = [];
    const stream = createSubscriptionStream({ columnCount: 1, keyColumns: [] }, (event) => {
      events.push(event.kind);
      stream.stop();
    });
    stream.push(Buffer.concat([copyOut(4), progress(5n, 1), row(5n, 1n, 'a'), progress(6n, 1), COPY_END]));
    stream.disconnected('gone');
    expect(events).toEqual(['progress']);
  });

  it('WHEN the consumer stops it on the last rows THEN it is not closed', () => {
    const events: string[] = [];
    const stream = createSubscriptionStream({ columnCount: 1, keyColumns: [] }, (event) => {
      events.push(event.kind);
      stream.stop();
    });
    stream.push(Buffer.concat([copyOut(4), row(5n, 1n, 'a'), COPY_END]));
    expect(events).toEqual(['rows']);
    expect(stream.isOver()).toBe(true);
  });

  it('WHEN the consumer throws THEN its error is not hidden', () => {
    const stream = createSubscriptionStream({ columnCount: 1, keyColumns: [] }, () => {
      throw new SinkError('invariant-broken', 'mine');
    });
    expect(() => stream.push(Buffer.concat([copyOut(4), progress(5n, 1)]))).toThrow('mine');
  });
});

describe('GIVEN a divided message with a long announced length', () => {
  it('WHEN only its header has come THEN no such memory is taken', () => {
    const reader = createFrameReader({ copyData() {}, released() {}, message() {} });
    const before = process.memoryUsage().arrayBuffers;
    reader.push(Buffer.from([0x64, 0x3f, 0xff, 0xff, 0xff, 1, 2]));
    expect(reader.partialBytes()).toBe(7);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
  });
});
