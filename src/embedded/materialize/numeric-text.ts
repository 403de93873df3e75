/**
 * Numerics as Materialize prints them: plain notation, trailing zeros of the fraction dropped whatever the scale.
 */

/** A number in plain notation: `1e2` is 100, `1.50` is 1.5. */
export function plainNumeric(text: string): string {
  const match = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  const left = (point <= 0 ? '0' : digits.slice(0, point).padEnd(point, '0')).replace(/^0+(?=\d)/, '');
  const leading = point < 0 ? digits.padStart(digits.length - point, '0') : digits.slice(point);
  const right = point >= digits.length ? '' : leading;
  const plain = trimNumeric(right === '' ? left : `${left}.${right}`);
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
}

/** Drops trailing zeros of the fraction; `-0` does not exist. */
export function trimNumeric(text: string): string {
  if (!text.includes('.')) return text === '-0' ? '0' : text;
  const trimmed = text.replace(/\.?0+$/, '');
  return trimmed === '-0' || trimmed === '' ? '0' : trimmed;
}
