import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RANGE_NAMES, SCALAR_NAMES, type SqlType, range, scalar } from '../../../src/relation/sql-type.ts';
import { formatSqlType, parseSqlType } from '../../../src/relation/sql-type-text.ts';

const leaf: fc.Arbitrary<SqlType> = fc.oneof(
  fc.constantFrom(...SCALAR_NAMES).map((name) => scalar(name)),
  fc.nat({ max: 39 }).map((scale) => scalar('numeric', scale)),
  fc.constantFrom(...RANGE_NAMES).map(range),
  fc.constantFrom('mine', 'materialize.public.mine', '"My ""own"" list"', 'list', 'record')
    .map((name): SqlType => ({ kind: 'unsupported', name })),
);

const { type } = fc.letrec<{ type: SqlType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    tie('type').map((element): SqlType => ({ kind: 'list', element })),
    // Arrays of arrays do not exist: dimensions are no part of an array's type.
    tie('type').filter((element) => element.kind !== 'array').map((element): SqlType => ({ kind: 'array', element })),
    tie('type').map((value): SqlType => ({ kind: 'map', value })),
    fc.array(fc.record({ name: fc.string({ unit: 'binary' }), type: tie('type'), nullable: fc.boolean() }), { maxLength: 3 })
      .map((fields): SqlType => ({ kind: 'record', fields })),
  ),
}));

describe('GIVEN any type', () => {
  it('WHEN its text is parsed THEN it is the same type', () => {
    fc.assert(fc.property(type, (original) => {
      expect(parseSqlType(formatSqlType(original))).toEqual(original);
    }), { numRuns: 1000 });
  });

  it('WHEN any text is parsed THEN the answer is a type or null, and a type round-trips', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), type.map((t) => formatSqlType(t).slice(1))), (text) => {
      const parsed = parseSqlType(text);
      const again = parsed === null ? null : parseSqlType(formatSqlType(parsed));
      expect(again).toEqual(parsed);
    }), { numRuns: 1000 });
    expect.hasAssertions();
  });
});
