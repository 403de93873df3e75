import type { Data } from 'apache-arrow';
import { describe, expect, test } from 'vitest';

import type { IcebergType, NestedField, Schema } from '../../../src/iceberg/types.ts';
import { type Slots, shred } from '../../../src/parquet/levels.ts';
import { parquetColumns, parquetTree } from '../../../src/parquet/schema.ts';
import { type Row, toBatch } from '../../property/parquet/arrow-values.ts';

let id = 0;
const field = (name: string, type: IcebergType, required = true): NestedField => ({ id: ++id, name, required, type });
const repeated = (element: IcebergType): IcebergType => ({ kind: 'list', elementId: ++id, element, elementRequired: true });
const struct = (...fields: NestedField[]): IcebergType => ({ kind: 'struct', fields });
const long: IcebergType = { kind: 'long' };
const text: IcebergType = { kind: 'string' };

/** The document of the Dremel paper (Melnik et al., 2010, figures 2 and 3). `repeated` there is a required list here: the same levels. */
const DOCUMENT: Schema = {
  schemaId: 0, identifierFieldIds: [],
  fields: [
    field('DocId', long),
    field('Links', struct(field('Backward', repeated(long)), field('Forward', repeated(long))), false),
    field('Name', repeated(struct(
      field('Language', repeated(struct(field('Code', text), field('Country', text, false)))), field('Url', text, false),
    ))),
  ],
};
const R1: Row = {
  DocId: 10n, Links: { Backward: [], Forward: [20n, 40n, 60n] },
  Name: [
    { Language: [{ Code: 'en-us', Country: 'us' }, { Code: 'en', Country: null }], Url: 'http://A' },
    { Language: [], Url: 'http://B' }, { Language: [{ Code: 'en-gb', Country: 'gb' }], Url: null },
  ],
};
const R2: Row = { DocId: 20n, Links: { Backward: [10n, 30n], Forward: [80n] }, Name: [{ Language: [], Url: 'http://C' }] };

interface Levels { readonly repetition: readonly number[]; readonly definition: readonly number[]; readonly present: number }

function levelsOf(schema: Schema, rows: readonly Row[]): Record<string, Levels> {
  const tree = parquetTree(schema);
  const columns = parquetColumns(tree);
  const seen: (readonly [Slots, Data])[] = [];
  shred(tree, toBatch(schema, rows), (slots, data) => { seen.push([slots, data]); });
  return Object.fromEntries(columns.map((column, index) => {
    const [slots] = seen[index]!;
    return [column.path.filter((name) => name !== 'list' && name !== 'element').join('.'), {
      repetition: slots.repetition === null ? Array.from({ length: slots.length }, () => 0) : [...slots.repetition],
      definition: slots.definition === null ? Array.from({ length: slots.length }, () => column.maxDefinition) : [...slots.definition],
      present: slots.count,
    }];
  }));
}

describe('GIVEN the two documents of the Dremel paper', () => {
  const levels = levelsOf(DOCUMENT, [R1, R2]);
  test.each([
    ['DocId', [0, 0], [0, 0], 2], ['Name.Url', [0, 1, 1, 0], [2, 2, 1, 2], 3], ['Links.Forward', [0, 1, 1, 0], [2, 2, 2, 2], 4],
    ['Links.Backward', [0, 0, 1], [1, 2, 2], 2], ['Name.Language.Code', [0, 2, 1, 1, 0], [2, 2, 1, 2, 1], 3],
    ['Name.Language.Country', [0, 2, 1, 1, 0], [3, 2, 1, 3, 1], 2],
  ])('THEN the levels of %s are those of figure 3', (path, repetition, definition, present) => {
    expect(levels[path]).toEqual({ repetition, definition, present });
  });
});

test('GIVEN a required leaf below an optional struct THEN a null struct is a slot without a value', () => {
  const schema: Schema = { schemaId: 0, identifierFieldIds: [], fields: [field('s', struct(field('x', long)), false)] };
  expect(levelsOf(schema, [{ s: { x: 1n } }, { s: null }, { s: { x: 2n } }])['s.x']).toEqual({ repetition: [0, 0, 0], definition: [1, 0, 1], present: 2 });
});

test('GIVEN optional columns without any null THEN no level is made, the runs are known', () => {
  const schema: Schema = { schemaId: 0, identifierFieldIds: [], fields: [field('x', long, false)] };
  const seen: Slots[] = [];
  shred(parquetTree(schema), toBatch(schema, [{ x: 1n }, { x: 2n }]), (slots) => { seen.push(slots); });
  expect(seen).toEqual([{ length: 2, definition: null, repetition: null, count: 2, positions: null }]);
});
