import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { forgetImage, imagePath, startEngine } from '../../../src/embedded/materialize/engine-image.ts';

const folder = mkdtempSync(join(tmpdir(), 'engine-image-'));
const path = imagePath(folder);

beforeEach(() => forgetImage());
afterAll(() => {
  forgetImage();
  rmSync(folder, { recursive: true });
});

async function startAndAsk(place: string): Promise<void> {
  const lite = await startEngine(place);
  expect((await lite.query('SELECT count(*)::int AS n FROM mz_catalog.mz_objects')).rows).toEqual([{ n: 0 }]);
  await lite.close();
}

test('GIVEN no image WHEN engines start at once THEN all work, and one whole image is left', { timeout: 60_000 }, async () => {
  await Promise.all([startAndAsk(folder), startAndAsk(folder)]);
  expect(readdirSync(folder)).toEqual([basename(path)]);
});

test('GIVEN an image cut short or altered WHEN engines start THEN it is made anew', { timeout: 60_000 }, async () => {
  const whole = readFileSync(path);
  const altered = Buffer.from(whole);
  altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1;
  for (const broken of [whole.subarray(0, whole.length >> 1), Buffer.alloc(0), altered]) {
    writeFileSync(path, broken);
    forgetImage();
    await Promise.all([startAndAsk(folder), startAndAsk(folder)]);
    const made = readFileSync(path);
    expect(made.length).toBeGreaterThan(1_000_000);
    expect(made.equals(broken)).toBe(false);
    expect(readdirSync(folder)).toEqual([basename(path)]);
  }
});

test('GIVEN a place where nothing can be written WHEN an engine starts THEN it works without an image', { timeout: 60_000 }, async () => {
  // A file where the folder should be: unlike permissions, that stops root too.
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await startAndAsk(file);
  await startAndAsk(join(file, 'below'));
  expect(existsSync(join(file, 'below'))).toBe(false);
  rmSync(file);
});
