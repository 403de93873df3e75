/**
 * CREATE TABLE, CREATE TYPE, DROP and ALTER CLUSTER, as far as a demo and tests need them. In: a statement. Out: the
 * command tag, after the world was changed.
 */
import type { Column } from '../../relation/relation.ts';
import { parseSqlType } from '../../relation/sql-type-text.ts';
import { type SqlType, scalar } from '../../relation/sql-type.ts';
import type { SessionVariables } from './session-variables.ts';
import { type SqlStatement, type SqlToken, type TokenCursor, cursorOver } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';
import type { StandInRelation, World } from './world.ts';

export interface DefinitionSession {
  readonly world: World;
  readonly variables: SessionVariables;
  /** Time at which a table made now starts. */
  startTime(): bigint;
}

/** Does the statement; throws a StatementError for what is not supported or not there. */
export function defineObject(session: DefinitionSession, statement: SqlStatement): string {
  const cursor = cursorOver(statement.tokens);
  if (cursor.takeWords('create', 'table')) return createTable(session, cursor, statement.sql);
  if (cursor.takeWords('create', 'type')) return createType(session, cursor, statement.sql);
  if (cursor.takeWords('drop')) return dropRelation(session, cursor);
  if (cursor.takeWords('alter', 'cluster')) return alterCluster(session, cursor);
  if (cursor.takeWords('create', 'cluster')) {
    const [name = ''] = cursor.takeName() ?? cursor.unexpected('identifier');
    session.world.setReplicas(name, 1);
    return 'CREATE CLUSTER';
  }
  return failStatement('0A000', 'this stand-in cannot define that kind of object');
}

function createTable(session: DefinitionSession, cursor: TokenCursor, sql: string): string {
  const place = placeOf(session, cursor.takeName() ?? cursor.unexpected('identifier'));
  if (session.world.findRelation(place.database, place.schema, place.name) !== null) {
    failStatement('42710', `table "${place.database}.${place.schema}.${place.name}" already exists`);
  }
  const columns: Column[] = [];
  const columnTypeNames: Record<string, string> = {};
  for (const part of readParts(cursor)) {
    const [name, ...rest] = part;
    if (name === undefined) continue;
    const constraint = rest.findIndex(({ kind, text }) => kind === 'word' && ['not', 'null', 'default'].includes(text));
    const typeTokens = constraint < 0 ? rest : rest.slice(0, constraint);
    const nullable = !rest.some(({ text }, i) => text === 'not' && rest[i + 1]?.text === 'null');
    const { type, typeName } = readType(session.world, typeTokens, sql);
    if (typeName !== null) columnTypeNames[name.text] = typeName;
    columns.push({ name: name.text, type, nullable });
  }
  const definition = { ...place, kind: 'table' as const, columns, keys: [], columnTypeNames };
  const start = session.startTime();
  const created = session.world.createRelation(definition, start);
  session.world.advance(start + 1n, created);
  return 'CREATE TABLE';
}

function createType(session: DefinitionSession, cursor: TokenCursor, sql: string): string {
  const { name, schema } = placeOf(session, cursor.takeName() ?? cursor.unexpected('identifier'));
  if (!cursor.takeWords('as')) cursor.unexpected('AS');
  const kind = cursor.takeWords('list') ? 'list' : cursor.takeWords('map') ? 'map' : 'record';
  const partTypeNames: Record<string, string> = {};
  const parts = readParts(cursor);
  const typeOf = (tokens: readonly SqlToken[], part: string): SqlType => {
    const { type, typeName } = readType(session.world, tokens, sql);
    if (typeName !== null) partTypeNames[part] = typeName;
    return type;
  };
  /** `ELEMENT TYPE = int4`: what follows the equals sign of the named property. */
  const property = (word: string, part: string): SqlType => {
    const found = parts.find(([first, second]) => first?.text === word && second?.text === 'type');
    if (found === undefined) return failStatement('42601', `${word.toUpperCase()} TYPE option is required`);
    return typeOf(found.slice(3), part);
  };
  let type: SqlType;
  if (kind === 'list') type = { kind, element: property('element', 'element') };
  else if (kind === 'map') type = { kind, value: property('value', 'value') };
  else {
    const fields = parts.map(([field, ...rest]) => {
      const fieldName = field?.text ?? '';
      return { name: fieldName, type: typeOf(rest, fieldName), nullable: true };
    });
    type = { kind, fields };
  }
  session.world.createType({ name, schema, type, partTypeNames });
  return 'CREATE TYPE';
}

