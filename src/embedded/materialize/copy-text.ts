/**
 * COPY text, the form rows travel in. In: values or columns as text. Out: the columns of a line, tab separated.
 *
 * A line is held as a binary string: one character per byte of its UTF-8. So a byte that is no UTF-8 (type "char")
 * survives, two rows are equal exactly when their strings are, and writing costs no transcoding.
 * Invariant: a line's bytes hold a tab or newline only as separator (both are escaped inside of values).
 */

/** Columns of one row, tab separated, without time, diff and newline: a binary string. */
export type RowLine = string;

/** A column as COPY text that is already escaped; null for NULL. */
export type CopyColumn = string | Uint8Array | null;

const NULL_TEXT = '\\N';

const NOT_ASCII = /[^\0-\x7f]/;

/** Text as one character per UTF-8 byte. */
export function toBinaryString(text: string): string {
  return NOT_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** Escapes a value's text form: only backslash, newline, return and tab; `\b`, `\f` and `\v` go raw. */
export function escapeCopyText(text: string): string {
  if (!/[\\\n\r\t]/.test(text)) return text;
  return text.replaceAll(/[\\\n\r\t]/g, (found) => ESCAPES[found] ?? found);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const UNESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v' };

/** Joins columns that are COPY text already. */
export function joinCopyColumns(columns: readonly CopyColumn[]): RowLine {
  let line = '';
  for (let i = 0; i < columns.length; i++) {
    if (i > 0) line += '\t';
    const column = columns[i];
    if (column === null || column === undefined) line += NULL_TEXT;
    else if (typeof column === 'string') line += toBinaryString(column);
    else line += Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString('latin1');
  }
  return line;
}

/** The values of a line as binary strings, unescaped; null for NULL. */
export function splitRowLine(line: RowLine): (string | null)[] {
  return line.split('\t').map((column) => {
    if (column === NULL_TEXT) return null;
    if (!column.includes('\\')) return column;
    return column.replaceAll(/\\(.)/gs, (_, found: string) => UNESCAPES[found] ?? found);
  });
}

/** One CSV record of binary strings without its newline: NULL is unquoted nothing, an empty string is `""`. */
export function csvRecord(values: readonly (string | null)[]): string {
  return values.map(csvField).join(',');
}

function csvField(value: string | null): string {
  if (value === null) return '';
  if (value !== '' && !/[",\n\r]/.test(value) && value !== '\\.') return value;
  return `"${value.replaceAll('"', '""')}"`;
}
