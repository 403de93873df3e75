/**
 * The table of ARCHITECTURE.md as rules. Each takes files and returns what breaks it, worded with the way out, so that
 * every rule can be shown to fire.
 */
import { type SourceFile, withoutCommentsAndStrings } from './source-files.ts';

/** Folder → the folders it may import; `type:x` allows only types of x. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'time': [],
  'relation': [],
  'errors': [],
  'definition': ['relation', 'errors', 'type:write'],
  'iceberg': ['errors'],
  'subscribe': ['time', 'relation', 'errors', 'type:batch'],
  'batch': ['time', 'relation', 'errors'],
  'parquet': ['errors', 'iceberg'],
  'write': ['time', 'relation', 'iceberg', 'parquet', 'errors', 'batch', 'subscribe', 'type:definition'],
  'snapshot': ['time', 'iceberg', 'errors', 'type:write'],
  'commit': ['time', 'iceberg', 'errors', 'snapshot'],
  'sink': ['time', 'relation', 'errors', 'iceberg', 'subscribe', 'batch', 'write', 'snapshot', 'commit', 'type:definition'],
  'io': [
    'time', 'relation', 'errors', 'iceberg', 'subscribe', 'batch', 'write', 'snapshot', 'type:sink', 'definition',
  ],
  'observe': ['time', 'errors', 'type:sink', 'type:definition'],
  'cli': [
    'time', 'relation', 'errors', 'definition', 'iceberg', 'batch', 'write', 'snapshot', 'commit', 'sink', 'io', 'observe', 'subscribe',
  ],
  'embedded/check': [],
  'embedded/catalog': ['errors', 'iceberg'],
  // Its main.ts starts the load on demand; nothing else of it knows the load.
  'embedded/materialize': ['time', 'relation', 'errors', 'embedded/auction'],
  'embedded/auction': ['time', 'relation', 'errors', 'embedded/materialize'],
  'embedded/demo': [
    'time', 'relation', 'errors', 'definition', 'iceberg', 'type:sink', 'type:write', 'observe', 'cli', 'io', 'embedded/check', 'embedded/catalog',
    'embedded/materialize', 'embedded/auction',
  ],
  'main': ['cli', 'definition', 'observe', 'errors', 'type:sink'],
};

/** Folders whose code decides: no clock, no randomness, no world. */
const DECIDING = ['time', 'relation', 'definition', 'iceberg', 'subscribe', 'batch', 'parquet', 'write', 'snapshot', 'commit'];
/** Files of `sink` that decide; the others are the driver's. */
const DECIDING_SINK_FILES = [
  'machine', 'opening', 'pipeline', 'committing', 'ending', 'state', 'effects', 'check-relation', 'table-planning', 'sync-marker', 'stall',
];

/** Files that may await, and why: parquet-wasm's writer is a stream. */
const MAY_AWAIT = ['src/write/parquet.ts', 'src/write/parquet-wasm.ts', 'src/write/table-file.ts', 'src/write/span-writer.ts'];
/** Node modules that are pure functions, so that a decision may use them. */
const PURE_MODULES = ['node:zlib', 'node:buffer'];

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/, 'reads a clock; take the time as an argument'],
  [/\bMath\.random\b|\bcrypto\b|\brandomUUID\b/, 'draws randomness; take it as an argument'],
  [/\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, 'sets a timer; return when to be called instead'],
  [/\bprocess\.|\bconsole\./, 'touches the process; only the edges may'],
  [/\bfetch\(/, 'talks to the network; only io/ may'],
];

export function folderOf(path: string): string {
  const parts = path.replace(/^src\//, '').split('/');
  if (parts.length === 1) return (parts[0] ?? '').replace(/\.ts$/, '');
  return parts[0] === 'embedded' ? `embedded/${parts[1]}` : parts[0] ?? '';
}

export function isDecision(path: string): boolean {
  const folder = folderOf(path);
  return DECIDING.includes(folder) || (folder === 'sink' && DECIDING_SINK_FILES.some((name) => path === `src/sink/${name}.ts`));
}

export function importFaults(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) => {
    const from = folderOf(file.path);
    const allowed = MAY_IMPORT[from];
    if (allowed === undefined) return [`${file.path}: folder ${from} is not in the table of ARCHITECTURE.md; add it there and in rules.ts`];
    return file.imports.filter((item) => item.isOurs).flatMap((item) => {
      const to = folderOf(item.target);
      if (to === from || allowed.includes(to) || (item.typeOnly && allowed.includes(`type:${to}`))) return [];
      const way = allowed.includes(`type:${to}`) ? 'only types of it are allowed' : 'move what both need to the left, or pass it in';
      return [`${file.path} imports ${item.target}: ${from} may not import ${to}; ${way}`];
    });
  });
}

export function cycleFaults(files: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const faults: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      faults.push(`cycle: ${[...trail.slice(at), path].join(' → ')}; take what both need out into a file of its own`);
      return;
    }
    if (done.has(path)) return;
    for (const item of byPath.get(path)?.imports ?? []) if (item.isOurs && !item.typeOnly) visit(item.target, [...trail, path]);
    done.add(path);
  };
  for (const file of files) visit(file.path, []);
  return faults;
}

/** Packages that are loaded with the file at `entry`, and not when code comes to need them. */
export function packagesAtStart(files: readonly SourceFile[], entry: string): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { target, isOurs, typeOnly, isLater } of byPath.get(path)?.imports ?? []) {
      if (typeOnly || isLater) continue;
      if (isOurs) visit(target);
      else if (!target.startsWith('node:')) packages.add(target);
    }
  };
  visit(entry);
  return packages;
}

export function worldFaults(files: readonly SourceFile[]): readonly string[] {
  return files.filter((file) => isDecision(file.path)).flatMap((file) => {
    const code = withoutCommentsAndStrings(file.text);
    const used = FORBIDDEN.filter(([pattern]) => pattern.test(code)).map(([, what]) => `${file.path} ${what}`);
    const waits = !MAY_AWAIT.includes(file.path) && /\basync\b|\bawait\b|\bPromise\b/.test(code)
      ? [`${file.path} waits; a decision is synchronous, waiting is the driver's`] : [];
    const modules = file.imports.filter((item) => item.target.startsWith('node:') && !PURE_MODULES.includes(item.target))
      .map((item) => `${file.path} imports ${item.target}; a decision has no world`);
    return [...used, ...waits, ...modules];
  });
}

export function shapeFaults(files: readonly SourceFile[], linesMax: number): readonly string[] {
  return files.flatMap((file) => {
    const faults: string[] = [];
    const lines = file.text.split('\n');
    if (lines.length > linesMax + 1) faults.push(`${file.path} has ${lines.length} lines, more than ${linesMax}; split it where it has two subjects`);
    if (/(^|\/)index\.ts$/.test(file.path)) faults.push(`${file.path} is a barrel; import from the file that has it`);
    if (/\/(utils|common|helpers|types|misc)\//.test(file.path)) faults.push(`${file.path}: name the folder after what is in it`);
    return faults;
  });
}

/** Places of this machine and hosts of registries: a file that names them works here only. */
const PRIVATE = [/\/root\//, /\/work\/(?:main|shared)/, /registry\.npmjs\.org/, /repo1?\.maven\.org/, /files\.pythonhosted\.org/, /proxy\.golang\.org/, /crates\.io/];

export function privacyFaults(files: readonly { readonly path: string; readonly text: string }[]): readonly string[] {
  return files.flatMap((file) => PRIVATE.filter((pattern) => pattern.test(file.text))
    .map((pattern) => `${file.path} names ${pattern.source}; use a path from the project root, or the package by its name`));
}
