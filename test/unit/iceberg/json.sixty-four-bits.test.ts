import { describe, expect, it } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import {
  asObject, formatJson, getInt32, getInt64, getOptionalInt64, getString, getStringMap, parseJson,
} from '../../../src/iceberg/json.ts';

function refusal(run: () => unknown): SinkError {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof SinkError) return thrown;
    throw thrown;
  }
  throw new Error('expected a refusal');
}

describe('GIVEN integers beyond 2^53', () => {
  it('WHEN parsed and written again THEN every digit is kept', () => {
    const text = '{"snapshot-id":5735460159761889537,"min":-9223372036854775808,"small":42,"list":[9007199254740993,1.5]}';
    expect(formatJson(parseJson(text))).toBe(text);
    expect(asObject(parseJson(text), '$')['snapshot-id']).toBe(5735460159761889537n);
  });

  it('WHEN the integer fits a double exactly THEN it stays a number', () => {
    expect(parseJson('[9007199254740991, -1, 0, 1e3, 2.5]')).toEqual([9007199254740991, -1, 0, 1000, 2.5]);
  });

  it('WHEN a bigint stands in a value to be written THEN it becomes a bare JSON number, not a string', () => {
    expect(formatJson({ id: 18446744073709551615n, text: '1' })).toBe('{"id":18446744073709551615,"text":"1"}');
  });
});

describe('GIVEN hostile text', () => {
  it('WHEN it nests too deep THEN it is refused with a code instead of a stack overflow', () => {
    for (const deep of ['['.repeat(200_000), `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`]) {
      expect(refusal(() => parseJson(deep)).code).toBe('catalog-protocol');
    }
  });

  it('WHEN brackets stand inside of strings THEN they do not count as depth', () => {
    const text = JSON.stringify({ a: `"\\${'['.repeat(5000)}` });
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('WHEN a member is named __proto__ THEN neither the result nor a copy of it gets another prototype', () => {
    const value = asObject(parseJson('{"__proto__":{"polluted":true},"a":{"__proto__":1,"b":2}}'), '$');
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value)) copy[key] = value[key];
    expect(Object.keys(value)).toEqual(['a']);
    expect(copy['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it('WHEN a number exceeds every double THEN it is refused, and the text never stands in the message', () => {
    expect(refusal(() => parseJson(`[${'9'.repeat(400)}]`)).code).toBe('catalog-protocol');
    const error = refusal(() => parseJson('{"token":"s3cr3t" oops'));
    expect(error.code).toBe('catalog-protocol');
    expect(`${error.message} ${error.stack ?? ''}`).not.toContain('s3cr3t');
  });
});

describe('GIVEN an object of the wrong shape', () => {
  const json = asObject(parseJson('{"a":"x","n":3,"wide":9223372036854775808,"m":{"k":1},"none":null,"half":0.5}'), '$');

  it('WHEN a member has another type THEN the error is catalog-protocol and names the path', () => {
    for (const [path, run] of [
      ['metadata.n', () => getString(json, 'n', 'metadata')],
      ['metadata.a', () => getInt64(json, 'a', 'metadata')],
      ['metadata.wide', () => getInt64(json, 'wide', 'metadata')],
      ['metadata.half', () => getInt64(json, 'half', 'metadata')],
      ['metadata.half', () => getInt32(json, 'half', 'metadata')],
      ['metadata.gone', () => getString(json, 'gone', 'metadata')],
      ['metadata.m.k', () => getStringMap(json, 'm', 'metadata')],
    ] as const) {
      const error = refusal(run);
      expect(error.code).toBe('catalog-protocol');
      expect(error.message).toContain(`${path} must be`);
    }
  });

  it('WHEN an optional member is null or absent THEN it reads as null', () => {
    expect(getOptionalInt64(json, 'none')).toBeNull();
    expect(getOptionalInt64(json, 'absent')).toBeNull();
    expect(getOptionalInt64(json, 'n')).toBe(3n);
  });

  it('WHEN a 64-bit integer is asked for THEN numbers and bigints both come as bigint', () => {
    expect(getInt64(asObject(parseJson('{"x":9223372036854775807}'), '$'), 'x')).toBe(9223372036854775807n);
    expect(getInt64({ x: 7 }, 'x')).toBe(7n);
  });
});
