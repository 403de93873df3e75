/** Problems as a compiler prints them. They carry no secret, so neither does this. */
import type { Problem } from './definitions.ts';
import { characterCount } from './source-text.ts';

/**
 * One paragraph a problem, each ending with a line break:
 *
 *     sinks.sql:12:9: COMMIT INTERVAL must be at least 1 second
 *       12 | WITH (COMMIT INTERVAL = '0s')
 *          |                         ^^^^
 */
export function formatProblems(problems: readonly Problem[], fileName: string): string {
  return problems.map((problem) => `${formatProblem(problem, fileName)}\n`).join('');
}

function formatProblem({ message, position, text, excerpt }: Problem, fileName: string): string {
  const place = `${fileName}:${position.line}:${position.column}`;
  const head = `${place}: ${message.replaceAll(/\s*\n\s*/g, ' ')}`;
  if (excerpt === undefined || excerpt === null) return head;
  const number = String(position.line);
  const gutter = ' '.repeat(number.length);
  const rest = characterCount(excerpt.line) - excerpt.caret;
  const carets = '^'.repeat(Math.max(1, Math.min(characterCount(text), rest)));
  return `${head}\n  ${number} | ${excerpt.line}\n  ${gutter} | ${' '.repeat(excerpt.caret)}${carets}`;
}
