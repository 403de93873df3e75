/**
 * The relation as Materialize has it: there or dropped, with these columns or others, readable from some time on. A
 * relation that was dropped and made again is another one: whoever reads the old one is told that it is gone, and the
 * history of the new one begins with it. A column that is added in place does neither: history stays readable, and
 * subscriptions that run keep the columns that they began with.
 */
import { type Relation } from '../../src/relation/relation.ts';
import { scalar } from '../../src/relation/sql-type.ts';
import type { SourceEventKind } from './scenario.ts';
import { EPOCH_MS, type World } from './world.ts';

type Columns = Relation['columns'];

export class RelationWorld {
  readonly #world: World;
  #columns: Columns;
  #isThere = true;
  /** Counts the relations that had the name so far. */
  #ordinal = 1;
  /** Below it the relation of now can't be read. */
  readableFrom = 0n;

  constructor(world: World) {
    this.#world = world;
    const { values } = world.scenario;
    this.#columns = [
      { name: 'id', type: scalar('bigint'), nullable: false },
      { name: 'v', type: values === 'numeric' ? scalar('numeric', 2) : scalar('text'), nullable: true },
    ];
  }

  /** Null while it is dropped. */
  get relation(): Relation | null {
    if (!this.#isThere) return null;
    const { mode, uniqueKeys } = this.#world.scenario;
    return {
      id: `u${this.#ordinal}`, database: 'materialize', schema: 'public', name: 'orders', kind: 'materialized-view',
      uniqueKeys: mode === 'append' || uniqueKeys ? [[0]] : [], columns: this.#columns,
    };
  }

  act(kind: SourceEventKind, amount: number): void {
    if (!this.#isThere) return;
    this.#world.causes.add(kind);
    if (kind === 'relation-altered' && amount % 4 === 0) {
      this.#columns = withAdded(this.#columns);
      return;
    }
    this.#isThere = false;
    if (kind === 'relation-dropped') return;
    const awayMs = amount % 3 === 0 ? 0 : amount;
    this.#world.scheduler.at(awayMs, 'relation made again', () => {
      this.#isThere = true;
      this.#ordinal++;
      this.readableFrom = BigInt(EPOCH_MS + this.#world.scheduler.nowMs);
      if (kind === 'relation-altered') this.#columns = ALTERATIONS[amount % 3]?.(this.#columns) ?? this.#columns;
    });
  }
}

const ALTERATIONS: readonly ((columns: Columns) => Columns)[] = [
  withAdded,
  (columns) => columns.map((column, index) => (index === 1 ? { ...column, name: 'w' } : column)),
  (columns) => columns.map((column, index) => (index === 0 ? { ...column, type: scalar('integer') } : column)),
];

function withAdded(columns: Columns): Columns {
  return [...columns.slice(0, 2), { name: 'added', type: scalar('text'), nullable: true }];
}
