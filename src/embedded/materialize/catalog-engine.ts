/**
 * The SQL engine behind catalog queries: PGlite, started when the first query needs it. In: a statement with the
 * client's own parameters. Out: the engine's protocol messages, with values in Materialize's text forms.
 *
 * Invariant: one statement at a time from "bring tables up to date" to "read its answer", so a statement sees the
 * world at one moment; no transaction outlives a statement.
 */
import type { PGlite } from '@electric-sql/pglite';
import { catalogRows, frontierRows } from './catalog-rows.ts';
import { startEngine } from './engine-image.ts';
import { fromPostgresText } from './postgres-values.ts';
import {
  type WireError,
  StatementError,
  cstring,
  dataRow,
  fieldsOfDescription,
  int16,
  int32,
  readBody,
  typlen,
  wireMessage,
} from './wire-frames.ts';
import type { World } from './world.ts';

export interface EngineStatement {
  readonly sql: string;
  /** Parameter types of the client's Parse: count and OIDs. */
  readonly parameterTypes: Uint8Array;
  /** Formats, parameters and result formats of the client's Bind; null describes without running. */
  readonly binding: Uint8Array | null;
  readonly searchPath: readonly string[];
}

export interface EngineAnswer {
  /** ParameterDescription; null when the statement was bound. */
  readonly parameters: Buffer | null;
  /** RowDescription or NoData. */
  readonly description: Buffer;
  /** DataRow messages. */
  readonly rows: readonly Buffer[];
  /** The command tag; null when it was only described. */
  readonly tag: string | null;
  readonly notices: readonly Buffer[];
}

