/**
 * What the benchmark's source does, as plain data for its process: relations, each with the steps of its subscription.
 *
 * Times are Materialize's, milliseconds since 1970. A relation begins at `startMs`, where its snapshot lies. `span` and
 * `files` move the time by themselves; `steady` follows the clock of the machine, so its relation should begin near now.
 */
import type { Mix } from './line-blocks.ts';
import type { ShapeName } from './shapes.ts';

export type SourceStep =
  /** So many rows at the relation's time, then the progress behind it. */
  | { readonly kind: 'snapshot'; readonly rows: number }
  /** Framed files (frames.ts) as they are; behind each the progress that closes it. */
  | { readonly kind: 'file'; readonly path: string; readonly closesAtMs: number }
  /** `lines` over `times` times within `spanMs`, on keys of the first `keys` ids, each at most once as long as there are enough. */
  | { readonly kind: 'span'; readonly mix: Mix; readonly lines: number; readonly keys: number; readonly times: number; readonly spanMs: number }
  /** `span` again and again, each on a token. */
  | { readonly kind: 'spans-on-token'; readonly mix: Mix; readonly lines: number; readonly keys: number; readonly times: number; readonly spanMs: number }
  /** Waits for a token. */
  | { readonly kind: 'token' }
  /** So many updates (two lines each) that meet the same keys over and over, each retracting what the one before it inserted. */
  | { readonly kind: 'updates'; readonly updates: number; readonly keys: number; readonly times: number; readonly spanMs: number }
  /** For ever: at each tick of the clock the updates of the tick before it, and progress. */
  | { readonly kind: 'steady'; readonly linesPerS: number; readonly keys: number; readonly tickMs: number }
  /** A subscription that resumes (SNAPSHOT = false) begins here. */
  | { readonly kind: 'resume-here' };

export interface RelationScript {
  readonly name: string;
  readonly shape: ShapeName;
  readonly startMs: number;
  readonly steps: readonly SourceStep[];
}

export interface SourceScript {
  readonly relations: readonly RelationScript[];
}

/** What the source says on its standard output, a line each. */
export type SourceReport =
  | { readonly event: 'ready'; readonly url: string }
  /** A step has closed its times: `frontier` went out at `atMs` of the machine's clock. */
  | { readonly event: 'closed'; readonly relation: string; readonly frontier: string; readonly lines: number; readonly atMs: number };
