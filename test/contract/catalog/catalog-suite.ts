/**
 * What every catalog does behind the Catalog port, told once and run on the embedded catalog and on real servers.
 */
import { describe, expect, test } from 'vitest';
import type { LoadedTable, TableIdentifier } from '../../../src/sink/ports.ts';
import type { Requirement, Update } from '../../../src/iceberg/metadata.ts';
import type { Schema } from '../../../src/iceberg/types.ts';
import type { RestCatalog } from '../../../src/io/rest-catalog.ts';
import { createSystemEntropy } from '../../../src/io/system.ts';
import { emptyManifestList } from './empty-manifest-list.ts';

export interface CatalogUnderTest {
  readonly catalog: () => RestCatalog;
  /** Exists; tables in it are the suite's own. */
  readonly namespace: readonly string[];
  /** Where a server is known to differ, each with the reason why that is not ours to mend. */
  readonly deviations?: {
    /** Makes tables in namespaces that don't exist. */
    readonly namespacesUnchecked?: string;
    /** Returns the newest snapshot only, without its parent. */
    readonly newestSnapshotOnly?: string;
    /** Takes a commit that asserts "no snapshot yet" although there is one. */
    readonly absenceUnchecked?: string;
  };
}

const entropy = createSystemEntropy();
let counter = 0;
const uniqueName = (): string => `t${process.pid}_${Date.now()}_${counter += 1}`;

const SCHEMA: Schema = {
  schemaId: 0, identifierFieldIds: [1],
  fields: [
    { id: 1, name: 'id', required: true, type: { kind: 'long' } },
    { id: 2, name: 'amount', required: false, type: { kind: 'decimal', precision: 38, scale: 10 } },
    { id: 3, name: 'key', required: false, type: { kind: 'fixed', length: 16 } },
    { id: 4, name: 'tags', required: false, type: { kind: 'list', elementId: 5, element: { kind: 'string' }, elementRequired: false } },
    { id: 6, name: 'attributes', required: false,
      type: { kind: 'map', keyId: 7, key: { kind: 'string' }, valueId: 8, value: { kind: 'timestamptz' }, valueRequired: false } },
    { id: 9, name: 'span', required: false, type: { kind: 'struct', fields: [
      { id: 10, name: 'lower', required: false, type: { kind: 'int' } }, { id: 11, name: 'empty', required: true, type: { kind: 'boolean' } },
    ] } },
  ],
};

interface Attempt {
  readonly snapshotId: bigint;
  readonly requirements: readonly Requirement[];
  readonly updates: readonly Update[];
}

/** A snapshot without files on top of `base`, its manifest list written through the table's own storage. */
async function attemptOn(catalog: RestCatalog, table: TableIdentifier, base: LoadedTable, numbers = 1n): Promise<Attempt> {
  const { metadata } = base;
  const snapshotId = entropy.snapshotId();
  const sequenceNumber = metadata.lastSequenceNumber + numbers;
  const manifestList = `${metadata.location.replace(/\/+$/, '')}/metadata/snap-${snapshotId}-1-${entropy.uuid()}.avro`;
  await catalog.storageFor(table).store.put(manifestList, emptyManifestList(snapshotId, sequenceNumber));
  return {
    snapshotId,
    requirements: [
      { type: 'assert-table-uuid', uuid: metadata.tableUuid },
      { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: metadata.currentSnapshotId },
      { type: 'assert-current-schema-id', currentSchemaId: metadata.currentSchemaId },
      { type: 'assert-default-spec-id', defaultSpecId: metadata.defaultSpecId },
    ],
    updates: [
      { action: 'add-snapshot', snapshot: {
        snapshotId, parentSnapshotId: metadata.currentSnapshotId, sequenceNumber, timestampMs: BigInt(Date.now()), manifestList,
        summary: { 'operation': 'append', 'mz-frontier': '[18446744073709551615]', 'added-records': '0' }, schemaId: metadata.currentSchemaId,
      } },
      { action: 'set-snapshot-ref', ref: 'main', snapshotId, type: 'branch' },
    ],
  };
}

