import { describe, expect, it } from 'vitest';

import { seahash } from '../../../src/embedded/materialize/seahash.ts';

const hashOf = (text: string): bigint => seahash(new TextEncoder().encode(text));

describe('GIVEN values that others have published of SeaHash', () => {
  it('THEN the stand-in computes the same: the crate that Materialize uses, and Vector’s documentation', () => {
    expect(hashOf('to be or not to be')).toBe(1_988_685_042_348_123_509n);
    expect(hashOf('foobar')).toBe(5_348_458_858_952_426_560n);
    expect(BigInt.asIntN(64, hashOf('bar'))).toBe(-2_796_170_501_982_571_315n);
  });
});
