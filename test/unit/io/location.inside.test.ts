import { describe, expect, test } from 'vitest';
import { createObjectStore, writePrefixes } from '../../../src/io/object-store.ts';
import { isInside, parseLocation } from '../../../src/io/location.ts';
import type { TableMetadata } from '../../../src/iceberg/metadata.ts';
import type { ObjectStore } from '../../../src/sink/ports.ts';

describe('GIVEN a location', () => {
  test.each([
    ['s3://b/k/x', { kind: 's3', bucket: 'b', key: 'k/x' }], ['s3a://b/k', { kind: 's3', bucket: 'b', key: 'k' }],
    ['s3n://b', { kind: 's3', bucket: 'b', key: '' }], ['S3://b/a%20b', { kind: 's3', bucket: 'b', key: 'a%20b' }],
    ['file:///a/b', { kind: 'file', path: '/a/b' }], ['file:/a/b', { kind: 'file', path: '/a/b' }],
    ['file://localhost/a', { kind: 'file', path: '/a' }], ['/a/b c', { kind: 'file', path: '/a/b c' }],
  ])('WHEN it is %s THEN it is taken apart as it stands', (location, expected) => {
    expect(parseLocation(location)).toEqual(expected);
  });

  test.each([
    ['gs://b/k', 'not yet built'], ['abfss://c@a.dfs.core.windows.net/k', 'not yet built'], ['hdfs://n/k', 'not a storage'],
    ['s3:///k', 'no bucket'], ['file://host/a', 'no local'], ['a/b', 'neither'], ['', 'neither'],
  ])('WHEN it is %s THEN it is refused with the reason', (location, reason) => {
    expect(() => parseLocation(location)).toThrow(reason);
  });
});

test.each([
  ['s3://b/t/data/x', 's3://b/t', true], ['s3://b/t/data/x', 's3://b/t///', true], ['s3a://b/t/x', 's3://b/t', true],
  ['s3://b/t2/x', 's3://b/t', false], ['s3://b/t/../u/x', 's3://b/t', false], ['s3://c/t/x', 's3://b/t', false],
  ['s3://b/x', 's3://b', true], ['file:/d/t/x', 'file:///d/t', true], ['/d/t/x', 'file:///d/t', true], ['file:///d/t/./x', '/d/t', false],
  ['s3://b/t', 's3://b/t', true],
])('GIVEN %s and the root %s WHEN compared THEN inside is %s', (location, root, expected) => {
  expect(isInside(location, root)).toBe(expected);
});

function tableAt(location: string, properties: Record<string, string> = {}): TableMetadata {
  return { location, properties } as unknown as TableMetadata;
}

test.each([
  [tableAt('s3://b/t/'), ['s3://b/t']],
  [tableAt('s3://b/t', { 'write.data.path': 's3://d/x//', 'write.metadata.path': 's3://m/y' }), ['s3://b/t', 's3://d/x', 's3://m/y']],
  [tableAt('s3://b/t/metadata/00001-x.metadata.json'), ['s3://b/t']],
  [tableAt('s3://b/metadata/t'), ['s3://b/metadata/t']],
])('GIVEN table %# WHEN its write prefixes are asked THEN they are %j', (metadata, expected) => {
  expect(writePrefixes(metadata)).toEqual(expected);
});

function recording(calls: string[], name: string): ObjectStore {
  const noted = (action: string) => async (): Promise<'stored'> => {
    calls.push(`${name} ${action}`);
    return 'stored';
  };
  return {
    open: (location) => ({
      put: async () => { calls.push(`${name} part of ${location}`); }, finish: noted(`finish ${location}`), abort: async () => undefined,
    }),
    put: (location) => Promise.resolve(calls.push(`${name} put ${location}`)).then(() => 'stored'),
    get: (location) => Promise.resolve(calls.push(`${name} get ${location}`)).then(() => new Uint8Array()),
    delete: (location) => Promise.resolve(calls.push(`${name} delete ${location}`)).then(() => undefined),
  };
}

describe('GIVEN a table in S3 and a catalog that names other places', () => {
  const calls: string[] = [];
  const store = createObjectStore({ prefixes: ['s3://b/t'], s3: recording(calls, 's3'), file: recording(calls, 'file') });

  test('WHEN objects of the table are used THEN they go to S3', async () => {
    await store.put('s3://b/t/data/a', new Uint8Array());
    await store.get('s3://elsewhere/t/old-manifest.avro');
    await store.delete('s3a://b/t/data/a');
    expect(calls.splice(0)).toEqual(['s3 put s3://b/t/data/a', 's3 get s3://elsewhere/t/old-manifest.avro', 's3 delete s3a://b/t/data/a']);
  });

  test.each(['s3://b/other/x', 's3://b/t/../x', 'file:///etc/cron.d/x', '/etc/passwd', 's3://b/t-evil/x', 'gs://b/t/x'])(
    'WHEN %s is to be written or deleted THEN no store is asked', async (location) => {
      await expect(store.put(location, new Uint8Array())).rejects.toMatchObject({ code: 'table-location-unsupported' });
      await expect(store.delete(location)).rejects.toMatchObject({ code: 'table-location-unsupported' });
      expect(calls).toEqual([]);
    },
  );

  test('WHEN a local file is to be read THEN it is refused', async () => {
    await expect(store.get('file:///etc/passwd')).rejects.toMatchObject({ code: 'table-location-unsupported' });
    expect(calls).toEqual([]);
  });
});
