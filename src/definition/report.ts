/** Where parser and checks put what they find. Bounded, so that a file of garbage can't fill memory or screen. */
import type { Problem } from './definitions.ts';
import { type SourceText, problemAt, shown } from './source-text.ts';
import type { Range } from './tokens.ts';

/** More than anyone corrects in one go. */
const MAX_PROBLEMS = 200;

export interface Report {
  problem(range: Range, message: string): void;
  warning(range: Range, message: string): void;
  /** The text of a range for use in a message; `…` where a secret stands. */
  shown(range: Range): string;
}

export interface CollectedReport extends Report {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export function collectReport(source: SourceText): CollectedReport {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  return {
    problems,
    warnings,
    problem(range, message) {
      if (problems.length < MAX_PROBLEMS) problems.push(problemAt(source, range, message));
    },
    warning(range, message) {
      if (warnings.length < MAX_PROBLEMS) warnings.push(problemAt(source, range, message));
    },
    shown: (range) => shown(source, range),
  };
}

/** In the order of the text; problems of one place stay in the order in which they were found. */
export function inTextOrder(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.position.line - b.position.line || a.position.column - b.position.column);
}
