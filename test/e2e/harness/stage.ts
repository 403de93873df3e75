/**
 * Everything an end-to-end test stands on: a stand-in for Materialize with time in the test's hand, the embedded
 * catalog with files in a temporary folder, and sinks between them. All are real servers on real sockets.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMaterializeStandIn, type MaterializeStandIn, type StandInOptions } from '../../../src/embedded/materialize/stand-in.ts';
import type { EmbeddedCatalogOptions } from '../../../src/embedded/catalog/server.ts';
import type { Column } from '../../../src/relation/relation.ts';
import { expectTableEquals, frontierOf, type JudgeOptions, type Mode } from './judge.ts';
import { CATALOG_NAME, NAMESPACE, openLake, type Lake, type TableNow } from './lake.ts';
import { createModel, type Model, type ModelOptions } from './model.ts';
import { type ChildOptions, type ChildSink, type InProcessSink, startChild, startInProcess } from './sink.ts';

/** A time of day in Materialize's milliseconds at which the tests' relations begin. */
export const START = 1_780_000_000_000n;

export interface SinkClause {
  readonly name?: string;
  readonly from: string;
  readonly table: string;
  readonly mode: Mode;
  /** Between KEY and MODE: `(id) NOT ENFORCED`. */
  readonly key?: string;
  /** Within WITH, behind the interval. */
  readonly options?: string;
  readonly interval?: string;
}

export interface Stage extends AsyncDisposable {
  readonly materialize: MaterializeStandIn;
  readonly lake: Lake;
  readonly spillDir: string;
  createModel(name: string, columns: readonly Column[], options?: ModelOptions): Model;
  /** The guide's statements, then one CREATE SINK for each clause. */
  sql(...sinks: readonly SinkClause[]): string;
  /** Starts sinks in this process; they are stopped with the stage. */
  run(sinks: SinkClause | readonly SinkClause[], options?: { memoryBudgetBytes?: number; sql?: string }): InProcessSink;
  /** The command in a process of its own; killed with the stage. */
  spawn(sinks: SinkClause | readonly SinkClause[], options?: Partial<ChildOptions>): ChildSink;
  /** Waits until the newest snapshot of main says `t` or later; null waits for `[]`. */
  waitForFrontier(table: string, t: bigint | null, timeoutMs?: number): Promise<TableNow>;
  expectEquals(table: string, model: Model, options: JudgeOptions): Promise<TableNow>;
  close(): Promise<void>;
}

export interface StageOptions {
  readonly materialize?: StandInOptions;
  readonly catalog?: Partial<EmbeddedCatalogOptions>;
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const lake = await openLake(options.catalog);
  const materialize = await createMaterializeStandIn({ manualTime: true, ...options.materialize });
  const running: InProcessSink[] = [];
  const children: ChildSink[] = [];
  const spillDir = join(lake.directory, 'spill');
  const sql: Stage['sql'] = (...sinks) => `
    CREATE SECRET polaris_credential AS '${lake.clientId}:${lake.clientSecret}';
    CREATE CONNECTION iceberg_catalog_connection TO ICEBERG CATALOG (
      CATALOG TYPE = 'rest', URL = '${lake.catalogUrl}', WAREHOUSE = '${CATALOG_NAME}',
      CREDENTIAL = SECRET polaris_credential, SCOPE = 'PRINCIPAL_ROLE:ALL'
    );
    ${sinks.map(createSink).join('\n')}`;
  const listOf = (sinks: SinkClause | readonly SinkClause[]): readonly SinkClause[] => (Array.isArray(sinks) ? sinks as readonly SinkClause[] : [sinks as SinkClause]);
  const close = async (): Promise<void> => {
    await Promise.all(running.map((sink) => sink.stop()));
    await Promise.all(children.map((child) => child.kill()));
    await materialize.close();
    await lake.stop();
  };
  const stage: Stage = {
    materialize, lake, spillDir, sql, close,
    [Symbol.asyncDispose]: close,
    createModel: (name, columns, modelOptions) => createModel(materialize, name, columns, { start: START, ...modelOptions }),
    run: (sinks, runOptions = {}) => {
      const sink = startInProcess({ materializeUrl: materialize.url, spillDir, sql: sql(...listOf(sinks)), ...runOptions });
      running.push(sink);
      return sink;
    },
    spawn: (sinks, childOptions = {}) => {
      const child = startChild({ materializeUrl: materialize.url, spillDir, sql: sql(...listOf(sinks)), ...childOptions });
      children.push(child);
      return child;
    },
    waitForFrontier: async (table, t, timeoutMs = 20_000) => {
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const now = await lake.table(table);
        const head = now?.snapshots.at(-1);
        if (now !== null && head?.summary['mz-frontier'] !== undefined) {
          const frontier = frontierOf(head.summary);
          if (frontier === null || (t !== null && frontier >= t)) return now;
        }
        const over = running.map((sink) => sink.state().lastError?.code ?? sink.state().phase);
        if (Date.now() > deadline) {
          const seen = head === undefined ? 'no snapshot' : head.summary['mz-frontier'];
          const logs = [...running.map((sink) => sink.logText()), ...children.map((child) => child.output())].map((text) => text.split('\n').filter((line) => line.includes(table)).join('\n').slice(-3000));
          throw new Error(`${table} did not reach ${t ?? '[]'} but ${seen}; sinks: ${over.join(', ')}\n${logs.join('\n')}`);
        }
        await sleep(15);
      }
    },
    expectEquals: (table, model, judgeOptions) => expectTableEquals(lake, table, model, judgeOptions),
  };
  return stage;
}

function createSink(clause: SinkClause): string {
  const { name = `${clause.table}_sink`, from, table, mode, key, options, interval = '1s' } = clause;
  return `CREATE SINK "${name}" IN CLUSTER quickstart FROM ${quoted(from)} INTO ICEBERG CATALOG CONNECTION iceberg_catalog_connection (
      NAMESPACE = '${NAMESPACE}', TABLE = '${table}'
    ) ${key === undefined ? '' : `KEY ${key} `}MODE ${mode.toUpperCase()} WITH (COMMIT INTERVAL = '${interval}'${options === undefined ? '' : `, ${options}`});`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Waits for something that the sink does by itself. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`did not happen in ${timeoutMs} ms: ${what}`);
    await sleep(15);
  }
}
