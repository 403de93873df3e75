/**
 * The rows of the system catalog for what the stand-in holds. In: the world. Out: rows by table, as JSON objects.
 * Ids: `u…` of users, `s…` of the system; element types refer to the rows of mz_types by id.
 */
import type { Column } from '../../relation/relation.ts';
import type { SqlType } from '../../relation/sql-type.ts';
import type { NamedType } from './relation-definition.ts';
import { RANGE_OIDS, SCALAR_OIDS, catalogNameOf, typeOidOf, typmodOf } from './wire-types.ts';
import { DEFAULT_CLUSTER, type StandInRelation, type World } from './world.ts';

export type CatalogRow = Readonly<Record<string, unknown>>;
export type CatalogRows = Readonly<Record<string, readonly CatalogRow[]>>;

const SYSTEM_OWNER = 's1';
const SYSTEM_SCHEMAS = ['mz_catalog', 'pg_catalog', 'information_schema', 'mz_internal'];

/** Rows of every catalog table that is not derived by a view; keys are qualified table names. */
export function catalogRows(world: World): CatalogRows {
  const places = placesOf(world);
  const relations = [...world.relations.values()];
  const types = [...world.namedTypes.values()];
  return {
    'mz_catalog.mz_databases': places.databases.map((name, i) => {
      return { id: `u${i + 1}`, oid: 19000 + i, name, owner_id: SYSTEM_OWNER };
    }),
    'mz_catalog.mz_schemas': places.schemas,
    'mz_catalog.mz_roles': [
      { id: 's1', oid: 16421, name: 'mz_system', inherit: true, rolcanlogin: true, rolsuper: true },
    ],
    'mz_catalog.mz_clusters': [...world.clusters].map(([name, count]) => clusterRow(places, name, count)),
    'mz_catalog.mz_cluster_replicas': [...world.clusters].flatMap(([name, count]) => replicaRows(places, name, count)),
    'mz_catalog.mz_objects': [
      ...relations.map((relation) => objectRow(places, relation)),
      ...types.map(({ id, oid, name, schema }) => {
        return { id, oid, schema_id: places.schemaId('materialize', schema), name, type: 'type', owner_id: 'u1' };
      }),
    ],
    'mz_catalog.mz_columns': [
      ...relations.flatMap(({ id, columns, columnTypeNames }) => columnRows(world, id, columns, columnTypeNames ?? {})),
      ...types.flatMap(({ id, type, partTypeNames }) => {
        return type.kind === 'record' ? columnRows(world, id, type.fields, partTypeNames ?? {}) : [];
      }),
    ],
    ...typeRows(world, places),
    'mz_internal.mz_history_retention_strategies': relations
      .filter((relation) => relation.kind !== 'view')
      .map((relation) => ({ id: relation.id, strategy: 'FOR', value: relation.retainHistoryMs ?? 1000 })),
  };
}

/** mz_frontiers: NULL is the empty frontier; a plain view has no row. */
export function frontierRows(world: World): readonly CatalogRow[] {
  const rows: CatalogRow[] = [];
  for (const relation of world.relations.values()) {
    if (relation.kind === 'view') continue;
    const upper = relation.history.upper[0];
    rows.push({
      object_id: relation.id,
      read_frontier: String(relation.history.since),
      write_frontier: upper === undefined ? null : String(upper),
    });
  }
  return rows;
}

interface Places {
  readonly databases: readonly string[];
  readonly schemas: readonly CatalogRow[];
  schemaId(database: string, schema: string): string;
  clusterId(name: string): string;
}

function placesOf(world: World): Places {
  const databases = ['materialize'];
  const ids = new Map<string, string>();
  const schemas: CatalogRow[] = [];
  SYSTEM_SCHEMAS.forEach((name, i) => {
    schemas.push({ id: `s${i + 1}`, oid: 18000 + i, database_id: null, name, owner_id: SYSTEM_OWNER });
  });
  const add = (database: string, schema: string): void => {
    const key = `${database}.${schema}`;
    if (ids.has(key)) return;
    if (!databases.includes(database)) databases.push(database);
    const id = `u${ids.size + 3}`;
    ids.set(key, id);
    const databaseId = `u${databases.indexOf(database) + 1}`;
    schemas.push({ id, oid: 18100 + ids.size, database_id: databaseId, name: schema, owner_id: SYSTEM_OWNER });
  };
  add('materialize', 'public');
  for (const relation of world.relations.values()) add(relation.database, relation.schema);
  for (const type of world.namedTypes.values()) add('materialize', type.schema);
  const clusters = [...world.clusters.keys()];
  return {
    databases,
    schemas,
    schemaId: (database, schema) => ids.get(`${database}.${schema}`) ?? '',
    clusterId: (name) => (name === 'mz_catalog_server' ? 's2' : `u${clusters.indexOf(name) + 1}`),
  };
}

function clusterRow(places: Places, name: string, count: number): CatalogRow {
  const id = places.clusterId(name);
  return { id, name, owner_id: SYSTEM_OWNER, managed: true, size: '25cc', replication_factor: count, disk: true };
}

function replicaRows(places: Places, name: string, count: number): CatalogRow[] {
  const clusterId = places.clusterId(name);
  return Array.from({ length: count }, (_, i) => {
    const replica = { id: `${clusterId}${i + 1}`, name: `r${i + 1}`, cluster_id: clusterId };
    return { ...replica, size: '25cc', owner_id: SYSTEM_OWNER, disk: true };
  });
}

