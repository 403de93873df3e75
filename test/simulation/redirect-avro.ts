/** Puts `memory-avro.ts` in the place of `iceberg/avro-container.ts` in every module that is loaded afterwards. */
import { registerHooks } from 'node:module';

const REPLACEMENT = new URL('./memory-avro.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const isRedirected = resolved.url.endsWith('/src/iceberg/avro-container.ts') && context.parentURL !== REPLACEMENT;
    return isRedirected ? { ...resolved, url: REPLACEMENT } : resolved;
  },
});
