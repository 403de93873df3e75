/**
 * `CREATE SINK [IF NOT EXISTS] name [IN CLUSTER c] FROM relation INTO ICEBERG CATALOG CONNECTION conn (…)
 * [USING AWS CONNECTION a] [KEY (…) [NOT ENFORCED]] MODE UPSERT|APPEND [WITH (…)]`.
 * What must be there but is missing is no syntax error: the checks name all of it at once.
 */
import {
  type Cursor,
  advance,
  expectSymbol,
  expectWords,
  peek,
  rangeBetween,
  readName,
  readObjectName,
  takeSymbol,
  takeWords,
  unexpected,
} from './cursor.ts';
import { SINK_OPTIONS, TABLE_OPTIONS, optionNames } from './option-tables.ts';
import { readOptions } from './read-options.ts';
import { isSymbol, isWord } from './source-text.ts';
import type { KeyClause, NamedRange, ObjectName, Option, SinkStatement } from './statements.ts';
import type { Range } from './tokens.ts';

/** Behind CREATE SINK. */
export function readSink(cursor: Cursor): SinkStatement | null {
  const created = rangeBetween(peek(cursor, -2), peek(cursor, -1));
  const ifNotExists = takeWords(cursor, 'if not exists');
  const name = isNameless(cursor) ? null : readObjectName(cursor, 'the name of the sink');
  if (name === null && !isNameless(cursor)) return null;
  const cluster = takeWords(cursor, 'in cluster') ? readName(cursor, 'the name of a cluster') : undefined;
  if (cluster === null || !expectWords(cursor, 'from')) return null;
  const from = readObjectName(cursor, 'the name of a table, source or materialized view');
  if (from === null || !expectWords(cursor, 'into')) return null;
  if (!takeWords(cursor, 'iceberg catalog connection')) return unexpected(cursor, 'ICEBERG CATALOG CONNECTION');
  const connection = readObjectName(cursor, 'the name of an Iceberg catalog connection');
  if (connection === null) return null;
  const tableOptions = readOptions(cursor, optionNames(TABLE_OPTIONS));
  const clauses = tableOptions === null ? null : readClauses(cursor);
  if (tableOptions === null || clauses === null) return null;
  const range = name?.range ?? created;
  const clusterName = cluster?.name ?? null;
  return { kind: 'sink', name, range, ifNotExists, cluster: clusterName, from, connection, tableOptions, ...clauses };
}

function isNameless(cursor: Cursor): boolean {
  return isWord(peek(cursor), 'from') || (isWord(peek(cursor), 'in') && isWord(peek(cursor, 1), 'cluster'));
}

interface Clauses {
  readonly usingAws: ObjectName | null;
  readonly key: KeyClause | null;
  readonly mode: NamedRange | null;
  readonly envelope: Range | null;
  readonly withOptions: readonly Option[];
}

type ClauseReader = (cursor: Cursor) => Partial<Clauses> | null;

/** In any order, each at most once: nothing depends on the order, so nobody should have to remember it. */
const CLAUSES: readonly (readonly [string, ClauseReader])[] = [
  ['using aws connection', readUsingAws],
  ['key', readKey],
  ['mode', readMode],
  ['envelope', readEnvelope],
  ['with', readWith],
];

const UNSUPPORTED_CLAUSES: readonly (readonly [string, string])[] = [
  ['format', 'FORMAT is not supported for Iceberg sinks'],
  ['partition by', 'PARTITION BY is not supported: the sink writes unpartitioned tables'],
  ['headers', 'HEADERS is not supported for Iceberg sinks'],
];

function readClauses(cursor: Cursor): Clauses | null {
  let clauses: Clauses = { usingAws: null, key: null, mode: null, envelope: null, withOptions: [] };
  const seen = new Set<string>();
  while (peek(cursor).kind === 'word') {
    const first = peek(cursor);
    const refusal = UNSUPPORTED_CLAUSES.find(([words]) => takeWords(cursor, words));
    if (refusal !== undefined) {
      cursor.report.problem(first, refusal[1]);
      return null;
    }
    const clause = CLAUSES.find(([words]) => takeWords(cursor, words));
    if (clause === undefined) return unexpected(cursor, 'USING AWS CONNECTION, KEY, MODE, WITH or ";"');
    const [words, read] = clause;
    if (seen.has(words)) cursor.report.problem(first, `${words.toUpperCase()} specified more than once`);
    seen.add(words);
    const found = read(cursor);
    if (found === null) return null;
    clauses = { ...clauses, ...found };
  }
  return clauses;
}

function readUsingAws(cursor: Cursor): Partial<Clauses> | null {
  const usingAws = readObjectName(cursor, 'the name of an AWS connection');
  return usingAws === null ? null : { usingAws };
}

function readKey(cursor: Cursor): Partial<Clauses> | null {
  const range: Range = peek(cursor, -1);
  if (!expectSymbol(cursor, '(')) return null;
  const columns: NamedRange[] = [];
  do {
    const column = readName(cursor, 'the name of a key column', true);
    if (column === null) return null;
    columns.push(column);
  } while (takeSymbol(cursor, ','));
  if (!isSymbol(peek(cursor), ')')) return unexpected(cursor, '"," or ")"');
  advance(cursor);
  const isEnforced = !takeWords(cursor, 'not enforced');
  return { key: { range, columns, isEnforced } };
}

function readMode(cursor: Cursor): Partial<Clauses> | null {
  const mode = readName(cursor, 'UPSERT or APPEND');
  return mode === null ? null : { mode };
}

/** Read only to be refused in words that help. */
function readEnvelope(cursor: Cursor): Partial<Clauses> | null {
  const envelope: Range = peek(cursor, -1);
  return readName(cursor, 'the name of an envelope') === null ? null : { envelope };
}

function readWith(cursor: Cursor): Partial<Clauses> | null {
  const withOptions = readOptions(cursor, optionNames(SINK_OPTIONS));
  return withOptions === null ? null : { withOptions };
}
