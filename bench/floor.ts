/**
 * The physical limit of a commit's latency: the requests that the protocol needs, done bare against the same store and catalog
 * with objects of the same sizes, without a sink.
 *
 * Two steps can't be had side by side: all objects must be there before the commit. Among themselves they can: a manifest needs
 * only the sizes of files, a list those of manifests, and the table is known from the commit before. `inTurn` is each object after
 * the other, as a simple writer does it, with the table loaded in between. Both end when the reader sees the snapshot, and between
 * them is a pause, as between commits: the same requests one behind the other take less, since caches are warm then.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lake } from './lake.ts';
import { seeTable } from './reader.ts';
import { percentile, rounded } from './statistics.ts';

export interface FloorSizes {
  /** Bytes of each file of a commit. */
  readonly files: readonly number[];
  readonly manifests: readonly number[];
  readonly list: number;
}

export interface Floor {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly inTurnP50Ms: number;
  readonly commitP50Ms: number;
  readonly loadP50Ms: number;
}

/** Milliseconds of every round. */
export interface FloorTimes {
  readonly together: readonly number[];
  readonly inTurn: readonly number[];
  readonly loads: readonly number[];
  readonly commits: readonly number[];
}

const TABLE = 'floor';
const PAUSE_MS = 400;
const WARM_ROUNDS = 40;
const WARM_SIZES: FloorSizes = { files: [100_000, 100_000], manifests: [4_000, 4_000], list: 4_000 };

/** Creates the table of the floor, and asks of the catalog what a catalog that has run for long has been asked: its code is compiled. */
export async function warmUp(lake: Lake): Promise<void> {
  await lake.createTable(TABLE, {
    schemaId: 0, identifierFieldIds: [], fields: [{ id: 1, name: 'id', required: true, type: { kind: 'long' } }],
  }, {});
  await measure(lake, WARM_SIZES, WARM_ROUNDS, 0);
}

/** On the table that `warmUp` made. */
export async function measureFloor(lake: Lake, sizes: FloorSizes, rounds: number): Promise<FloorTimes> {
  return await measure(lake, sizes, rounds, PAUSE_MS);
}

export function floorOf(measured: readonly FloorTimes[]): Floor {
  const of = (name: keyof FloorTimes, share: number): number => rounded(percentile(measured.flatMap((times) => times[name]), share));
  return {
    p50Ms: of('together', 0.5), p99Ms: of('together', 0.99), inTurnP50Ms: of('inTurn', 0.5), commitP50Ms: of('commits', 0.5), loadP50Ms: of('loads', 0.5),
  };
}

async function measure(lake: Lake, sizes: FloorSizes, rounds: number, pauseMs: number): Promise<FloorTimes> {
  const put = (name: string, size: number): Promise<void> => lake.put(`floor/${name}-${randomBytes(6).toString('hex')}`, randomBytes(size));
  const together: number[] = [];
  const inTurn: number[] = [];
  const loads: number[] = [];
  const commits: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const objects = [...sizes.files, ...sizes.manifests];
    const uuid = await loadUuid(lake, loads);
    await sleep(pauseMs);
    const begun = performance.now();
    await Promise.all([...objects, sizes.list].map((size) => put('file', size)));
    await commitAndSee(lake, uuid, commits);
    together.push(performance.now() - begun);

    await sleep(pauseMs);
    const again = performance.now();
    for (const size of objects) await put('file', size);
    await loadUuid(lake, loads);
    await put('list', sizes.list);
    await commitAndSee(lake, uuid, commits);
    inTurn.push(performance.now() - again);
  }
  return { together, inTurn, loads, commits };
}

interface Head {
  readonly uuid: string;
  snapshotId: string | null;
  sequence: number;
}

/** The head as the last commit left it; asked once, since nobody else writes. */
let head: Head | null = null;

async function loadUuid(lake: Lake, times: number[]): Promise<Head> {
  const begun = performance.now();
  const { metadataText } = await lake.load(TABLE);
  times.push(performance.now() - begun);
  const uuid = /"table-uuid"\s*:\s*"([^"]+)"/.exec(metadataText)?.[1] ?? '';
  if (head?.uuid !== uuid) head = { uuid, snapshotId: null, sequence: 0 };
  return head;
}

/** The reader asks from the moment on at which the commit goes out, as it does of the sink. */
async function commitAndSee(lake: Lake, known: Head, times: number[]): Promise<void> {
  const id = String(randomInt(2 ** 46, 2 ** 47));
  await Promise.all([commit(lake, known, id, times), seeTable(lake, TABLE, (text) => text.includes(id), () => false)]);
}

async function commit(lake: Lake, known: Head, id: string, times: number[]): Promise<void> {
  known.sequence++;
  const parent = known.snapshotId === null ? '' : `"parent-snapshot-id":${known.snapshotId},`;
  const body = `{"requirements":[{"type":"assert-table-uuid","uuid":"${known.uuid}"},`
    + `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":${known.snapshotId ?? 'null'}}],"updates":[`
    + `{"action":"add-snapshot","snapshot":{"snapshot-id":${id},${parent}"sequence-number":${known.sequence},"timestamp-ms":${Date.now()},`
    + `"manifest-list":"${lake.warehouse}/floor/list-${id}.avro","schema-id":0,"summary":{"operation":"append"}}},`
    + `{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${id}}]}`;
  const begun = performance.now();
  const answer = await lake.call('POST', `/${TABLE}`, body);
  times.push(performance.now() - begun);
  if (answer.status >= 300) throw new Error(`the bare commit was refused: ${answer.text}`);
  known.snapshotId = id;
}
