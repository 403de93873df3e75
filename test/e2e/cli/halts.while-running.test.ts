/**
 * Everything that makes a running sink stop for good, met by the real command: one process with a sink for each, all of
 * which have committed once. Then something happens to each of them, and with the next rows it halts and says why.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/errors.ts';
import { CATALOG_NAME, NAMESPACE, isCommit } from '../harness/lake.ts';
import { type Model, columns } from '../harness/model.ts';
import { type ChildSink, within } from '../harness/sink.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';
import { type Halted, haltedOf, oddSink, refusal, remedyOf } from './halting-command.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const COLUMNS = columns('id bigint not null', 'v text', 'n numeric');
const tablePath = (name: string): string => `catalog/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables/${name}`;
const SCHEMA = {
  'type': 'struct', 'schema-id': 1, 'identifier-field-ids': [1],
  'fields': [
    { id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'v', required: false, type: 'string' },
    { id: 3, name: 'n', required: false, type: 'decimal(38, 10)' }, { id: 4, name: 'extra', required: false, type: 'int' },
  ],
};

interface Case {
  readonly code: ErrorCode;
  readonly when: string;
  readonly name: string;
  readonly shows: RegExp;
  /** To the table or the relation, behind the back of the sink. */
  readonly happens?: () => unknown;
  /** The row that comes then; default one that fits. */
  readonly row?: string;
  /** What the same sink says when it is started again; null when it then goes on. */
  readonly again: ErrorCode | null;
}

const progress = (name: string, over: Readonly<Record<string, string>>): Record<string, string> => ({
  'operation': 'append', 'mz-frontier': `[${at(0) + 1n}]`, 'mz-sink-id': name, 'mz-sink-version': '0', ...over,
});

let stage: Stage;
/** The head of each table before anything happened, and the uuid. */
const heads = new Map<string, bigint>();
const models = new Map<string, Model>();

const CASES: readonly Case[] = [
  { code: 'fenced', name: 'f_newer', when: 'a newer version of the sink has committed', again: 'fenced',
    shows: /carries version 7 in snapshot \d+, frontier \[1780000000001\]; this sink is version 0/,
    happens: () => stage.lake.forge('f_newer', progress('f_newer', { 'mz-sink-version': '7' })) },
  { code: 'foreign-sink', name: 'f_sink', when: 'another sink has committed', again: 'foreign-sink',
    shows: /belongs to sink 'intruder' version 0, this is sink 'f_sink' version 0/,
    happens: () => stage.lake.forge('f_sink', progress('intruder', {})) },
  { code: 'foreign-writer', name: 'f_writer', when: 'somebody has appended rows', again: 'foreign-writer',
    shows: /snapshot \d+ has operation 'append' but is missing 'mz-frontier'/,
    happens: () => stage.lake.forge('f_writer', { operation: 'append' }) },
  { code: 'frontier-behind', name: 'rolled', when: 'the table was rolled back', again: null,
    shows: /frontier is \[1780000000001\] \(snapshot \d+\), this batch is \[\[1780000002001\], \[1780000004001\]\)/,
    happens: async () => {
      await stage.lake.rollBack('rolled', heads.get('rolled') ?? 0n);
    } },
  { code: 'progress-missing', name: 'expired', when: 'the snapshots with the progress are expired', again: 'progress-missing',
    shows: /last sequence number \d+, 1 snapshots.*no snapshot with mz-frontier/,
    happens: async () => {
      const ours = (await stage.lake.table('expired'))?.snapshots.map((snapshot) => snapshot.snapshotId) ?? [];
      await stage.lake.forge('expired', { operation: 'replace' });
      expect(await stage.lake.commit('expired', [`{"action":"remove-snapshots","snapshot-ids":[${ours.join(',')}]}`])).toBe(200);
    } },
  { code: 'progress-unreadable', name: 'garbled', when: 'the progress in the summary is no frontier', again: 'progress-unreadable',
    shows: /snapshot \d+ carries unreadable progress: .*mz-frontier/,
    happens: () => stage.lake.forge('garbled', progress('garbled', { 'mz-frontier': 'yesterday' })) },
  { code: 'table-replaced', name: 'replaced', when: 'the table was dropped and created anew', again: null,
    shows: /the table uuid is [0-9a-f-]{36}, it was [0-9a-f-]{36} when this sink started/,
    happens: async () => {
      expect((await stage.lake.api('DELETE', tablePath('replaced'))).status).toBeLessThan(300);
      await stage.lake.createTable('replaced', { ...SCHEMA, fields: SCHEMA.fields.slice(0, 3) });
    } },
  { code: 'table-missing', name: 'dropped_table', when: 'the table was dropped', again: null, shows: /table materialize\.dropped_table is gone from the catalog; it held everything up to \[1780000000001\]/,
    happens: () => stage.lake.api('DELETE', tablePath('dropped_table')) },
  { code: 'schema-changed', name: 'evolved', when: 'the schema of the table was changed', again: 'table-schema-mismatch', shows: /expected schema ID 0, got 1/,
    happens: async () => {
      expect(await stage.lake.commit('evolved', [
        `{"action":"add-schema","schema":${JSON.stringify(SCHEMA)},"last-column-id":4}`, '{"action":"set-current-schema","schema-id":-1}',
      ])).toBe(200);
    } },
  { code: 'spec-changed', name: 'respecced', when: 'the table was partitioned', again: 'table-unsupported', shows: /expected partition spec ID 0, got 1: the files/,
    happens: async () => {
      const spec = '{"spec-id":1,"fields":[{"source-id":1,"field-id":1000,"name":"id","transform":"identity"}]}';
      expect(await stage.lake.commit('respecced', [`{"action":"add-spec","spec":${spec}}`, '{"action":"set-default-spec","spec-id":-1}'])).toBe(200);
    } },
  { code: 'commit-refused', name: 'refused', when: 'the catalog refuses the commit', again: 'commit-refused', shows: /commit to table materialize\.refused: .*HTTP 400: .*not on a Sunday/ },
  { code: 'catalog-forbidden', name: 'forbidden', when: 'the right to commit was taken away', again: 'catalog-forbidden', shows: /HTTP 403: .*UPDATE_TABLE/ },
  { code: 'storage-object-missing', name: 'lost_list', when: 'the manifest list of the head is gone', again: 'storage-object-missing', shows: /file:.*snap-\d+-lost\.avro/,
    happens: async () => {
      // A compaction whose list was then lost; of its own snapshots the sink remembers the list.
      const now = await stage.lake.table('lost_list');
      const head = now?.snapshots.at(-1);
      if (now === null || head === undefined) throw new Error('nothing was committed');
      const id = head.snapshotId ^ 1n;
      const list = head.manifestList.replace(/snap-[^/]*$/, `snap-${id}-lost.avro`);
      expect(await stage.lake.commit('lost_list', [
        `{"action":"add-snapshot","snapshot":{"snapshot-id":${id},"parent-snapshot-id":${head.snapshotId},"sequence-number":${now.metadata.lastSequenceNumber + 1n},`
        + `"timestamp-ms":${Date.now()},"manifest-list":${JSON.stringify(list)},"summary":{"operation":"replace"},"schema-id":0}}`,
        `{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${id}}`,
      ])).toBe(200);
    } },
  { code: 'storage-forbidden', name: 'blocked', when: 'the place of the data files can not be written', again: 'storage-forbidden', shows: /put file:.*blocked\/data\/.*: (EEXIST|ENOTDIR)/,
    happens: async () => {
      const now = await stage.lake.table('blocked');
      const location = String(now?.json['location']);
      rmSync(fileURLToPath(`${location}/data`), { recursive: true });
      writeFileSync(fileURLToPath(`${location}/data`), 'in the way');
    } },
  { code: 'relation-dropped', name: 'gone', when: 'the relation was dropped', again: 'relation-missing', shows: /gone.* was dropped/,
    happens: () => stage.materialize.drop(stage.materialize.relation('gone')) },
  { code: 'row-not-representable', name: 'unfit', when: 'a numeric is NaN', again: 'row-not-representable', shows: /relation materialize\.public\.unfit, column "n", .* NaN and infinities have no decimal form/, row: 'NaN' },
  { code: 'row-malformed', name: 'malformed', when: 'a value does not have the form of its type', again: 'row-malformed', shows: /relation materialize\.public\.malformed, column "n", .*value of 6 bytes/, row: 'S3CR3T' },
];

