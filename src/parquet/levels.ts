/**
 * Definition and repetition levels out of Arrow's nesting (parquet-format, "Nested Encoding"; Dremel).
 *
 * A slot is one entry of a leaf's level streams: a value, or the place where something above it is null or empty.
 * The tree is walked once from the top; each step turns the slots of a node into those of what is below it, and
 * siblings share the slots of their parent. A flat column without nulls passes through without any array made.
 */
import type { Data } from 'apache-arrow/data';

import { invariant } from '../errors.ts';
import type { ParquetNode } from './schema.ts';

export interface Slots {
  readonly length: number;
  /** How deep each slot is defined; null: all as deep as the node is. */
  readonly definition: Uint8Array | null;
  /** null: all 0, each slot is a row. */
  readonly repetition: Uint8Array | null;
  /** Slots that are as deep as the node is: those with a place in its Arrow data. */
  readonly count: number;
  /** Their places, ascending; null: 0, 1, 2, … */
  readonly positions: Int32Array | null;
}

export type LeafVisitor = (slots: Slots, data: Data) => void;

/** Calls `visit` for each leaf below `nodes`, in the order of the column chunks. */
export function shred(nodes: readonly ParquetNode[], batch: Data, visit: LeafVisitor): void {
  const rows: Slots = {
    length: batch.length, definition: null, repetition: null, count: batch.length, positions: null,
  };
  shredChildren(nodes, batch, rows, { definition: 0, repetition: 0 }, visit);
}

/** Levels that a slot has when everything above is there. */
interface Depth {
  readonly definition: number;
  readonly repetition: number;
}

function shredChildren(
  nodes: readonly ParquetNode[], parent: Data, slots: Slots, depth: Depth, visit: LeafVisitor,
): void {
  nodes.forEach((node, index) => {
    const data = parent.children[index];
    invariant(data !== undefined && data.offset === 0, 'a batch has whole Arrow data for every field');
    shredNode(node, data, slots, depth, visit);
  });
}

function shredNode(node: ParquetNode, data: Data, above: Slots, depthAbove: Depth, visit: LeafVisitor): void {
  const optional = node.repetition === 'optional';
  const slots = optional ? withoutNulls(above, data, depthAbove.definition) : above;
  const depth = optional ? { ...depthAbove, definition: depthAbove.definition + 1 } : depthAbove;
  if (node.shape === 'leaf') {
    visit(slots, data);
    return;
  }
  if (node.shape === 'struct') {
    shredChildren(node.children, data, slots, depth, visit);
    return;
  }
  const [group] = node.children;
  const [items] = data.children;
  invariant(group !== undefined && items !== undefined, 'a list or map has its repeated group');
  const below = { definition: depth.definition + 1, repetition: depth.repetition + 1 };
  const repeated = repeat(slots, data.valueOffsets as Int32Array, depth);
  // A list's items are the one child of the repeated group; a map's entries are that group, a struct in Arrow too.
  if (node.shape === 'list') shredChildren(group.children, data, repeated, below, visit);
  else shredChildren(group.children, items, repeated, below, visit);
}

/** An optional node: a slot that is there goes one level deeper, one that is null stays. */
function withoutNulls(slots: Slots, data: Data, depth: number): Slots {
  const { length, definition, positions } = slots;
  if (data.nullCount === 0 && definition === null) return slots;
  const bitmap = data.nullCount === 0 ? null : data.nullBitmap;
  const deeper = new Uint8Array(length);
  const kept = new Int32Array(slots.count);
  let present = 0;
  let count = 0;
  for (let slot = 0; slot < length; slot++) {
    if (definition !== null && definition[slot] !== depth) {
      deeper[slot] = definition[slot] ?? 0;
      continue;
    }
    const at = positions === null ? present : positions[present] ?? 0;
    present += 1;
    if (bitmap !== null && ((bitmap[at >> 3] ?? 0) >> (at & 7) & 1) === 0) {
      deeper[slot] = depth;
    } else {
      deeper[slot] = depth + 1;
      kept[count++] = at;
    }
  }
  return { length, definition: deeper, repetition: slots.repetition, count, positions: kept };
}

/**
 * A list or map: a slot becomes one slot an item, the first with the repetition of the slot, the others with that
 * of the list; a null or empty one stays a single slot without a place.
 */
function repeat(slots: Slots, offsets: Int32Array, depth: Depth): Slots {
  const { length, count } = repeatedSize(slots, offsets);
  const definition = new Uint8Array(length);
  const repetition = new Uint8Array(length);
  const positions = new Int32Array(count);
  let present = 0;
  let to = 0;
  let item = 0;
  for (let slot = 0; slot < slots.length; slot++) {
    repetition[to] = slots.repetition === null ? 0 : slots.repetition[slot] ?? 0;
    const deep = slots.definition === null ? depth.definition : slots.definition[slot] ?? 0;
    definition[to++] = deep;
    if (deep !== depth.definition) continue;
    const at = slots.positions === null ? present : slots.positions[present] ?? 0;
    present += 1;
    const end = offsets[at + 1] ?? 0;
    for (let place = offsets[at] ?? 0, first = place; place < end; place++) {
      if (place > first) repetition[to++] = depth.repetition + 1;
      definition[to - 1] = depth.definition + 1;
      positions[item++] = place;
    }
  }
  return { length, definition, repetition, count, positions };
}

function repeatedSize(slots: Slots, offsets: Int32Array): { readonly length: number; readonly count: number } {
  let length = slots.length - slots.count;
  let count = 0;
  for (let index = 0; index < slots.count; index++) {
    const at = slots.positions === null ? index : slots.positions[index] ?? 0;
    const items = (offsets[at + 1] ?? 0) - (offsets[at] ?? 0);
    length += Math.max(1, items);
    count += items;
  }
  return { length, count };
}
