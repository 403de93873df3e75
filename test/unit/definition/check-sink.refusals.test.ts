import { describe, expect, test } from 'vitest';
import { AWS, PREFIX, definitionsOf, misplaced, problemsOf, sink } from './definition-text.ts';

const TABLE = "(NAMESPACE = 'n', TABLE = 't')";
const EVERY = "WITH (COMMIT INTERVAL = '1s')";
const LINE = PREFIX.split('\n').length;

const REFUSED: readonly (readonly [string, string, readonly string[]])[] = [
  ['no MODE', `${TABLE} ${EVERY}`, ['MODE clause is required [s]']],
  ['ENVELOPE', `${TABLE} ENVELOPE UPSERT ${EVERY}`, ['ENVELOPE is not supported for Iceberg sinks, use MODE instead [ENVELOPE]']],
  ['another MODE', `${TABLE} MODE MERGE ${EVERY}`, ['invalid MODE MERGE, expected UPSERT or APPEND [MERGE]']],
  ['nothing at all', '() MODE APPEND', [
    'Iceberg sink must specify TABLE [s]',
    'Iceberg sink must specify NAMESPACE [s]',
    'Iceberg sink must specify COMMIT INTERVAL [s]',
  ]],
  ['an interval below a second', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL = '999ms')`,
    ["COMMIT INTERVAL must be at least 1 second ['999ms']"]],
  ['an interval of zero', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '0s')`,
    ["COMMIT INTERVAL must be at least 1 second ['0s']"]],
  ['an interval in months', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1 month')`,
    ["COMMIT INTERVAL must be an interval such as '30s', '1m' or '00:01:30' ['1 month']"]],
  ['an interval without quotes', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL 5)`,
    ['COMMIT INTERVAL must be a text in single quotes [5]']],
  ['a timer that Node could not hold', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '25 days')`,
    ["COMMIT INTERVAL must be at most 24 days ['25 days']"]],
  ['upsert without key', `${TABLE} MODE UPSERT ${EVERY}`, ['upsert sinks must specify a key [UPSERT]']],
  ['a key column twice', `${TABLE} KEY (id, "Id", ID) MODE UPSERT ${EVERY}`, ['duplicate column referenced in KEY: id [ID]']],
  ['a key with append', `${TABLE} KEY (id) MODE APPEND ${EVERY}`, ['KEY is not supported for MODE APPEND Iceberg sinks [KEY]']],
  ['an empty key', `${TABLE} KEY () MODE UPSERT ${EVERY}`, ['expected the name of a key column, found ) [)]']],
  ['an unknown option', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', FOO = 1)`, ['CREATE SINK … WITH does not support FOO [FOO]']],
  ['an option twice', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', COMMIT INTERVAL '2s')`,
    ['COMMIT INTERVAL specified more than once [COMMIT INTERVAL]']],
  ['a clause twice', `${TABLE} MODE APPEND MODE APPEND ${EVERY}`, ['MODE specified more than once [MODE]']],
  ['a bad boolean', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', SNAPSHOT = maybe)`, ['SNAPSHOT must be true or false [maybe]']],
  ['a negative version', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', VERSION = -1)`,
    ['VERSION must be a whole number from 0 to 18446744073709551615 [-1]']],
  ['an unknown uuid type', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', UUID AS 'binary')`,
    ["invalid UUID AS 'binary', expected 'fixed', 'string' or 'uuid' ['binary']"]],
  ['an unknown policy', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', ON ROW ERROR 'skip')`,
    ["invalid ON ROW ERROR 'skip', expected 'halt' or 'null' ['skip']"]],
  ['a tiny file size', `${TABLE} MODE APPEND WITH (COMMIT INTERVAL '1s', TARGET FILE SIZE '1kB')`,
    ["TARGET FILE SIZE must be a size from '1MB' to '1GB' ['1kB']"]],
  ['a star in a name', `(NAMESPACE '*', TABLE 't') MODE APPEND ${EVERY}`, ['NAMESPACE must not contain "*" or control characters [\'*\']']],
  ['PARTITION BY', `${TABLE} MODE APPEND PARTITION BY (day(x)) ${EVERY}`,
    ['PARTITION BY is not supported: the sink writes unpartitioned tables [PARTITION]']],
  ['USING something else', `${TABLE} USING AWS CONNECTION cred MODE APPEND ${EVERY}`, ['cred is not an AWS connection [cred]']],
];

describe('GIVEN a sink', () => {
  test.each(REFUSED)('WHEN it has %s THEN exactly that is reported', (_, rest, expected) => {
    const problems = problemsOf(PREFIX + sink(rest));
    expect(problems.map((problem) => problem.replace(/^\d+:\d+ /, ''))).toEqual(expected);
    expect(problems.every((problem) => problem.startsWith(`${LINE}:`))).toBe(true);
    expect(misplaced(PREFIX + sink(rest))).toEqual([]);
  });

  test('WHEN its connection is a secret, unknown, or defined below THEN each is told apart', () => {
    const rest = `${TABLE} MODE APPEND ${EVERY}`;
    const into = (connection: string): string => sink(rest).replace('CONNECTION c', `CONNECTION ${connection}`);
    expect(problemsOf(PREFIX + into('cred'))).toEqual([`${LINE}:54 "cred" is not an iceberg catalog connection [cred]`]);
    expect(problemsOf(PREFIX + into('nope'))).toEqual([`${LINE}:54 "nope" is not defined in this file [nope]`]);
    expect(problemsOf(sink(rest) + PREFIX)).toEqual(['1:54 "c" is defined at line 3 only; define it above its first use [c]']);
  });

  test('WHEN its connection has problems THEN only those are reported', () => {
    const broken = PREFIX.replace("'rest'", "'resst'");
    expect(problemsOf(broken + sink(`${TABLE} MODE APPEND ${EVERY}`))).toHaveLength(1);
  });

  test('WHEN it has no name, or reads the system catalog THEN it is refused', () => {
    const rest = `${TABLE} MODE APPEND ${EVERY}`;
    expect(problemsOf(PREFIX + sink(rest, ''))).toEqual([`${LINE}:1 CREATE SINK must specify a name [CREATE SINK]`]);
    expect(problemsOf(PREFIX + sink(rest).replace('FROM t', 'FROM mz_internal.t'))).toEqual([
      expect.stringContaining('mz_internal.t is a system catalog object'),
    ]);
  });

  test('WHEN two have one name or one table THEN the second is refused', () => {
    const rest = `${TABLE} MODE APPEND ${EVERY}`;
    expect(problemsOf(PREFIX + sink(rest) + sink(rest))).toEqual([
      `${LINE + 1}:13 "s" is already defined at line ${LINE} as a sink [s]`,
    ]);
    expect(problemsOf(PREFIX + sink(rest) + sink(rest, 's2'))).toEqual([
      `${LINE + 1}:13 sink "s" already writes table n.t of this catalog [s2]`,
    ]);
    const ignored = definitionsOf(PREFIX + sink(rest) + sink(rest, 'IF NOT EXISTS s'));
    expect(ignored.definitions.sinks).toHaveLength(1);
    expect(ignored.warnings[0]?.message).toContain('this statement is ignored');
  });

  test('WHEN every option is given THEN every option arrives', () => {
    const { definitions, warnings } = definitionsOf(
      PREFIX + AWS +
        `CREATE SINK IF NOT EXISTS db.sch."My Sink" IN CLUSTER "Big" FROM "D".s."t.x" INTO ICEBERG CATALOG CONNECTION public.c
        (NAMESPACE 'n.1', TABLE 'it''s') USING AWS CONNECTION a KEY (a, "B") NOT ENFORCED MODE UPSERT WITH (
        COMMIT INTERVAL '00:01:30', SNAPSHOT = false, VERSION 7, SINK ID 'fixed-id', UUID AS 'UUID', ON ROW ERROR = 'NULL',
        HEARTBEAT INTERVAL = '1 hour', TARGET FILE SIZE '64MB', SNAPSHOT SLICES 8, TAKE OVER)`,
    );
    expect(definitions.sinks[0]).toMatchObject({
      name: 'db.sch.My Sink', sinkId: 'fixed-id', version: 7n, cluster: 'Big',
      from: { database: 'D', schema: 's', name: 't.x' }, namespace: 'n.1', table: "it's", mode: 'upsert',
      keyColumns: ['a', 'B'], keyEnforced: false, commitIntervalMs: 90_000, heartbeatIntervalMs: 3_600_000,
      snapshot: false, snapshotSlices: 8, uuidMapping: 'uuid', rowErrorPolicy: 'null', targetFileSizeBytes: 67_108_864, takeOver: true,
    });
    expect(warnings.map((warning) => warning.message.slice(0, 20))).toEqual(['USING AWS CONNECTION', 'NOT ENFORCED: nobody']);
  });
});
