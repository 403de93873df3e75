import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { Secret } from '../../../src/definition/secret.ts';
import { SinkError } from '../../../src/errors.ts';
import {
  type MaterializeStandIn,
  type StandInOptions,
  createMaterializeStandIn,
} from '../../../src/embedded/materialize/stand-in.ts';
import { createMaterializeSource } from '../../../src/io/materialize.ts';
import { formatSqlType, parseSqlType } from '../../../src/relation/sql-type-text.ts';
import { type SqlType, scalar } from '../../../src/relation/sql-type.ts';
import type { Source, SourceEvent, SubscribeRequest } from '../../../src/sink/ports.ts';
import { rowsOf } from '../subscribe/flat-events.ts';

const options: StandInOptions = {
  manualTime: true,
  users: { me: 'secret' },
  // Everything leaves in pieces of at most 7 bytes.
  cut: (available) => Math.min(available, 7),
};

let standIn: MaterializeStandIn;
beforeAll(async () => {
  standIn = await createMaterializeStandIn(options);
});
afterAll(() => standIn.close());

const sources: Source[] = [];
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
});

function sourceOf(name: string): Source {
  const source = createMaterializeSource({
    connectionString: new Secret(`postgres://me:secret@127.0.0.1:${standIn.port}/materialize`),
    applicationName: 'test', cluster: null, relationName: { database: null, schema: null, name },
  });
  sources.push(source);
  return source;
}

const typed = (text: string): SqlType => parseSqlType(text) ?? { kind: 'unsupported', name: text };

function createTable(name: string): ReturnType<MaterializeStandIn['createRelation']> {
  return standIn.createRelation({
    name, keys: [[0]],
    columns: [{ name: 'id', type: scalar('integer'), nullable: false }, { name: 'v', type: scalar('text'), nullable: true }],
  });
}

/** Discovers and subscribes; the array fills as events come. */
async function follow(name: string, request: Partial<SubscribeRequest> = {}): Promise<readonly string[]> {
  const source = sourceOf(name);
  const seen: string[] = [];
  const onEvent = (event: SourceEvent): void => {
    if (event.kind === 'rows') seen.push(...rowsOf(event.chunk).map((flat) => `${flat.time} ${flat.diff} ${flat.text}`));
    else if (event.kind === 'progress') seen.push(`progress ${event.frontier[0]}`);
    else if (event.kind === 'failed') seen.push(`failed ${event.error.code}`);
    else seen.push(event.kind);
  };
  const relation = await source.discover();
  await source.subscribe({ relation, cluster: null, asOf: null, snapshot: true, keyColumns: [0], slices: 1, ...request }, onEvent);
  return seen;
}

