/**
 * The demo with a table damaged between the sinks' end and the check; a process of its own: `damaged-demo.ts DAMAGE`.
 * What comes out is what the demo itself would say and how it would exit.
 */
import { copyFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runDemo } from '../../../src/embedded/demo/run-demo.ts';

/** Absolute paths of a table's files in a folder of it, the oldest first. */
function filesOf(metadataPath: string, folder: 'data' | 'metadata', isWanted: (name: string) => boolean): string[] {
  const path = join(dirname(dirname(metadataPath)), folder);
  return readdirSync(path).filter(isWanted).map((name) => join(path, name))
    .toSorted((a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs);
}

function nth(paths: readonly string[], index: number): string {
  const path = paths.at(index);
  if (path === undefined) throw new Error('there is nothing to damage');
  return path;
}

interface Tables {
  readonly upsert: string;
  readonly append: string;
}

const DAMAGES: Readonly<Record<string, (tables: Tables) => void>> = {
  'data-file-deleted': ({ append }) => rmSync(nth(filesOf(append, 'data', (name) => name.includes('-data-')), 0)),
  'manifest-deleted': ({ append }) => {
    rmSync(nth(filesOf(append, 'metadata', (name) => name.endsWith('.avro') && !name.startsWith('snap-')), 0));
  },
  // Readable, of the right schema, and wrong.
  'data-file-of-another-commit': ({ append }) => {
    const files = filesOf(append, 'data', (name) => name.includes('-data-'));
    copyFileSync(nth(files, 0), nth(files, -1));
  },
  'delete-file-of-another-commit': ({ upsert }) => {
    const files = filesOf(upsert, 'data', (name) => name.includes('-deletes-'));
    copyFileSync(nth(files, 0), nth(files, -1));
  },
};

const damage = DAMAGES[process.argv[2] ?? ''];
if (damage === undefined) throw new Error(`a damage is one of ${Object.keys(DAMAGES).join(', ')}`);
const holds = await runDemo({
  // Long enough for three commits at least, so for two with deletes.
  options: { loadMs: 8_000 },
  stateDir: '.demo',
  output: process.stdout,
  endEarly: new AbortController().signal,
  beforeCheck: (metadataPaths) => damage({ upsert: nth(metadataPaths, 0), append: nth(metadataPaths, 1) }),
});
process.exitCode = holds ? 0 : 1;