function objectRow(places: Places, relation: StandInRelation): CatalogRow {
  const computed = relation.kind === 'materialized-view' || relation.kind === 'source' || relation.kind === 'index';
  return {
    id: relation.id,
    oid: relation.oid,
    schema_id: places.schemaId(relation.database, relation.schema),
    name: relation.name,
    type: relation.kind === 'other' ? 'sink' : relation.kind,
    owner_id: 'u1',
    cluster_id: computed ? places.clusterId(relation.cluster ?? DEFAULT_CLUSTER) : null,
  };
}

function columnRows(
  world: World,
  id: string,
  columns: readonly Column[],
  typeNames: Readonly<Record<string, string>>,
): CatalogRow[] {
  return columns.map((column, i) => {
    const named = world.namedTypes.get(typeNames[column.name] ?? '');
    return {
      id,
      name: column.name,
      position: i + 1,
      nullable: column.nullable,
      type: named?.name ?? catalogNameOf(column.type),
      default: null,
      type_oid: named?.oid ?? typeOidOf(column.type),
      type_mod: named === undefined ? typmodOf(column.type) : -1,
    };
  });
}

function typeRows(world: World, places: Places): CatalogRows {
  const types: CatalogRow[] = [];
  const base: CatalogRow[] = [];
  const arrays: CatalogRow[] = [];
  const lists: CatalogRow[] = [];
  const maps: CatalogRow[] = [];
  const pseudo: CatalogRow[] = [];
  const add = (oid: number, name: string, category: string, into: CatalogRow[], more: CatalogRow = {}): void => {
    const schemaId = oid >= 16384 ? 's1' : 's2';
    types.push({ id: systemTypeId(oid), oid, schema_id: schemaId, name, category, owner_id: SYSTEM_OWNER });
    into.push({ id: systemTypeId(oid), ...more });
  };
  const builtIn = [...Object.entries(SCALAR_OIDS), ...Object.entries(RANGE_OIDS)];
  for (const [name, oids] of builtIn) {
    const shortName = TYPE_NAMES[name] ?? name;
    add(oids.oid, shortName, categoryOf(name), base);
    add(oids.array, `_${shortName}`, 'array', arrays, { element_id: systemTypeId(oids.oid) });
  }
  add(16384, 'list', 'pseudo', pseudo);
  add(16385, 'map', 'pseudo', pseudo);
  add(2249, 'record', 'pseudo', pseudo);
  for (const named of world.namedTypes.values()) addNamedType(world, places, named, { types, base, lists, maps });
  return {
    'mz_catalog.mz_types': types,
    'mz_catalog.mz_base_types': base,
    'mz_catalog.mz_array_types': arrays,
    'mz_catalog.mz_list_types': lists,
    'mz_catalog.mz_map_types': maps,
    'mz_catalog.mz_pseudo_types': pseudo,
  };
}

/** mz_types has the short Postgres names. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  boolean: 'bool', smallint: 'int2', integer: 'int4', bigint: 'int8', real: 'float4', 'double precision': 'float8',
  character: 'bpchar', '"char"': 'char',
};

function systemTypeId(oid: number): string {
  return `s${oid}`;
}

const CATEGORIES: Readonly<Record<string, string>> = {
  boolean: 'boolean', date: 'date-time', time: 'date-time', timestamp: 'date-time', timestamptz: 'date-time',
  interval: 'timespan', text: 'string', varchar: 'string', character: 'string', name: 'string',
  bytea: 'user-defined', uuid: 'user-defined', jsonb: 'user-defined',
};

function categoryOf(name: string): string {
  return CATEGORIES[name] ?? (name.endsWith('range') ? 'range' : 'numeric');
}

interface NamedTypeRows {
  readonly types: CatalogRow[];
  readonly base: CatalogRow[];
  readonly lists: CatalogRow[];
  readonly maps: CatalogRow[];
}

function addNamedType(world: World, places: Places, named: NamedType, into: NamedTypeRows): void {
  const { id, oid, name, schema, type, partTypeNames = {} } = named;
  const category = type.kind === 'record' ? 'composite' : type.kind;
  into.types.push({ id, oid, schema_id: places.schemaId('materialize', schema), name, category, owner_id: 'u1' });
  const partId = (part: SqlType, key: string): string => {
    return world.namedTypes.get(partTypeNames[key] ?? '')?.id ?? systemTypeId(typeOidOf(part));
  };
  if (type.kind === 'list') {
    into.lists.push({ id, element_id: partId(type.element, 'element'), element_modifiers: modifiersOf(type.element) });
  } else if (type.kind === 'map') {
    const modifiers = { key_modifiers: null, value_modifiers: modifiersOf(type.value) };
    const parts = { key_id: systemTypeId(SCALAR_OIDS.text.oid), value_id: partId(type.value, 'value') };
    into.maps.push({ id, ...parts, ...modifiers });
  } else {
    into.base.push({ id });
  }
}

/** Precision and scale of a numeric; null for a type without modifiers. */
function modifiersOf(type: SqlType): readonly number[] | null {
  return type.kind === 'scalar' && type.name === 'numeric' && type.scale !== null ? [39, type.scale] : null;
}
