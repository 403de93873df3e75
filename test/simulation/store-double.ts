/** Object storage: puts fail before or after storing, arrive late, and nothing is ever overwritten. */
import { SinkError } from '../../src/errors.ts';
import type { ObjectStore, ObjectUpload, PutOutcome } from '../../src/sink/ports.ts';
import { planned } from './faults.ts';
import type { SinkProcess } from './sink-process.ts';
import { type World, latencyMs, violate } from './world.ts';

export class ObjectWorld {
  readonly #world: World;
  readonly objects = new Map<string, Uint8Array>();
  /** Every object that any metadata has ever referred to. */
  readonly referred = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  store(location: string, bytes: Uint8Array): PutOutcome {
    const known = this.objects.get(location);
    if (known === undefined) {
      this.objects.set(location, bytes);
      return 'stored';
    }
    if (!Buffer.from(known).equals(bytes)) {
      violate(this.#world, 'objects', `${location} is written twice with different bytes`);
    }
    return 'exists';
  }

  /** Parts are the server's from their arrival on; an upload that was let go, or completed, takes no more. */
  #openUpload(location: string, send: Send): ObjectUpload {
    const parts: Uint8Array[] = [];
    let isOpen = true;
    return {
      put: async ({ index, bytes }) => {
        await send(`${location}#${index}`, () => {
          if (isOpen) parts[index] = bytes;
          return 'stored';
        });
      },
      finish: () => send(location, () => {
        const whole = new Uint8Array(Buffer.concat(parts));
        if (!isOpen) return this.objects.has(location) ? 'exists' : fail('upload-lost');
        isOpen = false;
        return this.store(location, whole);
      }),
      abort: async () => {
        isOpen = false;
      },
    };
  }

  /** The port of one process. */
  portFor(process: SinkProcess): ObjectStore {
    const { faults, random, scheduler } = this.#world;
    const send = (location: string, arrive: () => PutOutcome): Promise<PutOutcome> => {
      const name = location.slice(location.lastIndexOf('/') + 1);
      const slowMs = faults.strikes('put-slow') ? random.between(500, 20_000) : 0;
      const arriveMs = latencyMs(random) + slowMs;
      if (faults.strikes('put-fails-before')) {
        return process.ask(`put ${name} lost`, arriveMs, () => fail('storage-unreachable'));
      }
      if (faults.strikes('put-throttled')) {
        return process.ask(`put ${name} throttled`, arriveMs, () => fail('storage-unavailable'));
      }
      if (faults.strikes('put-credentials-expired')) {
        return process.ask(`put ${name} expired`, arriveMs, () => fail('storage-credentials-expired'));
      }
      if (faults.strikes('put-forbidden')) {
        this.#world.causes.add('put-forbidden');
        return process.ask(`put ${name} forbidden`, arriveMs, () => fail('storage-forbidden'));
      }
      if (faults.strikes('put-lands-late')) {
        return process.request(`put ${name} delayed`, arriveMs, 1, () => {
          scheduler.at(random.between(10, 5_000), `put ${name} lands late`, () => landLate(arrive));
          return fail('storage-unavailable');
        });
      }
      const failsAfter = faults.strikes('put-fails-after');
      return process.request(`put ${name}`, arriveMs, 1, () => {
        const outcome = arrive();
        return failsAfter ? fail('storage-unavailable') : outcome;
      });
    };
    return {
      open: (location) => this.#openUpload(location, send),
      put: (location, bytes) => send(location, () => this.store(location, bytes)),
      get: (location) => {
        const isLost = faults.strikes('get-fails');
        return process.ask('get', latencyMs(random), () => {
          if (isLost) return fail('storage-unavailable');
          return this.objects.get(location) ?? fail('storage-object-missing');
        });
      },
      delete: (location) => process.request('delete', latencyMs(random), 1, () => {
        this.objects.delete(location);
        if (this.referred.has(location)) {
          violate(this.#world, 'objects', `the sink deleted ${location}, which a snapshot refers to`);
        }
      }),
    };
  }
}

type Send = (location: string, arrive: () => PutOutcome) => Promise<PutOutcome>;

/** Nobody waits for the answer any more, whatever it is. */
function landLate(arrive: () => PutOutcome): void {
  try {
    arrive();
  } catch (thrown) {
    if (!(thrown instanceof SinkError)) throw thrown;
  }
}

function fail(code: Parameters<typeof planned>[0]): never {
  throw planned(code);
}
