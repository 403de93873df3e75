/**
 * Any type of any depth, any values: written by a formatter that follows the reference's rules of quoting (and
 * shares no code with the product), decoded by the product, read back by DuckDB.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { type SqlType, scalar } from '../../../src/relation/sql-type.ts';
import { type Judge, canonical, openJudge } from '../../e2e/write/duckdb.ts';
import { chunkOf, planOf, writeSpan } from '../../e2e/write/rows.ts';

type Value = null | number | string | boolean | readonly Value[] | { readonly [name: string]: Value } | Map<string, Value>;

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

const types: fc.Arbitrary<SqlType> = fc.letrec<{ type: SqlType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'type' },
    fc.constantFrom(scalar('integer'), scalar('text'), scalar('boolean')),
    tie('type').map((element): SqlType => ({ kind: 'list', element })),
    tie('type').map((value): SqlType => ({ kind: 'map', value })),
    fc.array(tie('type'), { minLength: 1, maxLength: 3 }).map((fields): SqlType => ({
      kind: 'record', fields: fields.map((type, index) => ({ name: `f${index}`, type, nullable: true })),
    })),
  ),
})).type;

const nasty = fc.oneof(
  fc.constantFrom('', 'NULL', 'null', 'a', '\\', '"', '""', '{', '}', '(', ')', ',', '=>', '=', '[', ']', ' ', '\t', '\n', '\r', '\f', '\v', '\\N', 'é', '😀'),
  fc.string({ maxLength: 6 }), fc.array(fc.constantFrom('\\', '"', '{', '}', '(', ')', ',', '=', '>', ' ', '[', ']', '\t', 'N'), { maxLength: 8 }).map((letters) => letters.join('')),
).filter((text) => !text.includes('\0'));

function valuesOf(type: SqlType): fc.Arbitrary<Value> {
  const some = ((): fc.Arbitrary<Value> => {
    if (type.kind === 'list') return fc.array(valuesOf(type.element), { maxLength: 3 });
    if (type.kind === 'map') {
      return fc.array(fc.tuple(nasty, valuesOf(type.value)), { maxLength: 3 }).map((entries) => new Map(entries));
    }
    if (type.kind === 'record') return fc.record(Object.fromEntries(type.fields.map((field) => [field.name, valuesOf(field.type)])));
    if (type.kind !== 'scalar') throw new Error('not generated');
    return type.name === 'integer' ? fc.integer() : type.name === 'boolean' ? fc.boolean() : nasty;
  })();
  return fc.option(some, { freq: 5, nil: null });
}

const nestsBare = (type: SqlType): boolean => type.kind === 'list' || type.kind === 'map' || (type.kind === 'scalar' && type.name !== 'text');

/** `special`: what forces quotes; `escape`: how a quote is written inside of them. */
function nest(type: SqlType, value: Value, nullText: string, special: RegExp, doubleQuotes: boolean): string {
  if (value === null) return nullText;
  const text = format(type, value);
  if (nestsBare(type)) return text;
  return quoteIfNeeded(text, special, doubleQuotes, nullText);
}

function quoteIfNeeded(text: string, special: RegExp, doubleQuotes: boolean, nullText: string): string {
  if (text !== '' && text !== (nullText === '' ? undefined : nullText) && !special.test(text)) return text;
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', doubleQuotes ? '""' : '\\"');
  return `"${escaped}"`;
}

const LIST = /[{},"\\ \t\n\f\r]/;
const MAP = /[{},"\\ \t\n\f\r=>]/;
const RECORD = /[(),"\\ \t\n\f\r]/;

function format(type: SqlType, value: Exclude<Value, null>): string {
  if (type.kind === 'list') return `{${(value as readonly Value[]).map((item) => nest(type.element, item, 'NULL', LIST, false)).join(',')}}`;
  if (type.kind === 'map') {
    const entries = [...(value as Map<string, Value>)].map(([key, item]) =>
      `${quoteIfNeeded(key, MAP, false, 'NULL')}=>${nest(type.value, item, 'NULL', MAP, false)}`);
    return `{${entries.join(',')}}`;
  }
  if (type.kind === 'record') {
    const fields = type.fields.map((field) => nest(field.type, (value as Record<string, Value>)[field.name] ?? null, '', RECORD, true));
    return `(${fields.join(',')})`;
  }
  return typeof value === 'boolean' ? (value ? 't' : 'f') : String(value as number | string);
}

function copyEscaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
}

function expected(value: Value): unknown {
  if (value instanceof Map) return [...value].map(([key, item]) => [key, expected(item)]);
  if (Array.isArray(value)) return value.map((item: Value) => expected(item));
  if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expected(item as Value)]));
  return value;
}

test('GIVEN any nesting of lists, maps and records WHEN rows are written THEN DuckDB reads the values that went in', async () => {
  const tables = types.chain((type) => fc.tuple(fc.constant(type), fc.array(valuesOf(type), { minLength: 1, maxLength: 12 })));
  await fc.assert(fc.asyncProperty(tables, async ([type, values]) => {
    const plan = planOf([{ name: 'c', type, nullable: true }]);
    const rows = values.map((value) => ({ row: value === null ? '\\N' : copyEscaped(format(type, value)) }));
    const { files } = await writeSpan(plan, [chunkOf(rows)]);
    const read = await judge.rows(files[0]!.bytes, 'select c from read_parquet($file)');
    expect(read.map((row) => canonical(row['c']!))).toEqual(values.map(expected));
  }), { numRuns: 400 });
});
