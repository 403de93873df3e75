import { describe, expect, it } from 'vitest';

import { qualifiedIdentifier, quoteIdentifier, quoteLiteral, subscribeSql } from '../../../src/subscribe/subscribe-sql.ts';

const relation = { database: 'materialize', schema: 'public', name: 't', slice: null };

describe('GIVEN a relation to subscribe to', () => {
  it('WHEN it is the first start THEN the server picks the time and the snapshot comes', () => {
    expect(subscribeSql({ ...relation, asOf: null, snapshot: true }))
      .toBe('COPY (SUBSCRIBE "materialize"."public"."t" WITH (PROGRESS)) TO STDOUT');
  });

  it('WHEN it resumes THEN it starts at exactly that time without the snapshot', () => {
    expect(subscribeSql({ ...relation, asOf: 18446744073709551615n, snapshot: false }))
      .toBe('COPY (SUBSCRIBE "materialize"."public"."t" WITH (PROGRESS, SNAPSHOT = false) AS OF 18446744073709551615) TO STDOUT');
  });

  it('WHEN names hold quotes, dots, spaces or capitals THEN they stay one name each', () => {
    expect(subscribeSql({ database: 'My "db"', schema: 'a.b', name: "o'x; DROP", slice: null, asOf: 0n, snapshot: true }))
      .toBe('COPY (SUBSCRIBE "My ""db"""."a.b"."o\'x; DROP" WITH (PROGRESS) AS OF 0) TO STDOUT');
  });

  it('WHEN it lies in a system schema THEN it has no database', () => {
    expect(subscribeSql({ database: '', schema: 'mz_internal', name: 'x', slice: null, asOf: null, snapshot: true }))
      .toContain('SUBSCRIBE "mz_internal"."x" WITH');
  });

  it('WHEN the time lies outside 64 bits THEN that is a broken invariant', () => {
    expect(() => subscribeSql({ ...relation, asOf: -1n, snapshot: true })).toThrow('64 bits');
    expect(() => subscribeSql({ ...relation, asOf: 1n << 64n, snapshot: true })).toThrow('64 bits');
  });

  it('WHEN a text holds a zero byte THEN it can not end the statement early', () => {
    expect(() => quoteIdentifier('a\0b')).toThrow('zero byte');
    expect(() => quoteLiteral('a\0b')).toThrow('zero byte');
    expect(quoteLiteral("it's")).toBe("'it''s'");
    expect(qualifiedIdentifier(['', 'b', 'c'])).toBe('"b"."c"');
  });
});
