/** Other engines as readers of our tables, each kept open: Spark takes 13 s to start and then 0.3 s a table. */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installService, startProcess } from './service-process.ts';
import { servicesFolder } from './shared-folder.ts';
import type { S3Server } from './servers.ts';

export type Engine = 'java' | 'spark' | 'duckdb' | 'pyiceberg' | 'trino';

/** `lines`: canonical JSON, one a row, sorted by bytes. An error is the engine's refusal or failure, in its words. */
export type ReadOutcome =
  | { readonly kind: 'rows'; readonly lines: readonly string[] }
  | { readonly kind: 'error'; readonly type: string; readonly message: string };

export interface Reader {
  readonly engine: Engine;
  /** `table` is NAMESPACE.TABLE. Calls are answered one after another. */
  read(table: string, snapshotId?: bigint): Promise<ReadOutcome>;
  close(): Promise<void>;
}

/** The S3 settings of the readers, for a server that they reach with its own keys. */
export function readerS3(server: S3Server): Readonly<Record<string, string>> {
  return {
    S3_ENDPOINT: server.endpoint, AWS_REGION: server.region,
    AWS_ACCESS_KEY_ID: server.keys.accessKeyId, AWS_SECRET_ACCESS_KEY: server.keys.secretAccessKey,
  };
}

/** `environment`: as the readers' README lists it (REST_WAREHOUSE, REST_CREDENTIAL, TRINO_URI, S3_ENDPOINT, …). */
export async function openReader(
  engine: Engine, catalogUri: string, environment: Readonly<Record<string, string>> = {},
): Promise<Reader> {
  await installService('readers');
  const script = join(servicesFolder(), 'readers', `read-${engine}`);
  const running = startProcess(script, [catalogUri, '--stdin'], environment, 'pipe');
  const { stdin, stdout } = running.child;
  if (stdin === null || stdout === null) throw new Error(`read-${engine} has no pipes`);
  stdin.on('error', () => undefined);
  const answers = createInterface({ input: stdout, crlfDelay: Infinity })[Symbol.asyncIterator]();
  const readOne = async (table: string, snapshotId?: bigint): Promise<ReadOutcome> => {
    stdin.write(`${table}${snapshotId === undefined ? '' : ` ${snapshotId}`}\n`);
    const lines: string[] = [];
    for (;;) {
      const answer = await answers.next();
      if (answer.done === true) throw new Error(`read-${engine} ended early:\n${running.output()}`);
      const closing = closingLine(answer.value);
      if (closing === null) lines.push(answer.value);
      else if (closing.kind === 'error') return closing;
      else if (closing.rows === lines.length) return { kind: 'rows', lines };
      else throw new Error(`read-${engine} announced ${closing.rows} rows and printed ${lines.length}`);
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    engine,
    read: (table, snapshotId) => {
      const answer = last.then(() => readOne(table, snapshotId));
      last = answer.catch(() => undefined);
      return answer;
    },
    close: async () => {
      stdin.end();
      await running.stop();
    },
  };
}

type Closing = { readonly kind: 'end'; readonly rows: number } | Extract<ReadOutcome, { kind: 'error' }>;

/** A row's first key is a column name; `$end` and `$error` alone are the reader's own words. */
function closingLine(line: string): Closing | null {
  if (!line.startsWith('{"$end":') && !line.startsWith('{"$error":')) return null;
  const parsed = JSON.parse(line) as { $end?: { rows: number }; $error?: { type: string; message: string } };
  if (parsed.$end !== undefined) return { kind: 'end', rows: parsed.$end.rows };
  return parsed.$error === undefined ? null : { kind: 'error', ...parsed.$error };
}
