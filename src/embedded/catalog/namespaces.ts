/**
 * The namespaces of all catalogs with their properties, in one JSON file that is replaced at each change.
 * A namespace exists only by its own creation, its parents first.
 */
import { join } from 'node:path';
import { Refusal, alreadyExists } from './answer.ts';
import { readFileIfPresent, replaceFile } from './state-file.ts';
import { namespaceKey } from './table-pointers.ts';

export interface Namespace {
  readonly catalog: string;
  readonly levels: readonly string[];
  readonly properties: Readonly<Record<string, string>>;
}

export interface Namespaces {
  find(catalog: string, levels: readonly string[]): Namespace | null;
  /** Rejects with 404 when missing. */
  need(catalog: string, levels: readonly string[]): Namespace;
  /** Direct children, sorted. */
  children(catalog: string, parent: readonly string[]): Namespace[];
  create(namespace: Namespace): void;
  replaceProperties(namespace: Namespace, properties: Readonly<Record<string, string>>): void;
  remove(namespace: Namespace): void;
}

export function noSuchNamespace(levels: readonly string[]): Refusal {
  return new Refusal(404, 'NoSuchNamespaceException', `Namespace does not exist: ${levels.join('.')}`);
}

export function openNamespaces(stateDir: string): Namespaces {
  const path = join(stateDir, 'namespaces.json');
  const known = new Map<string, Namespace>();
  for (const namespace of JSON.parse(readFileIfPresent(path) ?? '[]') as Namespace[]) {
    known.set(namespaceKey(namespace.catalog, namespace.levels), namespace);
  }
  // Memory changes only after the file did: a full disk must not let the two disagree.
  const save = (change: (next: Map<string, Namespace>) => void): void => {
    const next = new Map(known);
    change(next);
    replaceFile(path, `${JSON.stringify([...next.values()], null, 1)}\n`);
    known.clear();
    for (const [key, namespace] of next) known.set(key, namespace);
  };
  const find: Namespaces['find'] = (catalog, levels) => known.get(namespaceKey(catalog, levels)) ?? null;
  const need: Namespaces['need'] = (catalog, levels) => {
    const namespace = find(catalog, levels);
    if (namespace === null) throw noSuchNamespace(levels);
    return namespace;
  };
  const put = (namespace: Namespace): void => {
    save((next) => next.set(namespaceKey(namespace.catalog, namespace.levels), namespace));
  };
  return {
    find,
    need,
    children: (catalog, parent) => {
      const prefix = `${namespaceKey(catalog, parent)}\u001f`;
      return [...known.entries()]
        .filter(([key, namespace]) => key.startsWith(prefix) && namespace.levels.length === parent.length + 1)
        .sort(([left], [right]) => (left < right ? -1 : 1))
        .map(([, namespace]) => namespace);
    },
    create: (namespace) => {
      if (find(namespace.catalog, namespace.levels) !== null) {
        throw alreadyExists(`Namespace already exists: ${namespace.levels.join('.')}`);
      }
      if (namespace.levels.length > 1) need(namespace.catalog, namespace.levels.slice(0, -1));
      put(namespace);
    },
    replaceProperties: (namespace, properties) => put({ ...namespace, properties }),
    remove: (namespace) => save((next) => next.delete(namespaceKey(namespace.catalog, namespace.levels))),
  };
}
