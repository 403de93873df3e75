import { describe, expect, it } from 'vitest';

import { SinkError } from '../../../src/errors.ts';
import { type IdleConnection, type SubscribePart, chunkLimitsOf, subscribeInSlices } from '../../../src/io/materialize-slices.ts';
import type { Relation } from '../../../src/relation/relation.ts';
import { scalar } from '../../../src/relation/sql-type.ts';
import type { SourceEvent, SubscribeRequest } from '../../../src/sink/ports.ts';

const relation: Relation = {
  id: 'u1', database: 'materialize', schema: 'public', name: 't', kind: 'table', uniqueKeys: null,
  columns: [{ name: 'a', type: scalar('text'), nullable: true }],
};
const request = (over: Partial<SubscribeRequest> = {}): SubscribeRequest => ({
  relation, cluster: null, asOf: null, snapshot: true, keyColumns: [], slices: 3, ...over,
});

interface Connection {
  part: SubscribePart | null;
  say: (event: SourceEvent) => void;
  paused: boolean;
  closed: boolean;
}

/** Connections that say what the test wants; those named in `refused` can't be made. */
function server(refused: readonly number[] = []): { connections: Connection[]; open: () => Promise<IdleConnection> } {
  const connections: Connection[] = [];
  let asked = 0;
  const open = async (): Promise<IdleConnection> => {
    if (refused.includes(asked++)) throw new SinkError('source-unreachable', 'no room');
    const connection: Connection = { part: null, say: () => undefined, paused: false, closed: false };
    connections.push(connection);
    const close = async (): Promise<void> => {
      connection.closed = true;
    };
    return {
      start(part, onEvent) {
        connection.part = part;
        connection.say = (event) => {
          if (!connection.closed) onEvent(event);
        };
        return {
          pause: () => {
            connection.paused = true;
          },
          resume: () => {
            connection.paused = false;
          },
          close,
        };
      },
      close,
    };
  };
  return { connections, open };
}

const progress = (time: bigint): SourceEvent => ({ kind: 'progress', frontier: [time] });
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function begun(over: Partial<SubscribeRequest> = {}, refused: readonly number[] = []) {
  const { connections, open } = server(refused);
  const said: string[] = [];
  const onEvent = (event: SourceEvent): void => {
    said.push(event.kind === 'progress' ? `progress ${event.frontier[0]}` : event.kind === 'failed' ? event.error.code : event.kind);
  };
  const subscription = await subscribeInSlices(open, request(over), ['a'], onEvent);
  return { connections, subscription, said };
}

describe('GIVEN a relation to be read in three slices', () => {
  it('WHEN no time is given THEN all connections stand before the first SUBSCRIBE, and its as of is the one of the others', async () => {
    const { connections, said } = await begun();
    expect(connections.map(({ part }) => part)).toEqual([
      { slice: { index: 0, count: 3, columns: ['a'] }, asOf: null, snapshot: true }, null, null,
    ]);
    connections[0]?.say(progress(7n));
    expect(connections.map(({ part }) => [part?.slice?.index, part?.asOf])).toEqual([[0, null], [1, 7n], [2, 7n]]);
    expect(said).toEqual(['progress 7']);
  });

  it('WHEN a time is given THEN all begin there at once', async () => {
    const { connections } = await begun({ asOf: 6n, snapshot: false });
    expect(connections.map(({ part }) => [part?.slice?.index, part?.asOf, part?.snapshot])).toEqual([[0, 6n, false], [1, 6n, false], [2, 6n, false]]);
  });

  it('WHEN one connection can not be made THEN the others are closed and nothing was sent', async () => {
    const { connections, open } = server([1]);
    await expect(subscribeInSlices(open, request(), ['a'], () => undefined)).rejects.toThrow('no room');
    expect(connections.map(({ part, closed }) => [part, closed])).toEqual([[null, true], [null, true]]);
  });

  it('WHEN reading pauses THEN every slice does, also one that begins later, and all resume', async () => {
    const { connections, subscription } = await begun();
    subscription.pause();
    connections[0]?.say(progress(7n));
    expect(connections.map(({ paused }) => paused)).toEqual([true, true, true]);
    subscription.resume();
    expect(connections.map(({ paused }) => paused)).toEqual([false, false, false]);
  });

  it('WHEN one slice fails THEN it is told once, all are closed, and nothing is told after', async () => {
    const { connections, said } = await begun();
    for (const each of connections) each.say(progress(7n));
    connections[2]?.say({ kind: 'failed', error: new SinkError('source-disconnected', 'gone') });
    connections[0]?.say(progress(9n));
    await turn();
    expect(said).toEqual(['progress 7', 'source-disconnected']);
    expect(connections.map(({ closed }) => closed)).toEqual([true, true, true]);
  });

  it('WHEN all are past their first step THEN one SUBSCRIBE of the whole begins just before, and takes over', async () => {
    const { connections, said } = await begun();
    for (const each of connections.slice(0, 3)) each.say(progress(7n));
    for (const each of connections.slice(0, 3)) each.say(progress(9n));
    await turn();
    expect(connections[3]?.part).toEqual({ slice: null, asOf: 8n, snapshot: false });
    connections[3]?.say(progress(8n));
    connections[3]?.say(progress(11n));
    await turn();
    expect(connections.map(({ closed }) => closed)).toEqual([true, true, true, false]);
    expect(said).toEqual(['progress 7', 'progress 9', 'progress 11']);
  });

  it('WHEN the SUBSCRIBE of the whole can not be made THEN the slices go on, and the next progress tries again', async () => {
    const { connections, said } = await begun({}, [3]);
    for (const time of [7n, 9n]) for (const each of connections.slice(0, 3)) each.say(progress(time));
    await turn();
    expect(said).toEqual(['progress 7', 'progress 9', 'notice']);
    for (const each of connections.slice(0, 3)) each.say(progress(10n));
    await turn();
    expect(connections[3]?.part).toEqual({ slice: null, asOf: 9n, snapshot: false });
  });

  it('WHEN it is closed while the SUBSCRIBE of the whole is being made THEN no connection is left', async () => {
    const { connections, subscription, said } = await begun();
    for (const time of [7n, 9n]) for (const each of connections.slice(0, 3)) each.say(progress(time));
    await subscription.close();
    await turn();
    expect(connections.map(({ closed }) => closed)).toEqual([true, true, true, true]);
    expect(said).toEqual(['progress 7', 'progress 9']);
  });
});

describe('GIVEN the chunks in which slices gather rows', () => {
  it('THEN 64 of them gather less than 8 MiB together, and one alone as much as without slices', () => {
    const { bytes, rows } = chunkLimitsOf({ index: 0, count: 64, columns: ['a'] });
    expect(64 * (bytes + rows * 28)).toBeLessThan(8 * 2 ** 20);
    expect(chunkLimitsOf(null)).toEqual({ bytes: 2 ** 20, rows: 16_384 });
  });
});
