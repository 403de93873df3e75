/**
 * CREATE CONNECTION, checked. In: the statement and what is defined above it. Out: the connection, or null after
 * everything wrong with it was reported. Each check concerns one rule of the catalog type; none stops the next.
 */
import type { AwsConnection, CatalogConnection, GcpConnection, StorageProvider } from './definitions.ts';
import { displayName } from './object-name.ts';
import { CONNECTION_TYPE_LABEL } from './option-tables.ts';
import type { Report } from './report.ts';
import {
  type OptionMap,
  type TrackedReport,
  booleanOption,
  choiceOption,
  mapOptions,
  textOption,
  trackReport,
} from './read-values.ts';
import { type Scope, connectionNamed, secretNamed } from './scope.ts';
import { Secret } from './secret.ts';
import { parseServiceAccountKey } from './service-account-key.ts';
import type { ConnectionStatement } from './statements.ts';
import type { Range } from './tokens.ts';
import { isInternalHost, isLoopbackHost, readWebAddress } from './web-address.ts';

export interface ConnectionRules {
  /** Let OAUTH2 SERVER URL name an address inside the own network. The secret is posted there. */
  readonly allowInternalOauth2: boolean;
}

const PREFIX = 'invalid CONNECTION: ';
const BIGLAKE_URL = 'https://biglake.googleapis.com/iceberg/v1/restcatalog';
const STORAGE_PROVIDERS: readonly StorageProvider[] = ['s3', 'gcs', 'adls'];

interface Context {
  readonly statement: ConnectionStatement;
  readonly scope: Scope;
  readonly rules: ConnectionRules;
  readonly options: OptionMap;
  readonly report: TrackedReport;
  /** Where problems of the whole statement point. */
  readonly place: Range;
}

function open(statement: ConnectionStatement, scope: Scope, rules: ConnectionRules, outer: Report): Context {
  const report = trackReport(outer, PREFIX);
  const label = CONNECTION_TYPE_LABEL[statement.target];
  const refuse = (names: string): string => `${label} connections do not support ${names} values`;
  const options = mapOptions(statement.options, report, refuse);
  return { statement, scope, rules, options, report, place: statement.name.range };
}

export function checkCatalog(
  statement: ConnectionStatement,
  scope: Scope,
  rules: ConnectionRules,
  outer: Report,
): CatalogConnection | null {
  const context = open(statement, scope, rules, outer);
  const { options, report, place } = context;
  if (!options.has('CATALOG TYPE')) report.problem(place, 'ICEBERG connections must specify CATALOG TYPE');
  const catalogType = choiceOption(options, report, 'CATALOG TYPE', ['rest', 's3tablesrest'], (shown) =>
    `invalid CATALOG TYPE ${shown}, expected 'rest' or 's3tablesrest'`);
  const url = catalogUrl(context);
  if (catalogType === 'rest') checkRest(context, url);
  if (catalogType === 's3tablesrest') checkS3Tables(context);
  const credential = readCredential(context);
  const accessDelegation = choiceOption(options, report, 'ACCESS DELEGATION', ['vended-credentials'], (shown) =>
    `invalid iceberg access delegation ${shown}, expected 'vended-credentials'`);
  const storageProvider = choiceOption(options, report, 'STORAGE PROVIDER', STORAGE_PROVIDERS, () =>
    "invalid iceberg storage provider, expected 's3', 'gcs', or 'adls'");
  const oauth2ServerUrl = readOauth2ServerUrl(context);
  const awsConnection = connectionOption(context, 'AWS CONNECTION', 'aws', 'is not an AWS connection');
  const gcpConnection = connectionOption(context, 'GCP CONNECTION', 'gcp', 'is not a GCP connection');
  const warehouse = textOption(options, report, 'WAREHOUSE')?.text ?? null;
  const scopeText = textOption(options, report, 'SCOPE')?.text ?? null;
  const validate = readValidate(statement, outer, report);
  if (report.failed || catalogType === null || url === null || validate === null) return null;
  if (isBroken(context, 'CREDENTIAL', credential) || isBroken(context, 'AWS CONNECTION', awsConnection)) return null;
  if (isBroken(context, 'GCP CONNECTION', gcpConnection)) return null;
  return {
    kind: 'iceberg-catalog',
    name: displayName(statement.name),
    catalogType,
    url,
    warehouse,
    credential,
    scope: scopeText,
    oauth2ServerUrl,
    accessDelegation,
    storageProvider: storageProvider ?? 's3',
    awsConnection,
    gcpConnection,
    validate,
  };
}

/** Given, but what it refers to has problems of its own, which are reported there. */
function isBroken(context: Context, option: string, value: unknown): boolean {
  return context.options.has(option) && value === null && !isNone(context);
}

function refuseWith(names: string): string {
  return `CREATE CONNECTION … WITH does not support ${names}`;
}

function readValidate(statement: ConnectionStatement, outer: Report, report: TrackedReport): boolean | null {
  const inner = trackReport(outer);
  const map = mapOptions(statement.withOptions, inner, refuseWith);
  const validate = booleanOption(map, inner, 'VALIDATE', true);
  return inner.failed || report.failed ? null : validate;
}

