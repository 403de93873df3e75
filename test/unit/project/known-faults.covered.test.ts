/**
 * What went wrong elsewhere (the project's list of peers' faults, rows P…, and of Materialize's own sink, rows M…), each with
 * the test that shows the right behaviour here. The table is checked: a test that is renamed or removed turns this red.
 * Rows that do not apply are listed with the reason.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const FAULTS = 'test/e2e/sink/commit.faults.test.ts';
const DECIDE = 'test/unit/commit/decide.protocol.test.ts';
const DRIVER = 'test/unit/sink/driver.spans-and-faults.test.ts';
const RESUME = 'test/e2e/sink/resume.restart.test.ts';
const SHAPE = 'test/e2e/sink/table.shape.test.ts';
const UPSERT = 'test/e2e/sink/upsert.commits.test.ts';
const POST = 'test/unit/io/rest-catalog.commit.test.ts';
const KEYS = 'test/unit/io/credentials.refresh.test.ts';
const S3 = 'test/unit/io/s3-store.faults.test.ts';
const REQUESTS = 'test/unit/io/rest-catalog.requests.test.ts';
const WATCH = 'test/unit/cli/watchdog.stalls.test.ts';
const STORAGE = 'test/unit/io/table-storage.credentials.test.ts';

const COVERED: readonly (readonly [rows: string, file: string, name: string])[] = [
  ['P1 M2', FAULTS, 'WHEN the table cannot be loaded afterwards for a while THEN nothing is sent until it can'],
  ['P1 P3 M2', DRIVER, 'WHEN the commit was applied THEN it is found in the table and not sent again'],
  ['P2 M4', DECIDE, 'WHEN it is %s THEN the batch [20, 30) is not sent: %s'],
  ['P3', DRIVER, 'WHEN it was a conflict, reset or refusal for the moment THEN files are written once and the list anew'],
  ['P4', POST, 'WHEN the answer is %s THEN it is unknown after one POST'],
  ['P4', 'test/unit/io/http.transmission.test.ts', 'WHEN a kept-alive connection is reset under it THEN the request is not repeated on another one'],
  ['P5', 'test/simulation/seeds.simulation.test.ts', 'GIVEN'],
  ['P6', DECIDE, 'WHEN our snapshot exists but main was rolled back past it THEN it is not taken for success'],
  ['P7', UPSERT, 'WHEN many updates of one key fall into one wide span, at times in any order THEN the last one alone is there'],
  ['P7', 'test/unit/sink/driver.sections.test.ts', 'WHEN it closes THEN one snapshot has all of it, and later sections win over earlier ones'],
  ['P7', DRIVER, 'WHEN commits are slow THEN the next span is wider instead of a queue growing'],
  ['P8', DRIVER, 'WHEN later rows come before the snapshot is closed THEN they wait for a span of their own'],
  ['P9', DECIDE, 'WHEN another copy took the first snapshot of the table THEN ours is not added to it'],
  ['P10 M3', FAULTS, 'WHEN a version 999 of the sink has committed THEN this one is fenced and commits nothing more'],
  ['P11', RESUME, 'WHEN it is stopped and started again THEN it goes on at the frontier and no row is lost or doubled'],
  ['P12', DRIVER, 'WHEN the progress is still at the as of THEN nothing is committed, its rows may be incomplete'],
  ['P13 M5', FAULTS, 'WHEN foreign snapshots that copy our keys race with every commit THEN no row is missing or doubled'],
  ['P14 M1', 'test/e2e/sink/memory.spill.test.ts', 'WHEN 110,000 keys are inserted and 100 of them updated in the same commit THEN the table has 110,000 rows'],
  ['P14 M10 M11', 'test/e2e/sink/memory.spill.test.ts', 'WHEN a span is larger than the memory budget in %s mode'],
  ['P15', 'test/unit/sink/table-planning.refusals.test.ts', 'WHEN it is %s THEN it is refused, since deletes would not reach every row'],
  ['P16', 'test/unit/write/split-rows.keys.test.ts', 'THEN no row is lost or changed and each key lies in one part'],
  ['P16', 'test/e2e/write/encode-pool.workers.test.ts', 'WHEN a consolidated group is large THEN both workers share it by key and no key is lost or doubled'],
  ['P17', 'test/unit/io/credentials.expiry-keys.test.ts', 'WHEN it is %s THEN it is known, and they are renewed 900 s ahead'],
  ['P17', 'test/unit/io/credentials.expiry-keys.test.ts', 'WHEN it is %s THEN they are taken to live 300 s, not for ever'],
  ['P17', KEYS, 'WHEN they have an expiry THEN they are renewed 900 s ahead, and once for all who ask'],
  ['P17', KEYS, 'WHEN eight uploads find the same keys refused THEN they are renewed once'],
  ['P17', STORAGE, 'WHEN the route answers %i THEN the table is loaded again, and the route is left alone after'],
  ['P17', S3, 'WHEN it says %s THEN it is asked once more with newer keys'],
  ['P17', S3, 'WHEN newer keys are refused too THEN it ends there'],
  ['P18', 'test/unit/sink/opening.create-race.test.ts', 'WHEN it is asked for THEN no location is named: where tables lie is the decision of the catalog'],
  ['P18', REQUESTS, 'WHEN it is sent THEN nothing that the specification calls optional is left out'],
  ['P18', REQUESTS, 'WHEN a rival was faster THEN it exists'],
  ['P18', 'test/unit/sink/opening.create-race.test.ts', 'WHEN somebody creates it between the look and the try THEN it is taken as found, and written'],
  ['P18 M24', 'test/unit/snapshot/object-names.locations.test.ts', 's3a://b/t/'],
  ['P19', WATCH, 'THEN it is stalled on source-progress, with frontier and number of rows, and silent'],
  ['P19', WATCH, 'WHEN the encoder hangs THEN it is stalled on encode-and-upload, with the span'],
  ['P19', WATCH, 'WHEN an upload hangs THEN it is stalled on encode-and-upload'],
  ['P19', WATCH, 'WHEN every answer of a commit is lost THEN it is stalled on commit, with attempt, span, code and remedy'],
  ['P19', WATCH, 'WHEN storage refuses the keys as expired for good THEN it is stalled on credentials'],
  ['P19', WATCH, 'WHEN nothing waits and progress comes THEN it says nothing for an hour'],
  ['P20 M21', SHAPE, 'WHEN its schema is changed while the sink runs THEN it halts and names it, and goes on after the repair'],
  ['P20 M9', RESUME, 'WHEN nothing happens for many intervals and then a row comes THEN it is committed and nothing was ever wrong'],
  ['P21 M40', 'test/unit/snapshot/merge.tiers.test.ts', 'WHEN they reach the fan-in THEN they are merged, oldest first'],
  ['P21 M44', 'test/unit/sink/committing.growth.test.ts', 'WHEN there are %i of them at a commit THEN %i warnings are given'],
  ['P22', UPSERT, 'WHEN keys are text and bytea of many lengths THEN each delete removes its own row and no other'],
  ['M6', FAULTS, 'WHEN all snapshots with our progress are expired THEN a start refuses instead of writing everything again'],
  ['M7', DECIDE, 'WHEN another sink made a snapshot with the same frontier THEN it is not mistaken for ours'],
  ['M8', FAULTS, 'WHEN a compaction (replace) lies on top THEN it is passed over, running and after a restart'],
  ['M8', FAULTS, 'WHEN a foreign %s lies on top THEN the sink halts as foreign-writer, running and at a start'],
  ['M12', RESUME, 'WHEN the input is finite with %i rows THEN the table ends at [], and a restart adds no snapshot'],
  ['M13', 'test/unit/definition/check-sink.refusals.test.ts', 'COMMIT INTERVAL must be at least 1 second'],
  ['M14 M17 M18 M42', 'test/e2e/sink/types.cases.test.ts', 'WHEN $type is written THEN the column and every value are as the case says'],
  ['M15 M20', 'test/e2e/write/files.duckdb.test.ts', 'WHEN a file is written THEN every field has its id, its nullability and its standard name'],
  ['M16 M32', 'test/unit/write/table-plan.schemas.test.ts', 'WHEN the key is %s THEN it is refused'],
  ['M19', UPSERT, 'WHEN the key is composite, behind nested columns, and may be NULL in every part THEN deletes still meet their rows'],
  ['M22', SHAPE, 'WHEN a text column meets fixed[16] THEN it is refused before any row'],
  ['M23', SHAPE, 'WHEN write.data.path ends with %i slashes THEN files go there and every path of the manifests resolves'],
  ['M24', 'test/unit/snapshot/object-names.locations.test.ts', 'WHEN it is %s with %o THEN objects go to the right folders'],
  ['M25 M26', KEYS, 'WHEN vended ones have no expiry THEN they are renewed every 300 s; permanent ones never'],
  ['M25', 'test/interop/guide/walk-through.test.ts', 'THEN they outlive the keys that it vends'],
  ['M27', 'test/e2e/write/encode-pool.workers.test.ts', 'GIVEN a pool of two workers'],
  ['M28 M29', 'test/unit/definition/check-connection.refusals.test.ts', 'GIVEN an OAUTH2 SERVER URL'],
  ['M28', 'test/unit/io/oauth.token.test.ts', 'WHEN OAUTH2 SERVER URL is set THEN the secret goes there and nowhere else'],
  ['M30', KEYS, 'WHEN delegation was asked for and nothing came THEN neither catalog keys nor the environment stand in'],
  ['M30', STORAGE, 'WHEN delegation was not asked for THEN the guide words the cause and nothing is sent to the store'],
  ['M31', POST, 'WHEN the catalog does not advertise idempotency keys THEN none is sent, nor delegation unasked'],
  ['M33', 'test/property/write/text-forms.law.test.ts', 'WHEN a timestamp is parsed THEN its microseconds are exact, far from 1970 too'],
  ['M35', SHAPE, 'WHEN columns are called a, a, a2 THEN every field has a name of its own'],
  ['M36', SHAPE, 'WHEN an append relation has a column %s THEN it is refused and no table is created'],
  ['M37', SHAPE, 'WHEN the key names a column that is there twice THEN it is refused as ambiguous'],
  ['M38', 'test/property/definition/format-definition.round-trip.test.ts', 'GIVEN'],
  ['M45', FAULTS, 'WHEN main goes back two snapshots while the sink runs THEN it halts as frontier-behind'],
  ['M46', FAULTS, 'WHEN the new one has another id THEN it refuses; with TAKE OVER it resumes'],
  ['M47', 'test/e2e/sink/source.faults.test.ts', 'WHEN a division by zero comes and goes THEN the error is named, nothing is committed past it, and the sink recovers by itself'],
];

const LEFT_OUT: Readonly<Record<string, string>> = {
  M34: 'ranges arrive canonical: Materialize makes them so before it sends them',
  M39: 'there are no statistics of staged messages that could be counted twice',
  M41: 'map keys are unique before they arrive: Materialize keeps the last',
  M43: 'there is no ALTER SINK … SET FROM; another relation is another sink',
  M48: 'a fault of one reader, stated in the README; append mode is for it',
};

describe('GIVEN the faults that others had', () => {
  test.each(COVERED)('THEN row %s has its test: %s, %s', (_rows, file, name) => {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(name);
  });

  test('THEN no row is forgotten', () => {
    const named = new Set([...COVERED.flatMap(([rows]) => rows.split(' ')), ...Object.keys(LEFT_OUT)]);
    const all = [...Array.from({ length: 22 }, (_, row) => `P${row + 1}`), ...Array.from({ length: 48 }, (_, row) => `M${row + 1}`)];
    expect(all.filter((row) => !named.has(row))).toEqual([]);
    expect([...named].filter((row) => !all.includes(row))).toEqual([]);
  });

  test('THEN no row is both covered and left out', () => {
    expect(COVERED.flatMap(([rows]) => rows.split(' ')).filter((row) => row in LEFT_OUT)).toEqual([]);
  });
});