let halted: ReadonlyMap<string, Halted>;
let exitCode: number | null;
let output = '';
let second: ReadonlyMap<string, Halted>;

function runAll(): ChildSink {
  const sql = stage.sql() + CASES.map(({ name }) => oddSink({ name })).join('');
  return stage.spawn([], { sql, arguments: ['--encode-workers', '1'] });
}

beforeAll(async () => {
  stage = await openStage();
  for (const { name } of CASES) {
    const model = stage.createModel(name, COLUMNS, { keys: [[0]] });
    model.commit(at(0), [[['1', 'a', '1']]]);
    models.set(name, model);
  }
  const child = runAll();
  for (const { name } of CASES) heads.set(name, (await stage.waitForFrontier(name, at(0) + 1n, 60_000)).snapshots.at(-1)?.snapshotId ?? 0n);
  models.get('rolled')?.commit(at(2), [[['2', 'b', '1']]]);
  await stage.waitForFrontier('rolled', at(2) + 1n);
  stage.lake.fault = (request) => {
    if (!isCommit(request)) return undefined;
    if (request.segments.at(-1) === 'refused') return refusal(400, 'ValidationException', 'not on a Sunday');
    return request.segments.at(-1) === 'forbidden' ? refusal(403, 'ForbiddenException', 'not authorized for op UPDATE_TABLE') : undefined;
  };
  for (const { happens } of CASES) await happens?.();
  for (const { name, row } of CASES) {
    if (name !== 'gone') models.get(name)?.commit(at(4), [[['3', 'c', row ?? '1']]]);
  }
  exitCode = await within(child.exited, 60_000, () => `still running:\n${child.output().slice(-6000)}`);
  output = child.output();
  halted = haltedOf(output);
  const secondChild = runAll();
  const going = CASES.filter(({ again }) => again === null);
  for (const { name } of going) await stage.waitForFrontier(name, at(4) + 1n, 60_000);
  await eventually('the others have halted', () => haltedOf(secondChild.output()).size === CASES.length - going.length, 60_000);
  secondChild.child.kill('SIGTERM');
  await within(secondChild.exited, 30_000, () => 'the second run did not end');
  second = haltedOf(secondChild.output());
}, 180_000);
afterAll(() => stage.close());

describe('GIVEN a sink that runs', () => {
  test.each(CASES)('WHEN $when THEN it halts as $code, says what it saw and what to do', ({ code, shows, name }) => {
    const seen = halted.get(name);
    expect(seen).toMatchObject({ code, remedy: remedyOf(code) });
    expect(seen?.message).toMatch(shows);
  });

  test('WHEN all have halted THEN the process ends with 1, and no row value is in its output', () => {
    expect(halted.size).toBe(CASES.length);
    expect(exitCode).toBe(1);
    expect(output).not.toContain('S3CR3T');
  });

  test.each(CASES)('WHEN it halted as $code and is started again THEN it is $again: what can not heal by itself is refused again', ({ name, again }) => {
    expect(second.get(name)?.code ?? null).toBe(again);
  });
});
