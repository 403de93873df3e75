/**
 * The stand-in as a process of its own. In: flags. Out: one JSON line with its URL when it is ready; then it runs
 * until SIGTERM or SIGINT.
 *
 * Flags: --port N, --host H, --tick-ms N, --state-dir D, --auction, --auction-rate N (changes per second), --seed N.
 */
import { parseArgs } from 'node:util';
import { createMaterializeStandIn } from './stand-in.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'tick-ms': { type: 'string', default: '1000' },
    'state-dir': { type: 'string' },
    auction: { type: 'boolean', default: false },
    'auction-rate': { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  },
});

const stateDir = values['state-dir'];
const standIn = await createMaterializeStandIn({
  port: Number(values.port),
  host: values.host,
  tickMs: Number(values['tick-ms']),
  ...(stateDir !== undefined && { stateDir }),
});

let stopAuction = (): void => undefined;
if (values.auction) {
  const { startAuction } = await import('../auction/load-generator.ts');
  const load = startAuction(standIn, { seed: Number(values.seed), changesPerSecond: Number(values['auction-rate']) });
  stopAuction = () => load.stop();
}

const stop = async (): Promise<void> => {
  stopAuction();
  await standIn.close();
};
process.once('SIGTERM', () => void stop());
process.once('SIGINT', () => void stop());
process.stdout.write(`${JSON.stringify({ url: standIn.url, host: standIn.host, port: standIn.port })}\n`);
