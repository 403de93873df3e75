/** Rows as a table in Markdown, which also reads well in a terminal. */

export type Cell = string | number | boolean | null;
export type TableRow = Readonly<Record<string, Cell>>;

/** The columns are the keys of all rows, in the order in which they first appear. Numbers stand right. */
export function tableText(rows: readonly TableRow[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const isNumeric = names.map((name) => rows.every((row) => row[name] === undefined || row[name] === null || typeof row[name] === 'number'));
  const body = rows.map((row) => names.map((name) => cellText(row[name])));
  const widths = names.map((name, index) => Math.max(3, name.length, ...body.map((cells) => cells[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => (isNumeric[index] === true ? cell.padStart(widths[index] ?? 0) : cell.padEnd(widths[index] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, index) => (isNumeric[index] === true ? `${'-'.repeat(width + 1)}:` : '-'.repeat(width + 2))).join('|')}|`;
  return [line(names), rule, ...body.map(line)].join('\n');
}

function cellText(cell: Cell | undefined): string {
  if (cell === undefined || cell === null) return '';
  return typeof cell === 'number' ? numberText(cell) : String(cell);
}

/** Three significant digits below a thousand, separators above. */
function numberText(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
