/**
 * A relation of Materialize as its catalog shows it: id, kind, columns with types at every depth, unique keys.
 * In: a session and the name as written in FROM. Out: a Relation, or relation-missing.
 *
 * Built-in types are read from their names, named list, map and composite types by id from the catalog. Anonymous
 * nested types (`int list`, `ROW(…)` in a view) stand nowhere in the catalog; the types of an EXPLAIN show them. What
 * stays unknown is `unsupported`, and the type mapping says which column it was. Keys come from an EXPLAIN too, and
 * are null when it fails: not knowing a key is not knowing that there is none.
 */
import type { QualifiedName } from '../definition/definitions.ts';
import { type ErrorCode, SinkError } from '../errors.ts';
import type { Column, Relation, RelationKind } from '../relation/relation.ts';
import type { SqlType } from '../relation/sql-type.ts';
import { sqlTypeFromCatalog } from '../relation/sql-type-text.ts';
import { parseExplainKeys, parseExplainTypes } from '../subscribe/explain-text.ts';
import { qualifiedIdentifier, quoteLiteral } from '../subscribe/subscribe-sql.ts';
import { type Session, queryText } from './materialize-connect.ts';

/** First OID of types that users make; everything below is built in. */
const FIRST_USER_OID = 20_000;

const KINDS: ReadonlyMap<string, RelationKind> = new Map([
  ['table', 'table'],
  ['source', 'source'],
  ['materialized-view', 'materialized-view'],
  ['view', 'view'],
  ['index', 'index'],
]);

interface FoundRelation {
  readonly id: string;
  readonly kind: RelationKind;
  readonly database: string;
  readonly schema: string;
  readonly name: string;
}

/** Looks the relation up. Rejects with relation-missing, permission-denied, source-disconnected and the like. */
export async function discoverRelation(session: Session, name: QualifiedName): Promise<Relation> {
  const found = await findRelation(session, name);
  const columns = await readColumns(session, found);
  const keys = await explain(session, found, 'keys');
  return { ...found, columns, uniqueKeys: keys === null ? null : checkedKeys(keys, columns.length) };
}

/** Every column index must exist: keys of another plan would vouch for the wrong columns. */
function checkedKeys(plan: string, columnCount: number): Relation['uniqueKeys'] {
  const keys = parseExplainKeys(plan);
  return keys?.every((key) => key.every((column) => column < columnCount)) === true ? keys : null;
}

async function findRelation(session: Session, name: QualifiedName): Promise<FoundRelation> {
  const database = name.database ?? session.parameters.get('database') ?? 'materialize';
  const schemas = name.schema === null ? searchPath(session.parameters.get('search_path')) : [name.schema];
  const rows = await queryText(session, `
    SELECT o.id, o.type, d.name, s.name, o.name
    FROM mz_catalog.mz_objects AS o
    JOIN mz_catalog.mz_schemas AS s ON s.id = o.schema_id
    LEFT JOIN mz_catalog.mz_databases AS d ON d.id = s.database_id
    WHERE o.name = ${quoteLiteral(name.name)}
      AND s.name IN (${schemas.map(quoteLiteral).join(', ')})
      AND (d.name = ${quoteLiteral(database)} OR d.name IS NULL)`);
  const candidates = rows
    .filter(([, type]) => type !== 'type' && type !== 'function' && type !== 'secret' && type !== 'connection')
    .map(([id, type, inDatabase, schema, itsName]): FoundRelation => ({
      id: id ?? '',
      kind: KINDS.get(type ?? '') ?? 'other',
      // Schemas of the system belong to no database.
      database: inDatabase ?? '',
      schema: schema ?? '',
      name: itsName ?? '',
    }));
  for (const schema of schemas) {
    const here = candidates.filter((candidate) => candidate.schema === schema);
    const first = here.find((candidate) => candidate.kind !== 'other') ?? here[0];
    if (first !== undefined) return first;
  }
  const written = qualifiedIdentifier([name.database ?? '', name.schema ?? '', name.name]);
  throw new SinkError('relation-missing', `The relation ${written} does not exist in database ${database}, ` +
    `schema ${schemas.join(' or ')}.`);
}

/** Schemas of a search_path as the session reports it: `public, "My Schema"`. */
function searchPath(text: string | undefined): readonly string[] {
  const schemas = [...(text ?? '').matchAll(/"((?:[^"]|"")*)"|([^",\s]+)/g)].map(([, quoted, plain]) => (
    plain ?? (quoted ?? '').replaceAll('""', '"')
  ));
  return schemas.length === 0 ? ['public'] : schemas;
}

async function readColumns(session: Session, relation: FoundRelation): Promise<readonly Column[]> {
  const columns = await catalogColumns(session, relation.id, 0);
  if (columns.every((column) => isKnown(column.type))) return columns;
  const plan = await explain(session, relation, 'types');
  const explained = plan === null ? null : parseExplainTypes(plan);
  if (explained === null || explained.length !== columns.length) return columns;
  const completed: Column[] = [];
  for (const [i, column] of columns.entries()) {
    const type = isKnown(column.type) ? undefined : explained[i]?.type;
    completed.push(type === undefined ? column : { ...column, type: await withNamedTypes(session, type, 0) });
  }
  return completed;
}

