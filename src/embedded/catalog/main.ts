/**
 * Starts the embedded catalog from the command line and runs until SIGTERM or SIGINT.
 *
 *   node src/embedded/catalog/main.ts --state-dir DIR --root ID:SECRET [--port 8181] [--host 127.0.0.1]
 *     [--credential-seconds 3600|default] [--token-seconds 3600] [--role-arn ARN]
 *
 * The root credential may come from EMBEDDED_CATALOG_ROOT instead, so that it needn't stand on a command line; the
 * catalog's own S3 keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
 */
import { parseArgs } from 'node:util';
import { createEmbeddedCatalog } from './server.ts';

const { values } = parseArgs({
  options: {
    'state-dir': { type: 'string' },
    root: { type: 'string' },
    port: { type: 'string', default: '8181' },
    host: { type: 'string', default: '127.0.0.1' },
    'credential-seconds': { type: 'string', default: '3600' },
    'token-seconds': { type: 'string', default: '3600' },
    'role-arn': { type: 'string' },
  },
});

const stateDir = values['state-dir'];
const root = values.root ?? process.env['EMBEDDED_CATALOG_ROOT'] ?? '';
const colon = root.indexOf(':');
if (stateDir === undefined || colon < 1) {
  process.stderr.write('embedded catalog: --state-dir DIR and --root ID:SECRET are needed\n');
  process.exit(2);
}

const accessKeyId = process.env['AWS_ACCESS_KEY_ID'];
const secretAccessKey = process.env['AWS_SECRET_ACCESS_KEY'];
const lifetime = values['credential-seconds'];
const catalog = await createEmbeddedCatalog({
  stateDir,
  root: { clientId: root.slice(0, colon), clientSecret: root.slice(colon + 1) },
  port: Number(values.port),
  host: values.host,
  tokenLifetimeS: Number(values['token-seconds']),
  storage: {
    credentialLifetimeS: lifetime === 'default' ? null : Number(lifetime),
    ...(accessKeyId === undefined || secretAccessKey === undefined ? {} : { keys: { accessKeyId, secretAccessKey } }),
    ...(values['role-arn'] === undefined ? {} : { defaultRoleArn: values['role-arn'] }),
  },
});
process.stdout.write(`embedded catalog ready at ${catalog.catalogUrl}\n`);

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    void catalog.close().then(() => process.exit(0));
  });
}
