/**
 * What a statement does in this stand-in. In: one statement and the session it came from. Out: a plan that can be
 * described (columns) and run. Subscriptions are streamed by the session; everything about relations and session
 * state is done here; every other query goes to the SQL engine.
 */
import type { CatalogEngine, EngineAnswer } from './catalog-engine.ts';
import { type CursorStatement, parseCursorStatement } from './cursor-statements.ts';
import { type DefinitionSession, defineObject } from './definition-statements.ts';
import { explainTimestampText } from './explain-timestamp.ts';
import { explainText } from './explain-text.ts';
import { spelledContainers, toEngineLists } from './list-literals.ts';
import { type SessionVariables, canonicalVariable, isReadOnlyVariable } from './session-variables.ts';
import { type SqlStatement, type TokenCursor, cursorOver, splitStatements } from './sql-tokens.ts';
import { type CopyFormat, type SubscribeStatement, parseCopyQuery, parseSubscribe } from './subscribe-syntax.ts';
import { type UserTables, engineSchema, toEngineNames } from './user-tables.ts';
import { type TransactionStatus, type WireError, type WireField, failStatement } from './wire-frames.ts';
import { type LineChange, type StandInRelation, type World, qualifiedName } from './world.ts';

export interface StatementSession extends DefinitionSession {
  readonly world: World;
  readonly engine: CatalogEngine;
  readonly tables: UserTables;
  readonly variables: SessionVariables;
  readonly deniedRelations: ReadonlySet<string>;
  transaction: TransactionStatus;
  /** The clock, in milliseconds since 1970. */
  nowMs(): number;
  /** Applies a write at a new time and lets everyone see it. */
  write(relation: StandInRelation, changes: readonly LineChange[]): void;
  /** Makes everything visible that was written up to now. */
  closeWrittenTimes(): void;
  /** Tells the client a new value of a reported variable. */
  reportVariable(name: string): void;
  notice(notice: WireError): void;
}

/** Parameters of a statement from the extended protocol; both empty for a simple query. */
export interface StatementBinding {
  readonly parameterTypes: Uint8Array;
  readonly binding: Uint8Array;
}

export interface LocalResult {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly tag: string;
}

/** A query of the engine; `binding` null only describes. */
export interface EnginePlan {
  readonly kind: 'engine';
  /** False for what writes. */
  readonly reads: boolean;
  run(parameterTypes: Uint8Array, binding: Uint8Array | null): Promise<EngineAnswer>;
}

export interface SubscribePlanned {
  readonly kind: 'subscribe';
  readonly statement: SubscribeStatement;
}

export type StatementPlan =
  | SubscribePlanned
  | EnginePlan
  | { readonly kind: 'copy-query'; readonly query: EnginePlan; readonly format: CopyFormat }
  | { readonly kind: 'declare'; readonly name: string; readonly query: SubscribePlanned | EnginePlan }
  | Extract<CursorStatement, { kind: 'fetch' | 'close' }>
  | { readonly kind: 'local'; readonly fields: readonly WireField[] | null; run(): LocalResult };

/** Throws a StatementError for what cannot be planned. */
export function planStatement(session: StatementSession, statement: SqlStatement): StatementPlan {
  const cursor = cursorOver(statement.tokens);
  const first = cursor.peek()?.text ?? '';
  const transaction = planTransaction(session, cursor);
  if (transaction !== null) return transaction;
  if (session.transaction === 'E') {
    failStatement('25P02', 'current transaction is aborted, commands ignored until end of transaction block');
  }
  const subscribe = parseSubscribe(statement);
  if (subscribe !== null) return { kind: 'subscribe', statement: subscribe };
  if (first === 'explain') return planExplain(session, cursor);
  if (first === 'set' || first === 'reset') return planSet(session, cursor);
  if (first === 'show') return planShow(session, cursor);
  if (first === 'create' || first === 'drop' || first === 'alter') {
    return { kind: 'local', fields: null, run: () => ({ rows: [], tag: defineObject(session, statement) }) };
  }
  if (first === 'discard' || first === 'deallocate') {
    const tag = first === 'discard' ? 'DISCARD ALL' : 'DEALLOCATE';
    return { kind: 'local', fields: null, run: () => ({ rows: [], tag }) };
  }
  const copied = parseCopyQuery(statement);
  if (copied !== null) {
    const { query, format } = copied;
    if (format === 'copy-binary') refuseBinary(query);
    return { kind: 'copy-query', query: planQuery(session, query), format };
  }
  if (first === 'copy') failStatement('0A000', 'this stand-in copies only queries: COPY (…) TO STDOUT');
  const ofCursor = parseCursorStatement(statement);
  if (ofCursor?.kind === 'declare') return planDeclare(session, ofCursor.name, ofCursor.query);
  return ofCursor ?? planQuery(session, statement);
}

