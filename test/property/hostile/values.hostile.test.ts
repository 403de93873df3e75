/** I7 and S1 under damage: the text of every type, mutated. What is taken is what the text means, and the rest is refused by name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Data, Vector } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { RowDecoder, rowError } from '../../../src/write/copy-row.ts';
import { ValueFault } from '../../../src/write/columns/column.ts';
import { makeSlot } from '../../../src/write/columns/make-column.ts';
import type { WritePlan } from '../../../src/write/plan.ts';
import { column, planOf } from '../../e2e/write/rows.ts';
import { type Outcome, MARKER, attempt } from './attempt.ts';
import { createRandom } from '../../../src/embedded/auction/seeded-random.ts';
import { damaged, runsOf, seedOf } from './mutate.ts';
import { ORACLES, sameStructure } from './text-oracles.ts';

const CODES = ['row-malformed', 'row-not-representable'] as const;
const shared = process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared');

interface Case {
  readonly type: string;
  readonly copy: string;
}

const cases = readFileSync(join(shared, 'cases/types.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Case);
const types = [...new Set([...Object.keys(ORACLES), ...cases.map((one) => one.type)])];

/** Values that the cases lack, where damage is likely to find a way. */
const MORE: Readonly<Record<string, readonly string[]>> = {
  date: ['9999999-01-01', '0001-01-01 BC', '2147483-12-31', '0000-01-01'], text: [MARKER, 'é', '€', '😀', ''],
  timestamp: ['2024-02-29 23:59:60.5', '0044-03-15 01:02:03 BC'], real: ['1e39', '1e-46', '3.4028236e38'],
  'timestamp with time zone': ['2024-02-29 01:02:03.123456+00', '0044-03-15 01:02:03+00 BC'],
  'double precision': ['1e309', '1e-400', '.5', '5.', '123456789012345.6'], numeric: ['NaN', 'Infinity', '-0.0000000001', '00012.50'],
  'integer[]': ['{{{1,2},{3,4}},{{5,6},{7,8}}}', '{1,NULL}', '[1:2][0:0]={{1},{2}}'], bytea: ['\\\\x', '\\\\xdeadbeef'],
  'integer list': ['{1,NULL,-3}', '{}'], 'integer list list': ['{{1},{2,3},NULL}'], int4range: ['[1,5)', 'empty', '(,)', '(,7]'],
  uint4: ['4294967295'], oid: ['1'], interval: ['1 year 2 mons'], time: ['23:59:59.999999', '00:00:00'],
  'numeric(39,38)': ['0.5', '-0.00000000000000000000000000000000000001'],
};

const corpusOf = (type: string): readonly Uint8Array[] =>
  [...cases.filter((one) => one.type === type).map((one) => one.copy), ...(MORE[type] ?? [])].map((copy) => Buffer.from(copy));

/** Undoes COPY escapes, by a second implementation. null is SQL's NULL. */
function unescaped(field: Uint8Array): Uint8Array | null {
  const text = Buffer.from(field).toString('latin1');
  if (text === '\\N') return null;
  const letters: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', b: '\b', f: '\f', v: '\v' };
  return Buffer.from(text.replaceAll(/\\([\s\S])/g, (_all, letter: string) => letters[letter] ?? letter), 'latin1');
}

/** A decoder may gather rows and settle them together; here each is settled by itself, so that it answers for itself. */
function take(decoder: RowDecoder, bytes: Uint8Array): void {
  decoder.append(bytes, 0, bytes.length);
  (decoder as unknown as { settle?(): void }).settle?.();
}

/** One field through the sink's row decoder into a column, and that column through Arrow's own reader. */
function decode(plan: WritePlan, field: Uint8Array): unknown {
  const slot = makeSlot(plan.columns[0]!.sqlType, plan.columns[0]!.field, { enabled: false, count: 0 });
  const decoder = new RowDecoder(plan, [slot]);
  decoder.append(field, 0, field.length);
  decoder.settle();
  let data: Data;
  try {
    data = slot.column.toArrow(slot.required);
  } catch (thrown) {
    if (!(thrown instanceof ValueFault)) throw thrown;
    throw rowError(plan, 0, thrown, null);
  }
  expect(data.length).toBe(1);
  const { kind } = plan.columns[0]!.field.type;
  // Arrow shows dates and times as JavaScript's, which are coarser than what is kept.
  if (data.nullCount === 0 && ['date', 'time', 'timestamp', 'timestamptz'].includes(kind)) return (data.values as Int32Array | BigInt64Array)[0];
  return new Vector([data]).get(0) as unknown;
}

