import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../../src/definition/format-problems.ts';
import { parseDefinitions } from '../../../src/definition/parse-definitions.ts';

const resolve = { env: () => 'id:from-outside', readFile: () => 'id:from-outside' };

/** Pieces that make the parser go deep, in any order: nearly right files and far-off ones. */
const piece = fc.constantFrom(
  'CREATE ', 'SECRET ', 'CONNECTION ', 'SINK ', 's ', 'c ', '"q" ', 'IF NOT EXISTS ', 'AS ', "'text' ", "'1s' ", 'ENV ',
  "'", '"', '/*', '*/', '--', '\n', ';', '(', ')', ',', '=', '.', 'TO ICEBERG CATALOG (', 'TO AWS (', 'TO GCP (',
  "CATALOG TYPE = 'rest'", "URL = 'https://h'", 'CREDENTIAL ', 'SECRET s', 'IN CLUSTER c ', 'FROM t ',
  'INTO ICEBERG CATALOG CONNECTION c ', "(NAMESPACE = 'n', TABLE = 't') ", 'KEY (id) ', 'MODE UPSERT ', 'WITH (',
  "COMMIT INTERVAL = '1s'", 'SNAPSHOT', 'VERSION 1', 'ALTER ', 'DROP ', '<x>', '-1 ', "E'\\", '\\', '$$', '\u0000', '😀',
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join('')),
);

describe('GIVEN any text', () => {
  test('WHEN it is parsed THEN it gives definitions or problems, each with a place inside the text', () => {
    fc.assert(
      fc.property(text, (sql) => {
        const parsed = parseDefinitions(sql, resolve, { allowInternalOauth2: false });
        const problems = parsed.kind === 'problems' ? parsed.problems : parsed.warnings;
        expect(parsed.kind === 'definitions' || problems.length > 0).toBe(true);
        const lines = sql.split('\n');
        for (const { position, text: quoted, message } of problems) {
          const line = lines[position.line - 1];
          expect(line).toBeDefined();
          expect(position.column).toBeGreaterThanOrEqual(1);
          expect(position.column).toBeLessThanOrEqual(Array.from(line ?? '').length + 1);
          expect(quoted).not.toContain('\n');
          expect(message).not.toContain('from-outside');
        }
        expect(formatProblems(problems, 'f').split('\n').length).toBeLessThanOrEqual(problems.length * 3 + 1);
      }),
      { numRuns: 5000 },
    );
  });

  test('WHEN a secret stands in CREATE SECRET and anything surrounds it THEN no problem shows it', () => {
    const around = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(around, around, (before, after) => {
        const sql = `${before}\n;CREATE SECRET x AS 'hunter2' ${after}`;
        const parsed = parseDefinitions(sql, resolve, { allowInternalOauth2: false });
        expect(JSON.stringify(parsed.kind === 'problems' ? parsed.problems : parsed.warnings)).not.toContain('hunter2');
      }),
      { numRuns: 5000 },
    );
  });

  test('WHEN it is long and hostile THEN the time grows no worse than its length', () => {
    const hostile = [
      "'", '"', '/*', '(', "''", 'a.', 'CREATE SECRET x AS ', 'CREATE SECRET ;', 'x;', "E'\\", 'KEY(', '\n', 'CREDENTIAL ',
    ];
    const isSlow = (text: string): boolean => {
      const started = performance.now();
      parseDefinitions(text.repeat(100_000), resolve, { allowInternalOauth2: false });
      return performance.now() - started > 5000;
    };
    expect(hostile.filter(isSlow)).toEqual([]);
  });
});
