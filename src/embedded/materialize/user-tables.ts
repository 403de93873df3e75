/**
 * The relations of users as tables of the SQL engine, so that they can be queried and tables be written. In: the
 * names a statement mentions. Out: tables that hold the relations' present content, and after a write the changes
 * it made, as COPY text.
 *
 * Invariant: an engine table is only a copy; what a statement changed becomes true when the changes are applied to
 * the relation, at a new time.
 */
import type { ScalarName, SqlType } from '../../relation/sql-type.ts';
import type { EngineAccess } from './catalog-engine.ts';
import { escapeCopyText, joinCopyColumns } from './copy-text.ts';
import { fromPostgresText } from './postgres-values.ts';
import { latestReadable } from './relation-history.ts';
import type { SqlStatement, SqlToken } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';
import { typeOidOf } from './wire-types.ts';
import type { LineChange, StandInRelation, World } from './world.ts';

export interface UserTables {
  /** Brings the engine's copies of the mentioned relations up to date. Throws XX000 for one that fails to evaluate. */
  refresh(engine: EngineAccess, statement: SqlStatement): Promise<void>;
  /** From now to `takeChanges`, what changes the copy of `relation` is noted. */
  capture(engine: EngineAccess, relation: StandInRelation): Promise<void>;
  /** What the last statement changed in `relation`'s copy. */
  takeChanges(engine: EngineAccess, relation: StandInRelation): Promise<LineChange[]>;
  /** The copy already holds what is now applied. */
  markCurrent(relation: StandInRelation): void;
  /** The copy holds what will not be applied: the next statement fills it anew. */
  forget(relation: StandInRelation): void;
}

export function createUserTables(world: World): UserTables {
  const copies = new Map<string, { readonly id: string; version: number; time: string }>();
  const key = (relation: StandInRelation): string => engineName(relation);
  const contentTime = (relation: StandInRelation): string => String(latestReadable(relation.history));
  return {
    async refresh(engine, statement) {
      const named = statement.tokens.filter(({ kind }) => kind === 'word' || kind === 'quoted');
      const names = new Set(named.map(({ text }) => text));
      for (const [table, { id }] of copies) {
        if (world.relations.has(id)) continue;
        await engine.execute(`DROP TABLE IF EXISTS ${table}`);
        copies.delete(table);
      }
      const lists = POSTGRES_CATALOG.some((name) => names.has(name));
      for (const relation of world.relations.values()) {
        const mentioned = names.has(relation.name);
        if (lists && !mentioned && copies.get(key(relation))?.id !== relation.id) {
          // psql lists what exists: its columns are enough, the content comes when a statement names it.
          await createCopy(engine, relation);
          copies.set(key(relation), { id: relation.id, version: -1, time: '' });
        }
        if (!mentioned) continue;
        if (relation.error !== null) failStatement('XX000', relation.error);
        let copy = copies.get(key(relation));
        if (copy?.id !== relation.id) {
          await createCopy(engine, relation);
          copy = { id: relation.id, version: -1, time: '' };
          copies.set(key(relation), copy);
        }
        // Content changes only where something was applied; with an unchanged version it is the same at any later time.
        if (copy.version === relation.version && copy.time >= lastChange(relation)) continue;
        // Taken before the copy is filled: what is applied meanwhile is not in it.
        copy.version = relation.version;
        copy.time = contentTime(relation).padStart(20, '0');
        await fillCopy(engine, world, relation);
      }
    },
    async capture(engine, relation) {
      await engine.execute(`
        CREATE OR REPLACE TRIGGER capture AFTER INSERT OR UPDATE OR DELETE ON ${engineName(relation)}
        FOR EACH ROW EXECUTE FUNCTION ${captureName(relation)}()`);
    },
    async takeChanges(engine, relation) {
      // Nobody who looks at the table (psql's \d) finds a trigger that Materialize does not have.
      await engine.execute(`DROP TRIGGER IF EXISTS capture ON ${engineName(relation)}`);
      const rows = await engine.query('DELETE FROM mz_capture.changes RETURNING diff, row_values');
      return rows.map(({ diff, row_values: values }) => {
        const columns = (values as (string | null)[]).map((value, i) => {
          const type = relation.columns[i]?.type;
          if (value === null || type === undefined) return null;
          return escapeCopyText(fromPostgresText(engineOidOf(type), value));
        });
        return { line: joinCopyColumns(columns), diff: diff as number };
      });
    },
    markCurrent(relation) {
      const copy = copies.get(key(relation));
      if (copy !== undefined) {
        copy.version = relation.version;
        copy.time = contentTime(relation).padStart(20, '0');
      }
    },
    forget(relation) {
      const copy = copies.get(key(relation));
      if (copy !== undefined) copy.version = -1;
    },
  };
}