function dropRelation(session: DefinitionSession, cursor: TokenCursor): string {
  const kind = cursor.takeWords('materialized', 'view') ? 'materialized-view' : (cursor.next()?.text ?? '');
  const ifExists = cursor.takeWords('if', 'exists');
  const place = placeOf(session, cursor.takeName() ?? cursor.unexpected('identifier'));
  const relation: StandInRelation | null = session.world.findRelation(place.database, place.schema, place.name);
  if (relation !== null && relation.kind !== kind) failStatement('XX000', `"${place.name}" is not of that type`);
  if (relation === null && !ifExists) failStatement('XX000', `unknown catalog item '${place.name}'`);
  if (relation !== null) session.world.drop(relation);
  return `DROP ${kind.replaceAll('-', ' ').toUpperCase()}`;
}

function alterCluster(session: DefinitionSession, cursor: TokenCursor): string {
  const [name = ''] = cursor.takeName() ?? cursor.unexpected('identifier');
  if (!session.world.clusters.has(name)) failStatement('42704', `unknown cluster '${name}'`);
  if (!cursor.takeWords('set')) cursor.unexpected('SET');
  cursor.takeSymbol('(');
  if (!cursor.takeWords('replication', 'factor')) cursor.unexpected('REPLICATION FACTOR');
  cursor.takeSymbol('=');
  session.world.setReplicas(name, Number(cursor.next()?.text ?? '1'));
  return 'ALTER CLUSTER';
}

interface ObjectPlace {
  readonly database: string;
  readonly schema: string;
  readonly name: string;
}

function placeOf(session: DefinitionSession, name: readonly string[]): ObjectPlace {
  const last = name[name.length - 1] ?? '';
  const [firstOfPath = 'public'] = (session.variables.get('search_path') ?? 'public').split(',');
  const schema = name[name.length - 2] ?? firstOfPath.trim();
  return { name: last, schema, database: name[name.length - 3] ?? session.variables.get('database') ?? 'materialize' };
}

/** The comma separated parts of a parenthesised list. */
function readParts(cursor: TokenCursor): SqlToken[][] {
  if (!cursor.takeSymbol('(')) cursor.unexpected('left parenthesis');
  const parts: SqlToken[][] = [[]];
  for (let depth = 1; ; ) {
    const token = cursor.next() ?? cursor.unexpected('right parenthesis');
    if (token.kind === 'symbol') {
      if ('(['.includes(token.text)) depth++;
      if (')]'.includes(token.text) && --depth === 0) break;
      if (token.text === ',' && depth === 1) {
        parts.push([]);
        continue;
      }
    }
    parts[parts.length - 1]?.push(token);
  }
  return parts.filter((part) => part.length > 0);
}

function readType(world: World, tokens: readonly SqlToken[], sql: string): { type: SqlType; typeName: string | null } {
  const [first, last] = [tokens[0], tokens[tokens.length - 1]];
  if (first === undefined || last === undefined) return failStatement('42601', 'Expected a data type');
  const named = world.namedTypes.get(last.text);
  if (named !== undefined) return { type: named.type, typeName: named.name };
  const type = parseSqlType(sql.slice(first.start, last.end));
  if (type === null || type.kind === 'unsupported') return failStatement('XX000', `type "${last.text}" does not exist`);
  // Storage text of varchar(n) and character(n) does not depend on n here.
  return { type: type.kind === 'scalar' && type.name === 'name' ? scalar('name') : type, typeName: null };
}
