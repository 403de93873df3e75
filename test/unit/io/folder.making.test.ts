import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeFolder } from '../../../src/io/folder.ts';
import { createSpillFolder } from '../../../src/io/spill-folder.ts';
import { createSystemEntropy } from '../../../src/io/system.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mz-sink-folder-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('GIVEN a folder that is to be made', () => {
  test.each(['a', 'a/b/c'])('WHEN %s is missing THEN it is there afterwards, and may be asked for again, by many at once', async (path) => {
    const folder = join(root, path);
    await Promise.all(Array.from({ length: 8 }, () => makeFolder(folder)));
    expect(statSync(folder).isDirectory()).toBe(true);
    await makeFolder(folder);
  });

  test('WHEN a file is in its place or above it THEN it is refused', async () => {
    writeFileSync(join(root, 'file'), '');
    await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(root, 'file', 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test.runIf(process.platform === 'linux')('WHEN the folder above takes none THEN it is refused, and not tried for ever', async () => {
    await expect(makeFolder('/proc/mz-iceberg-sink/spill')).rejects.toThrow(/ENOENT|EACCES|EPERM/);
  });
});

describe('GIVEN a spill directory', () => {
  const folderAt = (directory: string) => createSpillFolder(directory, { nowMs: () => 0, after: () => () => undefined }, createSystemEntropy());

  test('WHEN it takes files THEN the probe leaves nothing behind', async () => {
    const directory = join(root, 'spill');
    expect(await folderAt(directory).probe()).toBeNull();
    expect(statSync(directory).isDirectory()).toBe(true);
  });

  test('WHEN it does not THEN the probe names it and the cause', async () => {
    writeFileSync(join(root, 'file'), '');
    expect(await folderAt(join(root, 'file')).probe()).toMatchObject({
      code: 'spill-failed', message: expect.stringMatching(/the spill directory .*file takes no file: E/) as string,
      detail: { status: expect.stringMatching(/^E/) as string },
    });
  });
});
