/**
 * Everything that a sink refuses to begin with, met by the real command: one process with a sink for each, which halts
 * them all, says of each what it saw and what to do, and ends with 1.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import type { CatalogRequest } from '../../../src/embedded/catalog/request.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { CATALOG_NAME, NAMESPACE, isLoad } from '../harness/lake.ts';
import { columns } from '../harness/model.ts';
import { within } from '../harness/sink.ts';
import { START, type Stage, openStage } from '../harness/stage.ts';
import { type Halted, type OddSink, haltedOf, oddConnection, oddSink, refusal, remedyOf } from './halting-command.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const COLUMNS = columns('id bigint not null', 'v text');
const ID = { id: 1, name: 'id', required: true, type: 'long' };
const V = { id: 2, name: 'v', required: false, type: 'string' };

interface Case {
  readonly code: ErrorCode;
  readonly when: string;
  /** What of the things that were seen has to be in the message. */
  readonly shows: RegExp;
  readonly sink: OddSink;
  /** Beforehand; the relation of the sink's name is there and holds a row. */
  readonly prepare?: (stage: Stage) => void | Promise<void>;
}

const CASES: readonly Case[] = [
  { code: 'relation-missing', when: 'the relation does not exist', shows: /no_such_relation/, sink: { name: 'a_missing', from: 'no_such_relation' } },
  { code: 'relation-unsupported', when: 'the relation is a view', shows: /a_view is a view/, sink: { name: 'on_view', from: 'a_view' },
    prepare: (stage) => void stage.createModel('a_view', COLUMNS, { kind: 'view' }) },
  { code: 'relation-changed', when: 'the relation is created anew with a column more before the subscription',
    shows: /has 3 columns now and had 2/, sink: { name: 'widened' } },
  { code: 'columns-unmappable', when: 'a column has the name of one that the sink adds', shows: /_mz_diff/, sink: { name: 'clashing', from: 'clash', mode: 'append' },
    prepare: (stage) => void stage.createModel('clash', columns('id bigint not null', '_mz_diff integer')) },
  { code: 'key-invalid', when: 'the key is not known to be unique', shows: /\bv\b/, sink: { name: 'loose_key', key: '(v)' } },
  { code: 'cluster-missing', when: 'the cluster does not exist', shows: /no_such_cluster/, sink: { name: 'unclustered', cluster: 'no_such_cluster' } },
  { code: 'permission-denied', when: 'the role may not SELECT', shows: /permission denied for .*secret_rows/, sink: { name: 'secret_rows' },
    prepare: (stage) => stage.materialize.denySelect('secret_rows') },
  { code: 'history-compacted', when: 'the history since the last commit is gone', shows: /input compacted past resume upper.*AS OF 1780000000000/, sink: { name: 'compacted' },
    prepare: async (stage) => {
      await committedOnce(stage, 'compacted');
      stage.materialize.advance(at(100), stage.materialize.relation('compacted'));
      stage.materialize.compact(stage.materialize.relation('compacted'), at(50));
    } },
  { code: 'catalog-unauthorized', when: 'the credential is wrong', shows: /The credential is wrong.*HTTP 401/, sink: { name: 'wrong_secret', connection: 'c_secret' } },
  { code: 'catalog-scope-missing', when: 'SCOPE is missing', shows: /SCOPE is missing/, sink: { name: 'no_scope', connection: 'c_scope' } },
  { code: 'warehouse-missing', when: 'the warehouse does not exist', shows: /no_such_warehouse/, sink: { name: 'no_warehouse', connection: 'c_warehouse' } },
  { code: 'namespace-missing', when: 'the namespace does not exist', shows: /no_such_namespace/, sink: { name: 'no_namespace', namespace: 'no_such_namespace' } },
  { code: 'catalog-forbidden', when: 'the principal may not create the table', shows: /forbidden_table.*not authorized/, sink: { name: 'forbidden_table' } },
  { code: 'catalog-vending-forbidden', when: 'the role lacks the privileges for vending', shows: /CATALOG_MANAGE_CONTENT/, sink: { name: 'unvended' } },
  { code: 'catalog-refused', when: 'the catalog refuses the table for a reason of its own', shows: /HTTP 400: .*no more tables today/, sink: { name: 'refused_table' } },
  { code: 'table-unsupported', when: 'the table is partitioned', shows: /partitioned: its default partition spec is 1/, sink: { name: 'partitioned' },
    prepare: async (stage) => {
      await stage.lake.createTable('partitioned', { type: 'struct', fields: [ID, V] });
      const spec = '{"spec-id":1,"fields":[{"source-id":1,"field-id":1000,"name":"id","transform":"identity"}]}';
      expect(await stage.lake.commit('partitioned', [`{"action":"add-spec","spec":${spec}}`, '{"action":"set-default-spec","spec-id":-1}'])).toBe(200);
    } },
  { code: 'table-schema-mismatch', when: 'the table has other columns', shows: /Current schema: .*"v" optional int.*expected schema: .*"v" optional string/, sink: { name: 'mismatched' },
    prepare: (stage) => stage.lake.createTable('mismatched', { type: 'struct', fields: [ID, { ...V, type: 'int' }] }) },
  { code: 'table-location-unsupported', when: 'the table lies where the sink can not write', shows: /hdfs:\/\/somewhere/, sink: { name: 'on_hdfs' },
    prepare: (stage) => stage.lake.createTable('on_hdfs', { type: 'struct', fields: [ID, V] }) },
  { code: 'storage-credentials-missing', when: 'the catalog gives no storage keys', shows: /no storage credentials.*s3:\/\/bucket\/t/, sink: { name: 'keyless' },
    prepare: (stage) => stage.lake.createTable('keyless', { type: 'struct', fields: [ID, V] }) },
  { code: 'foreign-sink', when: 'another sink wrote the table', shows: /snapshot \d+, frontier \[1780000000001\]\) belongs to sink 'somebody_else' version 0, this is sink 'taken' version 0/, sink: { name: 'taken' },
    prepare: (stage) => committedOnce(stage, 'taken', 'somebody_else') },
];

