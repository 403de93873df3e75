import { describe, expect, test } from 'vitest';
import { pathSegment } from '../../../src/embedded/catalog/iceberg-context.ts';
import { isInside } from '../../../src/embedded/catalog/storage-config.ts';
import { nextMetadataLocation, withMetadataLog } from '../../../src/embedded/catalog/metadata-file.ts';

describe('GIVEN an allowed root', () => {
  test.each([
    ['s3://b/lake', 's3://b/lake/', true],
    ['s3://b/lake/ns/t', 's3://b/lake', true],
    ['s3://b/lake2/t', 's3://b/lake', false],
    ['s3://b/lake/../other', 's3://b/lake', false],
    ['file:///lake/./t', 'file:///lake', false],
    ['s3://other/lake/t', 's3://b/lake', false],
  ])('WHEN %s is compared with %s THEN inside is %s', (location, root, inside) => {
    expect(isInside(location, root)).toBe(inside);
  });
});

describe('GIVEN names of tables and namespaces', () => {
  test('WHEN they are safe in a path THEN they stay, otherwise they are escaped and stay distinct', () => {
    expect(pathSegment('orders.v2-größe')).toBe('orders.v2-größe');
    const odd = ['a/b', 'a b', 'a%b', 'a#b', '..', '.'].map(pathSegment);
    expect(new Set(odd).size).toBe(odd.length);
    for (const segment of odd) expect(segment).toMatch(/^[a-z_]+-[0-9a-f]{8}$/);
  });
});

describe('GIVEN metadata files', () => {
  test('WHEN the next is named THEN the number goes up by one, and trailing slashes do no harm', () => {
    const at = (metadata: object, previous: string | null) => nextMetadataLocation(metadata as never, previous).replace(/-[0-9a-f-]{36}\./, '-UUID.');
    expect(at({ location: 's3://b/t/' }, null)).toBe('s3://b/t/metadata/00000-UUID.metadata.json');
    expect(at({ location: 's3://b/t' }, 's3://b/t/metadata/00099-x.metadata.json')).toBe('s3://b/t/metadata/00100-UUID.metadata.json');
    expect(at({ location: 's3://b/t', properties: { 'write.metadata.path': 's3://b/m//' } }, null)).toBe('s3://b/m/00000-UUID.metadata.json');
  });

  test('WHEN the log is full THEN the oldest entry leaves it, and is obsolete only if the table says so', () => {
    const base = { 'last-updated-ms': 2, 'metadata-log': [{ 'timestamp-ms': 1, 'metadata-file': 'a' }] };
    const properties = { 'write.metadata.previous-versions-max': '1' };
    const kept = withMetadataLog({ properties }, base, 'b');
    expect(kept).toEqual({ metadata: { properties, 'metadata-log': [{ 'timestamp-ms': 2, 'metadata-file': 'b' }] }, obsolete: [] });
    const deleting = { ...properties, 'write.metadata.delete-after-commit.enabled': 'true' };
    expect(withMetadataLog({ properties: deleting }, base, 'b').obsolete).toEqual(['a']);
  });
});