export function catalogSuite(name: string, under: CatalogUnderTest): void {
  const create = async (): Promise<{ table: TableIdentifier; loaded: LoadedTable }> => {
    const table = { namespace: under.namespace, name: uniqueName() };
    const created = await under.catalog().createTable(table.namespace, { name: table.name, schema: SCHEMA, properties: { 'a.b': 'c', 'format-version': '2' } });
    if (created.kind !== 'created') throw new Error('a new name exists already');
    return { table, loaded: created.table };
  };
  const load = async (table: TableIdentifier): Promise<LoadedTable> => {
    const outcome = await under.catalog().loadTable(table);
    if (outcome.kind !== 'loaded') throw new Error('the table is missing');
    return outcome.table;
  };

  const deviations = under.deviations ?? {};

  describe(`GIVEN ${name}`, () => {
    test('WHEN namespaces are listed THEN the suite\'s is among them', async () => {
      const [first] = under.namespace;
      expect((await under.catalog().listNamespaces()).map((namespace) => namespace[0])).toContain(first);
    });

    test('WHEN a table does not exist THEN it is missing', async () => {
      expect(await under.catalog().loadTable({ namespace: under.namespace, name: 'nope' })).toEqual({ kind: 'missing' });
    });

    const missingNamespaces = deviations.namespacesUnchecked === undefined ? ['no_such_namespace'] : [];
    test.each(missingNamespaces)('WHEN a table is created in %s THEN the missing namespace is named', async (namespace) => {
      await expect(under.catalog().createTable([namespace], { name: 't', schema: SCHEMA, properties: {} }))
        .rejects.toMatchObject({ code: 'namespace-missing' });
    });

    test('WHEN a table is created THEN it has our schema, and a second create finds it there', async () => {
      const { table, loaded } = await create();
      expect(loaded.metadata).toMatchObject({ formatVersion: 2, currentSnapshotId: null, snapshots: [], refs: {} });
      expect(loaded.metadata.properties['a.b']).toBe('c');
      const [schema] = loaded.metadata.schemas;
      expect(schema?.fields.map((field) => [field.name, field.required, field.type.kind])).toEqual(
        SCHEMA.fields.map((field) => [field.name, field.required, field.type.kind]),
      );
      expect(schema?.identifierFieldIds).toHaveLength(1);
      const again = await under.catalog().createTable(table.namespace, { name: table.name, schema: SCHEMA, properties: {} });
      expect(again).toEqual({ kind: 'exists' });
      expect((await load(table)).metadata.tableUuid).toBe(loaded.metadata.tableUuid);
    });

    test('WHEN snapshots are committed one after the other THEN ids, summary and ancestry come back exactly', async () => {
      const { table, loaded } = await create();
      const first = await attemptOn(under.catalog(), table, loaded);
      expect(await under.catalog().commit(table, first.requirements, first.updates, entropy.uuid())).toEqual({ kind: 'committed' });
      const second = await attemptOn(under.catalog(), table, await load(table));
      expect(await under.catalog().commit(table, second.requirements, second.updates, entropy.uuid())).toEqual({ kind: 'committed' });
      const { metadata } = await load(table);
      expect(metadata.currentSnapshotId).toBe(second.snapshotId);
      expect(metadata.refs['main']?.snapshotId).toBe(second.snapshotId);
      const head = metadata.snapshots.find((snapshot) => snapshot.snapshotId === second.snapshotId);
      expect(head?.parentSnapshotId).toBe(deviations.newestSnapshotOnly === undefined ? first.snapshotId : null);
      expect(head?.summary['mz-frontier']).toBe('[18446744073709551615]');
    });

    test('WHEN a snapshot takes several sequence numbers THEN it is committed, and the next one follows the last of them', async () => {
      const { table, loaded } = await create();
      for (const [numbers, last] of [[1n, 1n], [3n, 4n], [1n, 5n]] as const) {
        const base = last === 1n ? loaded : await load(table);
        const { requirements, updates } = await attemptOn(under.catalog(), table, base, numbers);
        expect(await under.catalog().commit(table, requirements, updates, entropy.uuid())).toEqual({ kind: 'committed' });
        expect((await load(table)).metadata.lastSequenceNumber).toBe(last);
      }
    });

    // The two heads that a sink finds: none at its first commit, its own last snapshot ever after.
    const heads = deviations.absenceUnchecked === undefined ? ['no snapshot', 'a snapshot'] : ['a snapshot'];
    const prepared = async (head: string): Promise<{ table: TableIdentifier; loaded: LoadedTable }> => {
      const created = await create();
      if (head === 'no snapshot') return created;
      const { requirements, updates } = await attemptOn(under.catalog(), created.table, created.loaded);
      await under.catalog().commit(created.table, requirements, updates, entropy.uuid());
      return { table: created.table, loaded: await load(created.table) };
    };

    test.each(heads)('WHEN a commit on %s is late, or sent twice, THEN it conflicts and changes nothing', async (head) => {
      const { table, loaded } = await prepared(head);
      const mine = await attemptOn(under.catalog(), table, loaded);
      const rival = await attemptOn(under.catalog(), table, loaded);
      expect(await under.catalog().commit(table, rival.requirements, rival.updates, entropy.uuid())).toEqual({ kind: 'committed' });
      expect(await under.catalog().commit(table, mine.requirements, mine.updates, entropy.uuid())).toMatchObject({ kind: 'conflict' });
      expect(await under.catalog().commit(table, rival.requirements, rival.updates, entropy.uuid())).toMatchObject({ kind: 'conflict' });
      const { metadata } = await load(table);
      expect(metadata.currentSnapshotId).toBe(rival.snapshotId);
      expect(metadata.snapshots.some((snapshot) => snapshot.snapshotId === mine.snapshotId)).toBe(false);
    });

    test.each(heads)('WHEN eight commits race on %s THEN exactly one is committed', async (head) => {
      const { table, loaded } = await prepared(head);
      const attempts = await Promise.all(Array.from({ length: 8 }, () => attemptOn(under.catalog(), table, loaded)));
      const outcomes = await Promise.all(attempts.map((attempt) =>
        under.catalog().commit(table, attempt.requirements, attempt.updates, entropy.uuid())));
      const winners = attempts.filter((_, index) => outcomes[index]?.kind === 'committed');
      expect(winners).toHaveLength(1);
      const { metadata } = await load(table);
      expect(metadata.currentSnapshotId).toBe(winners[0]?.snapshotId);
    });

    test('WHEN the table uuid is another one THEN the commit conflicts', async () => {
      const { table, loaded } = await create();
      const { updates } = await attemptOn(under.catalog(), table, loaded);
      const requirements: Requirement[] = [{ type: 'assert-table-uuid', uuid: '00000000-0000-4000-8000-000000000000' }];
      expect(await under.catalog().commit(table, requirements, updates, entropy.uuid())).toMatchObject({ kind: 'conflict' });
    });

    // A sink commits without a look at the table, so it is the catalog that has to notice.
    test.each<readonly [string, Requirement]>([
      ['schema', { type: 'assert-current-schema-id', currentSchemaId: 7 }],
      ['partition spec', { type: 'assert-default-spec-id', defaultSpecId: 7 }],
    ])('WHEN the %s is another one THEN the commit conflicts and changes nothing', async (_what, changed) => {
      const { table, loaded } = await prepared('a snapshot');
      const { requirements, updates } = await attemptOn(under.catalog(), table, loaded);
      const asserted = requirements.map((requirement) => (requirement.type === changed.type ? changed : requirement));
      expect(await under.catalog().commit(table, asserted, updates, entropy.uuid())).toMatchObject({ kind: 'conflict' });
      expect((await load(table)).metadata.currentSnapshotId).toBe(loaded.metadata.currentSnapshotId);
    });

    test('WHEN the table does not exist THEN a commit is refused, and no table appears', async () => {
      const table = { namespace: under.namespace, name: uniqueName() };
      const outcome = await under.catalog().commit(table, [{ type: 'assert-table-uuid', uuid: entropy.uuid() }], [], entropy.uuid());
      expect(outcome).toMatchObject({ kind: 'refused', error: { code: 'table-missing' } });
      expect(await under.catalog().loadTable(table)).toEqual({ kind: 'missing' });
    });

    test('WHEN objects are put through the storage of a table THEN they are got back', async () => {
      const { table, loaded } = await create();
      const { store } = under.catalog().storageFor(table);
      const location = `${loaded.metadata.location}/data/${entropy.uuid()}.parquet`;
      expect(await store.put(location, Buffer.from('PAR1'))).toBe('stored');
      expect(await store.put(location, Buffer.from('PAR2'))).toBe('exists');
      expect(Buffer.from(await store.get(location)).toString()).toBe('PAR1');
      await store.delete(location);
      await expect(store.get(location)).rejects.toMatchObject({ code: 'storage-object-missing' });
      await expect(store.put(`${loaded.metadata.location}-other/data/x.parquet`, Buffer.from('x')))
        .rejects.toMatchObject({ code: 'table-location-unsupported' });
    });
  });
}
