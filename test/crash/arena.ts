/**
 * Everything that an episode plays on: the lakehouse, the Materialize stand-in with its journal on disk, a fault proxy in front
 * of each, and what is being counted. One arena serves all episodes of a run; each has relations and tables of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MaterializeStandIn, createMaterializeStandIn } from '../../src/embedded/materialize/stand-in.ts';
import { freePorts } from '../services/free-ports.ts';
import { type Random, createRandom } from '../simulation/random.ts';
import { type Range, createRange } from './aims.ts';
import { type HttpProxy, openHttpProxy } from './fault-proxy-http.ts';
import { type TcpProxy, openTcpProxy } from './fault-proxy-tcp.ts';
import { QUIET, type Rates, httpSchedule, tcpSchedule } from './fault-schedule.ts';
import { type Lakehouse, openLakehouse } from './lakehouse.ts';
import { type Tally, count, createTally } from './tally.ts';

export interface Arena {
  readonly seed: number;
  readonly tally: Tally;
  readonly lakehouse: Lakehouse;
  readonly catalog: HttpProxy;
  readonly s3: HttpProxy;
  readonly source: TcpProxy;
  readonly range: Range;
  readonly scratch: string;
  readonly materializeUrl: string;
  /** null while it is down. */
  standIn(): MaterializeStandIn | null;
  /** Closes the stand-in and all its connections, and starts it again from its journal after a pause. */
  restartSource(pause: () => Promise<void>): Promise<void>;
  /** From here on faults strike at these rates. */
  hurt(rates: Rates): void;
  /** No fault from here on, and nothing held back; dead servers stay dead. */
  heal(): void;
  /** The schedule of faults begins anew, as the seed of an episode has it. */
  schedule(random: Random): void;
  close(): Promise<void>;
}

const SEAWEED_PORTS = 11;
const MEBIBYTES = 1024 * 1024;

export async function openArena(seed: number, nowMs: number): Promise<Arena> {
  const tally = createTally(nowMs);
  const scratch = mkdtempSync(join(tmpdir(), 'mz-sink-crash-'));
  const firstPort = await freePorts(SEAWEED_PORTS + 3);
  const [s3Port, catalogPort, sourcePort] = [firstPort + SEAWEED_PORTS, firstPort + SEAWEED_PORTS + 1, firstPort + SEAWEED_PORTS + 2];
  const range = createRange();
  let rates = QUIET;
  let decideHttp = httpSchedule(createRandom(seed), () => rates);
  let decideTcp = tcpSchedule(createRandom(seed), () => rates);
  const counting = { count: (fault: string) => count(tally.faults, fault) };
  const http = { ...counting, decide: (exchange: Parameters<typeof decideHttp>[0]) => decideHttp(exchange), watch: range.watchHttp };
  const lakehouse = await openLakehouse({ firstPort, publicS3Url: `http://127.0.0.1:${s3Port}` });
  const s3 = await openHttpProxy({ ...http, service: 's3', port: s3Port, upstreamPort: lakehouse.s3Port });
  const catalog = await openHttpProxy({ ...http, service: 'catalog', port: catalogPort, upstreamPort: lakehouse.catalogPort });
  const openSource = async (): Promise<MaterializeStandIn> => await createMaterializeStandIn({
    manualTime: true, stateDir: join(scratch, 'materialize'), maxBufferedBytes: 512 * MEBIBYTES,
  });
  let standIn: MaterializeStandIn | null = await openSource();
  const source = await openTcpProxy({
    ...counting, port: sourcePort, upstreamPort: () => standIn?.port ?? null, decide: () => decideTcp(), watch: range.watchTcp,
  });
  const proxies = [s3, catalog, source];
  return {
    seed, tally, lakehouse, catalog, s3, source, range, scratch,
    materializeUrl: `postgres://materialize@127.0.0.1:${sourcePort}/materialize`,
    standIn: () => standIn,
    restartSource: async (pause) => {
      const old = standIn;
      standIn = null;
      await old?.close();
      await pause();
      standIn = await openSource();
      count(tally.events, 'source restarted');
    },
    hurt: (next) => {
      rates = next;
      for (const proxy of proxies) proxy.hurt();
    },
    heal: () => {
      rates = QUIET;
      for (const proxy of proxies) {
        proxy.setReach('up');
        proxy.heal();
      }
    },
    schedule: (random) => {
      decideHttp = httpSchedule(random.stream('http'), () => rates);
      decideTcp = tcpSchedule(random.stream('tcp'), () => rates);
    },
    close: async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await standIn?.close();
      await lakehouse.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
