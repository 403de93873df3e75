import { describe, expect, it } from 'vitest';
import { objectNames, tableLocations } from '../../../src/snapshot/object-names.ts';

describe('GIVEN where a table lies', () => {
  it.each([
    ['s3://b/t', {}, 's3://b/t/data', 's3://b/t/metadata'],
    ['s3://b/t///', {}, 's3://b/t/data', 's3://b/t/metadata'],
    ['s3a://b/t/', {}, 's3://b/t/data', 's3://b/t/metadata'],
    ['s3n://b/t', { 'write.data.path': 's3a://other/d//' }, 's3://other/d', 's3://b/t/metadata'],
    ['file:///tmp/t', {}, 'file:///tmp/t/data', 'file:///tmp/t/metadata'],
    ['s3://b/t/metadata/00003-x.metadata.json', {}, 's3://b/t/data', 's3://b/t/metadata'],
    ['s3://b/metadata/t', {}, 's3://b/metadata/t/data', 's3://b/metadata/t/metadata'],
    ['s3://b/t', { 'write.folder-storage.path': 's3://f/x' }, 's3://f/x', 's3://b/t/metadata'],
    ['s3://b/t', { 'write.data.path': 's3://d', 'write.folder-storage.path': 's3://f', 'write.metadata.path': 's3://m/' }, 's3://d', 's3://m'],
  ] as const)('WHEN it is %s with %o THEN objects go to the right folders', (location, properties, data, metadata) => {
    expect(tableLocations({ location, properties })).toEqual({ data, metadata });
  });
});

describe('GIVEN an incarnation of a sink', () => {
  const locations = { data: 's3://b/t/data', metadata: 's3://b/t/metadata' };
  const names = objectNames(locations, 'u42', '0b6e');

  it('WHEN objects are named THEN every name differs and lies in its folder', () => {
    const data = [names.dataFile(0, 0), names.dataFile(0, 1), names.dataFile(1, 0), names.deleteFile(0, 0)];
    const metadata = [names.manifest(0, 0), names.manifest(0, 1), names.manifest(1, 0), names.manifestList(7n, 0, 1), names.manifestList(7n, 0, 2), names.manifestList(8n, 0, 1)];
    expect(new Set([...data, ...metadata]).size).toBe(10);
    expect(data.every((name) => name.startsWith('s3://b/t/data/u42-0b6e-') && name.endsWith('.parquet'))).toBe(true);
    expect(metadata.every((name) => name.startsWith('s3://b/t/metadata/') && name.includes('u42-0b6e') && name.endsWith('.avro'))).toBe(true);
  });

  it('WHEN the sink id holds anything THEN the name is still one plain segment', () => {
    for (const sinkId of ['../../etc', 'a/b', 'ü 1%2f?#', '', 'x'.repeat(500)]) {
      const name = objectNames(locations, sinkId, '0b6e').dataFile(0, 0);
      expect(name).toMatch(/^s3:\/\/b\/t\/data\/[A-Za-z0-9_-]+-0b6e-00000-data-00000\.parquet$/);
      expect(name.length).toBeLessThan(150);
    }
  });
});