function decoded(plan: WritePlan, field: Uint8Array): Outcome<unknown> {
  return attempt(() => decode(plan, field), field, CODES);
}

/** A field has no raw tab or newline: those end it, which is the framing's matter. */
const asField = (bytes: Uint8Array): Uint8Array => bytes.filter((byte) => byte !== 0x09 && byte !== 0x0a);

describe('GIVEN the COPY text of a value, damaged', () => {
  test.each(types)('WHEN its type is %s THEN it is refused by name or is the value that the text means', (type) => {
    const plan = planOf([column(`c`, type)], { mode: 'append' });
    const oracle = ORACLES[type];
    let taken = 0;
    const corpus = corpusOf(type);
    const start = corpus.length > 0 ? corpus : corpusOf('integer');
    for (const bytes of damaged(start, seedOf(type.length * 97), runsOf(400))) {
      const field = asField(bytes);
      const outcome = decoded(plan, field);
      if (outcome.kind === 'refused') continue;
      taken += 1;
      const text = unescaped(field);
      if (text === null) expect(outcome.value).toBeNull();
      else if (oracle !== undefined && !oracle(text, outcome.value)) {
        throw new Error(`${type}: ${JSON.stringify(Buffer.from(text).toString('latin1'))} was taken for ${String(outcome.value)}`);
      }
    }
    // A fuzzer whose every input is refused tests nothing.
    expect(taken).toBeGreaterThan(20);
  });
});

const numberText = (value: unknown): string => (value === null || value === undefined ? 'NULL' : `${value as number}`);
type Items = Iterable<unknown> | null;
interface Ranged { readonly lower: unknown; readonly upper: unknown; readonly lower_inclusive: boolean; readonly upper_inclusive: boolean; readonly empty: boolean }

/** The array's dimensions are known, its shape is not: compared without inner braces. */
const PRINTERS: Readonly<Record<string, (value: unknown) => string>> = {
  'integer list': (value) => `{${[...(value as Iterable<unknown>)].map(numberText).join(',')}}`,
  'integer list list': (value) => `{${[...(value as Iterable<Items>)].map((inner) => (inner === null ? 'NULL' : `{${[...inner].map(numberText).join(',')}}`)).join(',')}}`,
  'integer[]': (value) => [...((value as { items: Iterable<unknown> }).items)].map(numberText).join(','),
  'map[text=>integer]': (value) => `{${[...(value as Iterable<[unknown, unknown]>)].map(([key, item]) => `${String(key)}=>${numberText(item)}`).join(',')}}`,
  int4range: (value) => {
    const range = value as Ranged;
    if (range.empty) return 'empty';
    const bound = (one: unknown): string => (one === null ? '' : `${one as number}`);
    return `${range.lower_inclusive ? '[' : '('}${bound(range.lower)},${bound(range.upper)}${range.upper_inclusive ? ']' : ')'}`;
  },
};

