import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { COPY_END, copyOut, errorResponse, message, notice, progress, row } from '../../unit/subscribe/backend-messages.ts';
import { run } from '../../unit/subscribe/flat-events.ts';

const COLUMNS = 3;
const time = fc.bigInt(0n, 0xffff_ffff_ffff_ffffn);
const diff = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).filter((value) => value !== 0n);
/** Bytes as COPY text has them: anything but raw tab and newline. */
const cell = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
  .map((text) => text.replaceAll(/[\t\n]/g, 'x'));
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

interface Sent {
  readonly bytes: Buffer;
  readonly means: string | null;
}

const dataRow = fc.tuple(time, diff, fc.array(cell, { minLength: COLUMNS, maxLength: COLUMNS })).map(([t, d, cells]): Sent => ({
  bytes: message('d', bytesOf(`${t}\tf\t${d}\t${cells.join('\t')}\n`)),
  means: `row ${t} ${d} ${cells.join('\t')}`,
}));
const progressRow = time.map((t): Sent => ({ bytes: progress(t, COLUMNS), means: `progress ${t}` }));
const noise = fc.oneof(
  fc.constant<Sent>({ bytes: message('S', 'a\0b\0'), means: null }),
  fc.constant<Sent>({ bytes: message('A', '\0\0\0\x01x\0y\0'), means: null }),
);
const noticeMessage = fc.string().map((text) => text.replaceAll('\0', '')).map((text): Sent => ({
  bytes: notice('00000', text),
  means: `notice ${text}`,
}));
const ending = fc.constantFrom<Sent>(
  { bytes: COPY_END, means: 'closed' },
  { bytes: errorResponse('57014', 'canceling statement due to user request'), means: 'failed source-cancelled' },
  { bytes: Buffer.alloc(0), means: null },
);

const conversation = fc.tuple(fc.array(fc.oneof({ weight: 6, arbitrary: dataRow }, progressRow, noise, noticeMessage)), ending);

/** Cuts at the given places, modulo the length; empty reads included. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const limits = fc.record({ bytes: fc.integer({ min: 1, max: 200 }), rows: fc.integer({ min: 1, max: 5 }) });

function summary(events: ReturnType<typeof run>['events']): readonly string[] {
  return events.map((event) => {
    switch (event.kind) {
      case 'row': return `row ${event.time} ${event.diff} ${event.text}`;
      case 'progress': return `progress ${event.frontier[0]}`;
      case 'notice': return `notice ${event.message}`;
      case 'failed': return `failed ${event.error.code}`;
      case 'closed': return 'closed';
    }
  });
}

/** What must come out, from the model: rows wait for the next progress or the end, and die with a failure. */
function expected(sent: readonly Sent[]): { readonly data: readonly string[]; readonly notices: readonly string[] } {
  const data: string[] = [];
  let waiting: string[] = [];
  const notices: string[] = [];
  for (const { means } of sent) {
    if (means === null) continue;
    if (means.startsWith('notice')) notices.push(means);
    else if (means.startsWith('row')) waiting.push(means);
    else {
      if (!means.startsWith('failed')) data.push(...waiting);
      waiting = [];
      data.push(means);
    }
  }
  return { data, notices };
}

describe('GIVEN any conversation of a SUBSCRIBE', () => {
  it('WHEN it is cut anywhere and chunks have any size THEN the same events come out', () => {
    fc.assert(fc.property(conversation, fc.array(fc.nat()), limits, ([middle, last], places, small) => {
      const bytes = Buffer.concat([copyOut(COLUMNS + 3), ...middle.map((sent) => sent.bytes), last.bytes]);
      const whole = run([bytes], COLUMNS, { keyColumns: [1] });
      const divided = run(cut(bytes, places), COLUMNS, { keyColumns: [1] });
      expect(divided.events).toEqual(whole.events);
      const { data, notices } = expected([...middle, last]);
      const got = summary(whole.events);
      expect(got.filter((line) => !line.startsWith('notice'))).toEqual(data);
      expect(got.filter((line) => line.startsWith('notice'))).toEqual(notices);
      // Small chunks come out earlier than notices and failures, so the stream that ends well is compared, without
      // its notices.
      const good = Buffer.concat([copyOut(COLUMNS + 3), ...middle.map((sent) => sent.bytes), COPY_END]);
      const [large, tiny] = [undefined, small].map((size) => (
        run(cut(good, places), COLUMNS, { keyColumns: [1], ...(size === undefined ? {} : { limits: size }) })
          .events.filter((event) => event.kind !== 'notice')
      ));
      expect(tiny).toEqual(large);
    }), { numRuns: 400 });
  });

  it('WHEN it comes byte by byte THEN the same events come out', () => {
    fc.assert(fc.property(conversation, ([middle, last]) => {
      const bytes = Buffer.concat([copyOut(COLUMNS + 3), ...middle.map((sent) => sent.bytes), last.bytes]);
      const divided = run(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)), COLUMNS);
      expect(divided.events).toEqual(run([bytes], COLUMNS).events);
    }), { numRuns: 100 });
  });

  it('WHEN it breaks off anywhere THEN what came out is a beginning of the whole', () => {
    fc.assert(fc.property(conversation, fc.nat(), ([middle, last], place) => {
      const bytes = Buffer.concat([copyOut(COLUMNS + 3), ...middle.map((sent) => sent.bytes), last.bytes]);
      const whole = run([bytes], COLUMNS).events;
      const part = run([bytes.subarray(0, place % (bytes.length + 1))], COLUMNS).events;
      expect(part).toEqual(whole.slice(0, part.length));
    }), { numRuns: 200 });
  });

  it('WHEN its bytes are anything at all THEN it fails by name or waits, and never throws', () => {
    fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), fc.uint8Array({ maxLength: 40 }), (parts, payload) => {
      const codes = [parts, [copyOut(4), message('d', payload), message('c')]]
        .flatMap((chunks) => run(chunks, 1).events)
        .map((event) => (event.kind === 'failed' ? event.error.code : 'source-none'));
      expect(codes.filter((code) => !code.startsWith('source-'))).toEqual([]);
    }), { numRuns: 500 });
    expect.hasAssertions();
  });

  it('WHEN rows are given THEN the helper row() agrees with the model', () => {
    expect(summary(run([copyOut(6), row(7n, -2n, 'a', 'b', 'c'), COPY_END], 3).events)).toEqual(['row 7 -2 a\tb\tc', 'closed']);
  });
});
