import { describe, expect, test } from 'vitest';
import { AWS, GCP, REST, SECRET, SERVICE_ACCOUNT, catalog, definitionsOf, misplaced, problemsOf } from './definition-text.ts';

const CRED = 'CREDENTIAL = SECRET cred';
const S3 = "CATALOG TYPE = 's3tablesrest', URL = 'https://s3tables.eu-west-1.amazonaws.com/iceberg'";
const ARN = "WAREHOUSE = 'arn:aws:s3tables:eu-west-1:123456789012:bucket/b'";
const BIGLAKE = "CATALOG TYPE = 'rest', URL = 'https://biglake.googleapis.com/iceberg/v1/restcatalog'";

/** What is wrong, the SQL, and every problem in full behind `invalid CONNECTION: `. */
const REFUSED: readonly (readonly [string, string, readonly string[]])[] = [
  ['no CATALOG TYPE', SECRET + catalog(`URL = 'https://h/', ${CRED}`), ['ICEBERG connections must specify CATALOG TYPE [c]']],
  ['no URL', SECRET + catalog(`CATALOG TYPE 'rest', ${CRED}`), ['ICEBERG connections must specify URL [c]']],
  ['an unknown type', SECRET + catalog(`CATALOG TYPE 'glue', URL 'https://h', ${CRED}`),
    ["invalid CATALOG TYPE 'glue', expected 'rest' or 's3tablesrest' ['glue']"]],
  ['a URL that is none', SECRET + catalog(`CATALOG TYPE 'rest', URL 'catalog', ${CRED}`),
    ["parsing Iceberg catalog url: not an absolute URL ['catalog']"]],
  ['a URL with a password', SECRET + catalog(`CATALOG TYPE 'rest', URL 'https://u:hunter2@h', ${CRED}`),
    ['parsing Iceberg catalog url: user and password do not belong into a URL […]']],
  ['another scheme', SECRET + catalog(`CATALOG TYPE 'rest', URL 'ftp://h', ${CRED}`),
    ["parsing Iceberg catalog url: the scheme must be https or http ['ftp://h']"]],
  ['no login', catalog(REST), ['ICEBERG rest connections require a CREDENTIAL or GCP CONNECTION [c]']],
  ['both logins', SECRET + GCP + catalog(`${BIGLAKE}, ${CRED}, GCP CONNECTION g`),
    ['ICEBERG rest connections may set CREDENTIAL or GCP CONNECTION, not both [GCP CONNECTION]']],
  ['AWS with rest', SECRET + AWS + catalog(`${REST}, ${CRED}, AWS CONNECTION = a`),
    ['ICEBERG rest connections do not support AWS CONNECTION.\n\nTry s3tablesrest instead. [AWS CONNECTION]']],
  ['OAUTH2 with GCP', GCP + catalog(`${BIGLAKE}, GCP CONNECTION = g, OAUTH2 SERVER URL = 'https://h.example/t'`),
    ['OAUTH2 SERVER URL applies to CREDENTIAL auth, not GCP CONNECTION [OAUTH2 SERVER URL]']],
  ['GCP elsewhere', GCP + catalog(`CATALOG TYPE 'rest', URL 'https://evil.example', GCP CONNECTION = g`),
    ["GCP connection can only be used with 'https://biglake.googleapis.com/iceberg/v1/restcatalog' ['https://evil.example']"]],
  ['another delegation', SECRET + catalog(`${REST}, ${CRED}, ACCESS DELEGATION 'remote-signing'`),
    ["invalid iceberg access delegation 'remote-signing', expected 'vended-credentials' ['remote-signing']"]],
  ['another provider', SECRET + catalog(`${REST}, ${CRED}, STORAGE PROVIDER 'hdfs'`),
    ["invalid iceberg storage provider, expected 's3', 'gcs', or 'adls' ['hdfs']"]],
  ['S3 Tables without anything', catalog(S3), [
    'ICEBERG s3tablesrest connections must specify WAREHOUSE [c]',
    'ICEBERG s3tablesrest connections require an AWS connection [c]',
  ]],
  ['S3 Tables with what is not for it',
    AWS + GCP + catalog(`${S3}, ${ARN}, AWS CONNECTION a, GCP CONNECTION g, OAUTH2 SERVER URL 'https://h.example', ` +
      "ACCESS DELEGATION 'vended-credentials', STORAGE PROVIDER 's3'"), [
      expect.stringContaining('ICEBERG s3tablesrest connections do not support GCP CONNECTION'),
      expect.stringContaining('ICEBERG s3tablesrest connections do not support OAUTH2 SERVER URL'),
      expect.stringContaining('ICEBERG s3tablesrest connections do not support ACCESS DELEGATION'),
      expect.stringContaining('ICEBERG s3tablesrest connections do not support STORAGE PROVIDER'),
    ] as string[]],
  ['a connection of the wrong kind', GCP + catalog(`${S3}, ${ARN}, AWS CONNECTION g`),
    [expect.stringMatching(/g is not an AWS connection \[g\]/) as string]],
  ['a GCP connection of the wrong kind', AWS + catalog(`${BIGLAKE}, GCP CONNECTION a`),
    [expect.stringMatching(/a is not a GCP connection \[a\]/) as string]],
  ['a foreign option', SECRET + catalog(`${REST}, ${CRED}, BROKER 'b', SSH TUNNEL = t`),
    ['ICEBERG connections do not support BROKER, SSH TUNNEL values [BROKER]']],
  ['an option twice', SECRET + catalog(`${REST}, ${CRED}, SCOPE 'a', scope 'b'`),
    ['SCOPE specified more than once [scope]']],
  ['a number for a text', SECRET + catalog(`${REST}, ${CRED}, SCOPE = 5`), ['SCOPE must be a text in single quotes [5]']],
  ['a secret that is none', SECRET + catalog(`${REST}, CREDENTIAL = SECRET nope`),
    [expect.stringContaining('"nope" is not defined in this file [nope]') as string]],
  ['half a key', 'CREATE CONNECTION a TO AWS (ACCESS KEY ID = \'A\');',
    ['AWS connections must specify both ACCESS KEY ID and SECRET ACCESS KEY, or neither [a]']],
  ['no key and no role', "CREATE CONNECTION a TO AWS (REGION = 'r');",
    ['AWS connections must specify ACCESS KEY ID and SECRET ACCESS KEY, or ASSUME ROLE ARN [a]']],
  ['a key given as text', "CREATE CONNECTION a TO AWS (ACCESS KEY ID = 'A', SECRET ACCESS KEY = 'hunter2');",
    ['SECRET ACCESS KEY must be SECRET and the name of a secret […]']],
  ['GCP without key', 'CREATE CONNECTION g TO GCP ();', ['GCP connections must specify SERVICE ACCOUNT KEY [g]']],
  ['GCP with another key', "CREATE SECRET k AS 'hunter2'; CREATE CONNECTION g TO GCP (SERVICE ACCOUNT KEY = SECRET k);",
    [expect.stringContaining('failed to parse service-account key: not a JSON object') as string]],
  ['GCP with another token_uri',
    `CREATE SECRET k AS '${SERVICE_ACCOUNT.replace('oauth2.googleapis.com', 'evil.example')}'; ` +
      'CREATE CONNECTION g TO GCP (SERVICE ACCOUNT KEY = SECRET k);',
    [expect.stringContaining('token_uri must be https://oauth2.googleapis.com/token') as string]],
];

