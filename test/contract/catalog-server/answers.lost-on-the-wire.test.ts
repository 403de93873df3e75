import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import type { Json, RunningCatalog } from './running-catalog.ts';
import { SCHEMA, TABLES, startCatalog, withLake } from './running-catalog.ts';

let running: RunningCatalog;
let next: Interception = { kind: 'pass' };
beforeAll(async () => {
  running = await withLake(await startCatalog({
    intercept: () => {
      const now = next;
      next = { kind: 'pass' };
      return now;
    },
  }));
  await running.api('POST', TABLES, { name: 't', schema: SCHEMA });
});
afterAll(() => running.stop());

const gateway = { status: 502, headers: {}, body: 'Bad Gateway' };
const set = (key: string, headers: Record<string, string> = {}) =>
  running.api('POST', `${TABLES}/t`, { requirements: [], updates: [{ action: 'set-properties', updates: { [key]: '1' } }] }, { headers });
const isSet = async (key: string) => key in ((await running.api('GET', `${TABLES}/t`)).json['metadata'] as Json)['properties']!;

describe('GIVEN a commit', () => {
  test.each<[Interception, boolean]>([
    [{ kind: 'reset' }, false],
    [{ kind: 'apply-then-reset' }, true],
    [{ kind: 'apply-then-truncate' }, true],
  ])('WHEN the connection breaks by %o THEN the client sees an error, and it is applied: %s', async (fault, applied) => {
    next = fault;
    await expect(set(fault.kind)).rejects.toThrow(/fetch failed|terminated/);
    expect(await isSet(fault.kind)).toBe(applied);
  });

  test.each<[Interception, boolean]>([
    [{ kind: 'answer', answer: gateway }, false],
    [{ kind: 'apply-then-answer', answer: gateway }, true],
  ])('WHEN a gateway answers 502 by %o THEN it is applied: %s', async (fault, applied) => {
    next = fault;
    expect((await set(fault.kind)).status).toBe(502);
    expect(await isSet(fault.kind)).toBe(applied);
  });

  test('WHEN its answer is lost and it is sent again with the same Idempotency-Key THEN it counts once', async () => {
    const headers = { 'idempotency-key': '0192d3c0-0000-7000-8000-000000000001' };
    next = { kind: 'apply-then-reset' };
    await expect(set('idempotent', headers)).rejects.toThrow(/fetch failed|terminated/);
    const location = (await running.api('GET', `${TABLES}/t`)).json['metadata-location'];
    const repeated = await set('idempotent', headers);
    expect(repeated.status).toBe(200);
    expect(repeated.json['metadata-location']).toBe(location);
    expect((await running.api('GET', `${TABLES}/t`)).json['metadata-location']).toBe(location);
    expect((await set('something-else', headers)).status).toBe(422);
  });
});
