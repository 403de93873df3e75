/**
 * The text of a type as Materialize prints it, to SqlType and back. In: what `mz_columns.type`, `format_type`,
 * `pg_typeof` or the types of an EXPLAIN say (`integer list`, `map[text=>numeric(39,2)]`,
 * `record(f1: integer,f2: text?)`). Out: the type at every depth.
 *
 * Invariants: `parseSqlType(formatSqlType(t))` is t; a name that is not built in becomes `unsupported` with the
 * name as written (the catalog may know it); text that is no type at all is null, never a guess.
 */
import {
  RANGE_NAMES,
  type RangeName,
  type RecordField,
  SCALAR_NAMES,
  type ScalarName,
  type SqlType,
  range,
  scalar,
} from './sql-type.ts';

/** A type with the `?` that EXPLAIN puts behind it when values may be NULL. */
export interface NullableType {
  readonly type: SqlType;
  readonly nullable: boolean;
}

/** Largest precision, and so largest scale, that Materialize gives numeric. */
const NUMERIC_MAX_SCALE = 39;

/** Deeper nesting than any real column; keeps hostile text from exhausting the stack. */
const MAX_DEPTH = 128;

const SCALARS: ReadonlyMap<string, ScalarName> = new Map<string, ScalarName>([
  ...SCALAR_NAMES.filter((name) => name !== '"char"').map((name): [string, ScalarName] => [name, name]),
  ['bool', 'boolean'],
  ['int2', 'smallint'],
  ['int', 'integer'],
  ['int4', 'integer'],
  ['int8', 'bigint'],
  ['float4', 'real'],
  ['float8', 'double precision'],
  ['decimal', 'numeric'],
  ['char', 'character'],
  ['bpchar', 'character'],
  ['character varying', 'varchar'],
  ['timestamp without time zone', 'timestamp'],
  ['timestamp with time zone', 'timestamptz'],
  ['time without time zone', 'time'],
]);

const RANGES: ReadonlySet<string> = new Set(RANGE_NAMES);

/** Names whose inside the text does not tell. */
const OPAQUE: ReadonlySet<string> = new Set(['list', 'map', 'record', 'array']);

interface Cursor {
  readonly text: string;
  at: number;
}

/** Parses one type; null when `text` is not the text of a type. A trailing `?` is not part of a type. */
export function parseSqlType(text: string): SqlType | null {
  const cursor: Cursor = { text, at: 0 };
  const type = readType(cursor, 0);
  skipSpaces(cursor);
  return type !== null && cursor.at === text.length ? type : null;
}

/** Parses `(integer, text?)`: the columns of a relation as EXPLAIN lists them; null when malformed. */
export function parseSqlTypeTuple(text: string): readonly NullableType[] | null {
  const cursor: Cursor = { text, at: 0 };
  if (!take(cursor, '(')) return null;
  const types: NullableType[] = [];
  if (!take(cursor, ')')) {
    do {
      const type = readNullableType(cursor, 0);
      if (type === null) return null;
      types.push(type);
    } while (take(cursor, ','));
    if (!take(cursor, ')')) return null;
  }
  skipSpaces(cursor);
  return cursor.at === text.length ? types : null;
}

/**
 * The type of a catalog row: the name, refined by the Postgres type modifier (-1 for none). Only numeric keeps
 * anything of it: `((precision << 16) | scale) + 4`.
 */
export function sqlTypeFromCatalog(name: string, typmod: number): SqlType | null {
  const type = parseSqlType(name);
  if (type === null || type.kind !== 'scalar' || type.name !== 'numeric' || typmod < 4) return type;
  return scalar('numeric', (typmod - 4) & 0xffff);
}

/** The spelling of Materialize's own EXPLAIN: lists as `t list`, maps as `map[text=>t]`, `?` on nullable fields. */
export function formatSqlType(type: SqlType): string {
  switch (type.kind) {
    case 'scalar':
      return formatScalar(type.name, type.scale);
    case 'range':
      return type.name;
    case 'list':
      return `${formatSqlType(type.element)} list`;
    case 'array':
      return `${formatSqlType(type.element)}[]`;
    case 'map':
      return `map[text=>${formatSqlType(type.value)}]`;
    case 'record':
      return `record(${type.fields.map(formatField).join(',')})`;
    case 'unsupported':
      return type.name;
  }
}

function formatScalar(name: ScalarName, scale: number | null): string {
  if (name === 'numeric' && scale !== null) return `numeric(${NUMERIC_MAX_SCALE},${scale})`;
  if (name === 'timestamptz') return 'timestamp with time zone';
  if (name === 'varchar') return 'character varying';
  return name;
}

function formatField(field: RecordField): string {
  const name = /^[A-Za-z_][A-Za-z0-9_$]*$/.test(field.name) ? field.name : `"${field.name.replaceAll('"', '""')}"`;
  return `${name}: ${formatSqlType(field.type)}${field.nullable ? '?' : ''}`;
}

function readNullableType(cursor: Cursor, depth: number): NullableType | null {
  const type = readType(cursor, depth);
  return type === null ? null : { type, nullable: take(cursor, '?') };
}