/** Columns of a relation, or fields of a named composite type: both are rows of mz_columns under an id. */
async function catalogColumns(session: Session, id: string, depth: number): Promise<readonly Column[]> {
  const rows = await queryText(session, `
    SELECT name, nullable, type, type_oid, type_mod
    FROM mz_catalog.mz_columns WHERE id = ${quoteLiteral(id)} ORDER BY position`);
  const columns: Column[] = [];
  for (const [name, nullable, type, oid, modifier] of rows) {
    const isNamed = Number(oid ?? 0) >= FIRST_USER_OID;
    columns.push({
      name: name ?? '',
      nullable: nullable !== 'f',
      type: isNamed
        ? await namedType(session, `t.oid = ${Number(oid)}`, type ?? '', depth)
        : builtInType(type ?? '', Number(modifier ?? -1)),
    });
  }
  return columns;
}

function builtInType(name: string, modifier: number): SqlType {
  return sqlTypeFromCatalog(name, modifier) ?? { kind: 'unsupported', name };
}

/** No real type nests deeper; the catalog can't hold a cycle, but its answers are not ours to trust. */
const MAX_DEPTH = 32;

/** The type that `condition` picks from mz_types, with all that it consists of. */
async function namedType(session: Session, condition: string, name: string, depth: number): Promise<SqlType> {
  const unknown: SqlType = { kind: 'unsupported', name };
  if (depth > MAX_DEPTH) return unknown;
  const rows = await queryText(session, `
    SELECT t.id, t.name, t.category, a.element_id, l.element_id, l.element_modifiers, m.value_id, m.value_modifiers
    FROM mz_catalog.mz_types AS t
    LEFT JOIN mz_catalog.mz_array_types AS a ON a.id = t.id
    LEFT JOIN mz_catalog.mz_list_types AS l ON l.id = t.id
    LEFT JOIN mz_catalog.mz_map_types AS m ON m.id = t.id
    WHERE ${condition}`);
  const [row] = rows;
  // Two types of one name in different schemas: text alone can't tell them apart.
  if (row === undefined || rows.length > 1) return unknown;
  const [id, itsName, category, arrayElement, listElement, listModifiers, mapValue, mapModifiers] = row;
  const inside = (insideId: string, modifiers: string | null): Promise<SqlType> => (
    namedOrBuiltIn(session, insideId, modifiers, depth + 1)
  );
  if (arrayElement) return { kind: 'array', element: await inside(arrayElement, null) };
  if (listElement) return { kind: 'list', element: await inside(listElement, listModifiers ?? null) };
  if (mapValue) return { kind: 'map', value: await inside(mapValue, mapModifiers ?? null) };
  if (category === 'composite' && id) return { kind: 'record', fields: await catalogColumns(session, id, depth + 1) };
  return { kind: 'unsupported', name: itsName ?? name };
}

/** A type by catalog id: `s…` ids are built in and are read from their name. */
async function namedOrBuiltIn(session: Session, id: string, modifiers: string | null, depth: number): Promise<SqlType> {
  const condition = `t.id = ${quoteLiteral(id)}`;
  if (id.startsWith('s')) {
    const [row] = await queryText(session, `SELECT t.name FROM mz_catalog.mz_types AS t WHERE ${condition}`);
    const type = builtInType(row?.[0] ?? id, Number(/-?\d+/.exec(modifiers ?? '')?.[0] ?? -1));
    if (type.kind !== 'unsupported') return type;
  }
  return namedType(session, condition, id, depth);
}

/** Puts named types where the text of an EXPLAIN only names them. */
async function withNamedTypes(session: Session, type: SqlType, depth: number): Promise<SqlType> {
  if (depth > MAX_DEPTH) return type;
  const inside = (inner: SqlType): Promise<SqlType> => withNamedTypes(session, inner, depth + 1);
  switch (type.kind) {
    case 'list':
      return { kind: 'list', element: await inside(type.element) };
    case 'array':
      return { kind: 'array', element: await inside(type.element) };
    case 'map':
      return { kind: 'map', value: await inside(type.value) };
    case 'record': {
      // One after the other: a session runs one query at a time.
      const fields: Column[] = [];
      for (const field of type.fields) fields.push({ ...field, type: await inside(field.type) });
      return { kind: 'record', fields };
    }
    case 'unsupported': {
      const name = /(?:^|\.)(?:"((?:[^"]|"")*)"|([^".]+))$/.exec(type.name);
      const plain = name?.[2] ?? name?.[1]?.replaceAll('""', '"') ?? type.name;
      // Only user-made types: the built-in ones were readable from their text, or have no inside.
      return namedType(session, `t.name = ${quoteLiteral(plain)} AND t.id LIKE 'u%'`, type.name, depth + 1);
    }
    case 'scalar':
    case 'range':
      return type;
  }
}

/** True when no part of the type is left open; a bare `list` or `record` hides its inside. */
function isKnown(type: SqlType): boolean {
  switch (type.kind) {
    case 'unsupported':
      return false;
    case 'list':
    case 'array':
      return isKnown(type.element);
    case 'map':
      return isKnown(type.value);
    case 'record':
      return type.fields.every((field) => isKnown(field.type));
    case 'scalar':
    case 'range':
      return true;
  }
}

const STOPS_DISCOVERY: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['source-disconnected', 'cluster-missing']);

/** The plan's text, or null when Materialize does not explain it (older versions, missing privileges). */
async function explain(session: Session, relation: FoundRelation, what: 'types' | 'keys'): Promise<string | null> {
  const name = qualifiedIdentifier([relation.database, relation.schema, relation.name]);
  try {
    const rows = await queryText(session, `EXPLAIN OPTIMIZED PLAN WITH (${what}) AS TEXT FOR SELECT * FROM ${name}`);
    return rows.map(([line]) => line ?? '').join('\n');
  } catch (thrown) {
    // These two say what is wrong with more than the plan; any other refusal means that the plan is not to be had.
    if (thrown instanceof SinkError && STOPS_DISCOVERY.has(thrown.code)) throw thrown;
    return null;
  }
}