/** Where psql and drivers look up what exists, under their own names in the engine. */
const POSTGRES_CATALOG: readonly string[] = [
  'pg_class', 'pg_attribute', 'pg_tables', 'pg_namespace', 'information_schema',
];

function lastChange(relation: StandInRelation): string {
  const readable = latestReadable(relation.history);
  const entry = relation.history.log.findLast(({ time }) => time <= readable);
  return String(entry?.time ?? 0n).padStart(20, '0');
}

/** The schema of the engine that stands for a schema of a database. */
export function engineSchema(database: string, schema: string): string {
  return database === 'materialize' ? schema : `${database}.${schema}`;
}

function engineName(relation: StandInRelation): string {
  return `${quoteName(engineSchema(relation.database, relation.schema))}.${quoteName(relation.name)}`;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Names of three parts cannot be said in the engine: `database.schema.name` becomes schema and name. */
export function toEngineNames(statement: SqlStatement, databases: ReadonlySet<string>): string {
  const { sql, tokens } = statement;
  let out = '';
  let at = 0;
  const isName = (token: SqlToken | undefined): boolean => token?.kind === 'word' || token?.kind === 'quoted';
  for (let i = 0; i + 4 < tokens.length; i++) {
    const [database, dot, schema, secondDot, name] = tokens.slice(i, i + 5);
    if (database === undefined || schema === undefined || dot?.text !== '.' || secondDot?.text !== '.') continue;
    if (!isName(database) || !isName(schema) || !isName(name) || !databases.has(database.text)) continue;
    out += sql.slice(at, database.start) + quoteName(engineSchema(database.text, schema.text));
    at = schema.end;
  }
  return out + sql.slice(at);
}

async function createCopy(engine: EngineAccess, relation: StandInRelation): Promise<void> {
  const table = engineName(relation);
  const schema = quoteName(engineSchema(relation.database, relation.schema));
  const columns = relation.columns.map(({ name, type, nullable }) => {
    return `${quoteName(name)} ${engineTypeOf(type)}${nullable ? '' : ' NOT NULL'}`;
  });
  const values = (row: string): string => {
    return `ARRAY[${relation.columns.map((c) => `${row}.${quoteName(c.name)}::text`).join(', ')}]::text[]`;
  };
  await engine.execute(`
    CREATE SCHEMA IF NOT EXISTS ${schema};
    DROP TABLE IF EXISTS ${table};
    CREATE TABLE ${table} (${columns.join(', ')});
    CREATE OR REPLACE FUNCTION ${captureName(relation)}() RETURNS trigger LANGUAGE plpgsql AS $capture$
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        INSERT INTO mz_capture.changes (diff, row_values) VALUES (-1, ${values('OLD')});
      END IF;
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO mz_capture.changes (diff, row_values) VALUES (1, ${values('NEW')});
      END IF;
      RETURN NULL;
    END $capture$;`);
}

function captureName(relation: StandInRelation): string {
  return `mz_capture.${quoteName(`capture_${relation.id}`)}`;
}

async function fillCopy(engine: EngineAccess, world: World, relation: StandInRelation): Promise<void> {
  const rows = world.snapshotAt(relation, latestReadable(relation.history));
  let lines = '';
  for (const [row, diff] of rows) if (diff > 0) lines += `${row}\n`.repeat(diff);
  // Replica role keeps the capturing trigger quiet.
  await engine.execute(`SET session_replication_role = replica; TRUNCATE ${engineName(relation)}`);
  if (lines !== '') await engine.copyIn(`COPY ${engineName(relation)} FROM '/dev/blob'`, Buffer.from(lines, 'latin1'));
  await engine.execute('SET session_replication_role = origin');
}

/** Types that Postgres lacks, or has with another text form. */
const ENGINE_TYPES: Partial<Readonly<Record<ScalarName, string>>> = {
  uint2: 'mz_catalog.uint2',
  uint4: 'mz_catalog.uint4',
  uint8: 'mz_catalog.uint8',
  mz_timestamp: 'mz_catalog.mz_timestamp',
  character: 'text',
  '"char"': 'text',
  mz_aclitem: 'mz_catalog.mz_aclitem',
  aclitem: 'text',
  int2vector: 'text',
  regclass: 'oid',
  regproc: 'oid',
  regtype: 'oid',
};

/** The engine's type for a column; what Postgres has no type for is text in Materialize's form. */
function engineTypeOf(type: SqlType): string {
  if (type.kind === 'list' || type.kind === 'map') return `mz_catalog.${type.kind}`;
  if (type.kind === 'record') return 'mz_catalog.record_text';
  if (type.kind !== 'scalar') return 'text';
  if (type.name === 'numeric' && type.scale !== null) return `numeric(39,${type.scale})`;
  return ENGINE_TYPES[type.name] ?? type.name;
}

function engineOidOf(type: SqlType): number {
  return type.kind === 'scalar' ? typeOidOf(type) : 0;
}