/** Types inside of a row do not show in what the engine describes, so they are looked for where they are spelled. */
function refuseBinary(query: SqlStatement): void {
  const [container] = spelledContainers(query.sql);
  if (container === undefined) return;
  failStatement('08P01', `binary encoding of ${container} types is not implemented`);
}

function planDeclare(session: StatementSession, name: string, statement: SqlStatement): StatementPlan {
  const query = planStatement(session, statement);
  const streamed = query.kind === 'subscribe' && query.statement.format === 'data-row';
  if (streamed || query.kind === 'engine') return { kind: 'declare', name, query };
  return failStatement('42601', 'Expected SELECT or SUBSCRIBE');
}

function planTransaction(session: StatementSession, cursor: TokenCursor): StatementPlan | null {
  const finish = (status: TransactionStatus, tag: string): StatementPlan => {
    const run = (): LocalResult => {
      const failed = session.transaction === 'E' && tag === 'COMMIT';
      session.transaction = status;
      return { rows: [], tag: failed ? 'ROLLBACK' : tag };
    };
    return { kind: 'local', fields: null, run };
  };
  if (cursor.takeWords('begin') || cursor.takeWords('start', 'transaction')) return finish('T', 'BEGIN');
  if (cursor.takeWords('commit') || cursor.takeWords('end')) return finish('I', 'COMMIT');
  if (cursor.takeWords('rollback') || cursor.takeWords('abort')) return finish('I', 'ROLLBACK');
  return null;
}

function planExplain(session: StatementSession, cursor: TokenCursor): StatementPlan {
  const wrong = (): never => {
    return failStatement('0A000', 'this stand-in explains only the optimized plan of SELECT * FROM one relation');
  };
  cursor.takeWords('explain');
  if (cursor.takeWords('timestamp')) return planExplainTimestamp(session, cursor);
  if (!cursor.takeWords('optimized', 'plan') && !cursor.takeWords('plan')) cursor.takeWords('optimized');
  const options = new Set<string>();
  if (cursor.takeWords('with')) {
    if (!cursor.takeSymbol('(')) cursor.unexpected('left parenthesis');
    do options.add(cursor.next()?.text ?? '');
    while (cursor.takeSymbol(','));
    if (!cursor.takeSymbol(')')) cursor.unexpected('right parenthesis');
  }
  if (cursor.takeWords('as') && !cursor.takeWords('text') && !cursor.takeWords('verbose', 'text')) wrong();
  if (!cursor.takeWords('for')) cursor.unexpected('FOR');
  if (cursor.takeWords('select')) {
    if (!cursor.takeSymbol('*') || !cursor.takeWords('from')) wrong();
  } else if (!cursor.takeWords('materialized', 'view')) {
    wrong();
  }
  const name = cursor.takeName() ?? wrong();
  cursor.expectEnd();
  const relation = resolveRelation(session, name);
  const shown = { types: options.has('types'), keys: options.has('keys'), arity: options.has('arity') };
  const fields = [{ name: 'Optimized Plan', typeOid: 25, typmod: -1 }];
  const text = explainText(relation, 'materialize.public', shown);
  return { kind: 'local', fields, run: () => ({ rows: [[text]], tag: 'EXPLAIN' }) };
}

function planExplainTimestamp(session: StatementSession, cursor: TokenCursor): StatementPlan {
  if (cursor.takeWords('as') && !cursor.takeWords('text')) {
    failStatement('0A000', 'this stand-in explains timestamps only AS TEXT');
  }
  if (!cursor.takeWords('for')) cursor.unexpected('FOR');
  while (cursor.peek() !== undefined && !cursor.takeWords('from')) cursor.next();
  const relation = resolveRelation(session, cursor.takeName() ?? cursor.unexpected('FROM and a relation'));
  const fields = [{ name: 'Timestamp', typeOid: 25, typmod: -1 }];
  const run = (): LocalResult => ({ rows: [[explainTimestampText(relation, session.nowMs())]], tag: 'EXPLAIN' });
  return { kind: 'local', fields, run };
}

