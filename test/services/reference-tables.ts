/** The tables that Iceberg's own Java library writes, and the rows that the specification asks for. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installService } from './service-process.ts';
import { servicesFolder } from './shared-folder.ts';

/** Name → location of the tables made in `namespace`, format version 2 only. */
export async function makeReferenceTables(catalogUri: string, namespace: string): Promise<ReadonlyMap<string, string>> {
  await installService('readers');
  const script = join(servicesFolder(), 'readers/make-tables');
  const { stdout } = await promisify(execFile)(script, [catalogUri, namespace], {
    env: { ...process.env, MAX_FORMAT_VERSION: '2' },
  });
  const lines = stdout.trim().split('\n').map((line) => line.split('\t'));
  return new Map(lines.map(([name = '', location = '']) => [name.slice(namespace.length + 1), location]));
}

export function expectedRows(table: string): readonly string[] {
  const text = readFileSync(join(servicesFolder(), 'readers/expected', `${table}.jsonl`), 'utf8');
  return text.split('\n').filter((line) => line !== '');
}
