import { describe, expect, test } from 'vitest';

import type { FileMetrics } from '../../../src/iceberg/data-file.ts';
import { incrementBytes, incrementString } from '../../../src/iceberg/truncate.ts';
import { chunkOf, column, planOf, writeSpan } from '../../e2e/write/rows.ts';

async function metricsOf(type: string, values: readonly string[], uuidMapping: 'fixed' | 'uuid' = 'fixed'): Promise<FileMetrics> {
  const plan = planOf([column('c', type)], { mode: 'append', uuidMapping });
  const { files } = await writeSpan(plan, [chunkOf(values.map((row) => ({ row })))]);
  return files[0]!.file.metrics;
}

const hex = (value: Uint8Array | undefined): string | undefined => (value === undefined ? undefined : Buffer.from(value).toString('hex'));
const text = (value: Uint8Array | null): string | null => (value === null ? null : new TextDecoder().decode(value));
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

describe('GIVEN the values of a file', () => {
  // Expected bytes follow the specification's appendix on single-value serialization, worked out by hand.
  test.each([
    ['integer', ['5', '-1', '\\N'], 'ffffffff', '05000000'],
    ['bigint', ['-9223372036854775808', '4294967296', '1'], '0000000000000080', '0000000001000000'],
    ['boolean', ['t', 't'], '01', '01'],
    ['boolean', ['t', 'f', '\\N'], '00', '01'],
    ['real', ['1.5', '-2'], '000000c0', '0000c03f'],
    ['double precision', ['0', 'Infinity'], '0000000000000080', '000000000000f07f'],
    ['double precision', ['-0', '-1'], '000000000000f0bf', '0000000000000000'],
    ['numeric(38,2)', ['-1.28', '1.27', '0'], '80', '7f'],
    ['numeric(38,2)', ['1.28', '-1.29'], 'ff7f', '0080'],
    ['uint8', ['18446744073709551615', '0'], '00', '00ffffffffffffffff'],
    ['date', ['1969-12-31', '1970-01-02'], 'ffffffff', '01000000'],
    ['timestamp', ['1970-01-01 00:00:00.000001', '1969-12-31 23:59:59.999999'], 'ffffffffffffffff', '0100000000000000'],
    ['bytea', ['\\\\x', '\\\\xff'], '', 'ff'],
    ['uuid', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000001'], '00000000000000000000000000000001', 'a0eebc999c0b4ef8bb6d6bb9bd380a11'],
    ['text', ['b', 'a', 'é', '\\N'], '61', 'c3a9'],
    ['text', ['', 'a'], '', '61'],
  ] as const)('WHEN %s holds %j THEN the bounds are %s and %s', async (type, values, lower, upper) => {
    const metrics = await metricsOf(type, values);
    expect([hex(metrics.lowerBounds.get(1)), hex(metrics.upperBounds.get(1))]).toEqual([lower, upper]);
    expect(metrics.valueCounts.get(1)).toBe(BigInt(values.length));
    expect(metrics.nullValueCounts.get(1)).toBe(BigInt(values.filter((value) => value === '\\N').length));
  });

  test('WHEN a float column holds only NaN and NULL THEN both are counted and there is no bound', async () => {
    const metrics = await metricsOf('real', ['NaN', '\\N', 'NaN']);
    expect([metrics.nanValueCounts.get(1), metrics.nullValueCounts.get(1), metrics.lowerBounds.has(1), metrics.upperBounds.has(1)]).toEqual([2n, 1n, false, false]);
  });

  test('WHEN a float column holds a NaN beside numbers THEN it is counted, and there is no bound to skip it by', async () => {
    const metrics = await metricsOf('real', ['1.5', 'NaN', '-2']);
    expect([metrics.nanValueCounts.get(1), metrics.lowerBounds.has(1), metrics.upperBounds.has(1)]).toEqual([1n, false, false]);
  });

  test('WHEN all values are NULL THEN there are counts and no bounds, and no NaN count where the type has none', async () => {
    const metrics = await metricsOf('text', ['\\N', '\\N']);
    expect([metrics.nullValueCounts.get(1), metrics.lowerBounds.has(1), metrics.nanValueCounts.has(1)]).toEqual([2n, false, false]);
  });

  test('WHEN the column is Iceberg uuid THEN it has counts and no bounds', async () => {
    const metrics = await metricsOf('uuid', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], 'uuid');
    expect([metrics.valueCounts.get(1), metrics.lowerBounds.has(1), metrics.upperBounds.has(1)]).toEqual([1n, false, false]);
  });

  test('WHEN a leaf lies below a list or map THEN it has counts and no bounds; inside of a record it has both', async () => {
    const lists = await metricsOf('integer list', ['{1,NULL,3}', '{}']);
    expect([lists.valueCounts.get(2), lists.nullValueCounts.get(2), lists.lowerBounds.size]).toEqual([3n, 1n, 2]);
    const records = await metricsOf('record(a: integer,b: text)', ['(3,x)', '(-1,)', '\\N']);
    expect([hex(records.lowerBounds.get(2)), hex(records.upperBounds.get(2)), records.nullValueCounts.get(3)]).toEqual(['ffffffff', '03000000', 2n]);
  });

  test('WHEN a text is longer than 16 code points THEN the lower bound is cut and the upper is cut and raised', async () => {
    const long = `${'ä'.repeat(15)}😀rest`;
    const metrics = await metricsOf('text', [long]);
    expect(text(metrics.lowerBounds.get(1)!)).toBe(`${'ä'.repeat(15)}😀`);
    expect(text(metrics.upperBounds.get(1)!)).toBe(`${'ä'.repeat(15)}😁`);
  });

  test('WHEN nothing lies above the cut THEN there is no upper bound, and the lower stays', async () => {
    const metrics = await metricsOf('bytea', [`\\\\x${'ff'.repeat(17)}`]);
    expect([hex(metrics.lowerBounds.get(1)), metrics.upperBounds.has(1)]).toEqual(['ff'.repeat(16), false]);
  });

  test('WHEN a binary is exactly 16 bytes THEN it is its own bound', async () => {
    const metrics = await metricsOf('bytea', [`\\\\x${'ff'.repeat(16)}`]);
    expect(hex(metrics.upperBounds.get(1))).toBe('ff'.repeat(16));
  });
});

describe('GIVEN a prefix to raise', () => {
  test.each([
    ['a', 'b'], ['a\u{10ffff}', 'b'], ['\u{10ffff}', null], ['\ud7ff', '\ue000'], ['\u007f', '\u0080'], ['\uffff', '\u{10000}'], ['', null],
  ])('WHEN it is %j THEN the next text is %j', (prefix, next) => {
    expect(text(incrementString(bytes(prefix)))).toBe(next);
  });

  test.each([['01', '02'], ['01ff', '02'], ['ffff', null], ['', null]])('WHEN it is the bytes %s THEN the next are %s', (prefix, next) => {
    const raised = incrementBytes(Buffer.from(prefix, 'hex'));
    expect(raised === null ? null : hex(raised)).toBe(next);
  });
});
