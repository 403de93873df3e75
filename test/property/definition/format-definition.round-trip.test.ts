import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AwsConnection, CatalogConnection, GcpConnection, SinkDefinition } from '../../../src/definition/definitions.ts';
import { type Definition, formatDefinition } from '../../../src/definition/format-definition.ts';
import { parseDefinitions } from '../../../src/definition/parse-definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';

const KEY_FILE = JSON.stringify({
  client_email: 'a@b.example', private_key: 'p', token_uri: 'https://oauth2.googleapis.com/token',
});
const SECRETS = `CREATE SECRET cred AS 'id:s''x'; CREATE SECRET "Odd.Name" AS 'k'; CREATE SECRET sa AS '${KEY_FILE}';`;

const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => !/create\s+(secret|sink|connection)/i.test(text) && !['cred', 'sa', 'Odd.Name'].includes(text));
/** A name as definitions hold it: quoted only where a dot or quote in it would be ambiguous. */
const dotted = name.map((part) => (/[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part));
const plain = name.filter((text) => text.trim() !== '' && !/[\p{Cc}*]|^<.*>$|@/u.test(text));
const optional = fc.option(plain);
const credential = new Secret("s'x", 'cred');
const oddSecret = new Secret('k', '"Odd.Name"');

const aws: fc.Arbitrary<AwsConnection> = fc.record({
  kind: fc.constant('aws' as const), name: fc.constant('aws one'), region: optional,
  endpoint: fc.constantFrom(null, 'https://s3.example'), accessKeyId: fc.constant(oddSecret),
  secretAccessKey: fc.constant(oddSecret), sessionToken: fc.constantFrom(null, oddSecret), assumeRoleArn: optional,
}).map((connection) => ({ ...connection, assumeRoleSessionName: connection.assumeRoleArn === null ? null : 'session' }));
const gcp: GcpConnection = { kind: 'gcp', name: 'g', serviceAccountKey: new Secret(KEY_FILE, 'sa') };

const shared = { accessDelegation: null, oauth2ServerUrl: null, awsConnection: null, gcpConnection: null, scope: null };
const rest: fc.Arbitrary<CatalogConnection> = fc.record({
  kind: fc.constant('iceberg-catalog' as const), name: dotted.map((text) => `c ${text.replaceAll(/[."]/g, '')}`),
  catalogType: fc.constant('rest' as const), url: fc.webUrl({ validSchemes: ['https'] }).map((url) => new URL(url).href.replace(/\/+$/, '')),
  warehouse: optional, credential: fc.constantFrom(null, { clientId: 'id', clientSecret: credential }),
  storageProvider: fc.constantFrom('s3' as const, 'gcs' as const, 'adls' as const), validate: fc.boolean(),
  accessDelegation: fc.constantFrom(null, 'vended-credentials' as const), scope: optional,
}).map((connection) => ({ ...shared, ...connection }));
const bigLake: CatalogConnection = {
  ...shared, kind: 'iceberg-catalog', name: 'lake', catalogType: 'rest', warehouse: 'gs://b', credential: null,
  url: 'https://biglake.googleapis.com/iceberg/v1/restcatalog', storageProvider: 'gcs', validate: true, gcpConnection: gcp,
};
const s3Tables: fc.Arbitrary<CatalogConnection> = aws.map((awsConnection) => ({
  ...shared, kind: 'iceberg-catalog', name: 'tables', catalogType: 's3tablesrest', url: 'https://s3tables.example',
  warehouse: 'arn:aws:s3tables:r:1:bucket/b', credential: null, storageProvider: 's3', validate: true, awsConnection,
}));
const catalog = fc.oneof(rest, s3Tables, fc.constant(bigLake));

const sink: fc.Arbitrary<SinkDefinition> = fc.record({
  name: fc.array(dotted, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.')),
  version: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), cluster: fc.option(name), catalog, namespace: plain, table: plain,
  from: fc.tuple(fc.option(name), fc.option(name), name)
    .map(([database, schema, last]) => ({ database: schema === null ? null : database, schema, name: last })),
  key: fc.option(fc.uniqueArray(name, { minLength: 1, maxLength: 4 })), keyEnforced: fc.boolean(), sinkId: optional,
  commitIntervalMs: fc.integer({ min: 1000, max: 86_400_000 }), heartbeatIntervalMs: fc.integer({ min: 1000, max: 86_400_000 }),
  snapshot: fc.boolean(), snapshotSlices: fc.integer({ min: 1, max: 64 }), uuidMapping: fc.constantFrom('fixed' as const, 'string' as const, 'uuid' as const),
  rowErrorPolicy: fc.constantFrom('halt' as const, 'null' as const), takeOver: fc.boolean(),
  targetFileSizeBytes: fc.integer({ min: 1024 ** 2, max: 1024 ** 3 }),
}).map(({ key, sinkId, ...fields }) => ({
  ...fields,
  sinkId: sinkId ?? fields.name,
  mode: key === null ? 'append' : 'upsert',
  keyColumns: key ?? [],
  keyEnforced: key === null || fields.keyEnforced,
  position: { line: 1, column: 1 },
}));

function parseAgain(definition: SinkDefinition): SinkDefinition {
  const { catalog: connection } = definition;
  const parts: Definition[] = [connection.awsConnection, connection.gcpConnection, connection, definition].filter((part) => part !== null);
  const sql = [SECRETS, ...parts.map(formatDefinition)].join('\n');
  const resolve = { env: () => undefined, readFile: () => '' };
  const parsed = parseDefinitions(sql, resolve, { allowInternalOauth2: false });
  if (parsed.kind === 'problems') throw new Error(`${sql}\n${JSON.stringify(parsed.problems)}`);
  const [again] = parsed.definitions.sinks;
  if (again === undefined) throw new Error(sql);
  return { ...again, position: definition.position };
}

/** Secrets compare by what they hold. */
function revealed(value: unknown): unknown {
  if (value instanceof Secret) return { secret: value.reveal(), reference: value.reference };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revealed(inner)]));
}

describe('GIVEN any definition', () => {
  test('WHEN it is written as SQL and parsed again THEN it is the same definition', () => {
    fc.assert(
      fc.property(sink, (definition) => {
        expect(revealed(parseAgain(definition))).toEqual(revealed(definition));
      }),
      { numRuns: 500 },
    );
  });
});
