import { describe, expect, it } from 'vitest';

import { parseSqlType } from '../../../src/relation/sql-type-text.ts';
import { slicingColumns } from '../../../src/subscribe/slice-columns.ts';
import { subscribeSql } from '../../../src/subscribe/subscribe-sql.ts';

function relationOf(types: readonly string[], uniqueKeys: readonly (readonly number[])[] | null = null, names?: readonly string[]) {
  const columns = types.map((text, index) => ({ name: names?.[index] ?? `c${index}`, type: parseSqlType(text)!, nullable: true }));
  return { id: 'u1', database: 'd', schema: 's', name: 't', kind: 'table', columns, uniqueKeys } as const;
}

describe('GIVEN a relation to be cut into slices', () => {
  it('WHEN the sink has a key THEN by the key; else by the shortest known one; else by the whole row', () => {
    const relation = relationOf(['bigint', 'text', 'jsonb'], [[0, 1], [2]]);
    expect(slicingColumns(relation, [1, 0])).toEqual(['c1', 'c0']);
    expect(slicingColumns(relation, [])).toEqual(['c2']);
    expect(slicingColumns({ ...relation, uniqueKeys: null }, [])).toEqual(['c0', 'c1', 'c2']);
    expect(slicingColumns({ ...relation, uniqueKeys: [[]] }, [])).toEqual(['c0', 'c1', 'c2']);
  });

  it('WHEN a column has no text of its own, or shares its name THEN it is left out; without any other there are no slices', () => {
    expect(slicingColumns(relationOf(['regclass', '"char"', 'integer']), [])).toEqual(['c2']);
    expect(slicingColumns(relationOf(['regclass', '"char"']), [])).toBeNull();
    expect(slicingColumns(relationOf(['integer', 'integer', 'text'], null, ['x', 'x', 'y']), [])).toEqual(['y']);
    expect(slicingColumns(relationOf([]), [])).toBeNull();
  });

  it('THEN the statement keeps all columns in order and selects by a hash that is never NULL, in types that lose no bits', () => {
    const slice = { index: 2, count: 4, columns: ['id', 'we"ird'] };
    expect(subscribeSql({ database: 'd', schema: 's', name: 't', asOf: 9n, snapshot: true, slice })).toBe(
      'COPY (SUBSCRIBE (SELECT * FROM "d"."s"."t" WHERE seahash(concat("id"::text, "we""ird"::text)) % 4::uint8 = 2::uint8) '
      + 'WITH (PROGRESS) AS OF 9) TO STDOUT',
    );
  });
});
