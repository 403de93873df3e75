/**
 * What `validate` found, and how it is printed: one block for each connection and sink, one aligned line a check. Pure,
 * so that the form is tested without a catalog.
 */
import type { SinkError } from '../errors.ts';

type Finding =
  | { readonly kind: 'ok' | 'note'; readonly subject: string; readonly text: string; readonly details: readonly string[] }
  | { readonly kind: 'fail'; readonly subject: string; readonly error: SinkError };

export interface Findings {
  /** Begins the block that the following findings belong to. */
  section(title: string): void;
  good(subject: string, text: string, details?: readonly string[]): void;
  /** Neither good nor bad: what could not be looked at, and why. */
  note(subject: string, text: string): void;
  bad(subject: string, error: SinkError): void;
}

export interface CollectedFindings extends Findings {
  readonly ok: () => boolean;
  readonly text: () => string;
}

export function collectFindings(): CollectedFindings {
  const sections: { readonly title: string; readonly findings: Finding[] }[] = [];
  const add = (finding: Finding): void => {
    sections.at(-1)?.findings.push(finding);
  };
  const all = (): readonly Finding[] => sections.flatMap((section) => section.findings);
  return {
    section: (title) => void sections.push({ title, findings: [] }),
    good: (subject, text, details = []) => add({ kind: 'ok', subject, text, details }),
    note: (subject, text) => add({ kind: 'note', subject, text, details: [] }),
    bad: (subject, error) => add({ kind: 'fail', subject, error }),
    ok: () => all().every((finding) => finding.kind !== 'fail'),
    text: () => {
      const lines = sections.flatMap(({ title, findings }) => [title, ...findings.flatMap(linesOf), '']);
      return `${[...lines, summary(all())].join('\n')}\n`;
    },
  };
}

const SUBJECT_WIDTH = 12;

function linesOf(finding: Finding): readonly string[] {
  if (finding.kind === 'fail') {
    const { error, subject } = finding;
    return [line('FAIL', subject, `[${error.code}] ${oneLine(error.message)}`), line('', 'remedy', error.remedy)];
  }
  const details = finding.details.map((detail) => line('', '', `  ${detail}`));
  return [line(finding.kind, finding.subject, oneLine(finding.text)), ...details];
}

function line(mark: string, subject: string, text: string): string {
  return `  ${mark.padEnd(4)}  ${subject.padEnd(SUBJECT_WIDTH)}  ${text}`;
}

/** Text of a server may hold line breaks and terminal escapes; neither may fake a line of this report. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, ' ');
}

function summary(findings: readonly Finding[]): string {
  const count = (kind: Finding['kind']): number => findings.filter((finding) => finding.kind === kind).length;
  const failed = count('fail');
  const notes = count('note') === 0 ? '' : `, ${counted(count('note'), 'note')}`;
  return failed === 0
    ? `OK: ${counted(count('ok'), 'check')} passed${notes}; nothing in the catalog was changed.`
    : `${counted(failed, 'problem')} found, ${counted(count('ok'), 'check')} passed${notes}; nothing in the catalog was changed.`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