describe('GIVEN the stand-in for Materialize', () => {
  it('WHEN a relation has named, anonymous and nested types THEN discovery knows them all, and its keys', async () => {
    standIn.createType({ name: 'point', schema: 'public', type: typed('record(x: integer,y: numeric(39,2)?)') });
    const texts: Readonly<Record<string, string>> = {
      a: 'integer', b: 'numeric(39,2)', c: 'numeric', d: 'timestamp with time zone', e: 'character varying',
      f: 'integer list list', g: 'map[text=>integer list]', h: 'record(f1: integer,f2: text?)', i: 'integer[]',
      j: 'int4range', k: 'uint8', l: 'mz_timestamp', m: 'jsonb', n: 'bytea', o: 'double precision',
    };
    standIn.createRelation({
      name: 'Typed "1"', kind: 'materialized-view', keys: [[0], [1, 2]],
      columns: [
        ...Object.entries(texts).map(([name, text]) => ({ name, type: typed(text), nullable: name !== 'a' })),
        { name: 'p', type: typed('record(x: integer,y: numeric(39,2)?)'), nullable: true },
      ],
      columnTypeNames: { p: 'point' },
    });
    const relation = await sourceOf('Typed "1"').discover();
    const found = Object.fromEntries(relation.columns.map((column) => [column.name, formatSqlType(column.type)]));
    expect(found).toMatchObject(texts);
    expect(found['p']).toMatch(/^record\(x: integer\??,y: numeric\(39,2\)\?\)$/);
    expect(relation.columns.filter((column) => !column.nullable).map((column) => column.name)).toEqual(['a']);
    expect(relation).toMatchObject({ kind: 'materialized-view', uniqueKeys: [[0], [1, 2]], schema: 'public' });
  });

  it('WHEN changes come THEN snapshot, changes and progress come, and a resume continues exactly there', async () => {
    const table = createTable('flow');
    standIn.apply(table, 1n, [{ row: ['1', 'a'], diff: 1 }, { row: ['2', null], diff: 2 }]);
    standIn.advance(5n, table);
    const first = await follow('flow');
    await expect.poll(() => first.at(-1)).toBe('progress 5');
    standIn.apply(table, 6n, [{ row: ['1', 'a'], diff: -1 }, { row: ['1', 'b'], diff: 1 }]);
    standIn.advance(7n, table);
    await expect.poll(() => first.at(-1)).toBe('progress 7');
    expect(first[0]).toBe('progress 4');
    expect(first.slice(1).filter((line) => line.startsWith('4')).toSorted()).toEqual(['4 1 1\ta', '4 2 2\t\\N']);
    expect(first.filter((line) => line.startsWith('6')).toSorted()).toEqual(['6 -1 1\ta', '6 1 1\tb']);
    // Progress 5 was durable: everything at 5 and later must come again, nothing before.
    const second = await follow('flow', { asOf: 4n, snapshot: false });
    await expect.poll(() => second.at(-1)).toBe('progress 7');
    expect(second.filter((line) => !line.startsWith('progress')).toSorted()).toEqual(['6 -1 1\ta', '6 1 1\tb']);
  });

  it('WHEN nothing will ever change again THEN the rows come and the subscription is closed', async () => {
    const table = createTable('finite');
    standIn.apply(table, 1n, [{ row: ['1', 'a'], diff: 1 }]);
    standIn.advance(2n, table);
    const seen = await follow('finite');
    standIn.closeRelation(table);
    await expect.poll(() => seen.at(-1)).toBe('closed');
  });

  it.each<[string, (table: ReturnType<typeof createTable>) => void, string]>([
    ['is dropped', (table) => standIn.drop(table), 'relation-dropped'],
    ['fails to evaluate', (table) => standIn.setError(table, 'division by zero'), 'source-evaluation-error'],
  ])('WHEN the relation %s while it is read THEN that is named', async (what, change, code) => {
    const table = createTable(what);
    standIn.advance(2n, table);
    const seen = await follow(what);
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    change(table);
    await expect.poll(() => seen.at(-1)).toBe(`failed ${code}`);
  });

  it('WHEN the history is compacted past the as of THEN that is named', async () => {
    const table = createTable('compacted');
    standIn.advance(100n, table);
    standIn.compact(table, 50n);
    const seen = await follow('compacted', { asOf: 20n, snapshot: false });
    await expect.poll(() => seen).toEqual(['failed history-compacted']);
  });

  it('WHEN the cluster has no replica THEN that is named', async () => {
    createTable('replicas');
    standIn.setReplicas('empty', 0);
    const seen = await follow('replicas', { cluster: 'empty' });
    await expect.poll(() => seen).toEqual(['failed cluster-without-replicas']);
  });

  it('WHEN the role may not read it THEN that is named', async () => {
    createTable('private');
    standIn.denySelect('private');
    const seen = await follow('private');
    await expect.poll(() => seen).toEqual(['failed permission-denied']);
  });

  it('WHEN there is no such relation THEN that is named', async () => {
    await expect(sourceOf('none').discover()).rejects
      .toSatisfy((thrown) => thrown instanceof SinkError && thrown.code === 'relation-missing');
  });

  it('WHEN its connections are reset THEN the subscription fails as disconnected', async () => {
    const table = createTable('reset');
    standIn.advance(2n, table);
    const seen = await follow('reset');
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    standIn.killConnections();
    await expect.poll(() => seen.at(-1)).toBe('failed source-disconnected');
  });
});