describe('GIVEN a connection', () => {
  test.each(REFUSED)('WHEN it has %s THEN exactly that is reported', (_, sql, expected) => {
    const problems = problemsOf(sql);
    expect(problems.map((problem) => problem.replace(/^\d+:\d+ invalid CONNECTION: /, ''))).toEqual(expected);
    expect(misplaced(sql)).toEqual([]);
    expect(problems.join()).not.toContain('hunter2');
  });

  test('WHEN option values are in another case and = is left out THEN they mean the same', () => {
    const sql = `${SECRET}create connection C to iceberg catalog (catalog type 'REST', url 'HTTPS://Catalog.Example/a//',
      credential secret CRED, access delegation 'Vended-Credentials', storage provider 'GCS') with (validate = FALSE);`;
    expect(definitionsOf(sql).definitions.catalogs[0]).toMatchObject({
      name: 'c', catalogType: 'rest', url: 'https://catalog.example/a', accessDelegation: 'vended-credentials',
      storageProvider: 'gcs', validate: false,
    });
  });

  test('WHEN it is for S3 Tables, BigLake or without login THEN it is taken', () => {
    const s3 = definitionsOf(AWS + catalog(`${S3}, ${ARN}, AWS CONNECTION a`)).definitions.catalogs[0];
    expect(s3?.awsConnection?.secretAccessKey?.reveal()).toBe('k');
    const gcp = definitionsOf(GCP + catalog(`${BIGLAKE}, GCP CONNECTION g, ACCESS DELEGATION 'vended-credentials'`));
    expect(gcp.definitions.catalogs[0]?.gcpConnection?.name).toBe('g');
    expect(definitionsOf(catalog(`${REST}, CREDENTIAL = NONE`)).definitions.catalogs[0]?.credential).toBeNull();
  });

  test.each([
    ['id:a:b', 'id', 'a:b'],
    ['only-a-secret', null, 'only-a-secret'],
  ])('WHEN the credential is %s THEN it is split at the first colon', (value, clientId, secret) => {
    const { definitions } = definitionsOf(catalog(`${REST}, CREDENTIAL = '${value}'`));
    expect(definitions.catalogs[0]?.credential?.clientId).toBe(clientId);
    expect(definitions.catalogs[0]?.credential?.clientSecret.reveal()).toBe(secret);
  });
});

