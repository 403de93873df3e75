/**
 * The system catalog as tables of the SQL engine. Columns as in Materialize's documentation of mz_catalog and
 * mz_internal; ACLs are text here. Types without a Postgres counterpart are domains of the same name.
 */
export const CATALOG_SCHEMA_SQL = `
CREATE SCHEMA mz_catalog;
CREATE SCHEMA mz_internal;
CREATE SCHEMA mz_capture;
CREATE DOMAIN mz_catalog.uint2 AS numeric(5,0) CHECK (VALUE BETWEEN 0 AND 65535);
CREATE DOMAIN mz_catalog.uint4 AS numeric(10,0) CHECK (VALUE BETWEEN 0 AND 4294967295);
CREATE DOMAIN mz_catalog.uint8 AS numeric(20,0) CHECK (VALUE BETWEEN 0 AND 18446744073709551615);
CREATE DOMAIN mz_catalog.mz_timestamp AS numeric(20,0) CHECK (VALUE BETWEEN 0 AND 18446744073709551615);
CREATE DOMAIN mz_catalog.list AS text;
CREATE DOMAIN mz_catalog.map AS text;
CREATE DOMAIN mz_catalog.record_text AS text;
CREATE DOMAIN mz_catalog.mz_aclitem AS text;
SET search_path = mz_catalog, pg_catalog;

CREATE TABLE mz_catalog.mz_databases (id text, oid oid, name text, owner_id text, privileges text[]);
CREATE TABLE mz_catalog.mz_schemas (id text, oid oid, database_id text, name text, owner_id text, privileges text[]);
CREATE TABLE mz_catalog.mz_roles (id text, oid oid, name text, inherit boolean, rolcanlogin boolean, rolsuper boolean);
CREATE TABLE mz_catalog.mz_clusters (id text, name text, owner_id text, privileges text[], managed boolean, size text,
  replication_factor uint4, disk boolean, availability_zones text[], introspection_debugging boolean,
  introspection_interval interval);
CREATE TABLE mz_catalog.mz_cluster_replicas (id text, name text, cluster_id text, size text, availability_zone text,
  owner_id text, disk boolean);
CREATE TABLE mz_catalog.mz_objects (id text, oid oid, schema_id text, name text, type text, owner_id text,
  cluster_id text, privileges text[]);
CREATE VIEW mz_catalog.mz_relations AS SELECT * FROM mz_catalog.mz_objects
  WHERE type IN ('table', 'source', 'view', 'materialized-view');
CREATE TABLE mz_catalog.mz_columns (id text, name text, position uint8, nullable boolean, type text, "default" text,
  type_oid oid, type_mod integer);
CREATE TABLE mz_catalog.mz_types (id text, oid oid, schema_id text, name text, category text, owner_id text,
  privileges text[], create_sql text, redacted_create_sql text);
CREATE TABLE mz_catalog.mz_array_types (id text, element_id text);
CREATE TABLE mz_catalog.mz_list_types (id text, element_id text, element_modifiers bigint[]);
CREATE TABLE mz_catalog.mz_map_types (id text, key_id text, value_id text, key_modifiers bigint[],
  value_modifiers bigint[]);
CREATE TABLE mz_catalog.mz_base_types (id text);
CREATE TABLE mz_catalog.mz_pseudo_types (id text);
CREATE VIEW mz_catalog.mz_tables AS SELECT id, oid, schema_id, name, owner_id, privileges, NULL::text AS create_sql,
  NULL::text AS redacted_create_sql, NULL::text AS source_id FROM mz_catalog.mz_objects WHERE type = 'table';
CREATE VIEW mz_catalog.mz_sources AS SELECT id, oid, schema_id, name, 'load-generator'::text AS type,
  NULL::text AS connection_id, NULL::text AS size, NULL::text AS envelope_type, NULL::text AS key_format,
  NULL::text AS value_format, cluster_id, owner_id, privileges, NULL::text AS create_sql,
  NULL::text AS redacted_create_sql FROM mz_catalog.mz_objects WHERE type = 'source';
CREATE VIEW mz_catalog.mz_materialized_views AS SELECT id, oid, schema_id, name, cluster_id, NULL::text AS definition,
  owner_id, privileges, NULL::text AS create_sql, NULL::text AS redacted_create_sql
  FROM mz_catalog.mz_objects WHERE type = 'materialized-view';
CREATE VIEW mz_catalog.mz_views AS SELECT id, oid, schema_id, name, NULL::text AS definition, owner_id, privileges,
  NULL::text AS create_sql, NULL::text AS redacted_create_sql FROM mz_catalog.mz_objects WHERE type = 'view';
CREATE TABLE mz_catalog.mz_indexes (id text, oid oid, name text, on_id text, cluster_id text, owner_id text,
  create_sql text, redacted_create_sql text);
CREATE TABLE mz_catalog.mz_index_columns (index_id text, index_position uint8, on_position uint8, on_expression text,
  nullable boolean);
CREATE TABLE mz_catalog.mz_sinks (id text, oid oid, schema_id text, name text, type text, connection_id text,
  size text, envelope_type text, format text, cluster_id text, owner_id text);
CREATE TABLE mz_catalog.mz_connections (id text, oid oid, schema_id text, name text, type text, owner_id text,
  privileges text[]);
CREATE TABLE mz_catalog.mz_secrets (id text, oid oid, schema_id text, name text, owner_id text, privileges text[]);

CREATE TABLE mz_internal.mz_frontiers (object_id text, read_frontier mz_timestamp, write_frontier mz_timestamp);
CREATE TABLE mz_internal.mz_history_retention_strategies (id text, strategy text, value jsonb);
CREATE TABLE mz_internal.mz_comments (id text, object_type text, object_sub_id integer, comment text);
CREATE TABLE mz_internal.mz_object_dependencies (object_id text, referenced_object_id text);
CREATE TABLE mz_internal.mz_subscriptions (id text, session_id uuid, cluster_id text, created_at timestamptz,
  referenced_object_ids text[]);
CREATE TABLE mz_internal.mz_cluster_replica_statuses (replica_id text, process_id uint8, status text, reason text,
  updated_at timestamptz);
CREATE VIEW mz_internal.mz_show_columns AS SELECT id, name, nullable, type, position, ''::text AS comment
  FROM mz_catalog.mz_columns;
CREATE VIEW mz_internal.mz_object_fully_qualified_names AS SELECT o.id, o.name, o.type AS object_type, o.schema_id,
  s.name AS schema_name, s.database_id, d.name AS database_name, o.cluster_id
  FROM mz_catalog.mz_objects o JOIN mz_catalog.mz_schemas s ON s.id = o.schema_id
  LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id;

CREATE TABLE mz_capture.changes (seq bigserial, diff integer, row_values text[]);
CREATE FUNCTION mz_catalog.mz_version() RETURNS text LANGUAGE sql AS $$ SELECT 'v26.5.0 (0000000000)' $$;
CREATE FUNCTION mz_catalog.mz_environment_id() RETURNS text LANGUAGE sql AS
  $$ SELECT 'embedded-00000000-0000-0000-0000-000000000000-0' $$;
CREATE FUNCTION mz_catalog.mz_uptime() RETURNS interval LANGUAGE sql AS
  $$ SELECT clock_timestamp() - pg_postmaster_start_time() $$;
CREATE FUNCTION mz_catalog.mz_now() RETURNS mz_timestamp LANGUAGE sql AS
  $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::numeric(20,0) $$;
CREATE FUNCTION mz_internal.current_database() RETURNS text LANGUAGE sql AS
  $$ SELECT coalesce(current_setting('mz.database', true), 'materialize') $$;
CREATE FUNCTION mz_internal.version() RETURNS text LANGUAGE sql AS
  $$ SELECT 'PostgreSQL 9.5 on x86_64-unknown-linux-gnu (Materialize v26.5.0 (0000000000))' $$;
`;
