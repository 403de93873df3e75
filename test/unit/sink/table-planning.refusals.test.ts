import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import type { TableMetadata } from '../../../src/iceberg/metadata.ts';
import { planExisting, planNew } from '../../../src/sink/table-planning.ts';
import { RELATION } from '../../doubles/memory-world.ts';
import { settings } from '../../doubles/started-sink.ts';
import { metadataWith } from '../../doubles/table-metadata.ts';

const planned = planNew(RELATION, settings());
const schema = planned instanceof SinkError ? null : planned.schema;
const table = (over: Partial<TableMetadata>): TableMetadata => metadataWith([], { schemas: schema === null ? [] : [schema], ...over });

describe('GIVEN a table that the sink would write', () => {
  test('WHEN it is unpartitioned, of format version 2 and fits THEN there is a plan', () => {
    expect(planExisting(RELATION, table({}), settings())).toMatchObject({ codec: 'zstd', mode: 'upsert' });
  });

  test.each([
    ['partitioned', { partitionSpecs: [{ specId: 0, fields: [{ sourceId: 1, fieldId: 1000, name: 'id', transform: 'identity' }] }] }],
    ['of format version 1', { formatVersion: 1 }],
    ['of format version 3', { formatVersion: 3 }],
    ['without its own current schema', { currentSchemaId: 7 }],
  ] as const)('WHEN it is %s THEN it is refused, since deletes would not reach every row', (_what, over) => {
    expect(planExisting(RELATION, table(over), settings())).toMatchObject({ code: 'table-unsupported' });
  });

  test.each([['SNAPPY', 'snappy'], ['gzip', 'gzip'], ['uncompressed', 'uncompressed'], ['lz4', 'zstd']])(
    'WHEN its codec property is %s THEN files are written with %s', (property, codec) => {
      expect(planExisting(RELATION, table({ properties: { 'write.parquet.compression-codec': property } }), settings())).toMatchObject({ codec });
    });
});
