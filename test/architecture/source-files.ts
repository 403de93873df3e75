/** The source files with their imports and their code without comments and strings: what the rules look at. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export interface SourceFile {
  /** From the project root, with forward slashes: `src/sink/driver.ts`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

export interface Import {
  /** A path from the project root for files of ours, else the name of a package or `node:` module. */
  readonly target: string;
  readonly isOurs: boolean;
  readonly typeOnly: boolean;
  /** `import('…')`: loaded when the code comes to it. */
  readonly isLater: boolean;
}

export const ROOT = resolve(import.meta.dirname, '../..');

export function readSource(folder: string): readonly SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort((a, b) => a.localeCompare(b))
    .map((path) => parseSource(path, readFileSync(join(ROOT, path), 'utf8')));
}

const IMPORT = /^\s*(?:import|export)\s+(type\s+)?([^'";]*?)\s*from\s*'([^']+)'|^\s*import\s*'([^']+)'|import\(\s*'([^']+)'\s*\)/gm;

export function parseSource(path: string, text: string): SourceFile {
  const imports = Array.from(text.matchAll(IMPORT), (match): Import => {
    const specifier = match[3] ?? match[4] ?? match[5] ?? '';
    const isOurs = specifier.startsWith('.');
    const target = isOurs ? relative(ROOT, resolve(ROOT, dirname(path), specifier)) : specifier;
    return { target, isOurs, typeOnly: match[1] !== undefined || onlyTypes(match[2] ?? ''), isLater: match[5] !== undefined };
  });
  return { path, text, imports };
}

/** `{ type A, type B }` imports nothing at run time. */
function onlyTypes(names: string): boolean {
  const inside = /^\{(.*)\}$/s.exec(names.trim())?.[1];
  if (inside === undefined) return false;
  const parts = inside.split(',').map((part) => part.trim()).filter((part) => part !== '');
  return parts.length > 0 && parts.every((part) => part.startsWith('type '));
}

/** Code only: a rule must not be broken, or kept, by a word in a comment or a message. */
export function withoutCommentsAndStrings(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, ' ')
    .replaceAll(/(^|[^:'"`])\/\/.*$/gm, '$1')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""');
}
