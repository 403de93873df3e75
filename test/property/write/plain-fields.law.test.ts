/**
 * A column reads plain fields in a loop of its own and leaves the others to `append`. Both ways must make the same of every text,
 * or a row's value would depend on what its neighbours look like. Text comes from near the forms: what a loop takes too much or too
 * little of shows there.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PrimitiveType } from '../../../src/iceberg/types.ts';
import { type ScalarName, scalar } from '../../../src/relation/sql-type.ts';
import { type Column, ValueFault } from '../../../src/write/columns/column.ts';
import { makeSlot } from '../../../src/write/columns/make-column.ts';

const TYPES: readonly (readonly [ScalarName, PrimitiveType, fc.Arbitrary<string>])[] = [
  ['smallint', { kind: 'int' }, fc.oneof(fc.integer({ min: -40_000, max: 40_000 }).map(String), digits())],
  ['integer', { kind: 'int' }, fc.oneof(fc.integer().map(String), digits())],
  ['bigint', { kind: 'long' }, fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }).map(String), digits())],
  ['numeric', { kind: 'decimal', precision: 38, scale: 4 }, fc.oneof(digits(), decimals())],
  ['double precision', { kind: 'double' }, fc.oneof(fc.double().map(String), decimals())],
  ['real', { kind: 'float' }, fc.oneof(fc.float().map(String), decimals())],
  ['boolean', { kind: 'boolean' }, fc.constantFrom('t', 'f', 'true', 'T', 'tf', '')],
  ['date', { kind: 'date' }, stamps().map((text) => text.slice(0, 10))],
  ['timestamp', { kind: 'timestamp' }, stamps()],
  ['timestamptz', { kind: 'timestamptz' }, stamps().map((text) => `${text}+00`)],
  ['text', { kind: 'string' }, fc.oneof(fc.string({ maxLength: 10 }), fc.string({ minLength: 60, maxLength: 70 }))],
];

function digits(): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom('', '-', '+'), fc.stringMatching(/^[0-9]{0,21}$/)).map(([sign, number]) => sign + number);
}

function decimals(): fc.Arbitrary<string> {
  return fc.tuple(digits(), fc.constantFrom('', '.', '..', 'e'), fc.stringMatching(/^[0-9]{0,8}$/)).map((parts) => parts.join(''));
}

function stamps(): fc.Arbitrary<string> {
  const pad = (number: number, length: number): string => String(number).padStart(length, '0');
  return fc.tuple(
    fc.integer({ min: 0, max: 12_000 }), fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 24 }),
    fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 61 }), fc.stringMatching(/^(\.[0-9]{0,7})?$/),
  ).map(([year, month, day, hour, minute, second, fraction]) =>
    `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)} ${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}${fraction}`);
}

/** One character more, less or other. */
function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const damage = fc.tuple(text, fc.nat(30), fc.constantFrom('', '0', '-', ' ', ':', '.', '+', 'B', '\\', 'é'), fc.boolean());
  return fc.oneof(text, damage.map(([whole, at, other, replaces]) => whole.slice(0, at) + other + whole.slice(replaces ? at + 1 : at)));
}

function values(column: Column): readonly unknown[] {
  const data = column.toArrow(false);
  return [data.values, data.valueOffsets, data.length].map((part) => JSON.stringify(part, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value));
}

