import { describe, expect, test } from 'vitest';

import type { IcebergType, NestedField, Schema } from '../../../src/iceberg/types.ts';
import type { Column } from '../../../src/relation/relation.ts';
import type { SqlType } from '../../../src/relation/sql-type.ts';
import { distinctNames, planSchema, planWrite } from '../../../src/write/table-plan.ts';
import { checkKeyTypes, checkMappable } from '../../../src/write/type-mapping.ts';
import { column, parseSqlType, relationOf } from '../../e2e/write/rows.ts';

const settings = { codec: 'zstd', codecLevel: 3, targetFileSizeBytes: 1, rowErrorPolicy: 'halt' } as const;

function schemaOf(columns: readonly Column[], mode: 'upsert' | 'append' = 'upsert', keyColumns: readonly number[] = []): Schema {
  const planned = planSchema({ relation: relationOf(columns), mode, keyColumns, uuidMapping: 'fixed' });
  if (planned.kind !== 'schema') throw new Error(planned.message);
  return planned.schema;
}

function write(columns: readonly Column[], loaded: Schema, mode: 'upsert' | 'append' = 'upsert') {
  const request = { relation: relationOf(columns), mode, keyColumns: mode === 'upsert' ? [0] : [], uuidMapping: 'fixed' } as const;
  return planWrite(request, 'ns.t', loaded, settings);
}

/** All ids in the order of a walk, parents first; names for reading. */
function ids(fields: readonly NestedField[]): readonly (readonly [string, number])[] {
  const inside = (name: string, type: IcebergType): readonly (readonly [string, number])[] => {
    if (type.kind === 'struct') return ids(type.fields).map(([inner, id]) => [`${name}.${inner}`, id]);
    if (type.kind === 'list') return [[`${name}.element`, type.elementId], ...inside(`${name}.element`, type.element)];
    if (type.kind !== 'map') return [];
    return [[`${name}.key`, type.keyId], [`${name}.value`, type.valueId], ...inside(`${name}.value`, type.value)];
  };
  return fields.flatMap((field) => [[field.name, field.id] as const, ...inside(field.name, field.type)]);
}

/** Other ids everywhere, as a catalog that assigns its own gives out. */
function renumbered(schema: Schema): Schema {
  let next = 1000;
  const retype = (type: IcebergType): IcebergType => {
    if (type.kind === 'struct') return { ...type, fields: type.fields.map(refield) };
    if (type.kind === 'list') return { ...type, elementId: next--, element: retype(type.element) };
    if (type.kind === 'map') return { ...type, keyId: next--, valueId: next--, value: retype(type.value) };
    return type;
  };
  const refield = (field: NestedField): NestedField => ({ ...field, id: next--, type: retype(field.type) });
  return { ...schema, fields: schema.fields.map(refield) };
}

describe('GIVEN a relation whose table is to be created', () => {
  test('WHEN it has nested columns THEN ids go depth-first from 1 and the entries of a map take one', () => {
    const schema = schemaOf([
      column('r', 'record(a: integer,b: text list)'), column('m', 'map[text=>integer list]'), column('k', 'integer[]'), column('last', 'integer'),
    ]);
    expect(ids(schema.fields)).toEqual([
      ['r', 1], ['r.a', 2], ['r.b', 3], ['r.b.element', 4], ['m', 5], ['m.key', 7], ['m.value', 8], ['m.value.element', 9],
      ['k', 10], ['k.items', 11], ['k.items.element', 12], ['k.dimensions', 13], ['last', 14],
    ]);
  });

  test('WHEN columns are NOT NULL THEN they are required, and elements and map values stay optional', () => {
    const schema = schemaOf([column('a', 'integer list', false), column('m', 'map[text=>integer]')]);
    expect(schema.fields.map((field) => field.required)).toEqual([true, false]);
    expect(schema.fields[0]!.type).toMatchObject({ elementRequired: false });
    expect(schema.fields[1]!.type).toMatchObject({ valueRequired: false });
  });

  test('WHEN the mode is append THEN _mz_diff and _mz_timestamp come last, required', () => {
    expect(schemaOf([column('a', 'integer')], 'append').fields.slice(1)).toEqual([
      { id: 2, name: '_mz_diff', required: true, type: { kind: 'int' } },
      { id: 3, name: '_mz_timestamp', required: true, type: { kind: 'long' } },
    ]);
  });

  test.each(['_mz_diff', '_mz_timestamp', '_MZ_Diff'])('WHEN an append relation has a column %s THEN it is refused', (name) => {
    const planned = planSchema({ relation: relationOf([column(name, 'integer')]), mode: 'append', keyColumns: [], uuidMapping: 'fixed' });
    expect(planned).toEqual({ kind: 'conflict', message: `column "${name}" conflicts with the system column that MODE APPEND adds to the Iceberg table` });
  });

  test('WHEN the key is NOT NULL THEN its ids are the identifier fields, behind nested columns too', () => {
    expect(schemaOf([column('r', 'record(a: integer)'), column('k', 'text', false)], 'upsert', [1]).identifierFieldIds).toEqual([3]);
    expect(schemaOf([column('k', 'text'), column('l', 'text', false)], 'upsert', [0, 1]).identifierFieldIds).toEqual([]);
  });

  test.each([
    [['a', 'a', 'a2'], ['a', 'a3', 'a2']], [['a', 'a', 'a'], ['a', 'a2', 'a3']], [['x', 'y'], ['x', 'y']],
    [['a', 'a2', 'a', 'a'], ['a', 'a2', 'a3', 'a4']],
  ])('WHEN its columns are named %j THEN the table has %j', (names, expected) => {
    expect(distinctNames(names)).toEqual(expected);
  });
});

