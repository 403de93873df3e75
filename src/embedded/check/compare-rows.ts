/**
 * Is the table the relation? Decided inside of DuckDB as one weighted sum per distinct row, so that millions of rows take
 * seconds: the table's rows count up, the relation's down, and what is left over differs.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { duckdbType, sqlName, sqlText } from './parquet-columns.ts';
import { readRows } from './parquet-files.ts';
import type { TableField } from './table-metadata.ts';

/**
 * The relation, as a file of PostgreSQL COPY text, or as a DuckDB query with the columns of the table, by name.
 * `columns` are the table's columns that the relation has, in the order of the file.
 * `fold`: an append table is a change log; the relation is its sum of `_mz_diff` per row.
 */
export interface ExpectedRows {
  readonly columns: readonly string[];
  readonly rows: { readonly kind: 'copy-text'; readonly path: string } | { readonly kind: 'query'; readonly sql: string };
  readonly fold?: 'none' | 'change-log';
}

export interface Comparison {
  readonly equal: boolean;
  /** Rows of the table (folded where asked for) and of the relation, duplicates counted. */
  readonly tableRows: bigint;
  readonly relationRows: bigint;
  /** In the relation but not in the table, and the other way round, duplicates counted. */
  readonly missingRows: bigint;
  readonly unexpectedRows: bigint;
}

/** Rejects for nested columns in copy-text form, which DuckDB can't parse; compare canonical lines there. */
export async function compareRows(
  connection: DuckDBConnection, table: string, fields: readonly TableField[], expected: ExpectedRows,
): Promise<Comparison> {
  const compared = expected.columns.map((name) => {
    const field = fields.find((candidate) => candidate.name === name);
    if (field === undefined) throw new Error(`the table has no column ${name}`);
    return field;
  });
  const ids = compared.map((field) => `c${field.id}`).join(', ');
  const weight = expected.fold === 'change-log' ? diffColumn(fields) : '1';
  const [row = []] = await readRows(connection, `
    WITH actual AS (SELECT ${ids}, sum(${weight})::BIGINT AS n FROM ${table} GROUP BY ALL),
      wanted AS (SELECT ${ids}, count(*)::BIGINT AS n FROM (${expectedSelect(compared, expected)}) GROUP BY ALL),
      difference AS (
        SELECT ${ids}, sum(up)::BIGINT AS up, sum(down)::BIGINT AS down FROM (
          SELECT ${ids}, n AS up, 0 AS down FROM actual UNION ALL SELECT ${ids}, 0 AS up, n AS down FROM wanted
        ) GROUP BY ALL)
    SELECT coalesce(sum(up), 0)::BIGINT, coalesce(sum(down), 0)::BIGINT,
      coalesce(sum(greatest(down - up, 0)), 0)::BIGINT, coalesce(sum(greatest(up - down, 0)), 0)::BIGINT FROM difference`);
  const [tableRows = 0n, relationRows = 0n, missingRows = 0n, unexpectedRows = 0n] = row.map((value) => BigInt(String(value)));
  return { equal: missingRows === 0n && unexpectedRows === 0n, tableRows, relationRows, missingRows, unexpectedRows };
}

function diffColumn(fields: readonly TableField[]): string {
  const diff = fields.find((field) => field.name === '_mz_diff');
  if (diff === undefined) throw new Error('the table has no column _mz_diff to fold by');
  return `c${diff.id}`;
}

function expectedSelect(compared: readonly TableField[], expected: ExpectedRows): string {
  if (expected.rows.kind === 'query') {
    const columns = compared.map((field) => `${sqlName(field.name)}::${duckdbType(field.type)} AS c${field.id}`);
    return `SELECT ${columns.join(', ')} FROM (${expected.rows.sql})`;
  }
  const names = compared.map((field) => `${sqlText(`t${field.id}`)}: 'VARCHAR'`);
  const columns = compared.map((field) => `${parseCopyField(`t${field.id}`, field)} AS c${field.id}`);
  // No quoting and no escaping of the reader's own: COPY's backslashes are undone below, field by field.
  return `SELECT ${columns.join(', ')} FROM read_csv(${sqlText(expected.rows.path)}, delim = '\t', header = false, quote = '',
    escape = '', nullstr = '\\N', auto_detect = false, new_line = '\\n', max_line_size = 67108864,
    columns = {${names.join(', ')}})`;
}

function parseCopyField(source: string, field: TableField): string {
  const { kind } = field.type;
  if (kind === 'list' || kind === 'map' || kind === 'struct') {
    throw new Error(`the nested column ${field.name} can't be compared from COPY text`);
  }
  if (kind === 'string') return unescaped(source);
  if (kind !== 'binary' && kind !== 'fixed') return `${unescaped(source)}::${duckdbType(field.type)}`;
  const hex = `regexp_replace(${unescaped(source)}, '^\\\\x', '')`;
  // fixed(16) is a uuid and comes as its text; bytea has a hex form without dashes.
  return kind === 'fixed' ? `unhex(replace(${hex}, '-', ''))` : `unhex(${hex})`;
}

/** Undoes COPY's backslash escapes. A doubled backslash is set aside first, so that it can't begin an escape. */
function unescaped(source: string): string {
  const pairs = [['\\b', 8], ['\\f', 12], ['\\n', 10], ['\\r', 13], ['\\t', 9], ['\\v', 11]] as const;
  const aside = `chr(57344)`;
  const opened = pairs.reduce(
    (text, [escape, code]) => `replace(${text}, ${sqlText(escape)}, chr(${code}))`, `replace(${source}, '\\\\', ${aside})`,
  );
  return `CASE WHEN contains(${source}, '\\') THEN replace(${opened}, ${aside}, '\\') ELSE ${source} END`;
}