function planSet(session: StatementSession, cursor: TokenCursor): StatementPlan {
  const { variables } = session;
  const reset = cursor.next()?.text === 'reset';
  if (!reset && !cursor.takeWords('session')) cursor.takeWords('local');
  if (cursor.takeWords('transaction') || cursor.takeWords('characteristics')) {
    return { kind: 'local', fields: null, run: () => ({ rows: [], tag: 'SET' }) };
  }
  const name = cursor.takeWords('time', 'zone') ? 'timezone' : (cursor.next()?.text ?? '');
  if (reset && name === 'all') {
    return { kind: 'local', fields: null, run: () => (variables.resetAll(), { rows: [], tag: 'RESET' }) };
  }
  const canonical = canonicalVariable(name);
  if (canonical === null) failStatement('42704', `unrecognized configuration parameter "${name}"`);
  if (isReadOnlyVariable(canonical)) failStatement('55P02', `parameter "${canonical}" cannot be changed`);
  if (!reset && !cursor.takeSymbol('=')) cursor.takeWords('to');
  const values: string[] = [];
  for (let token = cursor.next(); token !== undefined; token = cursor.next()) {
    if (token.text !== ',' || token.kind !== 'symbol') values.push(token.text);
  }
  const run = (): LocalResult => {
    if (reset || (values.length === 1 && values[0] === 'default')) variables.reset(canonical);
    else variables.set(canonical, booleanWord(values.join(', ')));
    session.reportVariable(canonical);
    return { rows: [], tag: reset ? 'RESET' : 'SET' };
  };
  return { kind: 'local', fields: null, run };
}

function booleanWord(value: string): string {
  return value === 'true' ? 'on' : value === 'false' ? 'off' : value;
}

/** SHOW of a variable, or of objects by a query over the catalog. */
function planShow(session: StatementSession, cursor: TokenCursor): StatementPlan {
  cursor.takeWords('show');
  const what = showQuery(session, cursor);
  if (what !== null) {
    const [statement] = splitStatements(what);
    if (statement !== undefined) return planQuery(session, statement);
  }
  if (cursor.takeWords('all')) {
    const fields = ['name', 'setting'].map((name) => ({ name, typeOid: 25, typmod: -1 }));
    return { kind: 'local', fields, run: () => ({ rows: session.variables.entries(), tag: 'SHOW' }) };
  }
  const isolation = cursor.takeWords('transaction', 'isolation', 'level');
  const name = isolation ? 'transaction_isolation' : (cursor.next()?.text ?? '');
  const canonical = canonicalVariable(name);
  if (canonical === null) failStatement('42704', `unrecognized configuration parameter "${name}"`);
  const fields = [{ name: canonical, typeOid: 25, typmod: -1 }];
  return { kind: 'local', fields, run: () => ({ rows: [[session.variables.get(canonical)]], tag: 'SHOW' }) };
}

const SHOWN_TYPES: Readonly<Record<string, string>> = {
  tables: 'table', sources: 'source', views: 'view', sinks: 'sink', types: 'type',
};

function showQuery(session: StatementSession, cursor: TokenCursor): string | null {
  if (cursor.takeWords('columns', 'from') || cursor.takeWords('columns', 'in')) {
    const relation = resolveRelation(session, cursor.takeName() ?? cursor.unexpected('identifier'));
    return `SELECT name, nullable, type, comment FROM mz_internal.mz_show_columns
      WHERE id = '${relation.id}' ORDER BY position`;
  }
  if (cursor.takeWords('databases')) {
    return 'SELECT name, NULL::text AS comment FROM mz_catalog.mz_databases ORDER BY name';
  }
  if (cursor.takeWords('schemas')) return 'SELECT name, NULL::text AS comment FROM mz_catalog.mz_schemas ORDER BY name';
  if (cursor.takeWords('clusters')) {
    return `SELECT c.name, string_agg(r.name || ' (' || r.size || ')', ', ') AS replicas, ''::text AS comment
      FROM mz_catalog.mz_clusters c LEFT JOIN mz_catalog.mz_cluster_replicas r ON r.cluster_id = c.id
      GROUP BY c.name ORDER BY c.name`;
  }
  const word = cursor.peek()?.text ?? '';
  if (cursor.takeWords('objects')) {
    return "SELECT name, type, ''::text AS comment FROM mz_catalog.mz_objects ORDER BY name";
  }
  const type = cursor.takeWords('materialized', 'views') ? 'materialized-view' : SHOWN_TYPES[word];
  if (type === undefined) return null;
  return `SELECT name, ''::text AS comment FROM mz_catalog.mz_objects WHERE type = '${type}' ORDER BY name`;
}

