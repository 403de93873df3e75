import { defineConfig } from 'vitest/config';

// One project per kind of evidence; `npm test` names the ones that need nothing but npm.
const project = (name: string, timeoutMs: number) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout: timeoutMs, hookTimeout: Math.max(timeoutMs, 120_000) },
});

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      project('unit', 10_000),
      project('property', 60_000),
      project('contract', 60_000),
      project('simulation', 120_000),
      project('e2e', 180_000),
      project('interop', 600_000),
    ],
  },
});
