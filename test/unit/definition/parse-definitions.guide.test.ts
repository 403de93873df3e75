import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { definitionsOf, problemsOf } from './definition-text.ts';

const shared = process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared');
const guide = readFileSync(join(shared, 'reference/materialize-rest-catalog-guide.txt'), 'utf8');

/** The stored page lost its <placeholders>; what each stood for is filled in, the rest stays word for word. */
function filled(statement: string): string {
  return statement
    .replace("AS ':'", "AS 'client-id:client-secret'")
    .replace('https:///', 'https://polaris.example.com/')
    .replace('CREATE SINK IN CLUSTER FROM INTO', 'CREATE SINK orders_sink IN CLUSTER sinks FROM orders INTO')
    .replace("NAMESPACE = ''", "NAMESPACE = 'materialize'")
    .replace("TABLE = ''", "TABLE = 'orders'")
    .replace('KEY ()', 'KEY (id)')
    .replace("INTERVAL = ''", "INTERVAL = '1m'");
}

const statements = [...guide.matchAll(/```mzsql (.*?)```/gs)].map((match) => match[1] ?? '');
const created = statements.filter((statement) => statement.startsWith('CREATE ') && !statement.includes('CLUSTER REPLICA'));
const [secret = '', connection = '', upsert = '', append = ''] = created.map(filled);

describe("GIVEN the guide's statements with their placeholders filled in", () => {
  test('WHEN they are looked for THEN there are a secret, a connection and two sinks', () => {
    expect(created.map((statement) => statement.split(' ').slice(0, 2).join(' '))).toEqual([
      'CREATE SECRET', 'CREATE CONNECTION', 'CREATE SINK', 'CREATE SINK',
    ]);
  });

  test('WHEN the upsert sink is parsed THEN every option arrives', () => {
    const { definitions, warnings } = definitionsOf(secret + connection + upsert);
    expect(warnings).toEqual([]);
    expect(definitions.catalogs).toHaveLength(1);
    expect(definitions.sinks[0]).toMatchObject({
      name: 'orders_sink', sinkId: 'orders_sink', version: 0n, cluster: 'sinks',
      from: { database: null, schema: null, name: 'orders' },
      namespace: 'materialize', table: 'orders', mode: 'upsert', keyColumns: ['id'], keyEnforced: true,
      commitIntervalMs: 60_000, heartbeatIntervalMs: 300_000, snapshot: true, snapshotSlices: 1, uuidMapping: 'fixed',
      rowErrorPolicy: 'halt', targetFileSizeBytes: 134_217_728, takeOver: false,
      catalog: {
        catalogType: 'rest', url: 'https://polaris.example.com/api/catalog', warehouse: 'materialize_catalog',
        scope: 'PRINCIPAL_ROLE:ALL', accessDelegation: 'vended-credentials', storageProvider: 's3',
        oauth2ServerUrl: null, awsConnection: null, gcpConnection: null, credential: { clientId: 'client-id' },
      },
    });
    expect(definitions.sinks[0]?.catalog.credential?.clientSecret.reveal()).toBe('client-secret');
  });

  test('WHEN the append sink is parsed THEN it has no key', () => {
    const { definitions } = definitionsOf(secret + connection + append);
    expect(definitions.sinks[0]).toMatchObject({ mode: 'append', keyColumns: [], commitIntervalMs: 60_000 });
  });

  test('WHEN the placeholders are left empty THEN each is named', () => {
    const [bareSecret = '', bareConnection = ''] = created;
    expect(problemsOf(`${bareSecret}\n${bareConnection}`)).toEqual([
      expect.stringContaining('parsing Iceberg catalog url: empty host'),
      expect.stringContaining('CREDENTIAL must be client id and secret'),
    ]);
  });

  test("WHEN the guide's ALTER and SELECT statements stand in the file THEN each is refused with the way out", () => {
    const others = statements.filter((statement) => !created.includes(statement)).join('\n');
    const problems = problemsOf(others).join('\n');
    expect(problems).toContain('ALTER SECRET is not a definition; change the value in CREATE SECRET');
    expect(problems).toContain('ALTER SINK is not a definition');
    expect(problems).toContain('expected CREATE SECRET, CREATE CONNECTION or CREATE SINK [SELECT]');
  });
});
