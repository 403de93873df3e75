/** I3, S1 and never a hang: what Materialize sends, damaged: frames, COPY lines, error messages, plans, type names, frontiers. */
import { describe, expect, test } from 'vitest';
import { parseDefinitions } from '../../../src/definition/parse-definitions.ts';
import { parseSqlType, parseSqlTypeTuple } from '../../../src/relation/sql-type-text.ts';
import { parseExplainKeys, parseExplainTypes } from '../../../src/subscribe/explain-text.ts';
import { createRowReader } from '../../../src/subscribe/row-reader.ts';
import { classifyServerError } from '../../../src/subscribe/source-errors.ts';
import { type SubscriptionEvent, createSubscriptionStream } from '../../../src/subscribe/subscription-stream.ts';
import { formatFrontier, parseFrontier } from '../../../src/time/frontier.ts';
import { MARKER, attempt, shown } from './attempt.ts';
import { damaged, runsOf, seedOf } from './mutate.ts';

const frame = (type: string, payload: Uint8Array | string): Buffer => {
  const body = Buffer.from(payload as string);
  const header = Buffer.alloc(5);
  header.write(type, 'latin1');
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
};

const conversation = (lines: readonly string[]): Buffer => Buffer.concat([
  frame('H', Buffer.from([0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])), ...lines.map((line) => frame('d', line)), frame('c', ''), frame('C', 'COPY 3\0'),
]);

const CONVERSATIONS = [
  conversation([`1780000000000\tt\t\\N\t\\N\t\\N\n`, `1780000000001\tf\t1\t7\t${MARKER}\n`, `1780000000001\tf\t-1\t8\tb\n`, `1780000000002\tt\t\\N\t\\N\t\\N\n`]),
  conversation([`5\tf\t2\t1\ta\\tb\n5\tf\t1\t2\t\\N\n`, `6\tt\t\\N\t\\N\t\\N\n`]),
  Buffer.concat([frame('N', `SNOTICE\0C00000\0M${MARKER}\0\0`), conversation(['9\tf\t1\t1\tx\n']), frame('E', `SERROR\0CXX000\0Minvalid input "${MARKER}"\0\0`)]),
];

/**
 * Rows and progress out of the bytes once more: whole frames first, then lines by regular expression. Ends at the first
 * that is wrong. How many columns a row has is the row decoder's matter, see `values.hostile`.
 */
function readAgain(bytes: Buffer): readonly string[] {
  const seen: string[] = [];
  let copy = '';
  let copying = false;
  for (let at = 0; at + 5 <= bytes.length;) {
    const length = bytes.readUInt32BE(at + 1);
    if (length < 4 || at + 1 + length > bytes.length) break;
    const type = String.fromCharCode(bytes[at]!);
    const payload = bytes.subarray(at + 5, at + 1 + length);
    at += 1 + length;
    if (type === 'H' && payload.length >= 3 && payload[0] === 0 && payload.readUInt16BE(1) === 5) copying = true;
    if (type !== 'd' || !copying) continue;
    copy += payload.toString('latin1');
    const lines = copy.split('\n');
    copy = lines.pop() ?? '';
    for (const line of lines) {
      const match = /^(\d+)\t([tf])\t(-?\d+|\\N)\t([^\n]*)$/.exec(line);
      if (match === null) return seen;
      const [, time = '', isProgress, diff = '', columns = ''] = match;
      seen.push(isProgress === 't' ? `progress ${BigInt(time)}` : `row ${BigInt(time)} ${diff === '\\N' ? '?' : BigInt(diff)} ${columns}`);
    }
  }
  return seen;
}

function lines(event: SubscriptionEvent): readonly string[] {
  if (event.kind === 'progress') return [`progress ${formatFrontier(event.frontier).slice(1, -1)}`];
  if (event.kind !== 'rows') return [];
  const { chunk } = event;
  const starts = (chunk as unknown as { starts?: Uint32Array }).starts;
  return Array.from({ length: chunk.rowCount }, (_, row) => {
    const start = starts?.[row] ?? chunk.ends[row - 1] ?? 0;
    return `row ${chunk.times[row]} ${chunk.diffs[row]} ${Buffer.from(chunk.bytes.subarray(start, chunk.ends[row])).toString('latin1')}`;
  });
}