describe('GIVEN an OAUTH2 SERVER URL', () => {
  const withUrl = (url: string) => SECRET + catalog(`${REST}, ${CRED}, OAUTH2 SERVER URL = '${url}'`);

  test.each([
    'https://127.0.0.1/t', 'https://localhost/t', 'https://2130706433/t', 'https://0x7f.1/t', 'https://10.1.2.3/t',
    'https://169.254.169.254/t', 'https://172.31.0.1/t', 'https://192.168.1.1/t', 'https://100.64.0.1/t',
    'https://[::1]/t', 'https://[fd00::1]/t', 'https://[fe80::1]/t', 'https://[::ffff:10.0.0.1]/t',
    'https://[64:ff9b::7f00:1]/t', 'https://metadata.google.internal/t', 'https://polaris/t', 'https://localhost./t',
  ])('WHEN it is %s THEN it is refused, unless internal addresses are allowed', (url) => {
    expect(problemsOf(withUrl(url))).toEqual([expect.stringContaining('is not resolvable to an external address')]);
    expect(problemsOf(withUrl(url), { allowInternalOauth2: true })).toEqual([]);
  });

  test.each(['https://login.example.com/t', 'https://8.8.8.8/t', 'https://172.32.0.1/t', 'https://[2606:4700::1]/t'])(
    'WHEN it is %s THEN it is taken',
    (url) => expect(problemsOf(withUrl(url))).toEqual([]),
  );

  test('WHEN it is plain http THEN only loopback passes', () => {
    const internal = { allowInternalOauth2: true };
    expect(problemsOf(withUrl('http://login.example.com/t'), internal)).toEqual([expect.stringContaining('must be https')]);
    expect(problemsOf(withUrl('http://10.0.0.1/t'), internal)).toEqual([expect.stringContaining('must be https')]);
    expect(problemsOf(withUrl('http://127.0.0.1:8181/t'), internal)).toEqual([]);
  });

  test('WHEN it is no URL or has no host THEN it says so', () => {
    expect(problemsOf(withUrl('nonsense'))).toEqual([expect.stringContaining('invalid OAUTH2 SERVER URL')]);
    expect(problemsOf(withUrl('https:///t'))).toEqual([expect.stringContaining('OAUTH2 SERVER URL has no host')]);
  });
});
