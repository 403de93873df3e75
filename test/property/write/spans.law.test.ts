/**
 * Span after span through the writer, the files read by DuckDB and applied as the specification says: equality
 * deletes remove rows of earlier snapshots only. After each span the table is the relation.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Judge, canonical, openJudge } from '../../e2e/write/duckdb.ts';
import { type Change, chunkOf, column, planOf, writeSpan } from '../../e2e/write/rows.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

const columns = [column('n', 'integer list'), column('k', 'text'), column('v', 'integer'), column('b', 'bytea')];
const plan = planOf(columns, { keyColumns: [1, 3] });

/** Keys of many lengths, NULL and empty among them: a buffer kept between rows would show. */
const key = fc.tuple(fc.constantFrom('\\N', '', 'a', 'aa', 'b'.repeat(40), 'é\\t'), fc.constantFrom('\\N', '\\\\x', '\\\\x00', '\\\\x0000', `\\\\x${'ff'.repeat(33)}`));
const step = fc.record({ key, value: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 3 }) });

test('GIVEN any history of a keyed relation WHEN its spans are written THEN the table equals the relation after each', async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.array(step, { maxLength: 25 }), { maxLength: 4 }), async (spans) => {
    const relation = new Map<string, string>();
    let table: readonly string[] = [];
    for (const steps of spans) {
      const changes: Change[] = [];
      for (const { key: [text, bytes], value } of steps) {
        const name = `${text}|${bytes}`;
        const old = relation.get(name);
        if (old !== undefined) changes.push({ row: old, diff: -1n });
        relation.delete(name);
        if (value === null) continue;
        const row = `{${value},NULL}\t${text}\t${value}\t${bytes}`;
        relation.set(name, row);
        changes.push({ row });
      }
      const { files } = await writeSpan(plan, [chunkOf(changes)], true);
      const rowsOf = async (content: string): Promise<readonly string[]> => {
        const read = await Promise.all(files.filter(({ file }) => file.content === content).map(({ bytes }) => judge.rows(bytes, 'select * from $file')));
        return read.flat().map((row) => JSON.stringify(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, canonical(value)]))));
      };
      const deleted = new Set(await rowsOf('equality-deletes'));
      const keyOf = (row: string): string => {
        const { k, b } = JSON.parse(row) as { k: string | null; b: string | null };
        return JSON.stringify({ k, b });
      };
      table = [...table.filter((row) => !deleted.has(keyOf(row))), ...await rowsOf('data')];
      const unescaped = (text: string): string | null => (text === '\\N' ? null : text.replace('\\t', '\t').replace('\\\\x', ''));
      const expected = [...relation.values()].map((row) => {
        const [, k, v, b] = row.split('\t') as [string, string, string, string];
        return JSON.stringify({ n: [Number(v), null], k: unescaped(k), v: Number(v), b: unescaped(b) });
      });
      expect(table.toSorted()).toEqual(expected.toSorted());
    }
  }), { numRuns: 60 });
});