describe('GIVEN the COPY text of a container of integers, damaged', () => {
  test.each(Object.keys(PRINTERS))('WHEN its type is %s THEN it is refused, or printed anew it is the text that came', (type) => {
    const plan = planOf([column('c', type)], { mode: 'append' });
    const print = PRINTERS[type]!;
    // Only bytes that containers of integers are made of, so that damage hits the structure.
    const letters = Buffer.from('{}[](),=>:1207-NULL"a');
    const random = createRandom(seedOf(5));
    let taken = 0;
    for (const bytes of damaged(corpusOf(type), seedOf(type.length), runsOf(3000))) {
      const field = bytes.map((byte) => (letters.includes(byte) ? byte : letters[random.below(letters.length)]!));
      const outcome = decoded(plan, field);
      if (outcome.kind === 'refused' || outcome.value === null) continue;
      taken += 1;
      const printed = print(outcome.value);
      const text = Buffer.from(field).toString('latin1');
      if (text.includes('""') || /"[^"]*[{}[\]()=>:,][^"]*"/.test(text)) continue;
      const input = type === 'integer[]' ? Buffer.from(text.replace(/^(?:\[-?\d+:-?\d+\])+=/, '').replaceAll(/[{}]/g, '')) : field;
      if (!sameStructure(input, printed.replaceAll('"', ''))) throw new Error(`${type}: ${text} was taken for ${printed}`);
    }
    expect(taken).toBeGreaterThan(20);
  });

  test.each(['{1,,2}', '{,1}', '{1,}', '{{1,2},{3}}', '{{1},2}', '{1,{2}}', '{{1}{2}}', '{}{}', '[x]={1}', '[1:2={1}', '{{},{1}}', '[1:1]='])(
    'WHEN an array is %s, which no array is, THEN it is refused and not taken for a flat list', (text) => {
      const outcome = decoded(planOf([column('c', 'integer[]')], { mode: 'append' }), Buffer.from(text));
      expect(outcome.kind).toBe('refused');
    });
});

test.each(['1', '1\ta\tb', '1\ta\t', '', '1\ta\t\\N\t\\N'])('GIVEN a row of two columns WHEN its text is %j THEN it is malformed', (text) => {
  const plan = planOf([column('k', 'integer'), column('v', 'text')], { mode: 'append' });
  const slots = plan.columns.map((one) => makeSlot(one.sqlType, one.field, { enabled: false, count: 0 }));
  expect(attempt(() => take(new RowDecoder(plan, slots), Buffer.from(text)), text, ['row-malformed', 'source-protocol']).kind).toBe('refused');
});

test.each([['date', '9999999-01-01'], ['date', '5883517-01-01'], ['date', '5883517-01-01 BC'], ['real', '1e39'], ['double precision', '1e309'], ['real', '1e-46']])(
  'GIVEN a %s WHEN it is %s, which its type would wrap, blow up or drop, THEN it is refused', (type, text) => {
    expect(decoded(planOf([column('c', type)], { mode: 'append' }), Buffer.from(text)).kind).toBe('refused');
  });

describe('GIVEN values that only together look right', () => {
  test('WHEN a character of UTF-8 is divided between two rows THEN the column is refused', () => {
    const plan = planOf([column('c', 'text')], { mode: 'append' });
    const slot = makeSlot(plan.columns[0]!.sqlType, plan.columns[0]!.field, { enabled: false, count: 0 });
    const decoder = new RowDecoder(plan, [slot]);
    take(decoder, Uint8Array.of(0x61, 0xc3));
    take(decoder, Uint8Array.of(0xa9, 0x62));
    decoder.settle();
    expect(() => slot.column.toArrow(false)).toThrow('not UTF-8');
  });

  test('WHEN text that only looks like NaN comes under ON ROW ERROR = NULL THEN it does not become NULL', () => {
    const plan = planOf([column('c', 'numeric(39,2)')], { mode: 'append', rowErrorPolicy: 'null' });
    const policy = { enabled: true, count: 0 };
    const slot = makeSlot(plan.columns[0]!.sqlType, plan.columns[0]!.field, policy);
    const decoder = new RowDecoder(plan, [slot]);
    const codeOf = (text: string): string => {
      try {
        take(decoder, Buffer.from(text));
        decoder.settle();
        return 'taken';
      } catch (thrown) {
        return thrown instanceof SinkError ? thrown.code : String(thrown);
      }
    };
    expect(['NaN', 'Nab', 'Infinity', 'Infinite', '-Infinity'].map(codeOf)).toEqual(['taken', 'row-malformed', 'taken', 'row-malformed', 'taken']);
    expect(policy.count).toBe(3);
  });

  test('WHEN a uuid is kept as text THEN its text is that of a uuid', () => {
    const plan = planOf([column('c', 'uuid')], { mode: 'append', uuidMapping: 'string' });
    expect(decoded(plan, Buffer.from('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')).kind).toBe('read');
    for (const text of ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g', 'a0eebc99_9c0b-4ef8-bb6d-6bb9bd380a11', 'x'.repeat(36)]) {
      expect(decoded(plan, Buffer.from(text)).kind).toBe('refused');
    }
  });
});
