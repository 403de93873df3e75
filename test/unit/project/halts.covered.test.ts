/**
 * Every state in which the sink stops, or gives a batch up, with the test that gets there by the real route and checks the
 * code, what the message shows, the remedy and the exit code. The table is checked: a test that is renamed or removed
 * turns this red, and so does a new halt without a test.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '../../../src/errors.ts';

const ROOT = join(import.meta.dirname, '../../..');
const START = 'test/e2e/cli/halts.at-start.test.ts';
const RUNNING = 'test/e2e/cli/halts.while-running.test.ts';
const EXIT = 'test/e2e/cli/exit-codes.command.test.ts';
const FAULTS = 'test/e2e/sink/commit.faults.test.ts';
const SOURCE = 'test/e2e/sink/source.faults.test.ts';

const HALTS: readonly (readonly [code: ErrorCode, file: string, name: string])[] = [
  ['definition-invalid', EXIT, 'WHEN there is no sink THEN run ends with 2 and the code definition-invalid'],
  ['source-login-refused', EXIT, 'THEN run halts as %s and ends with 1, and validate finds the same'],
  ['source-tls-refused', EXIT, 'THEN run halts as %s and ends with 1, and validate finds the same'],
  ['relation-missing', START, 'the relation does not exist'],
  ['relation-dropped', RUNNING, 'the relation was dropped'],
  ['relation-changed', START, 'the relation is created anew with a column more before the subscription'],
  ['relation-unsupported', START, 'the relation is a view'],
  ['columns-unmappable', START, 'a column has the name of one that the sink adds'],
  ['key-invalid', START, 'the key is not known to be unique'],
  ['cluster-missing', START, 'the cluster does not exist'],
  ['permission-denied', START, 'the role may not SELECT'],
  ['history-compacted', START, 'the history since the last commit is gone'],
  ['row-not-representable', RUNNING, 'a numeric is NaN'],
  ['row-malformed', RUNNING, 'a value does not have the form of its type'],
  ['catalog-scope-missing', START, 'SCOPE is missing'],
  ['catalog-unauthorized', START, 'the credential is wrong'],
  ['catalog-forbidden', RUNNING, 'the right to commit was taken away'],
  ['catalog-vending-forbidden', START, 'the role lacks the privileges for vending'],
  ['warehouse-missing', START, 'the warehouse does not exist'],
  ['namespace-missing', START, 'the namespace does not exist'],
  ['table-missing', RUNNING, 'the table was dropped'],
  ['table-unsupported', START, 'the table is partitioned'],
  ['table-schema-mismatch', START, 'the table has other columns'],
  ['table-location-unsupported', START, 'the table lies where the sink can not write'],
  ['catalog-refused', START, 'the catalog refuses the table for a reason of its own'],
  ['commit-refused', RUNNING, 'the catalog refuses the commit'],
  ['fenced', RUNNING, 'a newer version of the sink has committed'],
  ['foreign-sink', START, 'another sink wrote the table'],
  ['foreign-writer', RUNNING, 'somebody has appended rows'],
  ['frontier-behind', RUNNING, 'the table was rolled back'],
  ['progress-missing', RUNNING, 'the snapshots with the progress are expired'],
  ['progress-unreadable', RUNNING, 'the progress in the summary is no frontier'],
  ['table-replaced', RUNNING, 'the table was dropped and created anew'],
  ['schema-changed', RUNNING, 'the schema of the table was changed'],
  ['spec-changed', RUNNING, 'the table was partitioned'],
  ['storage-credentials-missing', START, 'the catalog gives no storage keys'],
  ['storage-forbidden', RUNNING, 'the place of the data files can not be written'],
  ['storage-object-missing', RUNNING, 'the manifest list of the head is gone'],
  ['invariant-broken', 'test/unit/sink/driver.invariant-broken.test.ts', 'THEN the sink halts as invariant-broken'],
];

/** States from which the sink goes on by itself, and which issue and operators ask about all the same. */
const GOES_ON: readonly (readonly [code: ErrorCode, file: string, name: string])[] = [
  ['frontier-inside', FAULTS, 'WHEN the forged frontier lies %s THEN the sink resumes from there and sends no row below it'],
  ['frontier-beyond', FAULTS, 'WHEN the forged frontier lies beyond the span THEN the sink resumes there'],
  ['source-evaluation-error', SOURCE, 'WHEN a division by zero comes and goes THEN the error is named'],
  ['source-disconnected', SOURCE, 'WHEN connections are reset again and again THEN no change is lost or doubled'],
  ['source-result-too-large', EXIT, 'THEN it tries up to 64 slices, halts as source-result-too-large'],
  ['source-result-too-large', 'test/e2e/sink/slices.limits.test.ts', 'THEN slices double until they fit, the snapshot is one commit'],
  ['slices-out-of-step', 'test/unit/subscribe/merge-slices.faults.test.ts', 'THEN it is no lost history: all start over'],
  ['source-unreachable', EXIT, 'WHEN it is run THEN it says so and waits, goes on once Materialize is there'],
  ['catalog-unreachable', EXIT, 'WHEN it is run THEN it says so and waits, and ends with 0 when asked'],
  ['storage-unreachable', EXIT, 'WHEN it is run THEN it names storage and remedy, commits nothing, waits'],
  ['storage-credentials-expired', 'test/unit/cli/watchdog.stalls.test.ts', 'THEN it is stalled on credentials'],
  ['commit-unknown', FAULTS, 'WHEN it was %s THEN the rows are there exactly once and one snapshot was added'],
  ['spill-failed', 'test/e2e/sink/extremes.test.ts', 'WHEN rows exceed the budget THEN the sink names it and tries again'],
];

describe('GIVEN the states in which a sink stops or starts over', () => {
  test.each([...HALTS, ...GOES_ON])('THEN %s has its test: %s, %s', (code, file, name) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect(text).toContain(name);
    // The title stands for the case; the code is what the case is about.
    if (file === START || file === RUNNING) expect(text).toMatch(new RegExp(`code: '${code}',[^{}]*when: '${name}'`));
  });

  test('THEN no halt is without a test, and nothing else is called one', () => {
    const halts = Object.entries(ERROR_CODES).filter(([, { disposition }]) => disposition === 'halt').map(([code]) => code);
    expect(HALTS.map(([code]) => code).toSorted()).toEqual(halts.toSorted());
    expect(GOES_ON.filter(([code]) => ERROR_CODES[code].disposition === 'halt')).toEqual([]);
  });

  test('THEN a table that another sink wrote is refused unless TAKE OVER says so', () => {
    expect(readFileSync(join(ROOT, FAULTS), 'utf8')).toContain('WHEN the new one has another id THEN it refuses; with TAKE OVER it resumes');
  });
});
