/**
 * The benchmark's source, in a process of its own so that its cost is not the sink's.
 *
 *   node bench/source-process.ts SCRIPT.json
 *
 * Plays a script (source-script.ts). Prints one JSON line when ready and one for each span that it closed. On standard
 * input `token N` gives N tokens to every relation, `token N NAME` to one.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { createMaterializeStandIn } from '../src/embedded/materialize/stand-in.ts';
import { copyOutResponse, progressMessage } from './frames.ts';
import { FIRST_ID, type LineBlocks, type Mix, buildLineBlocks, fillLineBlocks } from './line-blocks.ts';
import { type Shape, type ShapeName, shapeOf } from './shapes.ts';
import type { RelationScript, SourceReport, SourceScript, SourceStep } from './source-script.ts';
import { type RowTexts, buildRowTexts, updateLines } from './update-lines.ts';
import { type SubscribeOutput, type SubscribeRequest, openSubscribeFront } from './subscribe-front.ts';

/** A stride that meets each of `keys` once before any twice, far from the key before it. */
function keyStride(keys: number): number {
  let stride = Math.max(1, Math.floor(keys * 0.618));
  while (greatestDivisor(stride, keys) !== 1) stride++;
  return stride;
}

function greatestDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestDivisor(right, left % right);
}

interface Tokens {
  give(count: number): void;
  take(): Promise<void>;
}

