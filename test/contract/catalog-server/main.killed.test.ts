import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from './running-catalog.ts';
import { SCHEMA, fileCatalog, replyOf } from './running-catalog.ts';

const MAIN = join(import.meta.dirname, '../../../src/embedded/catalog/main.ts');
const ROUNDS = 4;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'catalog-killed-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

interface Started { readonly child: ChildProcess; readonly send: (method: string, path: string, body?: object) => ReturnType<typeof replyOf> }

async function start(): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, '--state-dir', join(directory, 'state'), '--port', '0'], {
    env: { ...process.env, EMBEDDED_CATALOG_ROOT: 'root:s3cr3t' }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', (line) => resolve(line.split(' ready at ')[1] ?? ''));
    child.once('exit', () => reject(new Error('the catalog did not start')));
  });
  const form = { grant_type: 'client_credentials', client_id: 'root', client_secret: 's3cr3t', scope: 'PRINCIPAL_ROLE:ALL' };
  const answer = await fetch(`${url}/v1/oauth/tokens`, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = await answer.json() as { access_token: string };
  return {
    child,
    send: async (method, path, body) => replyOf(await fetch(`${new URL(url).origin}/api/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })),
  };
}

describe('GIVEN the catalog as a process of its own, under a steady stream of commits', () => {
  test('WHEN it is killed with SIGKILL at some moment THEN the next start has the last acknowledged commit, or the one under way', async () => {
    const tables = 'catalog/v1/lake/namespaces/ns/tables';
    let last = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const { child, send } = await start();
      if (round === 0) {
        await send('POST', 'management/v1/catalogs', fileCatalog('lake', `file://${directory}/warehouse`));
        await send('POST', 'catalog/v1/lake/namespaces', { namespace: ['ns'] });
        await send('POST', tables, { name: 't', schema: SCHEMA, properties: { counter: '0' } });
      }
      const { properties } = (await send('GET', `${tables}/t`)).json['metadata'] as Json as unknown as { properties: { counter: string } };
      expect([last, last + 1]).toContain(Number(properties.counter));
      last = Number(properties.counter);
      const exited = new Promise((resolve) => { child.once('exit', resolve); });
      setTimeout(() => child.kill('SIGKILL'), 60 + round * 37);
      for (;;) {
        const update = { requirements: [], updates: [{ action: 'set-properties', updates: { counter: String(last + 1) } }] };
        const reply = await send('POST', `${tables}/t`, update).catch(() => null);
        if (reply?.status !== 200) break;
        last += 1;
      }
      await exited;
    }
    expect(last).toBeGreaterThan(ROUNDS);
  });
});
