/** The command as an operator meets it when it halts: one process, many sinks, and what it says of each. */
import { ERROR_CODES, type ErrorCode } from '../../../src/errors.ts';
import { CATALOG_NAME, NAMESPACE } from '../harness/lake.ts';
import type { Stage } from '../harness/stage.ts';

export interface Halted {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
}

/** What the log said of each sink that halted, by the sink's name. */
export function haltedOf(output: string): ReadonlyMap<string, Halted> {
  // The last piece may be a line that is still being written.
  const lines = output.split('\n').slice(0, -1).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, string>);
  return new Map(lines.filter((line) => line['event'] === 'halted').map((line) => {
    const { sink = '', code = '', message = '', remedy = '' } = line;
    return [sink, { code: code as ErrorCode, message, remedy }];
  }));
}

export function remedyOf(code: ErrorCode): string {
  return ERROR_CODES[code].remedy;
}

export interface OddSink {
  readonly name: string;
  /** Default: a relation and a table of the sink's name, upsert by id. */
  readonly from?: string;
  readonly key?: string;
  readonly mode?: 'upsert' | 'append';
  readonly cluster?: string;
  readonly namespace?: string;
  readonly connection?: string;
}

/** A connection to the stage's catalog that differs in one respect. */
export function oddConnection(stage: Stage, name: string, over: { readonly secret?: string; readonly warehouse?: string; readonly scope?: string | null }): string {
  const { clientId, clientSecret, catalogUrl } = stage.lake;
  const scope = over.scope === null ? '' : `, SCOPE = '${over.scope ?? 'PRINCIPAL_ROLE:ALL'}'`;
  return `CREATE SECRET ${name}_secret AS '${clientId}:${over.secret ?? clientSecret}';
    CREATE CONNECTION ${name} TO ICEBERG CATALOG (CATALOG TYPE = 'rest', URL = '${catalogUrl}',
      WAREHOUSE = '${over.warehouse ?? CATALOG_NAME}', CREDENTIAL = SECRET ${name}_secret${scope});\n`;
}

export function oddSink(sink: OddSink): string {
  const { name, from = name, mode = 'upsert', key = '(id)', cluster = 'quickstart', namespace = NAMESPACE, connection = 'iceberg_catalog_connection' } = sink;
  return `CREATE SINK ${name} IN CLUSTER ${cluster} FROM ${from} INTO ICEBERG CATALOG CONNECTION ${connection} (
    NAMESPACE = '${namespace}', TABLE = '${name}') ${mode === 'upsert' ? `KEY ${key} ` : ''}MODE ${mode.toUpperCase()} WITH (COMMIT INTERVAL = '1s');\n`;
}

export function refusal(status: number, type: string, message: string) {
  const body = JSON.stringify({ error: { message, type, code: status } });
  return { kind: 'answer', answer: { status, headers: { 'content-type': 'application/json' }, body } } as const;
}
