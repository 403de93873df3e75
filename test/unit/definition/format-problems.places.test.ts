import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../../src/definition/format-problems.ts';
import { PREFIX, parse, problemsOf } from './definition-text.ts';

function printed(text: string): string {
  const parsed = parse(text);
  return parsed.kind === 'definitions' ? '' : formatProblems(parsed.problems, 'sinks.sql');
}

describe('GIVEN a file with problems', () => {
  test('WHEN they are printed THEN line, column and caret point at the text, in characters', () => {
    expect(printed('/* 😀 */ CREATE SINK "größe 😀" FROM t INTO KAFKA;\nDROP TABLE t;')).toBe(
      [
        'sinks.sql:1:43: expected ICEBERG CATALOG CONNECTION, found KAFKA',
        '  1 |    CREATE SINK "größe 😀" FROM t INTO KAFKA;',
        '    |                                      ^^^^^',
        'sinks.sql:2:1: DROP is not a definition; remove the CREATE statement instead',
        '  2 | DROP TABLE t;',
        '    | ^^^^',
        '',
      ].join('\n'),
    );
  });

  test('WHEN several statements are wrong THEN all problems are reported at once and in order', () => {
    const text = `${PREFIX}CREATE SINK a FROM t INTO X;
CREATE SINK b FROM t INTO ICEBERG CATALOG CONNECTION c (NAMESPACE 'n', TABLE 't') MODE APPEND;
DROP SINK c;
CREATE SINK d FROM t INTO ICEBERG CATALOG CONNECTION c (NAMESPACE 'n' TABLE 't');
\\d
SELECT 1`;
    expect(problemsOf(text)).toEqual([
      '3:27 expected ICEBERG CATALOG CONNECTION, found X [X]',
      '4:13 Iceberg sink must specify COMMIT INTERVAL [b]',
      '5:1 DROP is not a definition; remove the CREATE statement instead [DROP]',
      '6:71 expected "," or ")", found TABLE [TABLE]',
      '7:1 commands of psql are not SQL [\\]',
    ]);
    expect(problemsOf(text.replace('\\d\n', ''))).toHaveLength(5);
  });

  test('WHEN a <placeholder> is still there THEN the problem says so', () => {
    expect(problemsOf('CREATE SINK <sink_name> FROM t')).toEqual([
      '1:13 expected the name of the sink, found <; a <placeholder> is still to be filled in [<]',
    ]);
  });

  test('WHEN a file is garbage THEN the number of problems is bounded', () => {
    expect(problemsOf('x;'.repeat(50_000))).toHaveLength(200);
  });

  test('WHEN text is missing at the end THEN the end of the file is the place', () => {
    expect(problemsOf('CREATE SINK s FROM')).toEqual([
      '1:19 expected the name of a table, source or materialized view, found the end of the file [the end of the file]',
    ]);
  });
});
