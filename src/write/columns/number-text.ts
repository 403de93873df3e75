/**
 * Text of numbers to the words that Arrow keeps, without a string and without a BigInt per value.
 *
 * Arrow's 64 and 128 bit values are little-endian two's complement words of 32 bits. Every product below stays
 * under 2^53, where doubles are exact; the bound is stated where it matters.
 */
import { malformed, unrepresentable } from './column.ts';

const WORD = 0x1_0000_0000;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

/** Powers of ten that are exact as doubles. */
export const POW10: readonly number[] = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/** The decimal digits from start to end as a number; at most 15, so that it is exact. */
export function digits(bytes: Uint8Array, start: number, end: number): number {
  if (start >= end) malformed('digits expected');
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) malformed('digits expected');
    value = value * 10 + digit;
  }
  return value;
}

/** A whole number between min and max, at most 15 digits. */
export function parseSmallInteger(bytes: Uint8Array, start: number, end: number, min: number, max: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  if (end - first > 15) malformed('more digits than the integer type holds');
  const magnitude = digits(bytes, first, end);
  const value = negative ? 0 - magnitude : magnitude;
  if (value < min || value > max) malformed('outside of the integer type');
  return value;
}

/** Stores a whole number below 2^53 in magnitude as two words. */
export function storeInt64(value: number, words: Int32Array, at: number): void {
  // ToInt32 is taken modulo 2^32 also for negative numbers, which is two's complement.
  words[at] = value | 0;
  words[at + 1] = Math.floor(value / WORD);
}

/** Digits that fit into 32 bits, where arithmetic takes a third of what it takes with doubles. */
const SHORT_DIGITS = 9;