let stage: Stage;
let halted: ReadonlyMap<string, Halted>;
let exitCode: number | null;
let output = '';

/** Somebody has run a sink on the table once, and has ended it. */
async function committedOnce(on: Stage, name: string, sinkName = name): Promise<void> {
  const sink = on.run({ name: sinkName, from: name, table: name, mode: 'upsert', key: '(id)' });
  await on.waitForFrontier(name, at(0) + 1n);
  await sink.stop();
}

/** The loaded table with its location changed to one that this catalog would never hand out. */
async function movedTo(location: string, request: CatalogRequest): Promise<Interception> {
  const name = request.segments.at(-1) ?? '';
  const { text } = await stage.lake.api('GET', `catalog/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables/${name}`);
  const moved = text.replace(/"location"\s*:\s*"[^"]*"/, `"location":"${location}"`);
  return { kind: 'answer', answer: { status: 200, headers: { 'content-type': 'application/json' }, body: moved } };
}

let widened = false;
async function fault(request: CatalogRequest): Promise<Interception | undefined> {
  const name = request.segments.at(-1);
  if (isLoad(request) && name === 'on_hdfs') return movedTo('hdfs://somewhere/t', request);
  if (isLoad(request) && name === 'keyless') return movedTo('s3://bucket/t', request);
  // Between the look at the relation and the subscription: the table is looked at in between.
  if (isLoad(request) && name === 'widened' && !widened) {
    widened = true;
    stage.materialize.drop(stage.materialize.relation('widened'));
    stage.createModel('widened', columns('id bigint not null', 'v text', 'w text'), { keys: [[0]] }).advance(at(1));
  }
  if (request.method !== 'POST' || name !== 'tables') return undefined;
  const wanted = (JSON.parse(request.bodyText) as { name: string }).name;
  if (wanted === 'forbidden_table') return refusal(403, 'ForbiddenException', "Principal 'materialize' is not authorized for op CREATE_TABLE_DIRECT");
  if (wanted === 'unvended') return refusal(403, 'ForbiddenException', "Principal 'materialize' is not authorized for op CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION");
  if (wanted === 'refused_table') return refusal(400, 'ValidationException', 'no more tables today');
  return undefined;
}

beforeAll(async () => {
  stage = await openStage();
  for (const { sink } of CASES) {
    if (sink.from === undefined) stage.createModel(sink.name, COLUMNS, { keys: [[0]] }).commit(at(0), [[['1', 'a']]]);
  }
  for (const { prepare } of CASES) await prepare?.(stage);
  const sql = stage.sql() + oddConnection(stage, 'c_secret', { secret: 'a-wrong-secret' }) + oddConnection(stage, 'c_scope', { scope: null })
    + oddConnection(stage, 'c_warehouse', { warehouse: 'no_such_warehouse' }) + CASES.map(({ sink }) => oddSink(sink)).join('');
  stage.lake.fault = fault;
  const child = stage.spawn([], { sql, arguments: ['--encode-workers', '1'] });
  exitCode = await within(child.exited, 60_000, () => `still running:\n${child.output()}`);
  output = child.output();
  halted = haltedOf(output);
}, 120_000);
afterAll(() => stage.close());

describe('GIVEN a sink that can not begin', () => {
  test.each(CASES)('WHEN $when THEN it halts as $code, says what it saw and what to do', ({ code, shows, sink }) => {
    const seen = halted.get(sink.name);
    expect(seen).toMatchObject({ code, remedy: remedyOf(code) });
    expect(seen?.message).toMatch(shows);
  });

  test('WHEN all have halted THEN the process ends with 1', () => {
    expect(halted.size).toBe(CASES.length);
    expect(exitCode).toBe(1);
  });

  test('WHEN a login was refused THEN no secret is in the output', () => {
    expect(output).not.toContain('a-wrong-secret');
    expect(output).not.toContain(stage.lake.clientSecret);
  });

  test('WHEN it halts before there is anything to commit THEN nothing was committed', () => {
    const tables = new Set(CASES.map(({ sink }) => sink.name));
    // The two tables that somebody committed to before.
    for (const known of ['compacted', 'taken']) tables.delete(known);
    expect(stage.lake.commits.filter((commit) => tables.has(commit.table))).toEqual([]);
  });
});
