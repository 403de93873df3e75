/** The end of the demo in words: whether the check holds, what was found, and how to look at the tables oneself. */
import type { TableVerdict } from './check-tables.ts';

export interface EndedTable {
  readonly verdict: TableVerdict;
  /** The newest metadata file, an absolute path. */
  readonly metadataPath: string;
}

/** `problems`: what went wrong before the check, such as a sink that halted. */
export function checkHolds(ended: readonly EndedTable[], problems: readonly string[]): boolean {
  return problems.length === 0 && ended.length > 0 && ended.every(({ verdict }) => verdict.faults.length === 0);
}

export function verdictText(ended: readonly EndedTable[], problems: readonly string[], logPath: string): string {
  const holds = checkHolds(ended, problems);
  const lines = ended.flatMap(({ verdict }) => tableLines(verdict));
  return [
    'Check by DuckDB, which reads the files by field id and applies the deletes',
    ...lines,
    ...problems.map((problem) => `  ✗ ${problem}`),
    holds
      ? 'OK: the tables hold exactly what the relations held.'
      : `FAILED: see above; the log of the sinks is ${logPath}`,
    '',
  ].join('\n');
}

function tableLines(verdict: TableVerdict): string[] {
  const { sink, relationRows, tableRows, snapshots, comparedSnapshots, structuralScope, faults } = verdict;
  const name = `${sink.relation} → ${sink.table} (${sink.mode})`;
  if (faults.length > 0) return [`  ✗ ${name}`, ...faults.map((fault) => `      ${fault}`)];
  const rows = sink.mode === 'append'
    ? `${tableRows} changes fold to the relation's ${relationRows} rows`
    : `${tableRows} rows equal the relation's ${relationRows}`;
  const files = `${verdict.dataFiles} data and ${verdict.deleteFiles} delete`;
  const checked = structuralScope === 'history' ? `all ${snapshots} snapshots are` : 'the newest snapshot is';
  return [
    `  ✓ ${name}`,
    `      ${rows}`,
    `      ${comparedSnapshots} of ${snapshots} snapshots equal the relation at their own time`,
    `      ${checked} sound in structure; ${files} files are live`,
  ];
}

/** Commands that work as they stand, where there is a DuckDB command line. */
export function queryHint(ended: readonly EndedTable[], sinksPath: string): string {
  const commands = ended.map(({ verdict, metadataPath }) => {
    return `  duckdb -c "INSTALL iceberg; LOAD iceberg; ${exampleQuery(verdict.sink.mode, metadataPath)}"`;
  });
  const lines = ['The tables stay on disk. With the DuckDB command line:', ...commands];
  return [...lines, `The definitions are in ${sinksPath}`, ''].join('\n');
}

function exampleQuery(mode: 'upsert' | 'append', metadataPath: string): string {
  const from = `FROM iceberg_scan('${metadataPath.replaceAll("'", "''")}')`;
  return mode === 'append'
    ? `SELECT _mz_diff, count(*) ${from} GROUP BY ALL;`
    : `SELECT * ${from} ORDER BY id DESC LIMIT 10;`;
}