function readType(cursor: Cursor, depth: number): SqlType | null {
  if (depth > MAX_DEPTH) return null;
  skipSpaces(cursor);
  let type = readPrimary(cursor, depth);
  while (type !== null) {
    if (takePattern(cursor, /\??\[\]/y) !== null) {
      // Dimensions are no part of an array's type: int[] and int[][] are one type.
      if (type.kind !== 'array') type = { kind: 'array', element: type };
    } else if (takePattern(cursor, /\?? +list(?![\w$])/y) !== null) {
      type = { kind: 'list', element: type };
    } else {
      return type;
    }
  }
  return null;
}

function readPrimary(cursor: Cursor, depth: number): SqlType | null {
  if (take(cursor, 'map[')) return readMap(cursor, depth);
  if (take(cursor, 'record(')) return readRecord(cursor, depth);
  return readNamed(cursor);
}

function readMap(cursor: Cursor, depth: number): SqlType | null {
  const key = readType(cursor, depth + 1);
  if (key?.kind !== 'scalar' || key.name !== 'text' || !take(cursor, '=>')) return null;
  const value = readNullableType(cursor, depth + 1);
  return value !== null && take(cursor, ']') ? { kind: 'map', value: value.type } : null;
}

function readRecord(cursor: Cursor, depth: number): SqlType | null {
  const fields: RecordField[] = [];
  if (take(cursor, ')')) return { kind: 'record', fields };
  do {
    skipSpaces(cursor);
    const name = takeQuoted(cursor) ?? takePattern(cursor, /[^:",()]+/y);
    if (name === null || !take(cursor, ':')) return null;
    const type = readNullableType(cursor, depth + 1);
    if (type === null) return null;
    fields.push({ name, ...type });
  } while (take(cursor, ','));
  return take(cursor, ')') ? { kind: 'record', fields } : null;
}

/** A name of one or more parts, its further words and its modifiers: `timestamp(3) with time zone`. */
function readNamed(cursor: Cursor): SqlType | null {
  const start = cursor.at;
  const parts: { readonly name: string; readonly quoted: boolean }[] = [];
  do {
    const quoted = takeQuoted(cursor);
    const name = quoted ?? takePattern(cursor, /[\p{L}_][\p{L}\p{N}_$-]*/uy);
    if (name === null) return null;
    parts.push({ name: quoted === null ? name.toLowerCase() : name, quoted: quoted !== null });
  } while (takePattern(cursor, /\./y) !== null);
  const isSystem = parts.length === 1 || (parts.length === 2 && parts[0]?.name === 'pg_catalog');
  const last = parts[parts.length - 1];
  if (last === undefined || !isSystem) return unsupported(cursor, start);
  if (last.quoted) return last.name === 'char' ? scalar('"char"') : unsupported(cursor, start);
  let name = last.name;
  if (name === 'double' || name === 'character') name += takePattern(cursor, / +(precision|varying)\b/iy) ?? '';
  const modifiers = takePattern(cursor, /\( *-?\d+ *(, *-?\d+ *)?\)/y);
  if (name === 'timestamp' || name === 'time') name += takePattern(cursor, / +with(out)? +time +zone\b/iy) ?? '';
  return builtIn(name.toLowerCase().replaceAll(/ +/g, ' '), modifiers) ?? unsupported(cursor, start);
}

function builtIn(name: string, modifiers: string | null): SqlType | null {
  if (OPAQUE.has(name)) return null;
  if (RANGES.has(name)) return range(name as RangeName);
  const scalarName = SCALARS.get(name);
  if (scalarName !== undefined) return scalar(scalarName, scalarName === 'numeric' ? scaleOf(modifiers) : null);
  // Postgres names an array type by an underscore before its element.
  const element = /^_[^_]/.test(name) ? builtIn(name.slice(1), null) : null;
  return element === null ? null : { kind: 'array', element };
}

function scaleOf(modifiers: string | null): number | null {
  if (modifiers === null) return null;
  const [, scale = '0'] = modifiers.slice(1, -1).split(',');
  return Number(scale);
}

function unsupported(cursor: Cursor, start: number): SqlType {
  return { kind: 'unsupported', name: cursor.text.slice(start, cursor.at) };
}

function skipSpaces(cursor: Cursor): void {
  while (cursor.text[cursor.at] === ' ') cursor.at++;
}

/** Takes `token` after optional spaces. */
function take(cursor: Cursor, token: string): boolean {
  skipSpaces(cursor);
  if (!cursor.text.startsWith(token, cursor.at)) return false;
  cursor.at += token.length;
  return true;
}

/** Takes what the sticky `pattern` matches right here. */
function takePattern(cursor: Cursor, pattern: RegExp): string | null {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match === null) return null;
  cursor.at += match[0].length;
  return match[0];
}

function takeQuoted(cursor: Cursor): string | null {
  const quoted = takePattern(cursor, /"(?:[^"]|"")*"/y);
  return quoted === null ? null : quoted.slice(1, -1).replaceAll('""', '"');
}