function createTokens(): Tokens {
  let held = 0;
  let waiting: (() => void)[] = [];
  return {
    give(count) {
      held += count;
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    async take() {
      while (held === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      held--;
    },
  };
}

/** One subscription being served. */
interface Play {
  readonly script: RelationScript;
  readonly shape: Shape;
  readonly output: SubscribeOutput;
  readonly tokens: Tokens;
  /** All times before it are closed, or being closed by the step that runs. */
  timeMs: number;
  /** Spans so far, so that each meets other keys. */
  spans: number;
  /** Updates so far: what the next one is to retract. */
  updates: number;
  nextId: number;
}

const blocksByKind = new Map<string, LineBlocks>();

function blocksOf(script: RelationScript, mix: Mix, lines: number): LineBlocks {
  const size = Math.min(lines, 131_072);
  const key = `${script.shape} ${mix} ${size}`;
  const blocks = blocksByKind.get(key) ?? buildLineBlocks(shapeOf(script.shape), mix, size, 1);
  blocksByKind.set(key, blocks);
  return blocks;
}

const textsByShape = new Map<ShapeName, RowTexts>();

function textsOf(shape: ShapeName): RowTexts {
  const texts = textsByShape.get(shape) ?? buildRowTexts(shapeOf(shape), 1);
  textsByShape.set(shape, texts);
  return texts;
}

function report(line: SourceReport): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function close(play: Play, frontierMs: number, lines: number): Promise<void> {
  play.timeMs = frontierMs;
  const atMs = Date.now();
  await play.output.send(progressMessage(BigInt(frontierMs), play.shape.columns.length));
  report({ event: 'closed', relation: play.script.name, frontier: String(frontierMs), lines, atMs });
}

async function snapshot(play: Play, rows: number): Promise<void> {
  const { script, timeMs } = play;
  const names = { idOf: (key: number) => FIRST_ID + key, timeOf: () => timeMs };
  if (rows > 0) {
    for (const bytes of fillLineBlocks(blocksOf(script, 'insert', rows), rows, names)) await play.output.send(bytes);
  }
  play.nextId = FIRST_ID + rows;
  await close(play, timeMs + 1, rows);
}

type SpanStep = Extract<SourceStep, { kind: 'span' | 'spans-on-token' }>;

async function span(play: Play, step: SpanStep): Promise<void> {
  const from = Math.ceil(play.timeMs / step.spanMs) * step.spanMs;
  await lines(play, { ...step, fromMs: from });
  await close(play, from + step.spanMs, step.lines);
}

interface LinesRequest {
  readonly mix: Mix;
  readonly lines: number;
  readonly keys: number;
  readonly times: number;
  readonly spanMs: number;
  readonly fromMs: number;
}

/** Inserts get new ids; other changes meet ids of the snapshot in an order that repeats none until all were met. */
async function lines(play: Play, request: LinesRequest): Promise<void> {
  const { mix, keys } = request;
  if (request.lines === 0) return;
  const firstId = play.nextId;
  const offset = play.spans * 7_919;
  play.spans++;
  if (mix === 'insert') play.nextId += request.lines;
  const stride = keyStride(keys);
  const perTime = Math.max(1, Math.ceil(request.lines / request.times));
  const stepMs = Math.max(1, Math.floor(request.spanMs / request.times));
  const names = {
    idOf: mix === 'insert' ? (key: number) => firstId + key : (key: number) => FIRST_ID + (key * stride + offset) % keys,
    timeOf: (key: number) => request.fromMs + Math.min(request.times - 1, Math.floor(key / perTime)) * stepMs,
  };
  for (const bytes of fillLineBlocks(blocksOf(play.script, mix, request.lines), request.lines, names)) {
    if (!play.output.isOpen()) return;
    await play.output.send(bytes);
  }
}

async function updates(play: Play, step: Extract<SourceStep, { kind: 'updates' }>): Promise<void> {
  const from = Math.ceil(play.timeMs / step.spanMs) * step.spanMs;
  const perTime = Math.max(1, Math.ceil(step.updates / step.times));
  const stepMs = Math.max(1, Math.floor(step.spanMs / step.times));
  await sendUpdates(play, step.updates, step.keys, (update) => from + Math.floor(update / perTime) * stepMs);
  await close(play, from + step.spanMs, 2 * step.updates);
}

async function sendUpdates(play: Play, count: number, keys: number, timeOf: (update: number) => number): Promise<void> {
  const span = { keys, stride: keyStride(keys), first: play.updates, count, timeOf };
  play.updates += count;
  for (const bytes of updateLines(textsOf(play.script.shape), span)) {
    if (!play.output.isOpen()) return;
    await play.output.send(bytes);
  }
}

async function file(play: Play, step: Extract<SourceStep, { kind: 'file' }>): Promise<void> {
  for await (const bytes of createReadStream(step.path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    await play.output.send(bytes);
  }
  await close(play, step.closesAtMs, 0);
}

/** Time goes in ticks, as Materialize's own does: what happened within a tick gets its end as time and is closed then. */
async function steady(play: Play, step: Extract<SourceStep, { kind: 'steady' }>): Promise<void> {
  const { tickMs } = step;
  let tick = Math.max(Math.ceil(play.timeMs / tickMs), Math.floor(Date.now() / tickMs)) + 1;
  let owed = 0;
  while (play.output.isOpen()) {
    await sleep(Math.max(0, tick * tickMs - Date.now()));
    owed += step.linesPerS / 2 * tickMs / 1000;
    const count = Math.floor(owed);
    owed -= count;
    const timeMs = tick * tickMs - 1;
    await sendUpdates(play, count, step.keys, () => timeMs);
    await close(play, tick * tickMs, 2 * count);
    tick++;
  }
}

async function playStep(play: Play, step: SourceStep): Promise<void> {
  switch (step.kind) {
    case 'snapshot': return await snapshot(play, step.rows);
    case 'updates': return await updates(play, step);
    case 'file': return await file(play, step);
    case 'span': return await span(play, step);
    case 'spans-on-token':
      while (play.output.isOpen()) {
        await play.tokens.take();
        await span(play, step);
      }
      return;
    case 'token': return await play.tokens.take();
    case 'steady': return await steady(play, step);
    case 'resume-here': return;
  }
}

async function serve(request: SubscribeRequest, output: SubscribeOutput): Promise<void> {
  const script = scripts.relations.find(({ name }) => name === request.relation);
  if (script === undefined) throw new Error(`no relation ${request.relation}`);
  const shape = shapeOf(script.shape);
  const asOfMs = Number(request.asOf ?? BigInt(script.startMs));
  await output.send(copyOutResponse(shape.columns.length));
  await output.send(progressMessage(BigInt(asOfMs), shape.columns.length));
  const play: Play = { script, shape, output, tokens: tokensOf(script.name), timeMs: asOfMs, spans: 0, updates: 0, nextId: FIRST_ID + 500_000_000 };
  const resume = script.steps.findIndex(({ kind }) => kind === 'resume-here');
  const steps = request.snapshot ? script.steps : script.steps.slice(Math.max(0, resume));
  for (const step of steps) {
    if (!output.isOpen()) return;
    await playStep(play, step);
  }
}

/** It starts with the first query and takes a second or two, which would count as the sink's. */
async function startCatalogEngine(port: number): Promise<void> {
  const client = new Client({ host: '127.0.0.1', port, user: 'materialize', database: 'materialize' });
  await client.connect();
  await client.query('SELECT 1');
  await client.end();
}

const tokens = new Map<string, Tokens>();

function tokensOf(relation: string): Tokens {
  const found = tokens.get(relation) ?? createTokens();
  tokens.set(relation, found);
  return found;
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: node bench/source-process.ts SCRIPT.json');
const scripts = JSON.parse(readFileSync(path, 'utf8')) as SourceScript;
const standIn = await createMaterializeStandIn({ manualTime: true });
for (const { name, shape, startMs } of scripts.relations) {
  standIn.createRelation({ name, kind: 'table', columns: shapeOf(shape).columns, keys: [[0]] }, BigInt(startMs));
}
await startCatalogEngine(standIn.port);
const front = await openSubscribeFront(standIn.port, serve);
report({ event: 'ready', url: `postgres://materialize@127.0.0.1:${front.port}/materialize?sslmode=disable` });
for await (const line of createInterface({ input: process.stdin })) {
  const [, count = '1', name] = line.split(' ');
  for (const { name: relation } of scripts.relations) {
    if (name === undefined || name === relation) tokensOf(relation).give(Number(count));
  }
}
front.close();
await standIn.close();
