/**
 * Rows made of the published cases (shared `cases/types.jsonl`): one column for each type, and row n holds each type's
 * n-th case, with what a reader must show beside what the wire says.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedFolder } from '../../services/shared-folder.ts';
import { parseSqlType } from '../../../src/relation/sql-type-text.ts';
import type { Column } from '../../../src/relation/relation.ts';
import type { SqlType } from '../../../src/relation/sql-type.ts';

export interface TypeCase {
  readonly type: string;
  readonly copy: string;
  readonly value?: unknown;
  readonly error?: string;
}

export interface CaseTable {
  /** `id` first, NOT NULL; then one nullable column for each type. */
  readonly columns: readonly Column[];
  /** As many as the type with most cases has. */
  readonly variantCount: number;
  /** COPY text of the columns behind `id`, null for NULL. */
  copyOf(variant: number): readonly (string | null)[];
  /** What a reader must show, canonical, without `id`. */
  shownOf(variant: number): Readonly<Record<string, unknown>>;
}

export function caseTable(accepts: (item: TypeCase) => boolean): CaseTable {
  const lines = readFileSync(join(sharedFolder(), 'cases/types.jsonl'), 'utf8').split('\n').filter((line) => line !== '');
  const cases = lines.map((line) => exactJson(line) as TypeCase).filter((item) => item.error === undefined && accepts(item));
  const byType = [...Map.groupBy(cases, (item) => item.type).entries()];
  const columns: Column[] = [{ name: 'id', type: { kind: 'scalar', name: 'bigint', scale: null }, nullable: false }];
  byType.forEach(([text], index) => {
    const type = parseSqlType(text);
    if (type === null) throw new Error(`no type ${text}`);
    columns.push({ name: `c${index}`, type: withNullableFields(type), nullable: true });
  });
  const pick = (variant: number): readonly TypeCase[] => byType.map(([, list]) => list[variant % list.length]!);
  return {
    columns,
    variantCount: Math.max(...byType.map(([, list]) => list.length)),
    copyOf: (variant) => pick(variant).map((item) => (item.copy === '\\N' ? null : item.copy)),
    shownOf: (variant) => Object.fromEntries(pick(variant).map((item, index) => [`c${index}`, item.value ?? null])),
  };
}

/** The cases hold NULL in record fields, whose type texts don't say that they may. */
function withNullableFields(type: SqlType): SqlType {
  switch (type.kind) {
    case 'record': return { ...type, fields: type.fields.map((field) => ({ ...field, type: withNullableFields(field.type), nullable: true })) };
    case 'list':
    case 'array': return { ...type, element: withNullableFields(type.element) };
    case 'map': return { ...type, value: withNullableFields(type.value) };
    default: return type;
  }
}

/** JSON in which integers beyond 2^53 are bigints. */
export function exactJson(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context?.source ?? '') : value);
}

/** One text per row, equal where rows are: numbers by value with the sign of zero, object members in any order. */
export function rowText(row: unknown): string {
  if (typeof row === 'bigint') return row.toString();
  if (typeof row === 'number') return Object.is(row, -0) ? '-0' : Number.isInteger(row) ? BigInt(row).toString() : String(row);
  if (Array.isArray(row)) return `[${row.map(rowText).join(',')}]`;
  if (typeof row !== 'object' || row === null) return JSON.stringify(row);
  const members = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${JSON.stringify(name)}:${rowText(value)}`);
  return `{${members.join(',')}}`;
}

export function sortedTexts(rows: readonly unknown[]): readonly string[] {
  return rows.map(rowText).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
