/**
 * One statement after the other. In: the tokens. Out: statements, broken ones included. A syntax error is
 * reported once and costs the rest of its own statement only, up to its `;`.
 */
import {
  type Cursor,
  advance,
  expectWords,
  peek,
  readObjectName,
  skipStatement,
  takeSymbol,
  takeWords,
  unexpected,
} from './cursor.ts';
import { displayName } from './object-name.ts';
import { CONNECTION_OPTION_NAMES, CONNECTION_WITH_OPTIONS, optionNames } from './option-tables.ts';
import { readOptions } from './read-options.ts';
import { readSink } from './read-sink.ts';
import { Secret } from './secret.ts';
import { isWord } from './source-text.ts';
import type {
  BrokenStatement,
  ConnectionStatement,
  ConnectionTarget,
  ObjectName,
  SecretSource,
  SecretStatement,
  Statement,
} from './statements.ts';

const CREATED = ['secret', 'connection', 'sink'] as const;

/** What to do instead of a statement that has no place in a file of definitions. Keys: its first words. */
const NOT_A_DEFINITION: readonly (readonly [string, string])[] = [
  ['alter secret', 'ALTER SECRET is not a definition; change the value in CREATE SECRET and restart the sink'],
  ['alter connection', 'ALTER CONNECTION is not supported for Iceberg catalogs; change CREATE CONNECTION and restart'],
  ['alter sink', 'ALTER SINK is not a definition; change CREATE SINK and restart the sink'],
  ['alter', 'ALTER is not a definition; change the CREATE statement instead'],
  ['drop', 'DROP is not a definition; remove the CREATE statement instead'],
  ['create', 'only CREATE SECRET, CREATE CONNECTION and CREATE SINK are definitions'],
];

export function readStatements(cursor: Cursor): readonly Statement[] {
  const statements: Statement[] = [];
  while (peek(cursor).kind !== 'end') {
    if (takeSymbol(cursor, ';')) continue;
    statements.push(readStatement(cursor));
  }
  return statements;
}

function readStatement(cursor: Cursor): Statement {
  const start = cursor.at;
  const of = CREATED.find((kind) => isWord(peek(cursor), 'create') && isWord(peek(cursor, 1), kind)) ?? null;
  if (of === null) return refuseStatement(cursor);
  cursor.at += 2;
  const statement = { secret: readSecret, connection: readConnection, sink: readSink }[of](cursor);
  if (statement !== null && endStatement(cursor)) return statement;
  skipStatement(cursor, of === 'secret');
  return { kind: 'broken', of, name: statement === null ? nameOf(cursor, start) : statement.name };
}

/** The name of a statement that broke later on, if it came that far. */
function nameOf(cursor: Cursor, start: number): ObjectName | null {
  const silent: Cursor = {
    source: cursor.source,
    report: { problem: () => undefined, warning: () => undefined, shown: () => '' },
    at: start + 2,
  };
  takeWords(silent, 'if not exists');
  return readObjectName(silent, 'a name');
}

function refuseStatement(cursor: Cursor): BrokenStatement {
  const first = peek(cursor);
  const startsWith = (words: string): boolean =>
    words.split(' ').every((word, index) => isWord(peek(cursor, index), word));
  const [, message = 'expected CREATE SECRET, CREATE CONNECTION or CREATE SINK'] =
    NOT_A_DEFINITION.find(([words]) => startsWith(words)) ?? [];
  const isBackslash = first.kind === 'unknown' && first.value === '\\';
  cursor.report.problem(first, isBackslash ? 'commands of psql are not SQL' : message);
  skipStatement(cursor, isWord(peek(cursor, 1), 'secret') || isWord(first, 'secret'));
  return { kind: 'broken', of: null, name: null };
}

function endStatement(cursor: Cursor): boolean {
  if (peek(cursor).kind === 'end' || takeSymbol(cursor, ';')) return true;
  unexpected(cursor, '";" or the end of the statement');
  return false;
}

/** `CREATE SECRET [IF NOT EXISTS] name AS 'text' | ENV 'NAME' | FILE '/path'` */
function readSecret(cursor: Cursor): SecretStatement | null {
  const ifNotExists = takeWords(cursor, 'if not exists');
  const name = readObjectName(cursor, 'the name of the secret');
  if (name === null || !expectWords(cursor, 'as')) return null;
  const source = readSecretSource(cursor, name);
  return source === null ? null : { kind: 'secret', name, ifNotExists, source };
}

function readSecretSource(cursor: Cursor, name: ObjectName): SecretSource | null {
  const kind = takeWords(cursor, 'env') ? 'env' : takeWords(cursor, 'file') ? 'file' : 'text';
  const token = peek(cursor);
  if (token.kind !== 'text') return unexpected(cursor, "the value: 'text', ENV 'NAME' or FILE '/path'");
  advance(cursor);
  if (kind !== 'text') return { kind, from: token.value, range: token };
  return { kind, secret: new Secret(token.value, displayName(name)) };
}

/** `CREATE CONNECTION [IF NOT EXISTS] name TO ICEBERG CATALOG | AWS | GCP (…) [WITH (…)]` */
function readConnection(cursor: Cursor): ConnectionStatement | null {
  const ifNotExists = takeWords(cursor, 'if not exists');
  const name = readObjectName(cursor, 'the name of the connection');
  if (name === null || !expectWords(cursor, 'to')) return null;
  const target = readTarget(cursor);
  if (target === null) return null;
  const options = readOptions(cursor, CONNECTION_OPTION_NAMES[target]);
  if (options === null) return null;
  const withOptions = takeWords(cursor, 'with') ? readOptions(cursor, optionNames(CONNECTION_WITH_OPTIONS)) : [];
  return withOptions === null ? null : { kind: 'connection', name, ifNotExists, target, options, withOptions };
}

function readTarget(cursor: Cursor): ConnectionTarget | null {
  if (takeWords(cursor, 'iceberg catalog')) return 'iceberg-catalog';
  if (takeWords(cursor, 'aws')) return 'aws';
  if (takeWords(cursor, 'gcp')) return 'gcp';
  return unexpected(cursor, 'ICEBERG CATALOG, AWS or GCP: other connections have no use here');
}
