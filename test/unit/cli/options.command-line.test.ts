import { describe, expect, test } from 'vitest';
import { parseCommand, parseSize } from '../../../src/cli/options.ts';

const parse = (args: readonly string[], env: Record<string, string> = { MATERIALIZE_URL: 'postgres://m' }) => parseCommand(args, env, '/tmp');

describe('GIVEN a command line', () => {
  test('WHEN the address is wrong THEN nothing of it is repeated: it may hold the password', () => {
    const parsed = parse(['run', 'a.sql', '--materialize', 'http://u:hunter2@m']);
    expect(JSON.stringify(parsed)).not.toContain('hunter2');
  });

  test('WHEN only the needful is said THEN the rest has its documented default', () => {
    expect(parse(['run', 'sinks.sql'])).toEqual({
      kind: 'command',
      options: {
        command: 'run', definitionsPath: 'sinks.sql', materializeUrl: 'postgres://m', memoryBudgetBytes: 192 * 1024 ** 2,
        spillDir: '/tmp/mz-iceberg-sink', logFormat: 'text', logLevel: 'info', encodeWorkers: null,
      },
    });
  });

  test('WHEN everything is said THEN it counts before the environment', () => {
    expect(parse(['validate', 's.sql', '--materialize', 'postgres://x', '--memory-budget', '1GiB', '--spill-dir', '/d', '--log-format', 'json',
      '--log-level', 'warn', '--encode-workers', '3'])).toMatchObject({
      options: { command: 'validate', materializeUrl: 'postgres://x', memoryBudgetBytes: 1024 ** 3, spillDir: '/d', logFormat: 'json', logLevel: 'warn', encodeWorkers: 3 },
    });
  });

  test.each([
    [[], 'unknown command (none given)'],
    [['sing', 'a.sql'], "unknown command 'sing'"],
    [['run'], 'takes one file'],
    [['run', 'a.sql', 'b.sql'], 'takes one file'],
    [['run', 'a.sql', '--memory-budget', '1MiB'], 'at least 16MiB'],
    [['run', 'a.sql', '--memory-budget', 'much'], 'at least 16MiB'],
    [['run', 'a.sql', '--log-format', 'xml'], 'text or json'],
    [['run', 'a.sql', '--log-level', 'loud'], 'debug, info, warn or error'],
    [['run', 'a.sql', '--encode-workers', '0'], '1 to 64'],
    [['run', 'a.sql', '--colour'], '--colour'],
    [['run', 'a.sql', '--materialize', 'http://m:6875'], 'not a postgres:// URL'],
    [['run', 'a.sql', '--materialize', 'postgres://m?sslmode=allow'], 'none of disable, prefer, require, verify-ca, verify-full'],
  ])('WHEN it is %j THEN it is refused with what is wrong', (args, message) => {
    expect(parse(args)).toMatchObject({ kind: 'usage', message: expect.stringContaining(message) as string });
  });

  test('WHEN nobody says where Materialize is THEN it is asked for', () => {
    expect(parse(['run', 'a.sql'], {})).toMatchObject({ kind: 'usage', message: expect.stringContaining('MATERIALIZE_URL') as string });
  });

  test('WHEN help or version is asked for THEN nothing else is needed', () => {
    expect(parse(['--help'], {})).toEqual({ kind: 'help' });
    expect(parse(['--version'], {})).toEqual({ kind: 'version' });
  });

  test.each([['64', 64], ['2kB', 2000], ['2KiB', 2048], ['1 MiB', 1024 ** 2], ['3GB', 3e9], ['', null], ['1TB', null], ['-1', null]])(
    'THEN the size %s is %s bytes', (text, bytes) => {
      expect(parseSize(text)).toBe(bytes);
    });
});
