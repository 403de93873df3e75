/**
 * Floats as Materialize prints them: the shortest digits that read back the same, plain in a middle range, else
 * scientific with a bare exponent (`1.1920929e-7`, `1e+16`).
 */

/** The decimal point's places within which a float is written plainly: above the first and up to the second. */
const PLAIN_RANGE = { real: [-6, 13], 'double precision': [-5, 16] } as const;

export function formatFloat(value: number, kind: keyof typeof PLAIN_RANGE): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const shortest = kind === 'real' ? shortestReal(value) : value.toExponential();
  const [mantissa = '', exponentText = '0'] = shortest.split('e');
  const sign = mantissa.startsWith('-') ? '-' : '';
  const digits = mantissa.replace(/[-.]/g, '');
  const point = Number(exponentText) + 1;
  const [below, upTo] = PLAIN_RANGE[kind];
  if (point <= below || point > upTo) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits.slice(0, 1)}${fraction}e${point - 1 < 0 ? '-' : '+'}${Math.abs(point - 1)}`;
  }
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits.padEnd(point, '0');
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Nine digits always identify a 32-bit float. */
const REAL_MAX_DIGITS = 9;

function shortestReal(value: number): string {
  const real = Math.fround(value);
  for (let digits = 0; digits < REAL_MAX_DIGITS; digits++) {
    const text = real.toExponential(digits);
    if (Math.fround(Number(text)) === real) return text.replace(/\.?0+e/, 'e');
  }
  return real.toExponential();
}
