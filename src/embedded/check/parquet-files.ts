/** What DuckDB finds in the footers of a set of Parquet files, and the query that reads them by field id. */
import type { DuckDBConnection, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import {
  columnFaults, duckdbType, parquetColumns, type ParquetNode, type ParquetSchemaRow, readExpression, sqlName, sqlText,
} from './parquet-columns.ts';
import type { TableField } from './table-metadata.ts';

export interface ParquetFile {
  readonly localPath: string;
  readonly rowCount: bigint;
  readonly rowGroupCount: number;
  readonly columns: readonly ParquetNode[];
  /** DuckDB's own names and types of the top-level columns, in the order of `columns`. */
  readonly storedNames: readonly string[];
  readonly storedTypes: readonly DuckDBType[];
  /** Equal for files that one query can read together. */
  readonly shape: string;
}

/** Reads all footers; one query for the schemas and one for the counts, then one a distinct shape. */
export async function describeParquetFiles(
  connection: DuckDBConnection, localPaths: readonly string[],
): Promise<ReadonlyMap<string, ParquetFile>> {
  if (localPaths.length === 0) return new Map();
  const list = sqlList(localPaths);
  const schemaRows = await readRows(connection, `
    SELECT file_name, name, field_id, repetition_type, type, type_length, logical_type, converted_type, num_children
    FROM parquet_schema(${list}) ORDER BY file_name, column_id`);
  const rowsByFile = Map.groupBy(schemaRows, (row) => String(row[0]));
  const counts = new Map((await readRows(connection, `
    SELECT file_name, num_rows, num_row_groups FROM parquet_file_metadata(${list})`)).map((row) => [String(row[0]), row]));
  const typesByShape = new Map<string, Pick<ParquetFile, 'storedNames' | 'storedTypes'>>();
  const described = new Map<string, ParquetFile>();
  for (const localPath of localPaths) {
    const columns = parquetColumns((rowsByFile.get(localPath) ?? []).map(schemaRow));
    const shape = JSON.stringify(columns);
    const stored = typesByShape.get(shape) ?? await storedColumns(connection, localPath);
    typesByShape.set(shape, stored);
    const count = counts.get(localPath);
    described.set(localPath, {
      localPath, columns, shape, ...stored,
      rowCount: BigInt(String(count?.[1] ?? 0)), rowGroupCount: Number(count?.[2] ?? 0),
    });
  }
  return described;
}

async function storedColumns(
  connection: DuckDBConnection, localPath: string,
): Promise<Pick<ParquetFile, 'storedNames' | 'storedTypes'>> {
  const result = await connection.run(`SELECT * FROM read_parquet(${sqlText(localPath)}) LIMIT 0`);
  return { storedNames: result.columnNames(), storedTypes: result.columnTypes() };
}

function schemaRow(row: readonly unknown[]): ParquetSchemaRow {
  const repetition = row[3] === 'REQUIRED' || row[3] === 'REPEATED' ? row[3] : 'OPTIONAL';
  return {
    name: String(row[1]),
    fieldId: row[2] === null ? null : Number(row[2]),
    repetition,
    physicalType: textOrNull(row[4]),
    typeLength: row[5] === null ? null : Number(row[5]),
    logicalType: textOrNull(row[6] ?? row[7]),
    childCount: Number(row[8] ?? 0),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/**
 * A SELECT over files of one shape with a column `c<id>` for each field, the file's local path as `$file`, and the row's
 * position as `$position` where asked for (DuckDB refuses that for a file with a column of the name file_row_number).
 */
export function selectByFieldId(
  shapeOf: ParquetFile, localPaths: readonly string[], fields: readonly TableField[], withPositions: boolean,
): string {
  const schema: string[] = [];
  const columns = fields.map((field) => {
    const position = shapeOf.columns.findIndex((column) => column.fieldId === field.id);
    const node = shapeOf.columns[position];
    const stored = shapeOf.storedTypes[position];
    if (node === undefined || stored === undefined) return `NULL::${duckdbType(field.type)} AS c${field.id}`;
    schema.push(`${field.id}: {name: 's${field.id}', type: ${sqlText(stored.toString())}, default_value: NULL}`);
    return `${readExpression(`s${field.id}`, field.type, node, stored)} AS c${field.id}`;
  });
  const options = [
    "filename = '$file'",
    ...(schema.length > 0 ? [`schema = MAP {${schema.join(', ')}}`] : []),
    ...(withPositions ? ['file_row_number = true'] : []),
  ];
  const position = withPositions ? ['file_row_number AS "$position"'] : [];
  return `SELECT ${[...columns, sqlName('$file'), ...position].join(', ')}
    FROM read_parquet(${sqlList(localPaths)}, ${options.join(', ')})`;
}

export function shapeFaults(file: ParquetFile, fields: readonly TableField[], mustHaveAll: boolean): readonly string[] {
  return columnFaults(file.columns, fields, '', mustHaveAll);
}

/** Groups that `selectByFieldId` can read with one query each. */
export function byShape(files: Iterable<ParquetFile>): readonly (readonly [ParquetFile, readonly string[]])[] {
  const groups = [...Map.groupBy(files, (file) => file.shape).values()];
  return groups.flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [[first, group.map((file) => file.localPath)] as const];
  });
}

function sqlList(texts: readonly string[]): string {
  return `[${texts.map(sqlText).join(', ')}]`;
}

export async function readRows(connection: DuckDBConnection, sql: string): Promise<readonly DuckDBValue[][]> {
  return (await connection.runAndReadAll(sql)).getRows();
}
