import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createFileStore } from '../../../src/io/file-store.ts';
import { createObjectStore } from '../../../src/io/object-store.ts';
import { objectStoreSuite } from './object-store-suite.ts';

const directory = mkdtempSync(join(tmpdir(), 'mz-sink-files-'));
const store = createFileStore();
const unusedS3 = { open: () => { throw new Error('unused'); }, put: () => Promise.reject(new Error('unused')), get: () => Promise.reject(new Error('unused')), delete: () => Promise.reject(new Error('unused')) };

afterAll(() => rmSync(directory, { recursive: true, force: true }));

objectStoreSuite('local files by file:// URL', {
  store: () => store, location: (name) => `file://${directory}/url/${name}`, sizes: [20_000_000],
});
objectStoreSuite('local files by absolute path', { store: () => store, location: (name) => `${directory}/path/${name}`, sizes: [] });
objectStoreSuite('the table store over local files', {
  store: () => createObjectStore({ prefixes: [`file:${directory}/table`], s3: unusedS3, file: store }),
  location: (name) => `file://${directory}/table/${name}`, sizes: [],
});

describe('GIVEN local files', () => {
  test('WHEN puts succeed, race and fail THEN no temporary file stays behind', async () => {
    const root = join(directory, 'tidy');
    await Promise.all(Array.from({ length: 5 }, () => store.put(`${root}/one`, new Uint8Array(10))));
    await expect(store.put(`${root}/one/below-a-file`, new Uint8Array(1))).rejects.toMatchObject({ code: 'storage-forbidden' });
    expect(readdirSync(root)).toEqual(['one']);
  });
});
