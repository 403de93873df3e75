/** DuckDB reads the finished table, deletes applied, and adds up: the benchmark counts only if what was written is right. */
import { DuckDBInstance } from '@duckdb/node-api';
import { GetObjectCommand } from '@aws-sdk/client-s3';
import { createLiveRows } from '../src/embedded/check/live-rows.ts';
import { readSnapshotFiles } from '../src/embedded/check/snapshot-files.ts';
import { type FetchFile, openTableFiles } from '../src/embedded/check/table-files.ts';
import { mainAncestry, parseTableMetadata } from '../src/embedded/check/table-metadata.ts';
import type { Lake } from './lake.ts';

export interface TableSums {
  readonly rows: number;
  readonly sumId: string;
  /** null where the table has no column `n`. */
  readonly sumN: string | null;
  readonly snapshots: number;
}

export async function sumTable(lake: Lake, table: string): Promise<TableSums> {
  const { metadataLocation } = await lake.load(table);
  const files = openTableFiles(fetcherOf(lake));
  try {
    const metadata = parseTableMetadata(Buffer.from(await files.bytes(metadataLocation)).toString('utf8'));
    const history = mainAncestry(metadata);
    const head = history.at(-1);
    if (head === undefined) throw new Error('the table has no snapshot');
    const schema = metadata.schemas.find(({ schemaId }) => schemaId === metadata.currentSchemaId);
    const id = schema?.fields.find(({ name }) => name === 'id');
    const n = schema?.fields.find(({ name }) => name === 'n');
    if (id === undefined) throw new Error('the table has no column id');
    const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
    const connection = await instance.connect();
    const snapshot = await readSnapshotFiles(files, head, new Map());
    const fields = n === undefined ? [id] : [id, n];
    await createLiveRows({ connection, metadata, name: 'live' }, files, snapshot, fields);
    const sumN = n === undefined ? 'NULL' : `sum(c${n.id})::VARCHAR`;
    const result = await connection.runAndReadAll(`SELECT count(*)::VARCHAR, sum(c${id.id})::VARCHAR, ${sumN} FROM live`);
    const [row] = result.getRows();
    connection.closeSync();
    instance.closeSync();
    const text = (index: number): string => String(row?.[index]);
    return { rows: Number(text(0)), sumId: text(1), sumN: n === undefined ? null : text(2), snapshots: history.length };
  } finally {
    files.close();
  }
}

function fetcherOf({ s3 }: Lake): FetchFile | null {
  if (s3 === null) return null;
  const client = s3.client();
  return async (location) => {
    const { host, pathname } = new URL(location);
    const { Body: body } = await client.send(new GetObjectCommand({ Bucket: host, Key: pathname.slice(1) }));
    if (body === undefined) throw new Error(`nothing at ${location}`);
    return await body.transformToByteArray();
  };
}
