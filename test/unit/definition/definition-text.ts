/** The parser with a world that tests name, and statements that are right, to be spoiled in one place each. */
import { type ParsedDefinitions, parseDefinitions } from '../../../src/definition/parse-definitions.ts';

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly allowInternalOauth2?: boolean;
}

export function parse(text: string, { env = {}, files = {}, allowInternalOauth2 = false }: Surroundings = {}): ParsedDefinitions {
  const readFile = (path: string): string => {
    const content = files[path];
    if (content === undefined) throw Object.assign(new Error(`no such file, but hunter2 in the error`), { code: 'ENOENT' });
    return content;
  };
  return parseDefinitions(text, { env: (name) => env[name], readFile }, { allowInternalOauth2 });
}

export function definitionsOf(text: string, surroundings: Surroundings = {}): Extract<ParsedDefinitions, { kind: 'definitions' }> {
  const parsed = parse(text, surroundings);
  if (parsed.kind === 'problems') throw new Error(JSON.stringify(parsed.problems, null, 1));
  return parsed;
}

/** `line:column message [text]` of every problem. */
export function problemsOf(text: string, surroundings: Surroundings = {}): string[] {
  const parsed = parse(text, surroundings);
  if (parsed.kind === 'definitions') return [];
  return parsed.problems.map((problem) => {
    const { line, column } = problem.position;
    return `${line}:${column} ${problem.message} [${problem.text}]`;
  });
}

/** The problems whose text doesn't stand where they say. */
export function misplaced(text: string, surroundings: Surroundings = {}): string[] {
  const parsed = parse(text, surroundings);
  const lines = text.split('\n');
  const isThere = (line: number, column: number, quoted: string): boolean =>
    quoted === '…' || (lines[line - 1] ?? '').slice(column - 1).startsWith(quoted);
  if (parsed.kind === 'definitions') return [];
  return parsed.problems
    .filter(({ position, text: quoted }) => !isThere(position.line, position.column, quoted))
    .map((problem) => problem.message);
}

export const SECRET = "CREATE SECRET cred AS 'id:pass';\n";
export const AWS = "CREATE SECRET key AS 'k';\nCREATE CONNECTION a TO AWS (ACCESS KEY ID = 'AKIA', SECRET ACCESS KEY = SECRET key);\n";

export const SERVICE_ACCOUNT = JSON.stringify({
  client_email: 'sink@project.iam.gserviceaccount.com',
  private_key: '-----BEGIN PRIVATE KEY-----',
  token_uri: 'https://oauth2.googleapis.com/token',
});
export const GCP = `CREATE SECRET sa AS '${SERVICE_ACCOUNT}';\nCREATE CONNECTION g TO GCP (SERVICE ACCOUNT KEY = SECRET sa);\n`;

export function catalog(options: string): string {
  return `CREATE CONNECTION c TO ICEBERG CATALOG (${options});\n`;
}

export const REST = "CATALOG TYPE = 'rest', URL = 'https://catalog.example/api'";
export const PREFIX = SECRET + catalog(`${REST}, CREDENTIAL = SECRET cred`);

export function sink(rest: string, name = 's'): string {
  return `CREATE SINK ${name} FROM t INTO ICEBERG CATALOG CONNECTION c ${rest};\n`;
}