describe('GIVEN rows of two columns, the first of some type', () => {
  test.each(TYPES)('WHEN %s is read by the loop and by one append for each THEN both take the same texts, to the same values', (name, type, text) => {
    const row = fc.tuple(damaged(text).filter((value) => !/[\t\n\\]/.test(value)), fc.constantFrom('', 'x', '5'));
    fc.assert(fc.property(fc.array(row, { minLength: 1, maxLength: 8 }), (rows) => {
      const field = { id: 1, name: 'c', required: false, type } as const;
      const make = (): Column => makeSlot(scalar(name, name === 'numeric' ? 4 : null), field, { enabled: false, count: 0 }).column;
      const lines = rows.map(([value, next]) => Buffer.from(`${value}\t${next}`));
      const bytes = Buffer.concat(lines);
      const cursors = new Uint32Array(rows.length);
      const ends = new Uint32Array(rows.length);
      let end = 0;
      lines.forEach((line, index) => {
        cursors[index] = end;
        end += line.length;
        ends[index] = end;
      });
      const starts = cursors.slice();
      const looped = make();
      const single = make();
      const block = { bytes, cursors, ends, rows: rows.length };
      for (let index = 0; index < rows.length; index++) {
        const taken = looped.takePlainFields({ ...block, rows: index + 1 }, index);
        const start = starts[index] ?? 0;
        const stop = (ends[index] ?? 0) - (rows[index]?.[1].length ?? 0) - 1;
        const fault = attempt(() => single.append(bytes, start, stop));
        if (taken === index + 1) {
          expect(fault).toBeNull();
          expect(cursors[index]).toBe(stop + 1);
        } else {
          expect([taken, cursors[index]]).toEqual([index, start]);
          if (fault === null) looped.append(bytes, start, stop);
        }
        expect(looped.length).toBe(single.length);
      }
      if (isUtf8(single)) expect(values(looped)).toEqual(values(single));
    }), { numRuns: 1_000 });
  });

  test.each(TYPES)('WHEN a row has no %s because it has ended THEN the loop takes none, whatever stands behind the row', (name, type) => {
    for (const behind of ['', '-5', '7', 't', '2024-02-29 00:00:00', 'x']) {
      const field = { id: 1, name: 'c', required: false, type } as const;
      const { column } = makeSlot(scalar(name, name === 'numeric' ? 4 : null), field, { enabled: false, count: 0 });
      const bytes = Buffer.from(`ab${behind}`);
      // Rows `a` and `ab`, whose only field has been taken.
      const cursors = Uint32Array.of(2, 3);
      expect([behind, column.takePlainFields({ bytes, cursors, ends: Uint32Array.of(1, 2), rows: 2 }, 0)]).toEqual([behind, 0]);
      expect([column.takePlainFields({ bytes, cursors, ends: Uint32Array.of(1, 2), rows: 2 }, 1), ...cursors]).toEqual([1, 2, 3]);
    }
  });

  test('WHEN texts are as Materialize writes them THEN the loop takes them', () => {
    const samples: Readonly<Record<string, readonly string[]>> = {
      'smallint': ['0', '-32768'], 'integer': ['2147483647'], 'bigint': ['0', '-5', '123456789', '1234567890', '-123456789012345'],
      'numeric': ['1', '-0.5', '12345678.1234', '0.0001'], 'double precision': ['1.5', '-0', '1234567.25'], 'real': ['0.1'], 'boolean': ['t'],
      'date': ['2024-02-29'], 'timestamp': ['2024-02-29 23:59:59', '1999-12-31 00:00:00.000001'], 'timestamptz': ['2024-02-29 23:59:59.5+00'],
      'text': ['', 'a', 'é'],
    };
    for (const [name, type] of TYPES) {
      for (const text of samples[name] ?? []) {
        const field = { id: 1, name: 'c', required: false, type } as const;
        const { column } = makeSlot(scalar(name, name === 'numeric' ? 4 : null), field, { enabled: false, count: 0 });
        const bytes = Buffer.from(text);
        const cursors = Uint32Array.of(0);
        const taken = column.takePlainFields({ bytes, cursors, ends: Uint32Array.of(bytes.length), rows: 1 }, 0);
        expect([name, text, taken, cursors[0]]).toEqual([name, text, 1, bytes.length + 1]);
      }
    }
  });
});

/** The message of the fault of the value, null without one. */
function attempt(run: () => void): string | null {
  try {
    run();
    return null;
  } catch (thrown) {
    if (thrown instanceof ValueFault) return thrown.message;
    throw thrown;
  }
}

function isUtf8(column: Column): boolean {
  return attempt(() => void column.toArrow(false)) === null;
}