/** How often a write starts over because others wrote into the same table meanwhile. */
const WRITE_ATTEMPTS_MAX = 50;

/** A query, or a write into one table, by the engine. */
function planQuery(session: StatementSession, statement: SqlStatement): EnginePlan {
  const target = writeTarget(session, statement);
  if (target?.history.upper.length === 0) failStatement('XX000', `cannot write into '${target.name}': it is closed`);
  const run = (parameterTypes: Uint8Array, binding: Uint8Array | null): Promise<EngineAnswer> => {
    return session.engine.exclusive(async (engine) => {
      const database = session.variables.get('database') ?? '';
      const searchPath = searchPathOf(session).map((schema) => engineSchema(database, schema));
      const sql = toEngineLists(toEngineNames(statement, databasesOf(session.world)));
      const written = target !== null && binding !== null;
      for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
        // A write must see everything written before it, or it would take rows away that are gone already.
        if (written) session.closeWrittenTimes();
        const version = target?.version;
        await session.tables.refresh(engine, statement);
        if (written) await session.tables.capture(engine, target);
        const answer = await engine.run({ sql, parameterTypes, binding, searchPath });
        if (!written) return answer;
        const changes = await session.tables.takeChanges(engine, target);
        if (target.version === version) {
          session.write(target, changes);
          session.tables.markCurrent(target);
          return answer;
        }
        // Somebody else changed the table while the engine worked on its copy: the same statement, on the new content.
        session.tables.forget(target);
      }
      return failStatement('40001', 'could not serialize access due to concurrent update');
    });
  };
  return { kind: 'engine', reads: target === null, run };
}

function writeTarget(session: StatementSession, statement: SqlStatement): StandInRelation | null {
  const cursor = cursorOver(statement.tokens);
  const verb = cursor.peek()?.text ?? '';
  const writes = cursor.takeWords('insert', 'into') || cursor.takeWords('update') || cursor.takeWords('delete', 'from');
  if (!writes) return null;
  const relation = resolveRelation(session, cursor.takeName() ?? cursor.unexpected('identifier'));
  if (relation.kind !== 'table') {
    const action = verb === 'insert' ? 'insert into' : verb === 'delete' ? 'delete from' : 'update';
    failStatement('XX000', `cannot ${action} ${relation.kind.replaceAll('-', ' ')} '${qualifiedName(relation)}'`);
  }
  return relation;
}

export function databasesOf(world: World): ReadonlySet<string> {
  return new Set(['materialize', ...[...world.relations.values()].map(({ database }) => database)]);
}

export function searchPathOf(session: { readonly variables: SessionVariables }): string[] {
  const path = session.variables.get('search_path') ?? 'public';
  return path.split(',').map((schema) => schema.trim().replace(/^"(.*)"$/, '$1')).filter((schema) => schema !== '');
}

/** A relation by a name of one to three parts. Throws XX000 `unknown catalog item`. */
export function resolveRelation(session: StatementSession, name: readonly string[]): StandInRelation {
  const found = findRelation(session, name);
  if (found === null) failStatement('XX000', `unknown catalog item '${name.join('.')}'`);
  return found;
}

function findRelation(session: StatementSession, name: readonly string[]): StandInRelation | null {
  const database = session.variables.get('database') ?? 'materialize';
  const [first = '', second = '', third = ''] = name;
  if (name.length === 3) return session.world.findRelation(first, second, third);
  if (name.length === 2) return session.world.findRelation(database, first, second);
  for (const schema of searchPathOf(session)) {
    const found = session.world.findRelation(database, schema, first);
    if (found !== null) return found;
  }
  return null;
}
