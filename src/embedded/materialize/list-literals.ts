/**
 * `LIST[1, 2]`, which Postgres does not have, as the text of an array in a list's type. In: SQL. Out: SQL for the
 * engine. The texts are the same as long as no list is inside of another one: those are refused.
 */
import { tokenizeSql } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';

export function toEngineLists(sql: string): string {
  const tokens = tokenizeSql(sql);
  let out = '';
  let at = 0;
  for (let i = 0; i + 1 < tokens.length; i++) {
    const [word, open] = [tokens[i], tokens[i + 1]];
    if (word?.kind !== 'word' || word.text !== 'list' || open?.text !== '[') continue;
    let depth = 0;
    let close = i + 1;
    for (; close < tokens.length; close++) {
      const token = tokens[close];
      if (token?.kind === 'word' && token.text === 'list') {
        failStatement('0A000', 'this stand-in has no literals of lists inside of lists');
      }
      if (token?.kind !== 'symbol') continue;
      if (token.text === '[') depth++;
      if (token.text === ']' && --depth === 0) break;
    }
    const end = tokens[close]?.end ?? failStatement('42601', 'Expected right square bracket, found end of statement');
    const array = sql.slice(open.start, end);
    out += `${sql.slice(at, word.start)}(ARRAY${array}${array === '[]' ? '::text[]' : ''})::text::mz_catalog.list`;
    at = end;
    i = close;
  }
  return out + sql.slice(at);
}

/** The kinds of containers without a binary format that a query spells out. */
export function spelledContainers(sql: string): ('list' | 'map')[] {
  const tokens = tokenizeSql(sql);
  return tokens.flatMap(({ kind, text }, i) => {
    const spelled = kind === 'word' && (text === 'list' || text === 'map') && tokens[i + 1]?.text === '[';
    return spelled ? [text as 'list' | 'map'] : [];
  });
}
