/** An Avro container with the schema of a version 2 manifest list and no record: what a heartbeat snapshot points to. */
const FIELDS: readonly [string, string | object, number][] = [
  ['manifest_path', 'string', 500], ['manifest_length', 'long', 501], ['partition_spec_id', 'int', 502], ['content', 'int', 517],
  ['sequence_number', 'long', 515], ['min_sequence_number', 'long', 516], ['added_snapshot_id', 'long', 503],
  ['added_files_count', 'int', 504], ['existing_files_count', 'int', 505], ['deleted_files_count', 'int', 506],
  ['added_rows_count', 'long', 512], ['existing_rows_count', 'long', 513], ['deleted_rows_count', 'long', 514],
];

function long(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value * 2;
  while (rest > 127) {
    bytes.push((rest & 127) | 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([long(bytes.length), bytes]);
}

export function emptyManifestList(snapshotId: bigint, sequenceNumber: bigint): Uint8Array {
  const fields = FIELDS.map(([name, type, id]) => ({ name, type, 'field-id': id }));
  const header: readonly [string, string][] = [
    ['avro.schema', JSON.stringify({ type: 'record', name: 'manifest_file', fields })], ['avro.codec', 'null'],
    ['format-version', '2'], ['snapshot-id', String(snapshotId)], ['parent-snapshot-id', 'null'], ['sequence-number', String(sequenceNumber)],
  ];
  const entries = header.flatMap(([key, value]) => [text(key), text(value)]);
  return Buffer.concat([Buffer.from('Obj\u0001'), long(header.length), ...entries, long(0), Buffer.alloc(16, 7)]);
}
