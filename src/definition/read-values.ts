/** Options by name, each with the kind of value it takes. What is wrong is reported; the reader then gives null. */
import type { Report } from './report.ts';
import type { Option } from './statements.ts';
import type { Range } from './tokens.ts';

export type OptionMap = ReadonlyMap<string, Option>;

/** A report that knows whether anything went wrong through it. */
export interface TrackedReport extends Report {
  readonly failed: boolean;
}

/** `prefix` goes in front of every problem. */
export function trackReport(report: Report, prefix = ''): TrackedReport {
  let failed = false;
  return {
    get failed() {
      return failed;
    },
    problem(range, message) {
      failed = true;
      report.problem(range, prefix + message);
    },
    warning: (range, message) => report.warning(range, message),
    shown: (range) => report.shown(range),
  };
}

/** Reports unknown options, all in one problem as `describe` words it, and repeated ones. */
export function mapOptions(options: readonly Option[], report: Report, describe: (names: string) => string): OptionMap {
  const map = new Map<string, Option>();
  for (const option of options) {
    if (!option.isKnown) continue;
    if (map.has(option.name)) report.problem(option.range, `${option.name} specified more than once`);
    else map.set(option.name, option);
  }
  const unknown = options.filter((option) => !option.isKnown);
  const [first] = unknown;
  if (first !== undefined) {
    const names = unknown.map((option) => (option.name === '' ? report.shown(option.range) : option.name));
    report.problem(first.range, describe(names.join(', ')));
  }
  return map;
}

export interface TextValue {
  readonly text: string;
  readonly range: Range;
}

/** null when the option is absent or was reported. An empty text is refused: it is always a slip. */
export function textOption(options: OptionMap, report: Report, name: string): TextValue | null {
  const option = options.get(name);
  if (option === undefined) return null;
  const value = option.value;
  if (value?.kind !== 'text') {
    report.problem(value?.range ?? option.range, `${name} must be a text in single quotes`);
    return null;
  }
  if (value.text.trim() === '') {
    report.problem(value.range, `${name} must not be empty`);
    return null;
  }
  return { text: value.text, range: value.range };
}

/** One of `choices` (lower case), in any case; `refuse` words the problem. */
export function choiceOption<T extends string>(
  options: OptionMap,
  report: Report,
  name: string,
  choices: readonly T[],
  refuse: (shown: string) => string,
): T | null {
  const value = textOption(options, report, name);
  if (value === null) return null;
  const choice = choices.find((candidate) => candidate === value.text.toLowerCase());
  if (choice === undefined) report.problem(value.range, refuse(report.shown(value.range)));
  return choice ?? null;
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['yes', true],
  ['false', false],
  ['off', false],
  ['no', false],
]);

/** An option that stands alone is true. */
export function booleanOption(options: OptionMap, report: Report, name: string, fallback: boolean): boolean {
  const option = options.get(name);
  if (option === undefined) return fallback;
  const { value } = option;
  if (value === null) return true;
  const word = value.kind === 'name' ? value.name.parts.join('.') : value.kind === 'text' ? value.text : '';
  const truth = BOOLEANS.get(word.toLowerCase());
  if (truth === undefined) report.problem(value.range, `${name} must be true or false`);
  return truth ?? fallback;
}

const MAX_UINT64 = 2n ** 64n - 1n;

export function unsignedOption(options: OptionMap, report: Report, name: string, fallback: bigint): bigint {
  const option = options.get(name);
  if (option === undefined) return fallback;
  const { value } = option;
  const digits = value?.kind === 'number' || value?.kind === 'text' ? value.text : '';
  // Twenty digits hold every uint64; the bound keeps the conversion cheap for absurdly long ones.
  const number = /^\d{1,20}$/.test(digits) ? BigInt(digits) : null;
  if (number !== null && number <= MAX_UINT64) return number;
  report.problem(value?.range ?? option.range, `${name} must be a whole number from 0 to ${MAX_UINT64}`);
  return fallback;
}
