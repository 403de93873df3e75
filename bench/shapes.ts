/**
 * Relations of the benchmarks: their columns, and the COPY text of all columns behind the first, which is the key. `peers` is
 * the relation of the peers' workload: id int64, s1 of 1,000 strings, s2 of 12 characters or NULL (5 %), d double of 15 digits,
 * ts timestamptz, n decimal(38,2), b boolean; about 115 bytes a line.
 */
import type { Column } from '../src/relation/relation.ts';
import { type SqlType, scalar } from '../src/relation/sql-type.ts';

export type ShapeName = 'peers' | 'narrow' | 'wide' | 'long-strings' | 'nested';
export const SHAPE_NAMES: readonly ShapeName[] = ['peers', 'narrow', 'wide', 'long-strings', 'nested'];

export interface Shape {
  readonly columns: readonly Column[];
  /** COPY text of all columns but the key, made from a seeded `random` in [0, 1). */
  readonly otherColumns: (random: () => number) => string;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

function below(random: () => number, limit: number): number {
  return Math.floor(random() * limit);
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

function word(random: () => number, length: number): string {
  let text = '';
  for (let at = 0; at < length; at++) text += LETTERS[below(random, LETTERS.length)];
  return text;
}

function timestamp(random: () => number): string {
  const date = `2024-${digits(1 + below(random, 12), 2)}-${digits(1 + below(random, 28), 2)}`;
  const time = `${digits(below(random, 24), 2)}:${digits(below(random, 60), 2)}:${digits(below(random, 60), 2)}`;
  return `${date} ${time}.${digits(1 + below(random, 999_999), 6)}`.replace(/0+$/, '');
}

function decimal(random: () => number): string {
  return `${below(random, 10_000_000)}.${digits(below(random, 100), 2)}`;
}

function double(random: () => number): string {
  return String(Number((random() * 1_000_000).toPrecision(15)));
}

function column(name: string, type: SqlType, nullable = false): Column {
  return { name, type, nullable };
}

const KEY = column('id', scalar('bigint'));

const PEERS: Shape = {
  columns: [
    KEY, column('s1', scalar('text')), column('s2', scalar('text'), true), column('d', scalar('double precision')),
    column('ts', scalar('timestamptz')), column('n', scalar('numeric', 2)), column('b', scalar('boolean')),
  ],
  otherColumns: (random) => [
    `category-${digits(below(random, 1000), 4)}`, random() < 0.05 ? '\\N' : word(random, 12), double(random),
    `${timestamp(random)}+00`, decimal(random), random() < 0.5 ? 't' : 'f',
  ].join('\t'),
};

const NARROW: Shape = {
  columns: [KEY, column('amount', scalar('bigint')), column('state', scalar('text'))],
  otherColumns: (random) => `${below(random, 1_000_000_000)}\tstate-${below(random, 20)}`,
};

/** The kinds of the 99 columns, in turn. */
const WIDE_KINDS: readonly { readonly type: SqlType; readonly text: (random: () => number) => string }[] = [
  { type: scalar('bigint'), text: (random) => String(below(random, 1_000_000_000)) },
  { type: scalar('text'), text: (random) => word(random, 8) },
  { type: scalar('double precision'), text: double },
  { type: scalar('integer'), text: (random) => String(below(random, 100_000)) },
  { type: scalar('timestamptz'), text: (random) => `${timestamp(random)}+00` },
  { type: scalar('numeric', 2), text: decimal },
  { type: scalar('boolean'), text: (random) => (random() < 0.5 ? 't' : 'f') },
  { type: scalar('text'), text: (random) => `group-${below(random, 50)}` },
  { type: scalar('date'), text: (random) => timestamp(random).slice(0, 10) },
];
const WIDE_OTHERS = 99;

function wideKind(index: number): (typeof WIDE_KINDS)[number] {
  const kind = WIDE_KINDS[index % WIDE_KINDS.length];
  if (kind === undefined) throw new RangeError('no kind');
  return kind;
}

const WIDE: Shape = {
  columns: [KEY, ...Array.from({ length: WIDE_OTHERS }, (_, index) => column(`c${index}`, wideKind(index).type, true))],
  otherColumns: (random) => Array.from({ length: WIDE_OTHERS }, (_, index) =>
    (random() < 0.05 ? '\\N' : wideKind(index).text(random))).join('\t'),
};

const LONG_STRINGS: Shape = {
  columns: [KEY, column('body', scalar('text'))],
  otherColumns: (random) => word(random, 1024),
};

/** A list of lists of numbers, and a map to lists of maps: three levels below the row. */
const NESTED: Shape = {
  columns: [
    KEY,
    column('m', { kind: 'list', element: { kind: 'list', element: scalar('bigint') } }, true),
    column('o', { kind: 'map', value: { kind: 'list', element: { kind: 'map', value: scalar('text') } } }, true),
  ],
  otherColumns(random) {
    const many = <T>(limit: number, make: (index: number) => T): T[] => Array.from({ length: below(random, limit + 1) }, (_, i) => make(i));
    const matrix = many(3, () => `{${many(4, () => below(random, 1_000_000)).join(',')}}`);
    const object = many(3, (key) => `k${key}=>{${many(2, () => `{${many(2, (inner) => `a${inner}=>${word(random, 6)}`).join(',')}}`).join(',')}}`);
    return `{${matrix.join(',')}}\t{${object.join(',')}}`;
  },
};

const SHAPES: Readonly<Record<ShapeName, Shape>> = {
  peers: PEERS, narrow: NARROW, wide: WIDE, 'long-strings': LONG_STRINGS, nested: NESTED,
};

export function shapeOf(name: ShapeName): Shape {
  return SHAPES[name];
}

export function parseShape(text: string): ShapeName {
  const found = SHAPE_NAMES.find((name) => name === text);
  if (found === undefined) throw new Error(`no shape ${text}; there are ${SHAPE_NAMES.join(', ')}`);
  return found;
}