describe('GIVEN the conversation of a SUBSCRIBE, damaged', () => {
  test('WHEN rows and progress come out THEN they are those that stand in the bytes, in order, and failures quote no value', () => {
    let out = 0;
    for (const bytes of damaged(CONVERSATIONS, seedOf(21), runsOf(4000))) {
      const events: SubscriptionEvent[] = [];
      attempt(() => {
        const stream = createSubscriptionStream({ columnCount: 2, keyColumns: [0] }, (event) => events.push(event), { bytes: 4096, rows: 64 });
        stream.push(bytes);
        stream.disconnected('the end');
      }, bytes, []);
      const came = events.flatMap(lines);
      out += came.length;
      expect(readAgain(Buffer.from(bytes)).slice(0, came.length), shown(bytes)).toEqual(came);
      const last = events.at(-1);
      if (last?.kind === 'failed') expect(`${last.error.message} ${last.error.detail.cause ?? ''}`).not.toContain(MARKER);
      expect(events.filter((event) => event.kind === 'failed' || event.kind === 'closed')).toHaveLength(1);
    }
    expect(out).toBeGreaterThan(500);
  });

  test('WHEN a frame announces 2^31 bytes and more THEN it fails before they come', () => {
    for (const length of [2 ** 31, 2 ** 32 - 1, 2 ** 30 + 5, 0, 3]) {
      const events: SubscriptionEvent[] = [];
      const stream = createSubscriptionStream({ columnCount: 2, keyColumns: [] }, (event) => events.push(event));
      const header = Buffer.from([0x64, 0, 0, 0, 0]);
      header.writeUInt32BE(length, 1);
      stream.push(header);
      expect(events).toMatchObject([{ kind: 'failed', error: { code: 'source-protocol' } }]);
    }
  });

  test('WHEN a line never ends THEN it is refused at its bound, in time that grows with its length only', () => {
    const reader = createRowReader({ columnCount: 1, keyColumns: [] }, { rows: () => undefined, progress: () => undefined }, undefined, 16 * 1024 * 1024);
    const piece = new Uint8Array(512).fill(0x78);
    const head = Buffer.from('1\tf\t1\t');
    reader.take(head, 0, head.length);
    const start = performance.now();
    // 32,768 pieces: joined anew each time they would be 280 GB of copying.
    expect(() => {
      for (let done = 0; done < 35_000; done += 1) reader.take(piece, 0, piece.length);
    }).toThrow(/goes on beyond/);
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});

describe('GIVEN a message of Materialize made to be long in reading', () => {
  test.each<[string, string]>([
    ['the beginning of a rule, again and again', 'Timestamp ('.repeat(200_000)], ['names of relations', 'relation '.repeat(200_000)],
    ['quotes', '"'.repeat(1_000_000)], ['backslashes in quotes', `"${'\\'.repeat(1_000_000)}`], ['digits', '1'.repeat(1_000_000)],
    ['cluster quotes', `cluster "${'" '.repeat(200_000)}`],
  ])('WHEN it is %s THEN it is classified soon and shortened', (_what, message) => {
    for (const phase of ['login', 'query', 'stream'] as const) {
      const outcome = attempt(() => classifyServerError({ sqlState: 'XX000', message }, phase), message.slice(0, 100), []);
      expect(outcome.kind === 'read' && outcome.value.message.length < 10_000).toBe(true);
    }
  });

  test.each<[string, string]>([
    ['a plan of slashes', `a // { ${'// { types: "'.repeat(50_000)}`], ['a plan of quotes', `a // { types: "${'\\"'.repeat(200_000)}`],
    ['lists of lists', `integer${' list'.repeat(100_000)}`], ['maps in maps', `${'map[text=>'.repeat(100_000)}integer${']'.repeat(100_000)}`],
    ['records in records', `${'record(a: '.repeat(100_000)}integer${')'.repeat(100_000)}`], ['spaces', `${' '.repeat(300_000)}x`],
    ['underscores', `${'_'.repeat(20_000)}int4`], ['keys', `a // { keys: "(${'[0], '.repeat(50_000)}" }`],
  ])('WHEN it is %s THEN it is read or given up, soon', (_what, text) => {
    for (const read of [parseExplainTypes, parseExplainKeys, parseSqlType, parseSqlTypeTuple]) expect(attempt(() => read(text), text.slice(0, 100), []).kind).toBe('read');
  });
});

test('GIVEN mz-frontier, damaged, WHEN it is read THEN it is null or says what the text says', () => {
  const corpus = ['[1780000000000]', '[]', '[18446744073709551615]', ' [ 5 ] '].map((text) => Buffer.from(text));
  for (const bytes of damaged(corpus, seedOf(22), runsOf(5000))) {
    const text = Buffer.from(bytes).toString('utf8');
    const outcome = attempt(() => parseFrontier(text), text, []);
    if (outcome.kind !== 'read' || outcome.value === null) continue;
    expect(formatFrontier(outcome.value).replace(/\d+/, (digits) => String(BigInt(digits)))).toBe(text.replaceAll(/\s/g, '').replace(/\d+/, (digits) => String(BigInt(digits))));
  }
});

test('GIVEN definitions, damaged, WHEN they are parsed THEN there are definitions or problems that show no secret, soon', () => {
  const corpus = [`CREATE SECRET s AS 'id:${MARKER}';\nCREATE CONNECTION c TO ICEBERG CATALOG (CATALOG TYPE = 'rest', URL = 'http://h', WAREHOUSE = 'w', CREDENTIAL = SECRET s, SCOPE = 'x');\n`
    + "CREATE SINK k FROM t INTO ICEBERG CATALOG CONNECTION c (NAMESPACE = 'n', TABLE = 't') KEY (id) MODE UPSERT WITH (COMMIT INTERVAL = '1s');"].map((text) => Buffer.from(text));
  const kinds = new Set<string>();
  for (const bytes of damaged(corpus, seedOf(23), runsOf(1500))) {
    const text = Buffer.from(bytes).toString('utf8');
    const outcome = attempt(() => parseDefinitions(text, { env: () => undefined, readFile: () => { throw new Error('no file'); } }), text, []);
    const value = outcome.kind === 'read' ? outcome.value : null;
    kinds.add(value?.kind ?? 'refused');
    // Where damage copied it out of its quotes it is an ordinary name, which problems may show.
    const isSecret = text.includes(`'id:${MARKER}'`) && text.indexOf(MARKER) === text.lastIndexOf(MARKER);
    if (value !== null && 'problems' in value && isSecret) expect(JSON.stringify(value.problems), text).not.toContain(MARKER);
  }
  expect(kinds).toEqual(new Set(['definitions', 'problems']));
});