describe('GIVEN a table that exists', () => {
  const columns = [column('id', 'bigint', false), column('u', 'uuid'), column('us', 'uuid list'), column('r', 'record(a: integer,b: uuid)')];
  const schema = schemaOf(columns);

  test('WHEN the catalog gave other ids THEN the plan takes the ids of the table at every depth', () => {
    const loaded = renumbered(schema);
    const outcome = write(columns, loaded);
    expect(outcome).toMatchObject({ kind: 'plan', plan: { relationName: 'materialize.public.t', schema: loaded } });
    expect(outcome.kind === 'plan' && outcome.plan.columns.map(({ field }) => field)).toEqual(loaded.fields);
  });

  test.each(['string', 'uuid', 'fixed'] as const)('WHEN its uuids are kept as %s, nested ones too, THEN it is served as found', (kind) => {
    const as = (type: IcebergType): IcebergType => {
      if (type.kind === 'fixed') return kind === 'fixed' ? { kind, length: 16 } : { kind };
      if (type.kind === 'list') return { ...type, element: as(type.element) };
      return type.kind === 'struct' ? { ...type, fields: type.fields.map((field) => ({ ...field, type: as(field.type) })) } : type;
    };
    const loaded = { ...schema, fields: schema.fields.map((field) => ({ ...field, type: as(field.type) })) };
    expect(write(columns, loaded).kind).toBe('plan');
  });

  test('WHEN a text column meets fixed(16) THEN it is a mismatch and not a failure of the first row', () => {
    expect(write([column('u', 'text')], schemaOf([column('u', 'uuid')])).kind).toBe('mismatch');
  });

  const [id, u, us, r] = schema.fields as readonly [NestedField, NestedField, NestedField, NestedField];
  test.each<[string, readonly NestedField[]]>([
    ['fewer', [id, u, us]],
    ['more', [id, u, us, r, { id: 99, name: 'x', required: false, type: { kind: 'int' } }]],
    ['renamed', [id, u, us, { ...r, name: 'R' }]],
    ['retyped', [{ ...id, type: { kind: 'int' } }, u, us, r]],
    ['nullable', [{ ...id, required: false }, u, us, r]],
    ['required', [id, { ...u, required: true }, us, r]],
    ['deeper retyped', [id, u, { ...us, type: { ...us.type, element: { kind: 'long' } } as IcebergType }, r]],
    ['doubled', [id, u, us, us]],
  ])('WHEN its columns are %s THEN it is a mismatch that shows both schemas', (_what, fields) => {
    const outcome = write(columns, { ...schema, fields });
    expect(outcome.kind).toBe('mismatch');
    const message = outcome.kind === 'mismatch' ? outcome.message : '';
    expect(message).toMatch(/^Iceberg table 'ns\.t' schema does not match expected schema\. Current schema: \{.*\}, expected schema: \{.*\}$/);
    const [current, expected] = message.split(', expected schema: ');
    expect(current!.split('Current schema: ')[1]).not.toBe(expected);
  });

  test('WHEN its columns stand in another order THEN they are found by name', () => {
    expect(write(columns, { ...schema, fields: [r, us, u, id] }).kind).toBe('plan');
  });

  test('WHEN the mode is append and the table lacks the system columns THEN it is a mismatch', () => {
    expect(write(columns, schema, 'append').kind).toBe('mismatch');
  });
});

describe('GIVEN columns of all kinds', () => {
  const odd: SqlType = { kind: 'unsupported', name: 'box' };
  test('WHEN several have no Iceberg type THEN all are named at once, with the depth', () => {
    const check = checkMappable([
      column('fine', 'integer'), { name: 'b', type: odd, nullable: true },
      { name: 'l', type: { kind: 'list', element: { kind: 'record', fields: [{ name: 'f', type: odd, nullable: true }] } }, nullable: true },
      column('n', 'numeric(39,39)'),
    ]);
    const message = check.kind === 'unmappable' ? check.message : '';
    expect(message).toMatch(/^Cannot encode the following columns\/types: \[.*\]$/);
    for (const part of ['"b" box', '"l" record(f: box?) list', 'field "f"', 'Numeric max scale 39 out of range']) expect(message).toContain(part);
    expect(message).not.toContain('fine');
  });

  test.each([
    'boolean', 'smallint', 'uint8', 'numeric', 'date', 'time', 'timestamp', 'timestamptz', 'interval', 'mz_timestamp', 'text', '"char"', 'bytea',
    'jsonb', 'uuid', 'oid', 'regtype', 'mz_aclitem', 'int2vector',
  ])('WHEN the key is %s THEN it is allowed', (type) => {
    expect(checkKeyTypes([column('k', type)], [0])).toBeNull();
  });

  test.each(['real', 'double precision', 'integer list', 'integer[]', 'map[text=>text]', 'record(a: integer)', 'int4range'])('WHEN the key is %s THEN it is refused', (type) => {
    expect(checkKeyTypes([column('k', type), column('other', 'real')], [0])).toMatch(/^"k" .* cannot be used as an Iceberg equality delete key$/);
  });

  test('WHEN a scale is declared THEN the decimal has it', () => {
    expect(schemaOf([column('n', 'numeric(39,0)'), column('m', 'numeric')]).fields.map(({ type }) => type)).toEqual([
      { kind: 'decimal', precision: 38, scale: 0 }, { kind: 'decimal', precision: 38, scale: 10 },
    ]);
    expect(parseSqlType('numeric(39,0)')).toMatchObject({ scale: 0 });
  });
});