/** A whole number of at most 15 digits; see PlainText. */
export function plainInt64(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  const shortEnd = Math.min(end, first + SHORT_DIGITS);
  let next = first;
  let short = 0;
  for (; next < shortEnd; next++) {
    const digit = (bytes[next] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    short = (short * 10 + digit) | 0;
  }
  // Of a row that has ended there is no text, and `first` lies behind the end.
  if (next < shortEnd || next >= end) {
    if (next === first) return -1;
    words[at] = negative ? -short : short;
    words[at + 1] = negative && short !== 0 ? -1 : 0;
    return next;
  }
  let value = short;
  for (; next < end; next++) {
    const digit = (bytes[next] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (next - first > 15) return -1;
  storeInt64(negative ? 0 - value : value, words, at);
  return next;
}

/** The same between two bounds, stored as one word. */
export function plainInt32(bytes: Uint8Array, start: number, end: number, min: number, max: number, words: Int32Array, at: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let next = first;
  let value = 0;
  for (; next < end; next++) {
    const digit = (bytes[next] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (negative) value = 0 - value;
  if (next === first || next - first > 15 || value < min || value > max) return -1;
  words[at] = value;
  return next;
}

export function parseInt64(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): void {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  if (end - first <= 15) {
    const magnitude = digits(bytes, first, end);
    storeInt64(negative ? 0 - magnitude : magnitude, words, at);
    return;
  }
  if (end - first > 19) malformed('more digits than a 64-bit integer holds');
  // head < 10^10 < 2^34; both products below stay under 2^48.
  const head = digits(bytes, first, end - 9);
  const tail = digits(bytes, end - 9, end);
  const upper = Math.floor(head / 65536) * 1e9;
  const sum = (upper % 65536) * 65536 + (head % 65536) * 1e9 + tail;
  const low = sum % WORD;
  const high = Math.floor(upper / 65536) + Math.floor(sum / WORD);
  if (high > 0x7fff_ffff && !(negative && high === 0x8000_0000 && low === 0)) malformed('outside of a 64-bit integer');
  words[at] = negative ? -low : low;
  words[at + 1] = negative ? ~high + (low === 0 ? 1 : 0) : high;
}

/** The words of the decimal being built; one is enough, since nothing here is re-entered. */
const limbs = new Float64Array(4);

/** limbs = limbs * factor + addend, with factor <= 10^6 < 2^20, so that each product stays below 2^53. */
function multiplyAdd(factor: number, addend: number): void {
  let carry = addend;
  for (let index = 0; index < 4; index++) {
    const total = (limbs[index] ?? 0) * factor + carry;
    carry = Math.floor(total / WORD);
    limbs[index] = total - carry * WORD;
  }
}

/**
 * Parses plain decimal notation into four words: value * 10^scale. Never rounds. The range check is a count of
 * digits: `integer digits + scale <= precision` is `|value| < 10^precision`, exactly and at any size.
 */
export function parseDecimal(
  bytes: Uint8Array, start: number, end: number, precision: number, scale: number, words: Int32Array, at: number,
): void {
  if (shortDecimal(bytes, start, end, scale, words, at) === end) return;
  const negative = bytes[start] === MINUS;
  let first = negative ? start + 1 : start;
  if (isSpecial(bytes, first, end)) unrepresentable('NaN and infinities have no decimal form');
  let dot = first;
  while (dot < end && bytes[dot] !== DOT) dot += 1;
  let last = end;
  if (dot === first || dot === end - 1) malformed('a digit expected beside the decimal point');
  while (last > dot + 1 && bytes[last - 1] === ZERO) last -= 1;
  while (first < dot && bytes[first] === ZERO) first += 1;
  const fraction = Math.max(0, last - dot - 1);
  if (fraction > scale) {
    checkDigits(bytes, first, dot, end);
    unrepresentable(`cannot represent ${fraction} fraction digits in a column with scale ${scale}`);
  }
  if (dot - first + scale > precision) {
    checkDigits(bytes, first, dot, end);
    unrepresentable(`out of range for a column with precision ${precision} and scale ${scale}`);
  }
  storeLongDecimal(bytes, first, dot, last, scale - fraction, negative, words, at);
}

/** Whole words: under ON ROW ERROR = NULL what is taken for one of them becomes NULL, and garbage must not. */
function isSpecial(bytes: Uint8Array, first: number, end: number): boolean {
  const letter = bytes[first];
  if (letter !== 0x4e && letter !== 0x49) return false;
  const word = letter === 0x4e ? 'NaN' : 'Infinity';
  if (end - first !== word.length) return false;
  for (let index = 0; index < word.length; index++) {
    if (bytes[first + index] !== word.charCodeAt(index)) return false;
  }
  return true;
}

function checkDigits(bytes: Uint8Array, first: number, dot: number, end: number): void {
  for (let index = first; index < end; index++) {
    const digit = (bytes[index] ?? 0) - ZERO;
    if (index !== dot && (digit < 0 || digit > 9)) malformed('not a decimal number');
  }
}

/**
 * The common case in one pass: at most 15 digits once the scale is applied, where doubles are exact and any
 * precision of ours is kept. Returns where the number ends, as PlainText does; -1 leaves the value, and every complaint
 * about it, to the long way.
 */
export function shortDecimal(
  bytes: Uint8Array, start: number, end: number, scale: number, words: Int32Array, at: number,
): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  const shortEnd = Math.min(end, first + SHORT_DIGITS);
  let dot = -1;
  let short = 0;
  let next = first;
  for (; next < shortEnd; next++) {
    const byte = bytes[next] ?? 0;
    const digit = byte - ZERO;
    if (digit >= 0 && digit <= 9) short = (short * 10 + digit) | 0;
    else if (byte === DOT && dot < 0) dot = next;
    else break;
  }
  let value = short;
  if (next === shortEnd) {
    for (; next < end; next++) {
      const byte = bytes[next] ?? 0;
      const digit = byte - ZERO;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else if (byte === DOT && dot < 0) dot = next;
      else break;
    }
  }
  const point = dot < 0 ? next : dot;
  const fraction = dot < 0 ? 0 : next - dot - 1;
  if (point === first || dot === next - 1 || fraction > scale || point - first + scale > 15) return -1;
  const magnitude = value * (POW10[scale - fraction] ?? 0);
  const signed = negative ? 0 - magnitude : magnitude;
  storeInt64(signed, words, at);
  const sign = signed < 0 ? -1 : 0;
  words[at + 2] = sign;
  words[at + 3] = sign;
  return next;
}

function storeLongDecimal(
  bytes: Uint8Array, first: number, dot: number, last: number, padding: number, negative: boolean,
  words: Int32Array, at: number,
): void {
  limbs.fill(0);
  for (let from = first; from < dot; from += 6) {
    const to = Math.min(from + 6, dot);
    multiplyAdd(POW10[to - from] ?? 0, digits(bytes, from, to));
  }
  for (let from = dot + 1; from < last; from += 6) {
    const to = Math.min(from + 6, last);
    multiplyAdd(POW10[to - from] ?? 0, digits(bytes, from, to));
  }
  for (let left = padding; left > 0; left -= 6) multiplyAdd(POW10[Math.min(left, 6)] ?? 0, 0);
  let carry = 1;
  for (let index = 0; index < 4; index++) {
    const limb = limbs[index] ?? 0;
    if (!negative) {
      words[at + index] = limb;
      continue;
    }
    // Two's complement: invert and add one, the carry rippling through zero words.
    const inverted = WORD - 1 - limb + carry;
    carry = inverted === WORD ? 1 : 0;
    words[at + index] = inverted;
  }
}

/** Text of a float in Rust's or Postgres's shortest form. */
export function parseDouble(bytes: Uint8Array, start: number, end: number): number {
  return shortDouble(bytes, start, end, oneDouble, 0) === end ? oneDouble[0] ?? 0 : parseOtherDouble(bytes, start, end);
}

const oneDouble = new Float64Array(1);

/**
 * Plain notation of at most 15 digits, stored at `at`; returns where it ends, as PlainText does. The digits and the power of ten
 * are exact doubles, so one division rounds once, as IEEE 754 wants (Clinger). Nothing of it is too large or small for a float.
 */
export function shortDouble(bytes: Uint8Array, start: number, end: number, out: Float32Array | Float64Array, at: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let dot = -1;
  let mantissa = 0;
  let next = first;
  for (; next < end; next++) {
    const byte = bytes[next] ?? 0;
    const digit = byte - ZERO;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (byte === DOT && dot < 0) dot = next;
    else break;
  }
  const count = next - first - (dot < 0 ? 0 : 1);
  if (count < 1 || count > 15) return -1;
  const value = dot < 0 ? mantissa : mantissa / (POW10[next - dot - 1] ?? 1);
  out[at] = negative ? -value : value;
  return next;
}

function parseOtherDouble(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > 400) malformed('not a floating point number');
  let text = '';
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] ?? 0);
  if (text === 'NaN') return Number.NaN;
  if (/^-?Infinity$/.test(text)) return Number(text);
  if (!/^-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/.test(text)) malformed('not a floating point number');
  const value = Number(text);
  checkKept(value, !/^[^eE]*[1-9]/.test(text));
  return value;
}

/** `kept` is what the type made of a finite number: rounded it may be, but infinity and zero are other numbers. */
export function checkKept(kept: number, isZero: boolean): void {
  if (!Number.isFinite(kept)) malformed('beyond the largest number of the type');
  if (kept === 0 && !isZero) malformed('below the smallest number of the type');
}
