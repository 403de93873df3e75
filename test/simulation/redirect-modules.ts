/** Puts doubles in the place of two modules, for everything that is loaded afterwards. */
import { registerHooks } from 'node:module';

const REPLACEMENTS = [
  { suffix: '/src/iceberg/avro-container.ts', by: new URL('./memory-avro.ts', import.meta.url).href },
  { suffix: '/src/snapshot/merge.ts', by: new URL('./small-merge.ts', import.meta.url).href },
];

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    // The replacement itself wants the real one.
    const found = REPLACEMENTS.find(({ suffix, by }) => resolved.url.endsWith(suffix) && context.parentURL !== by);
    return found === undefined ? resolved : { ...resolved, url: found.by };
  },
});
