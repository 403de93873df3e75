/** The independent reader under the name that tests know it by; it lives where the demo can reach it too. */
export * from '../../src/embedded/check/duckdb-table.ts';
