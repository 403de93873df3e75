import { describe, expect, test } from 'vitest';
import { type Token, tokenize } from '../../../src/definition/tokens.ts';

const spell = ({ kind, value }: Token): string => `${kind} ${value}`;
const tokens = (text: string): string[] => tokenize(text).tokens.map(spell);
const faults = (text: string): string[] => tokenize(text).faults.map((fault) => `${fault.start} ${fault.message.slice(0, 30)}`);

describe('GIVEN SQL text', () => {
  test.each([
    [`'it''s' ''`, ["text it's", 'text ', 'end ']],
    [String.raw`E'a\n\'\x41\u00e9\U0001F600\101\q' e'\\'`, ["text a\n'Aé😀Aq", 'text \\', 'end ']],
    [String.raw`'a\'`, ['text a\\', 'end ']],
    [`Foo "Foo""Bar" größe E`, ['word foo', 'quoted Foo"Bar', 'word größe', 'word e', 'end ']],
    ['a -- b\nc /* d /* e */ f */ g --', ['word a', 'word c', 'word g', 'end ']],
    ['1 2.5 .5 1e-3', ['number 1', 'number 2.5', 'number .5', 'number 1e-3', 'end ']],
    [`a=b(c),d;`, ['word a', 'symbol =', 'word b', 'symbol (', 'word c', 'symbol )', 'symbol ,', 'word d', 'symbol ;', 'end ']],
    ['😀§', ['unknown 😀', 'unknown §', 'end ']],
    ['', ['end ']],
  ])('WHEN it is %s THEN these are its tokens', (text, expected) => {
    expect(tokens(text)).toEqual(expected);
    expect(faults(text)).toEqual([]);
  });

  test.each([
    ["a 'b", ['2 the text that begins here neve']],
    ['a "b', ['2 the quoted name that begins he']],
    ['a /* /* */', ['2 the comment that begins here n']],
    ["'a'b", ['2 something stands directly behi']],
    ["'a;\nCREATE  SECRET s AS ' b", ['0 the text that begins here swal']],
    ['""', ['0 a quoted name must not be empt']],
  ])('WHEN it is %s THEN the quoting is in doubt', (text, expected) => {
    expect(faults(text)).toEqual(expected);
  });
});
