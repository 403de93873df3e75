/**
 * The names that a file defines. As in SQL, secrets, connections and sinks share one set of names, and a name
 * must be defined above its use. A definition that failed still takes its name, with null for its value, so
 * that what uses it isn't reported a second time.
 */
import type { AwsConnection, CatalogConnection, GcpConnection, Position } from './definitions.ts';
import { displayName, nameKey } from './object-name.ts';
import type { Report } from './report.ts';
import type { Secret } from './secret.ts';
import type { ConnectionTarget, ObjectName } from './statements.ts';

export type Entry =
  | { readonly kind: 'secret'; readonly value: Secret | null }
  | { readonly kind: 'iceberg-catalog'; readonly value: CatalogConnection | null }
  | { readonly kind: 'aws'; readonly value: AwsConnection | null }
  | { readonly kind: 'gcp'; readonly value: GcpConnection | null }
  | { readonly kind: 'sink'; readonly value: null }
  /** Its statement didn't parse; what it would have been is unknown. */
  | { readonly kind: 'broken'; readonly value: null };

export interface Scope {
  readonly entries: Map<string, { readonly entry: Entry; readonly position: Position }>;
  /** Every name of the file with the line of its first definition, to tell "missing" from "too far down". */
  readonly lines: ReadonlyMap<string, number>;
}

const KIND_LABEL: Readonly<Record<Entry['kind'], string>> = {
  secret: 'a secret',
  'iceberg-catalog': 'an Iceberg catalog connection',
  aws: 'an AWS connection',
  gcp: 'a GCP connection',
  sink: 'a sink',
  broken: 'a statement with problems',
};

/** false when the name is taken: reported, or with IF NOT EXISTS only warned about, and the statement is ignored. */
export function claimName(scope: Scope, name: ObjectName, ifNotExists: boolean, report: Report): boolean {
  const taken = scope.entries.get(nameKey(name));
  if (taken === undefined) return true;
  const before = `at line ${taken.position.line} as ${KIND_LABEL[taken.entry.kind]}`;
  const what = `"${displayName(name)}" is already defined ${before}`;
  if (ifNotExists) report.warning(name.range, `${what}; this statement is ignored`);
  else report.problem(name.range, what);
  return false;
}

export function define(scope: Scope, name: ObjectName, position: Position, entry: Entry): void {
  scope.entries.set(nameKey(name), { entry, position });
}

/** What `name` stands for; null after the problem was reported. */
function lookUp(scope: Scope, name: ObjectName, report: Report): Entry | null {
  const found = scope.entries.get(nameKey(name));
  if (found !== undefined) return found.entry;
  const line = scope.lines.get(nameKey(name));
  const shown = displayName(name);
  const message =
    line === undefined
      ? `"${shown}" is not defined in this file`
      : `"${shown}" is defined at line ${line} only; define it above its first use`;
  report.problem(name.range, message);
  return null;
}

/** null: reported, here or where the secret is defined. */
export function secretNamed(scope: Scope, name: ObjectName, report: Report): Secret | null {
  const entry = lookUp(scope, name, report);
  if (entry === null || entry.kind === 'broken') return null;
  if (entry.kind === 'secret') return entry.value;
  report.problem(name.range, `${displayName(name)} is not a secret`);
  return null;
}

type ConnectionOf = { 'iceberg-catalog': CatalogConnection; aws: AwsConnection; gcp: GcpConnection };

/** `refuse` words the problem when `name` is something else than `kind`. */
export function connectionNamed<K extends ConnectionTarget>(
  scope: Scope,
  name: ObjectName,
  kind: K,
  report: Report,
  refuse: (shown: string) => string,
): ConnectionOf[K] | null {
  const entry = lookUp(scope, name, report);
  if (entry === null || entry.kind === 'broken') return null;
  // The kinds of Entry and ConnectionOf are the same words for the same values.
  if (entry.kind === kind) return entry.value as ConnectionOf[K] | null;
  report.problem(name.range, refuse(displayName(name)));
  return null;
}
