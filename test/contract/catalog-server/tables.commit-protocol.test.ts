import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json, RunningCatalog } from './running-catalog.ts';
import { SCHEMA, TABLES, commitBody, snapshotUpdates, startCatalog, withLake } from './running-catalog.ts';

let running: RunningCatalog;
let beforeSwap: () => void | Promise<void> = () => undefined;
beforeAll(async () => {
  running = await withLake(await startCatalog({ beforeSwap: () => beforeSwap() }));
});
afterAll(() => running.stop());

interface Made { readonly name: string; readonly uuid: string; readonly metadataLocation: string }

async function makeTable(name: string, extra: object = {}): Promise<Made> {
  const reply = await running.api('POST', TABLES, { name, schema: SCHEMA, ...extra });
  expect(reply.status).toBe(200);
  const metadata = reply.json['metadata'] as Json;
  return { name, uuid: metadata['table-uuid'] as unknown as string, metadataLocation: reply.json['metadata-location'] as unknown as string };
}

describe('GIVEN a new table', () => {
  test('WHEN it is created THEN it has the properties Polaris adds, a location below the namespace and no config', async () => {
    const reply = await running.api('POST', TABLES, { name: 'fresh', schema: SCHEMA, properties: { 'a.b': 'c' } });
    const metadata = reply.json['metadata'] as Json;
    expect(metadata['location']).toBe(`${running.warehouse}/lake/ns/fresh`);
    expect(metadata['properties']).toMatchObject({ 'write.parquet.compression-codec': 'zstd', 'a.b': 'c' });
    expect(metadata['properties']).toHaveProperty('created-at');
    expect(metadata['format-version']).toBe(2);
    expect(reply.json).not.toHaveProperty('config');
    expect(existsSync((reply.json['metadata-location'] as unknown as string).slice('file://'.length))).toBe(true);
  });

  test('WHEN it is loaded with its ETag THEN 304 until a commit changes it', async () => {
    const { uuid } = await makeTable('etag');
    const first = await running.api('GET', `${TABLES}/etag`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"/);
    const again = await running.api('GET', `${TABLES}/etag`, undefined, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    await running.api('POST', `${TABLES}/etag`, commitBody(uuid, null, snapshotUpdates('1', null, 1)));
    expect((await running.api('GET', `${TABLES}/etag`, undefined, { headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  test('WHEN it is made again THEN 409 AlreadyExistsException', async () => {
    await makeTable('twice');
    const reply = await running.api('POST', TABLES, { name: 'twice', schema: SCHEMA });
    expect(reply.json.error).toEqual({ message: 'Table already exists: ns.twice', type: 'AlreadyExistsException', code: 409 });
  });

  test('WHEN its location is outside of the namespace THEN 403', async () => {
    for (const location of ['file:///etc/outside', `${running.warehouse}/lake/ns/../../../x`]) {
      const reply = await running.api('POST', TABLES, { name: 'outside', schema: SCHEMA, location });
      expect(reply.status).toBe(403);
      expect(reply.json.error?.message).toContain(`Invalid locations '[${location}]' for identifier 'ns.outside': `);
    }
  });

  test('WHEN keys are asked for in a mode that is not served THEN 400 names it', async () => {
    await makeTable('signing');
    const reply = await running.api('GET', `${TABLES}/signing`, undefined, { headers: { 'x-iceberg-access-delegation': 'remote-signing' } });
    expect([reply.status, reply.json.error?.message]).toEqual([400, 'Unsupported access delegation mode: remote-signing']);
  });

  test('WHEN its credentials are asked for on local files THEN the list is empty', async () => {
    await makeTable('plain');
    expect((await running.api('GET', `${TABLES}/plain/credentials`)).text).toBe('{"storage-credentials":[]}');
  });
});

describe('GIVEN a table with a snapshot whose id does not fit a double', () => {
  const BIG = '5735460159761889537';
  test('WHEN it is loaded THEN the id is the same to the last digit, in answer and file', async () => {
    const { uuid } = await makeTable('big');
    const reply = await running.api('POST', `${TABLES}/big`, commitBody(uuid, null, snapshotUpdates(BIG, null, 1)));
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.json).sort()).toEqual(['metadata', 'metadata-location']);
    expect((await running.api('GET', `${TABLES}/big`)).text).toContain(`"current-snapshot-id":${BIG}`);
    const next = await running.api('POST', `${TABLES}/big`, commitBody(uuid, BIG, snapshotUpdates('7', BIG, 2)));
    expect(next.status).toBe(200);
    const refs = await running.api('GET', `${TABLES}/big?snapshots=refs`);
    expect(((refs.json['metadata'] as Json)['snapshots'] as unknown as Json[]).map((snapshot) => snapshot['snapshot-id'])).toEqual([7]);
  });
});

describe('GIVEN requirements that do not hold', () => {
  let uuid: string;
  beforeAll(async () => {
    ({ uuid } = await makeTable('checked'));
    await running.api('POST', `${TABLES}/checked`, commitBody(uuid, null, snapshotUpdates('12', null, 1)));
  });

  test.each([
    ['another uuid', '{"type":"assert-table-uuid","uuid":"0c0c0c0c-0000-4000-8000-000000000000"}', 'Requirement failed: UUID does not match: expected UUID != 0c0c0c0c-0000-4000-8000-000000000000'],
    ['another head', '{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":11}', 'Requirement failed: branch main has changed: expected id 11 != 12'],
    ['a ref that is missing', '{"type":"assert-ref-snapshot-id","ref":"gone","snapshot-id":12345}', 'Requirement failed: branch or tag gone is missing, expected 12345'],
    ['no head', '{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}', 'Requirement failed: branch main was created concurrently'],
    ['no table', '{"type":"assert-create"}', 'Requirement failed: table already exists'],
  ])('WHEN a commit expects %s THEN 409 CommitFailedException and nothing changes', async (_, requirement, message) => {
    const before = await running.api('GET', `${TABLES}/checked`);
    const reply = await running.api('POST', `${TABLES}/checked`, `{"requirements":[${requirement}],"updates":${snapshotUpdates('99', '12', 2)}}`);
    expect(reply.json.error).toEqual({ type: 'CommitFailedException', code: 409, message: message.replace('expected UUID', `expected ${uuid}`) });
    expect((await running.api('GET', `${TABLES}/checked`)).text).toBe(before.text);
  });

  test.each([
    ['requirement', '{"requirements":[{"type":"assert-moon"}],"updates":[]}'],
    ['update', '{"requirements":[],"updates":[{"action":"fly"}]}'],
    ['body', '{"requirements":'],
  ])('WHEN a %s is unknown or unreadable THEN 400', async (_, body) => {
    const reply = await running.api('POST', `${TABLES}/checked`, body);
    expect(reply.json.error).toEqual({ message: 'HTTP 400 Bad Request', type: 'WebApplicationException', code: 400 });
  });
});

describe('GIVEN commits that race', () => {
  test('WHEN eight claim the same head THEN exactly one is applied', async () => {
    const { uuid } = await makeTable('race');
    const replies = await Promise.all(Array.from({ length: 8 }, (_, index) =>
      running.api('POST', `${TABLES}/race`, commitBody(uuid, null, snapshotUpdates(String(index + 1), null, 1)))));
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    const lost = replies.filter((reply) => reply.status === 409);
    expect(lost).toHaveLength(7);
    expect(lost.every((reply) => reply.json.error?.type === 'CommitFailedException')).toBe(true);
    const files = await readdir(`${running.warehouse.slice('file://'.length)}/lake/ns/race/metadata`);
    expect(files).toHaveLength(2);
  });

  test('WHEN a commit without requirements is overtaken THEN 409 tells both metadata locations', async () => {
    const { metadataLocation } = await makeTable('overtaken');
    let overtaken = false;
    beforeSwap = async () => {
      if (overtaken) return;
      overtaken = true;
      await running.api('POST', `${TABLES}/overtaken`, { requirements: [], updates: [{ action: 'set-properties', updates: { first: '1' } }] });
    };
    const reply = await running.api('POST', `${TABLES}/overtaken`, { requirements: [], updates: [{ action: 'set-properties', updates: { second: '1' } }] });
    beforeSwap = () => undefined;
    expect(reply.status).toBe(409);
    expect(reply.json.error?.message).toMatch(new RegExp(
      `^Cannot commit to table ns.overtaken metadata location from ${metadataLocation} to .* because it has been concurrently modified to .*00001-`,
    ));
    const properties = ((await running.api('GET', `${TABLES}/overtaken`)).json['metadata'] as Json)['properties'];
    expect(properties).toHaveProperty('first');
    expect(properties).not.toHaveProperty('second');
  });

  test('WHEN the catalog dies between metadata file and pointer THEN the old state stays, also after a restart', async () => {
    const { uuid, metadataLocation } = await makeTable('crash');
    beforeSwap = () => { throw new Error('killed'); };
    const reply = await running.api('POST', `${TABLES}/crash`, commitBody(uuid, null, snapshotUpdates('1', null, 1)));
    beforeSwap = () => undefined;
    expect(reply.status).toBe(500);
    running = await running.restart();
    const loaded = await running.api('GET', `${TABLES}/crash`);
    expect(loaded.json['metadata-location']).toBe(metadataLocation);
    expect((await running.api('POST', `${TABLES}/crash`, commitBody(uuid, null, snapshotUpdates('2', null, 1)))).status).toBe(200);
  });
});

describe('GIVEN a transaction over two tables', () => {
  const change = (table: Made, head: string | null, id: string) => `{"identifier":{"namespace":["ns"],"name":"${table.name}"},`
    + commitBody(table.uuid, head, snapshotUpdates(id, null, 1)).slice(1);

  test('WHEN one requirement fails THEN neither table changes; WHEN all hold THEN both do, and 204', async () => {
    const [left, right] = [await makeTable('left'), await makeTable('right')];
    const commit = async (rightHead: string | null) => running.api('POST', 'catalog/v1/lake/transactions/commit',
      `{"table-changes":[${change(left, null, '1')},${change(right, rightHead, '2')}]}`);
    expect((await commit('77')).status).toBe(409);
    expect((await running.api('GET', `${TABLES}/left`)).json['metadata-location']).toBe(left.metadataLocation);
    const done = await commit(null);
    expect([done.status, done.text]).toEqual([204, '']);
    for (const name of ['left', 'right']) {
      expect((await running.api('GET', `${TABLES}/${name}`)).json['metadata-location']).toMatch(/\/00001-/);
    }
  });
});

describe('GIVEN a table with a bounded history of metadata files', () => {
  test('WHEN it has been committed five times THEN only the newest two earlier files remain', async () => {
    await makeTable('bounded', {
      properties: { 'write.metadata.delete-after-commit.enabled': 'true', 'write.metadata.previous-versions-max': '2' },
    });
    for (let round = 0; round < 5; round += 1) {
      const reply = await running.api('POST', `${TABLES}/bounded`, { requirements: [], updates: [{ action: 'set-properties', updates: { round: String(round) } }] });
      expect(reply.status).toBe(200);
    }
    const files = await readdir(`${running.warehouse.slice('file://'.length)}/lake/ns/bounded/metadata`);
    expect(files.map((name) => name.slice(0, 5)).sort()).toEqual(['00003', '00004', '00005']);
  });
});

describe('GIVEN a staged table', () => {
  test('WHEN it is committed with assert-create THEN it exists, and a second such commit is refused', async () => {
    const staged = await running.api('POST', TABLES, { name: 'staged', schema: SCHEMA, 'stage-create': true });
    expect(staged.status).toBe(200);
    expect(staged.json).not.toHaveProperty('metadata-location');
    expect((await running.api('HEAD', `${TABLES}/staged`)).status).toBe(404);
    const metadata = staged.json['metadata'] as Json;
    const body = {
      requirements: [{ type: 'assert-create' }],
      updates: [
        { action: 'assign-uuid', uuid: metadata['table-uuid'] },
        { action: 'upgrade-format-version', 'format-version': 2 },
        { action: 'add-schema', schema: (metadata['schemas'] as unknown as Json[])[0], 'last-column-id': 1 },
        { action: 'set-current-schema', 'schema-id': -1 },
        { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
        { action: 'set-default-spec', 'spec-id': -1 },
        { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
        { action: 'set-default-sort-order', 'sort-order-id': -1 },
        { action: 'set-location', location: metadata['location'] },
        { action: 'set-properties', updates: { made: 'staged' } },
      ],
    };
    const made = await running.api('POST', `${TABLES}/staged`, body);
    expect(made.json.error).toBeUndefined();
    expect(made.json['metadata']).toMatchObject({ 'table-uuid': metadata['table-uuid'], 'current-schema-id': 0, properties: { made: 'staged' } });
    expect((await running.api('POST', `${TABLES}/staged`, body)).json.error?.message).toBe('Requirement failed: table already exists');
  });
});

describe('GIVEN tables that come and go', () => {
  test('WHEN a table is renamed, dropped, registered THEN each look-up follows, and a restart remembers', async () => {
    const made = await makeTable('old_name');
    const rename = { source: { namespace: ['ns'], name: 'old_name' }, destination: { namespace: ['ns'], name: 'new_name' } };
    expect((await running.api('POST', 'catalog/v1/lake/tables/rename', rename)).status).toBe(204);
    expect((await running.api('GET', `${TABLES}/old_name`)).json.error).toEqual({
      message: 'Table does not exist: ns.old_name', type: 'NoSuchTableException', code: 404,
    });
    running = await running.restart();
    expect((await running.api('GET', `${TABLES}/new_name`)).json['metadata-location']).toBe(made.metadataLocation);
    expect((await running.api('DELETE', 'catalog/v1/lake/namespaces/ns')).json.error).toMatchObject({ type: 'NamespaceNotEmptyException', code: 409 });
    expect((await running.api('DELETE', `${TABLES}/new_name`)).status).toBe(204);
    expect((await running.api('HEAD', `${TABLES}/new_name`)).status).toBe(404);
    const registered = await running.api('POST', 'catalog/v1/lake/namespaces/ns/register', { name: 'back', 'metadata-location': made.metadataLocation });
    expect((registered.json['metadata'] as Json)['table-uuid']).toBe(made.uuid);
    expect((await running.api('POST', `${TABLES}/back/metrics`, {})).status).toBe(204);
  });
});
