/** `npm run bench -- NAME [options]`: runs a benchmark, prints a table, and writes the figures as JSON to bench/results. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchE2e } from './e2e.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '2000000' },
    changes: { type: 'string', default: '200000' },
    commits: { type: 'string', default: '5' },
  },
});

const [name] = positionals;
if (name !== 'e2e') {
  console.error('usage: npm run bench -- e2e [--rows N] [--changes N] [--commits N]');
  process.exit(2);
}
const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.version}`;
const results = await benchE2e({ rows: Number(values.rows), changes: Number(values.changes), commits: Number(values.commits) });
console.log(machine);
console.table(results.map((row) => ({ ...row, wallS: row.wallS.toFixed(2), cpuS: row.cpuS.toFixed(2) })));
const folder = new URL('./results/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify({ machine, options: values, results }, null, 2)}\n`);
