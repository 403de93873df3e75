import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDefinitions } from '../../../src/definition/parse-definitions.ts';
import { type Yaml, readYaml } from './yaml-subset.ts';

const root = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const dockerfile = read('Dockerfile').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
const compose = asMap(readYaml(read('docker-compose.yml')));
const services = Object.entries(asMap(compose['services'])).map(([name, service]) => ({ name, service: asMap(service) }));

function asMap(value: Yaml | undefined): { readonly [key: string]: Yaml } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('not a map');
  return value as { readonly [key: string]: Yaml };
}

function names(value: Yaml | undefined): readonly string[] {
  return value === undefined || value === null ? [] : Object.keys(asMap(value));
}

/** A version, and not `latest` or a moving major. */
const PINNED = /^[\w./-]+:(?:v?\d+\.\d+|RELEASE\.\d{4})[\w.-]*$/;

describe('GIVEN the Dockerfile', () => {
  test('WHEN it is read THEN it has several stages on the Node of package.json, pinned', () => {
    const from = dockerfile.filter((line) => line.startsWith('FROM '));
    const { devDependencies } = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> };
    expect(from).toHaveLength(2);
    for (const line of from) expect(line).toContain(`FROM node:${devDependencies['node']}-bookworm-slim AS `);
  });

  test('WHEN its last stage runs THEN it is not root, and carries no build tools and no definitions', () => {
    const last = dockerfile.slice(dockerfile.findLastIndex((line) => line.startsWith('FROM ')));
    const users = last.filter((line) => line.startsWith('USER '));
    expect(users).toEqual(['USER node']);
    expect(last).toContain('ENTRYPOINT ["node", "dist/main.js"]');
    expect(last.findIndex((line) => line.startsWith('RUN '))).toBeLessThan(last.indexOf('USER node'));
    expect(last.join('\n')).not.toMatch(/npm |\.sql|PASSWORD|SECRET/);
    expect(dockerfile.join('\n')).toContain('npm prune --omit=dev');
  });

  test('WHEN it copies THEN .dockerignore lets the file through', () => {
    const lines = read('.dockerignore').split('\n');
    const allowed = new Set(lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1)));
    const copied = dockerfile
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(/\s+/).slice(1, -1));
    expect(copied.length).toBeGreaterThan(5);
    for (const file of copied) expect(allowed).toContain(file.replace('./', ''));
  });
});

describe('GIVEN docker-compose.yml', () => {
  test('WHEN its services are listed THEN the guide is there, and the sink is built from here', () => {
    expect(services.map(({ name }) => name)).toEqual([
      'materialize', 'relation', 'minio', 'bucket', 'polaris', 'polaris-setup', 'sink',
    ]);
    const images = services.filter(({ name }) => name !== 'sink').map(({ service }) => service['image']);
    for (const image of images) expect(image).toMatch(PINNED);
    expect(services.find(({ name }) => name === 'sink')?.service).toMatchObject({ build: '.' });
  });

  test('WHEN a service names another, a config or a volume THEN it exists', () => {
    const known = new Set(services.map(({ name }) => name));
    for (const { service } of services) {
      for (const name of names(service['depends_on'])) expect(known).toContain(name);
      for (const config of (service['configs'] ?? []) as readonly Yaml[]) {
        expect(names(compose['configs'])).toContain(asMap(config)['source']);
      }
      for (const volume of (service['volumes'] ?? []) as readonly string[]) {
        expect(names(compose['volumes'])).toContain(volume.split(':')[0]);
      }
    }
  });

  test('WHEN it holds passwords THEN they come from the environment and have no default', () => {
    const secrets = services
      .flatMap(({ service }) => Object.entries(asMap(service['environment'] ?? {})))
      .filter(([name]) => /PASSWORD|SECRET|CREDENTIALS|MC_HOST/.test(name));
    expect(secrets).toHaveLength(5);
    for (const [, value] of secrets) expect(value).toMatch(/\$\{\w+:\?[^}]+\}/);
  });

  test('WHEN a port is published THEN on this machine only', () => {
    const ports = services.flatMap(({ service }) => (service['ports'] ?? []) as readonly string[]);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test('WHEN the sink runs THEN it can write to its spill volume and nowhere else', () => {
    const sink = services.find(({ name }) => name === 'sink')?.service ?? {};
    expect(sink).toMatchObject({ read_only: 'true', cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    const volumes = sink['volumes'] as readonly string[];
    const spill = volumes.find((volume) => volume.startsWith('spill:'))?.split(':')[1];
    expect(sink['command']).toContain(spill);
    expect(read('Dockerfile')).toContain(`VOLUME ["${spill}"]`);
    expect(volumes.filter((volume) => !volume.endsWith(':ro'))).toHaveLength(1);
  });

  test('WHEN its definitions are parsed THEN they are right', () => {
    const text = asMap(asMap(compose['configs'])['sinks'])['content'] as string;
    const paths: string[] = [];
    const readFile = (path: string): string => {
      paths.push(path);
      return 'id:secret\n';
    };
    const parsed = parseDefinitions(text, { env: () => undefined, readFile });
    if (parsed.kind === 'problems') throw new Error(JSON.stringify(parsed.problems));
    expect(paths).toEqual(['/run/credential/polaris']);
    const expected = { table: 'customer_totals', mode: 'upsert', keyColumns: ['customer'] };
    expect(parsed.definitions.sinks[0]).toMatchObject(expected);
    expect(parsed.warnings.map((warning) => warning.message)).toEqual([expect.stringContaining('plain text')]);
  });
});

describe('GIVEN the licence', () => {
  test('WHEN it is read THEN it is Apache 2.0 in full, as package.json says', () => {
    expect(read('LICENSE')).toMatch(/Apache License\s+Version 2\.0, January 2004[^]*END OF TERMS AND CONDITIONS/);
    expect((JSON.parse(read('package.json')) as { license: string }).license).toBe('Apache-2.0');
  });
});
