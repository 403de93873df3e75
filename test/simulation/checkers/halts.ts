/** A halted sink says why: each code needs something in this run that it is the right name for. */
import type { ErrorCode } from '../../../src/errors.ts';
import type { SinkProcess } from '../sink-process.ts';
import { type World, violate } from '../world.ts';

/** Code → causes, one of which must have happened. A code that is not here never ends a simulated sink rightly. */
const JUSTIFICATIONS: Partial<Record<ErrorCode, readonly string[]>> = {
  'fenced': ['forged-version', 'newer-version', 'older-version'],
  'foreign-sink': ['foreign-sink', 'take-over', 'other-sink'],
  'foreign-writer': ['foreign-append'],
  'frontier-behind': ['rollback', 'forged-below'],
  'progress-missing': ['expiry'],
  'progress-unreadable': ['forged-partial'],
  'table-replaced': ['table-replaced', 'table-dropped'],
  'table-missing': ['table-dropped'],
  'schema-changed': ['schema-change'],
  'table-schema-mismatch': ['schema-change', 'relation-altered'],
  'spec-changed': ['spec-change'],
  'table-unsupported': ['spec-change'],
  'history-compacted': ['compacted'],
  'source-result-too-large': ['result-too-large'],
  'relation-dropped': ['relation-dropped', 'relation-recreated', 'relation-altered'],
  'relation-missing': ['relation-dropped', 'relation-recreated', 'relation-altered'],
  'relation-changed': ['relation-altered'],
  'row-not-representable': ['row-not-representable'],
  'storage-forbidden': ['put-forbidden'],
  'catalog-forbidden': ['commit-forbidden'],
  'catalog-unauthorized': ['load-unauthorized'],
  // A snapshot that a rollback put out of sight can't be added again.
  'commit-refused': ['rollback'],
};

export function judgeEnd(world: World, process: SinkProcess): void {
  const { end } = process;
  if (end === null) return;
  const wrong = (what: string): void => violate(world, 'halts', `p${process.id} ${what}`);
  if (end.reason === 'stopped' && process.stoppedAtMs === null) wrong('stopped without being asked');
  if (end.reason === 'complete' && world.scenario.input === 'endless') wrong('says that an endless input is complete');
  if (end.reason !== 'halted') return;
  const code = end.error?.code;
  if (code === undefined) return wrong('halted without a reason');
  if (code === 'foreign-sink' && process.identity.takeOver) wrong('was to take the table over, and halted with foreign-sink');
  const causes = JUSTIFICATIONS[code];
  if (causes === undefined || !causes.some((cause) => world.causes.has(cause))) {
    wrong(`halted with ${code}, which nothing in this run explains: ${end.error?.message ?? ''}`);
  }
}
