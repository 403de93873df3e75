/**
 * When to encode what a span holds so far, ahead of its close.
 *
 * A reader waits from the close of a span to its snapshot, and most of that wait is consolidating and encoding what the whole
 * interval has gathered. So shortly before the close the rows of times that progress has closed already are made into a section: files
 * of their own, which are in storage by the time the span ends. What is left then is the rows of the last moment. A section is
 * consolidated by itself, so a key may be in two of them; `snapshot/snapshot.ts` argues why the later one wins.
 *
 * In: the span so far. Out: whether to make a section now. As late as possible, since each costs two files more, and
 * only where it saves a reader something.
 */
import { type Frontier, compareFrontiers } from '../time/frontier.ts';

/**
 * Less than this is encoded in the time that a commit takes anyway. Bytes as the stash counts them: of narrow rows some 40,000,
 * some 30 ms of work.
 */
export const SECTION_BYTES_MIN = 4 * 1024 * 1024;

/** The section that the close makes included. Each takes a sequence number, and a few leave next to nothing for the close. */
export const SECTIONS_MAX = 4;

/** What a slow machine consolidates and encodes at the least. An estimate too low makes a section earlier than needed, and no harm. */
const ENCODED_BYTES_PER_MS = 50_000;

export interface AheadInput {
  /** Of the span. */
  readonly lower: Frontier;
  readonly observed: Frontier;
  /** Source time between the last two progress messages: when the next one will come, as far as one can know. */
  readonly progressGapMs: number;
  readonly commitIntervalMs: number;
  /** Of the stash, in memory and on disk. */
  readonly rowBytes: number;
  /** True when a stashed row lies below `observed`. */
  readonly hasClosedRows: boolean;
  /** Sections that the span has already. */
  readonly sections: number;
  readonly sectionBytesMin: number;
}

export function isSectionDue(input: AheadInput): boolean {
  const { lower, observed, rowBytes } = input;
  if (!input.hasClosedRows || rowBytes < input.sectionBytesMin || input.sections + 1 >= SECTIONS_MAX) return false;
  // Nothing is in sight of a fresh table's first span or of a complete input; both are sealed as they are.
  const [start] = lower;
  const [now] = observed;
  if (start === undefined || now === undefined || compareFrontiers(observed, lower) <= 0) return false;
  const toCloseMs = BigInt(input.commitIntervalMs) - (now - start);
  // A quarter more, for no source ticks evenly: the tick that is missed would be the last one before the close.
  const leadMs = Math.max(input.progressGapMs * 1.25, rowBytes / ENCODED_BYTES_PER_MS);
  return toCloseMs > 0n && toCloseMs <= BigInt(Math.ceil(leadMs));
}
