/** A table that would be created, in full and in aligned columns: what a create request would say, for people. Pure. */
import { formatType } from '../iceberg/types.ts';
import type { CreateTableRequest } from '../sink/ports.ts';

/** One line a column (`id  name  type  required|optional  [identifier]`), then one a property. */
export function describeNewTable({ schema, properties }: CreateTableRequest): readonly string[] {
  const rows = schema.fields.map((field) => [
    String(field.id),
    JSON.stringify(field.name),
    formatType(field.type),
    field.required ? 'required' : 'optional',
    schema.identifierFieldIds.includes(field.id) ? 'identifier' : '',
  ]);
  const settings = Object.entries(properties).map(([name, value]) => `property ${name} = ${value}`);
  return [...aligned(rows), ...settings];
}

function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd());
}
