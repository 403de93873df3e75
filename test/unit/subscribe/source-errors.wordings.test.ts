import { describe, expect, it } from 'vitest';

import type { ErrorCode } from '../../../src/errors.ts';
import { type SourcePhase, classifyServerError, maskValues } from '../../../src/subscribe/source-errors.ts';

const WORDINGS: readonly (readonly [SourcePhase, string, string, ErrorCode])[] = [
  ['stream', '22000', 'could not find a valid timestamp for the query', 'history-compacted'],
  ['stream', 'XX000', 'Timestamp (1700000000000) is not valid for all inputs: [Antichain { elements: [1700000001000] }]', 'history-compacted'],
  ['stream', '22000', 'Timestamp (5) is not valid for all inputs: [7]', 'history-compacted'],
  ['stream', '42704', "relation 'materialize.public.t' was dropped", 'relation-dropped'],
  ['stream', 'XX000', 'query could not complete because relation "materialize.public.t" was dropped', 'relation-dropped'],
  ['stream', 'XX000', 'subscribe has been terminated because underlying relation materialize.public.t was dropped', 'relation-dropped'],
  ['stream', '42704', "table 'materialize.public.t' was dropped", 'relation-dropped'],
  ['stream', '42704', "cluster 'c' was dropped", 'cluster-missing'],
  ['stream', 'XX000', "unknown cluster 'c'", 'cluster-missing'],
  ['query', '42704', "unknown cluster 'c'", 'cluster-missing'],
  ['stream', '42704', "cluster replica 'c.r' does not exist", 'cluster-missing'],
  ['stream', '0A000', 'CLUSTER "c" has no replicas available to service request', 'cluster-without-replicas'],
  ['stream', 'XX000', 'target replica failed or was dropped', 'cluster-without-replicas'],
  ['stream', '53200', 'SUBSCRIBE fell behind: the client did not read results fast enough, so its backlog reached 134217729 bytes, exceeding the 134217728 byte budget', 'source-fell-behind'],
  ['stream', 'XX000', 'total result exceeds max size of 1073.7 MB', 'source-result-too-large'],
  ['stream', 'XX000', 'Evaluation error: division by zero', 'source-evaluation-error'],
  ['stream', 'XX000', 'division by zero', 'source-evaluation-error'],
  ['stream', '22012', 'division by zero', 'source-evaluation-error'],
  ['stream', '57014', 'canceling statement due to user request', 'source-cancelled'],
  ['stream', '57014', 'canceling statement due to statement timeout', 'source-cancelled'],
  ['stream', '25P03', 'terminating connection due to idle-in-transaction timeout', 'source-disconnected'],
  ['stream', '57P01', 'terminating connection due to administrator command', 'source-disconnected'],
  ['stream', '28000', 'authentication expired', 'source-disconnected'],
  ['stream', 'XX000', "unknown catalog item 't'", 'relation-missing'],
  ['stream', '42P01', 'relation "t" does not exist', 'relation-missing'],
  ['stream', '42703', 'column "x" does not exist', 'relation-changed'],
  ['stream', 'XX000', 'column "x" does not exist', 'relation-changed'],
  ['stream', '42501', 'permission denied for MATERIALIZED VIEW "materialize.public.t"', 'permission-denied'],
  ['query', '42501', 'permission denied for SCHEMA "materialize.public"', 'permission-denied'],
  ['stream', '42601', 'Expected end of statement, found identifier "x"', 'source-protocol'],
  ['stream', '0A000', 'cached plan must not change result type', 'source-protocol'],
  ['stream', 'XX000', 'internal error: row descriptor has 1 columns but row has 2 columns', 'source-protocol'],
  ['stream', 'ZZ999', 'something new', 'source-protocol'],
  ['login', '28P01', 'invalid password', 'source-login-refused'],
  ['login', '28000', 'role "x" does not exist', 'source-login-refused'],
  ['login', '28000', 'authentication expired', 'source-login-refused'],
  ['login', 'MZ010', 'login blocked', 'source-login-refused'],
  ['login', 'MZ011', 'session denied', 'source-login-refused'],
  ['login', '08004', 'TLS encryption is required', 'source-tls-refused'],
  ['login', '53300', 'too many connections', 'source-unreachable'],
  ['login', '57P03', 'the database system is starting up', 'source-unreachable'],
  ['login', 'XX000', 'something new', 'source-unreachable'],
];

describe('GIVEN an error of the server', () => {
  it.each(WORDINGS)('WHEN during %s it says %s %s THEN it is %s', (phase, sqlState, message, code) => {
    const error = classifyServerError({ sqlState, message }, phase);
    expect(error.code).toBe(code);
    expect(error.detail.status).toBe(sqlState);
  });

  it('WHEN it has no SQLSTATE THEN none is shown', () => {
    expect(classifyServerError({ sqlState: '', message: 'odd' }, 'stream').detail).toEqual({ cause: 'odd' });
  });

  it.each([
    'invalid input syntax for type integer: "s3cret"', '"-4711" integer out of range', "invalid value 's3cret' in row 4711",
    'invalid input syntax for type uuid: "s3cr\\"et 4711', 'smallint out of range: 4711.5e3', 'date 4711-01-01 out of range',
  ])('WHEN an evaluation error quotes a value (%s) THEN the value is masked', (message) => {
    const error = classifyServerError({ sqlState: 'XX000', message }, 'stream');
    expect(error.code).toBe('source-evaluation-error');
    expect(`${error.message} ${error.detail.cause ?? ''}`).not.toMatch(/s3cr|4711/);
  });

  it('WHEN a value is masked THEN the kind of failure stays readable', () => {
    expect(maskValues('invalid input syntax for type integer: "x7"')).toBe('invalid input syntax for type integer: "…"');
    expect(maskValues('division by zero')).toBe('division by zero');
  });
});