function catalogUrl({ options, report, place }: Context): string | null {
  if (!options.has('URL')) report.problem(place, 'ICEBERG connections must specify URL');
  const value = textOption(options, report, 'URL');
  if (value === null) return null;
  const address = readWebAddress(value.text);
  if (address.kind === 'url') {
    if (address.isPlainText && options.has('CREDENTIAL') && !isLoopbackHost(address.host)) {
      report.warning(value.range, 'http sends CREDENTIAL in plain text; use https outside of a private network');
    }
    return address.url;
  }
  const reason = address.kind === 'no-host' ? 'empty host' : address.reason;
  report.problem(value.range, `parsing Iceberg catalog url: ${reason}`);
  return null;
}

function checkRest({ options, report, place }: Context, url: string | null): void {
  if (options.has('AWS CONNECTION')) {
    const message = 'ICEBERG rest connections do not support AWS CONNECTION.\n\nTry s3tablesrest instead.';
    report.problem(rangeOf(options, 'AWS CONNECTION', place), message);
  }
  const hasCredential = options.has('CREDENTIAL');
  const gcp = options.get('GCP CONNECTION');
  if (!hasCredential && gcp === undefined) {
    report.problem(place, 'ICEBERG rest connections require a CREDENTIAL or GCP CONNECTION');
  }
  if (gcp === undefined) return;
  if (hasCredential) {
    report.problem(gcp.range, 'ICEBERG rest connections may set CREDENTIAL or GCP CONNECTION, not both');
  }
  if (options.has('OAUTH2 SERVER URL')) {
    const message = 'OAUTH2 SERVER URL applies to CREDENTIAL auth, not GCP CONNECTION';
    report.problem(rangeOf(options, 'OAUTH2 SERVER URL', place), message);
  }
  if (url !== null && url !== BIGLAKE_URL) {
    const message = `GCP connection can only be used with '${BIGLAKE_URL}'`;
    report.problem(options.get('URL')?.value?.range ?? place, message);
  }
}

const NOT_FOR_S3_TABLES = [
  'GCP CONNECTION',
  'OAUTH2 SERVER URL',
  'ACCESS DELEGATION',
  'STORAGE PROVIDER',
  'CREDENTIAL',
  'SCOPE',
] as const;

function checkS3Tables({ options, report, place }: Context): void {
  if (!options.has('WAREHOUSE')) report.problem(place, 'ICEBERG s3tablesrest connections must specify WAREHOUSE');
  if (!options.has('AWS CONNECTION')) {
    report.problem(place, 'ICEBERG s3tablesrest connections require an AWS connection');
  }
  for (const name of NOT_FOR_S3_TABLES) {
    const option = options.get(name);
    if (option !== undefined) {
      report.problem(option.range, `ICEBERG s3tablesrest connections do not support ${name}`);
    }
  }
  const warehouse = options.get('WAREHOUSE')?.value;
  if (warehouse?.kind === 'text' && warehouse.text !== '' && !/^arn:[^:]*:s3tables:/.test(warehouse.text)) {
    report.problem(warehouse.range, 'WAREHOUSE of an s3tablesrest connection is the ARN of the table bucket');
  }
}

function rangeOf(options: OptionMap, name: string, fallback: Range): Range {
  return options.get(name)?.range ?? fallback;
}

function isNone({ options }: Context): boolean {
  const value = options.get('CREDENTIAL')?.value;
  return value?.kind === 'name' && value.name.parts.join('.') === 'none';
}

function readCredential(context: Context): CatalogConnection['credential'] {
  if (isNone(context)) return null;
  const secret = secretOrText(context, 'CREDENTIAL', true);
  if (secret === null) return null;
  const text = secret.reveal();
  const colon = text.indexOf(':');
  const clientId = colon < 0 ? null : text.slice(0, colon);
  const clientSecret = text.slice(colon + 1);
  if (clientId === '' || clientSecret === '') {
    const place = context.options.get('CREDENTIAL')?.value?.range ?? context.place;
    context.report.problem(place, 'CREDENTIAL must be client id and secret separated by a colon, or a secret alone');
    return null;
  }
  return { clientId, clientSecret: new Secret(clientSecret, secret.reference) };
}

function readOauth2ServerUrl({ options, report, place, rules }: Context): string | null {
  if (options.has('OAUTH2 SERVER URL') && !options.has('CREDENTIAL') && !options.has('GCP CONNECTION')) {
    report.problem(rangeOf(options, 'OAUTH2 SERVER URL', place), 'OAUTH2 SERVER URL applies to CREDENTIAL auth only');
  }
  const value = textOption(options, report, 'OAUTH2 SERVER URL');
  if (value === null) return null;
  const address = readWebAddress(value.text);
  if (address.kind === 'invalid') {
    report.problem(value.range, `invalid OAUTH2 SERVER URL: ${address.reason}`);
    return null;
  }
  if (address.kind === 'no-host') {
    report.problem(value.range, 'OAUTH2 SERVER URL has no host');
    return null;
  }
  if (isInternalHost(address.host) && !rules.allowInternalOauth2) {
    const shown = report.shown(value.range);
    report.problem(value.range, `OAUTH2 SERVER URL ${shown} is not resolvable to an external address`);
  } else if (address.isPlainText && !isLoopbackHost(address.host)) {
    report.problem(value.range, 'OAUTH2 SERVER URL must be https: the credential is sent there');
  }
  return address.url;
}

