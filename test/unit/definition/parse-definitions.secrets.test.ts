import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatDefinition } from '../../../src/definition/format-definition.ts';
import { formatProblems } from '../../../src/definition/format-problems.ts';
import { PREFIX, REST, catalog, definitionsOf, parse, problemsOf } from './definition-text.ts';

/** Every slip of the pen around a secret. Each must be refused, and none may show it. */
const SLIPS: readonly (readonly [string, string])[] = [
  ['never ends', "CREATE SECRET x AS 'hunter2"],
  ['never ends and swallows the rest', `CREATE SECRET x AS 'hunter2;\n${PREFIX}`],
  ['stands behind a quote that is missing further up', `${catalog(`${REST.slice(0, -1)}, CREDENTIAL NONE`)}CREATE SECRET x AS 'hunter2';`],
  ['has no quotes', 'CREATE SECRET x AS hunter2;'],
  ['has no quotes and a semicolon', 'CREATE SECRET x AS a;hunter2;'],
  ['has no quotes and spaces', 'CREATE SECRET x AS a hunter2 b;'],
  ['has no AS', "CREATE SECRET x 'hunter2';"],
  ['has no AS and no quotes', 'CREATE SECRET x hunter2;'],
  ['has no name', "CREATE SECRET AS 'hunter2';"],
  ['has = for AS', "CREATE SECRET x = 'hunter2';"],
  ['stands in double quotes', 'CREATE SECRET x AS "hunter2";'],
  ['stands in dollar quotes', 'CREATE SECRET x AS $$hunter2$$;'],
  ['is followed by another text', "CREATE SECRET x AS 'a' 'hunter2';"],
  ['stands in a misspelled statement', "CREATE SECRETT x AS 'hunter2'; CREAT SECRET y AS 'hunter2'; CREAT SECRET z AS hunter2;"],
  ['stands in ALTER SECRET', "ALTER SECRET x AS 'hunter2'; ALTER SECRET x AS hunter2;"],
  ['has a quote inside', "CREATE SECRET x AS 'a'hunter2';"],
  ['is a credential without quotes', catalog(`${REST}, CREDENTIAL = id:hunter2`)],
  ['is a credential with a word behind it', catalog(`${REST}, CREDENTIAL = 'id' hunter2`)],
  ['is a misspelled credential', catalog(`${REST}, CREDENTAL = 'id:hunter2'`)],
  ['is a password option', catalog(`${REST}, CREDENTIAL NONE, PASSWORD hunter2`)],
  ['stands beside another problem', catalog(`${REST}, CREDENTIAL = 'id:hunter2', SCOPE = 5`)],
  ['stands in a URL', catalog(`CATALOG TYPE 'rest', URL 'https://u:hunter2@h', CREDENTIAL NONE`)],
  ['stands in a comment', 'CREATE FOO; -- hunter2\n/* hunter2 */ DROP /* hunter2 */ TABLE t;'],
  ['is half a key', "CREATE CONNECTION a TO AWS (ACCESS KEY ID = 'hunter2', SESSION TOKEN = hunter2);"],
  ['is said twice', "CREATE SECRET x AS 'hunter2'; CREATE SECRET x AS 'hunter2';"],
  ['comes from a file that can not be read', "CREATE SECRET x AS FILE '/nowhere';"],
];

describe('GIVEN a secret, hunter2', () => {
  test.each(SLIPS)('WHEN it %s THEN there are problems and it is in none of them', (_, sql) => {
    const parsed = parse(sql);
    if (parsed.kind === 'definitions') throw new Error('the slip went unnoticed');
    expect(parsed.problems.length).toBeGreaterThan(0);
    expect(inspect(parsed, { depth: 9, showHidden: true })).not.toContain('hunter2');
    expect(JSON.stringify(parsed)).not.toContain('hunter2');
    expect(formatProblems(parsed.problems, 'sinks.sql')).not.toContain('hunter2');
  });

  test('WHEN its definitions are printed, inspected, echoed or thrown THEN it is not shown', () => {
    const { definitions } = definitionsOf(catalog(`${REST}, CREDENTIAL = 'hunter2'`));
    const [connection] = definitions.catalogs;
    if (connection === undefined) throw new Error('no connection');
    const secret = connection.credential?.clientSecret;
    const error = new Error(`${String(secret)} ${JSON.stringify(connection)}`, { cause: connection });
    for (const shown of [
      String(secret),
      JSON.stringify(definitions),
      inspect(definitions, { depth: 9, showHidden: true }),
      inspect(definitions, { depth: 9, customInspect: false }),
      formatDefinition(connection),
      String(error.stack),
      inspect(error),
    ]) {
      expect(shown).not.toContain('hunter2');
    }
    expect(secret?.reveal()).toBe('hunter2');
  });

  test('WHEN it comes from outside THEN one line break at its end is no part of it', () => {
    const sql = (source: string): string => `CREATE SECRET x AS ${source}; ${catalog(`${REST}, CREDENTIAL = SECRET x`)}`;
    const reveal = (source: string, value: string): string | undefined =>
      definitionsOf(sql(source), { env: { CRED: value }, files: { '/run/cred': value } })
        .definitions.catalogs[0]?.credential?.clientSecret.reveal();
    expect(reveal("ENV 'CRED'", 'hunter2\n')).toBe('hunter2');
    expect(reveal("FILE '/run/cred'", 'hunter2\r\n')).toBe('hunter2');
    expect(reveal("FILE '/run/cred'", ' hunter2\n\n')).toBe(' hunter2\n');
  });

  test('WHEN it is not to be had THEN the variable or file is named', () => {
    expect(problemsOf("CREATE SECRET x AS ENV 'NOPE'")).toEqual([
      `1:24 secret "x": environment variable NOPE is not set ['NOPE']`,
    ]);
    expect(problemsOf("CREATE SECRET x AS FILE '/nope'")).toEqual([
      `1:25 secret "x": cannot read file /nope (ENOENT) ['/nope']`,
    ]);
    expect(problemsOf("CREATE SECRET x AS ENV 'EMPTY'", { env: { EMPTY: '\n' } })).toEqual([
      '1:15 secret "x" is empty [x]',
    ]);
  });
});
