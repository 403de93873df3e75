/** Two sinks that begin at once both find no table; the catalog lets one of them create it (peer-faults 18). */
import { describe, expect, test } from 'vitest';
import { runSink } from '../../../src/sink/driver.ts';
import type { Catalog } from '../../../src/sink/ports.ts';
import { memoryWorld, settled } from '../../doubles/memory-world.ts';
import { LIMITS, insert, settings } from '../../doubles/started-sink.ts';
import { readTable } from '../../doubles/read-json-table.ts';

describe('GIVEN a table that is missing', () => {
  test('WHEN somebody creates it between the look and the try THEN it is taken as found, and written', async () => {
    const world = memoryWorld();
    const asked: string[] = [];
    const catalog: Catalog = {
      listNamespaces: () => world.catalog.listNamespaces(),
      loadTable: () => {
        asked.push('load');
        return world.catalog.loadTable();
      },
      createTable: async (namespace, request) => {
        asked.push('create');
        await world.catalog.createTable(namespace, request);
        return { kind: 'exists' };
      },
      commit: (table, requirements, updates) => world.catalog.commit(table, requirements, updates),
    };
    runSink(settings(), { ...world.ports, catalog }, LIMITS);
    await settled();
    expect(asked).toEqual(['load', 'create', 'load']);
    world.source.progress(1_000n);
    world.source.rows(insert('1\ta', 1_000n));
    world.source.progress(1_001n);
    await settled();
    expect(await readTable(world)).toEqual(['1\ta']);
  });

  test('WHEN it is asked for THEN no location is named: where tables lie is the decision of the catalog', async () => {
    const world = memoryWorld();
    const requests: unknown[] = [];
    const create = world.catalog.createTable.bind(world.catalog);
    world.catalog.createTable = (namespace, request) => {
      requests.push(request);
      return create(namespace, request);
    };
    runSink(settings(), world.ports, LIMITS);
    await settled();
    expect(requests).toHaveLength(1);
    expect(Object.keys(requests[0] as object).toSorted()).toEqual(['name', 'properties', 'schema']);
    expect((requests[0] as { properties: object }).properties).not.toHaveProperty('location');
  });
});
