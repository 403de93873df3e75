/** The table as this sink would create it, and the plan for writing the one that is there. */
import { SinkError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import type { Schema } from '../iceberg/types.ts';
import type { Relation } from '../relation/relation.ts';
import type { CompressionCodec, WritePlan } from '../write/plan.ts';
import { type SchemaRequest, planSchema, planWrite } from '../write/table-plan.ts';
import { checkMappable } from '../write/type-mapping.ts';
import { keyColumnIndices } from './check-relation.ts';
import type { SinkSettings } from './effects.ts';
import type { CreateTableRequest } from './ports.ts';

const DEFAULT_CODEC_LEVEL = 3;

/**
 * Properties of a table that the sink creates. Old metadata files are removed by the catalog as new ones come: at a
 * commit a minute they would otherwise pile up by half a million a year.
 */
const NEW_TABLE_PROPERTIES: Readonly<Record<string, string>> = {
  'format-version': '2',
  'write.format.default': 'parquet',
  'write.parquet.compression-codec': 'zstd',
  'write.metadata.delete-after-commit.enabled': 'true',
  'write.metadata.previous-versions-max': '100',
};

export function planNew(relation: Relation, settings: SinkSettings): CreateTableRequest | SinkError {
  const unmappable = mappabilityError(relation);
  if (unmappable !== null) return unmappable;
  const planned = planSchema(schemaRequest(relation, settings));
  if (planned.kind === 'conflict') return new SinkError('columns-unmappable', planned.message);
  return { name: settings.table.name, schema: planned.schema, properties: NEW_TABLE_PROPERTIES };
}

export function planExisting(relation: Relation, metadata: TableMetadata, settings: SinkSettings): WritePlan | SinkError {
  const unmappable = mappabilityError(relation);
  if (unmappable !== null) return unmappable;
  const schema = supportedSchema(metadata);
  if (schema instanceof SinkError) return schema;
  const outcome = planWrite(schemaRequest(relation, settings), settings.table.name, schema, {
    codec: codecOf(metadata.properties),
    codecLevel: levelOf(metadata.properties),
    targetFileSizeBytes: settings.targetFileSizeBytes,
    rowErrorPolicy: settings.rowErrorPolicy,
  });
  if (outcome.kind === 'conflict') return new SinkError('columns-unmappable', outcome.message);
  return outcome.kind === 'plan' ? outcome.plan : new SinkError('table-schema-mismatch', outcome.message);
}

function mappabilityError(relation: Relation): SinkError | null {
  const check = checkMappable(relation.columns);
  return check.kind === 'mappable' ? null : new SinkError('columns-unmappable', check.message);
}

function schemaRequest(relation: Relation, settings: SinkSettings): SchemaRequest {
  const { mode, uuidMapping } = settings;
  return { relation, mode, uuidMapping, keyColumns: mode === 'upsert' ? keyColumnIndices(relation, settings.keyColumns) : [] };
}

/**
 * Version 3 would want deletion vectors and row ids, a partition spec would want a partition in every file and
 * deletes in every partition; writing without them makes tables that readers understand differently.
 */
function supportedSchema(metadata: TableMetadata): Schema | SinkError {
  if (metadata.formatVersion !== 2) {
    return new SinkError('table-unsupported', `the table has format version ${metadata.formatVersion}, the sink writes version 2`);
  }
  const spec = metadata.partitionSpecs.find((candidate) => candidate.specId === metadata.defaultSpecId);
  if (spec === undefined || spec.fields.length > 0) {
    return new SinkError('table-unsupported', `the table is partitioned: its default partition spec is ${metadata.defaultSpecId}`);
  }
  const schema = metadata.schemas.find((candidate) => candidate.schemaId === metadata.currentSchemaId);
  return schema ?? new SinkError('table-unsupported', `the table metadata has no schema ${metadata.currentSchemaId}`);
}

function codecOf(properties: Readonly<Record<string, string>>): CompressionCodec {
  const codec = properties['write.parquet.compression-codec']?.toLowerCase();
  return codec === 'snappy' || codec === 'gzip' || codec === 'uncompressed' ? codec : 'zstd';
}

function levelOf(properties: Readonly<Record<string, string>>): number {
  const level = Number(properties['write.parquet.compression-level'] ?? DEFAULT_CODEC_LEVEL);
  return Number.isInteger(level) && level >= 1 && level <= 22 ? level : DEFAULT_CODEC_LEVEL;
}