export interface CatalogEngine {
  /** Runs `work` alone; the engine is up to date with the world when it starts. */
  exclusive<T>(work: (engine: EngineAccess) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface EngineAccess {
  run(statement: EngineStatement): Promise<EngineAnswer>;
  /** Own housekeeping; values come as PGlite parses them. */
  query(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>;
  execute(sql: string): Promise<void>;
  copyIn(sql: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

export function createCatalogEngine(world: World): CatalogEngine {
  let starting: Promise<PGlite> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let syncedVersion = 0;

  const bringUpToDate = async (lite: PGlite): Promise<void> => {
    if (syncedVersion !== world.catalogVersion()) {
      const version = world.catalogVersion();
      for (const [table, rows] of Object.entries(catalogRows(world))) await fillTable(lite, table, rows);
      syncedVersion = version;
    }
    await fillTable(lite, 'mz_internal.mz_frontiers', frontierRows(world));
  };
  return {
    exclusive(work) {
      const turn = last.then(async () => {
        starting ??= startEngine();
        const lite = await starting.catch((thrown: unknown) => {
          // Not kept: the next statement starts the engine anew.
          starting = null;
          throw thrown;
        });
        await bringUpToDate(lite);
        return work(accessTo(lite));
      });
      last = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      await last;
      if (starting !== null) await (await starting).close();
    },
  };
}

async function fillTable(lite: PGlite, table: string, rows: readonly object[]): Promise<void> {
  await lite.query(`DELETE FROM ${table}`);
  if (rows.length === 0) return;
  const sql = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::text::json)`;
  await lite.query(sql, [JSON.stringify(rows)]);
}

function accessTo(lite: PGlite): EngineAccess {
  return {
    run: (statement) => runStatement(lite, statement),
    async query(sql, parameters = []) {
      return (await lite.query<Record<string, unknown>>(sql, parameters)).rows;
    },
    async execute(sql) {
      await lite.exec(sql);
    },
    async copyIn(sql, bytes) {
      await lite.query(sql, [], { blob: new Blob([bytes]) });
    },
  };
}

async function runStatement(lite: PGlite, statement: EngineStatement): Promise<EngineAnswer> {
  const system = LISTS_RELATIONS.test(statement.sql) ? [] : ['mz_catalog', 'mz_internal'];
  const path = [...statement.searchPath, ...system, 'pg_catalog'];
  await lite.exec(`SET search_path = ${path.map((schema) => `"${schema.replaceAll('"', '""')}"`).join(', ')}`);
  const none = cstring('');
  const sql = statement.sql.replaceAll(COLUMN_OF_9_5, 'false');
  const request = [wireMessage('P', none, cstring(sql), statement.parameterTypes)];
  if (statement.binding === null) {
    request.push(wireMessage('D', Buffer.from('S\0')));
  } else {
    request.push(wireMessage('B', none, none, statement.binding), wireMessage('D', Buffer.from('P\0')));
    request.push(wireMessage('E', none, int32(0)));
  }
  request.push(wireMessage('S'));
  const bytes = Buffer.from(await lite.execProtocolRaw(Buffer.concat(request)));
  const answer = readAnswer(bytes, statement.binding !== null && resultsAreText(statement.binding));
  return { ...answer, description: await withWireTypes(lite, answer.description) };
}

/** Domains of the engine that stand for types of Materialize, with the OIDs clients see. */
const DOMAIN_OIDS: ReadonlyMap<string, number> = new Map([
  ['uint2', 16460], ['uint4', 16462], ['uint8', 16464], ['mz_timestamp', 16552], ['mz_aclitem', 16566],
  ['list', 16384], ['map', 16385], ['record_text', 2249],
]);

/**
 * By the name Postgres gives an expression and the engine's OID (numeric, text): name and OID in Materialize. The text
 * of an array is how list literals are put to the engine.
 */
const EXPRESSIONS: ReadonlyMap<string, readonly [name: string, oid: number]> = new Map([
  ['mz_now 1700', ['mz_now', 16552]],
  ['array 25', ['list', 16384]],
]);

const DOMAINS_SQL = `SELECT a.attrelid AS relation, a.attnum AS number, t.typname AS name FROM pg_attribute a
  JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE n.nspname = 'mz_catalog' AND t.typtype = 'd' AND a.attrelid = ANY ($1::oid[])`;

/**
 * A RowDescription with Materialize's types in place of the engine's. Postgres shows a domain as what it is made of,
 * but says from which column a value comes, and the column knows its domain. Neither table nor number is passed on:
 * Materialize reports neither.
 */
async function withWireTypes(lite: PGlite, description: Buffer): Promise<Buffer> {
  if (description[0] !== 'T'.charCodeAt(0)) return description;
  const read = readBody(description.subarray(5));
  const fields = Array.from({ length: read.int16() }, () => {
    return { name: read.cstring(), relation: read.int32(), number: read.int16(), rest: read.bytes(12) };
  });
  const relations = [...new Set(fields.map(({ relation }) => relation))].filter((relation) => relation !== 0);
  const domains = new Map<string, number>();
  if (relations.length > 0) {
    const columns = await lite.query<{ relation: number; number: number; name: string }>(DOMAINS_SQL, [relations]);
    for (const { relation, number, name } of columns.rows) {
      const oid = DOMAIN_OIDS.get(name);
      if (oid !== undefined) domains.set(`${relation}.${number}`, oid);
    }
  }
  const parts = fields.flatMap(({ name, relation, number, rest }) => {
    const column = domains.get(`${relation}.${number}`);
    const expression = relation === 0 ? EXPRESSIONS.get(`${name} ${rest.readInt32BE(0)}`) : undefined;
    const [shownName, oid] = expression ?? [name, column];
    if (oid === undefined) return [cstring(name), Buffer.alloc(6), rest];
    return [cstring(shownName), Buffer.alloc(6), int32(oid), int16(typlen(oid)), int32(-1), rest.subarray(10)];
  });
  return wireMessage('T', int16(fields.length), ...parts);
}

/**
 * psql's listings without a pattern leave out system schemas by the names Postgres gives them, then show what is
 * visible; so the system schemas of Materialize must not be.
 */
const LISTS_RELATIONS = /nspname !~ '\^pg_toast'/;

/** psql asks a server 9.5 for a column of pg_class that the engine's version no longer has. */
const COLUMN_OF_9_5 = /\bc\.relhasoids\b/g;

/** True when no result format of a Bind asks for binary. */
function resultsAreText(binding: Uint8Array): boolean {
  const body = readBody(Buffer.from(binding));
  for (let formats = body.int16(); formats > 0; formats--) body.int16();
  for (let parameters = body.int16(); parameters > 0; parameters--) body.bytes(Math.max(0, body.int32()));
  for (let formats = body.int16(); formats > 0; formats--) if (body.int16() !== 0) return false;
  return true;
}

function readAnswer(bytes: Buffer, textResults: boolean): EngineAnswer {
  let parameters: Buffer | null = null;
  let description = wireMessage('n');
  let types: number[] = [];
  let tag: string | null = null;
  const rows: Buffer[] = [];
  const notices: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    const body = bytes.subarray(at + 5, end);
    const whole = Buffer.from(bytes.subarray(at, end));
    switch (String.fromCharCode(bytes[at] ?? 0)) {
      case 'E':
        throw new StatementError(readError(body));
      case 't':
        parameters = whole;
        break;
      case 'T':
        description = whole;
        types = fieldsOfDescription(whole).map(({ typeOid }) => typeOid);
        break;
      case 'D':
        rows.push(textResults ? convertRow(body, types) : whole);
        break;
      case 'C':
        tag = readBody(body).cstring();
        break;
      case 'N':
        notices.push(whole);
        break;
      default:
        break;
    }
    at = end;
  }
  return { parameters, description, rows, tag, notices };
}

function convertRow(body: Buffer, types: readonly number[]): Buffer {
  const read = readBody(body);
  const count = read.int16();
  const values: (Buffer | null)[] = [];
  for (let i = 0; i < count; i++) {
    const length = read.int32();
    const value = length < 0 ? null : read.bytes(length);
    values.push(value === null ? null : Buffer.from(fromPostgresText(types[i] ?? 0, value.toString('utf8')), 'utf8'));
  }
  return dataRow(values);
}

/** Planner errors of Materialize are XX000 with their own words where Postgres has codes of its own. */
function readError(body: Buffer): WireError {
  const fields = new Map<string, string>();
  for (const field of body.toString('utf8').split('\0')) {
    if (field !== '') fields.set(field.slice(0, 1), field.slice(1));
  }
  const sqlstate = fields.get('C') ?? 'XX000';
  const message = fields.get('M') ?? '';
  if (sqlstate === '42P01') {
    const words = message.replace(/^relation "(.*)" does not exist$/, "unknown catalog item '$1'");
    return { sqlstate: 'XX000', message: words };
  }
  const [detail, hint] = [fields.get('D'), fields.get('H')];
  return {
    sqlstate: sqlstate === '42703' ? 'XX000' : sqlstate,
    message,
    ...(detail !== undefined && { detail }),
    ...(hint !== undefined && { hint }),
  };
}