function connectionOption<K extends 'aws' | 'gcp'>(
  { options, report, scope }: Context,
  name: string,
  kind: K,
  refusal: string,
): (K extends 'aws' ? AwsConnection : GcpConnection) | null {
  const option = options.get(name);
  if (option === undefined) return null;
  if (option.value?.kind !== 'name') {
    report.problem(option.value?.range ?? option.range, `${name} must be the name of a connection`);
    return null;
  }
  const found = connectionNamed(scope, option.value.name, kind, report, (shown) => `${shown} ${refusal}`);
  return found as (K extends 'aws' ? AwsConnection : GcpConnection) | null;
}

function secretOrText(context: Context, name: string, allowText: boolean): Secret | null {
  const { options, report, scope } = context;
  const option = options.get(name);
  if (option === undefined) return null;
  const value = option.value;
  if (value?.kind === 'secret') return secretNamed(scope, value.name, report);
  if (value?.kind === 'text' && allowText) return new Secret(value.text);
  const expected = allowText ? 'SECRET and its name, or a text in single quotes' : 'SECRET and the name of a secret';
  report.problem(value?.range ?? option.range, `${name} must be ${expected}`);
  return null;
}

export function checkAws(
  statement: ConnectionStatement,
  scope: Scope,
  rules: ConnectionRules,
  outer: Report,
): AwsConnection | null {
  const context = open(statement, scope, rules, outer);
  const { options, report, place } = context;
  checkValidate(statement, report);
  const accessKeyId = secretOrText(context, 'ACCESS KEY ID', true);
  const secretAccessKey = secretOrText(context, 'SECRET ACCESS KEY', false);
  const sessionToken = secretOrText(context, 'SESSION TOKEN', true);
  const hasKey = options.has('ACCESS KEY ID') || options.has('SECRET ACCESS KEY') || options.has('SESSION TOKEN');
  const hasRole = options.has('ASSUME ROLE ARN') || options.has('ASSUME ROLE SESSION NAME');
  if (hasKey && !(options.has('ACCESS KEY ID') && options.has('SECRET ACCESS KEY'))) {
    report.problem(place, 'AWS connections must specify both ACCESS KEY ID and SECRET ACCESS KEY, or neither');
  }
  if (hasRole && !options.has('ASSUME ROLE ARN')) {
    report.problem(place, 'ASSUME ROLE SESSION NAME requires ASSUME ROLE ARN');
  }
  if (!hasKey && !hasRole) {
    report.problem(place, 'AWS connections must specify ACCESS KEY ID and SECRET ACCESS KEY, or ASSUME ROLE ARN');
  }
  const endpoint = textOption(options, report, 'ENDPOINT');
  const address = endpoint === null ? null : readWebAddress(endpoint.text);
  if (endpoint !== null && address?.kind !== 'url') {
    report.problem(endpoint.range, 'ENDPOINT must be an http or https URL');
  }
  const keyIsBroken = hasKey && (accessKeyId === null || secretAccessKey === null);
  const connection: AwsConnection = {
    kind: 'aws',
    name: displayName(statement.name),
    region: textOption(options, report, 'REGION')?.text ?? null,
    endpoint: address?.kind === 'url' ? address.url : null,
    accessKeyId,
    secretAccessKey,
    sessionToken,
    assumeRoleArn: textOption(options, report, 'ASSUME ROLE ARN')?.text ?? null,
    assumeRoleSessionName: textOption(options, report, 'ASSUME ROLE SESSION NAME')?.text ?? null,
  };
  return report.failed || keyIsBroken ? null : connection;
}

export function checkGcp(
  statement: ConnectionStatement,
  scope: Scope,
  rules: ConnectionRules,
  outer: Report,
): GcpConnection | null {
  const context = open(statement, scope, rules, outer);
  const { options, report, place } = context;
  checkValidate(statement, report);
  if (!options.has('SERVICE ACCOUNT KEY')) report.problem(place, 'GCP connections must specify SERVICE ACCOUNT KEY');
  const serviceAccountKey = secretOrText(context, 'SERVICE ACCOUNT KEY', false);
  if (serviceAccountKey === null) return null;
  const key = parseServiceAccountKey(serviceAccountKey);
  if (key.kind === 'invalid') {
    report.problem(options.get('SERVICE ACCOUNT KEY')?.value?.range ?? place, key.message);
  }
  return report.failed ? null : { kind: 'gcp', name: displayName(statement.name), serviceAccountKey };
}

/** AWS and GCP connections contact nobody by themselves, so VALIDATE is taken and changes nothing. */
function checkValidate(statement: ConnectionStatement, report: Report): void {
  const map = mapOptions(statement.withOptions, report, refuseWith);
  booleanOption(map, report, 'VALIDATE', true);
}
