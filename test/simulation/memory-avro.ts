/**
 * `iceberg/avro-container.ts` without the bytes, for the fast fidelity: a container is a number that stands for its
 * records. Encoding, deflating and compiling schemas take most of a commit's time and are tested elsewhere; the share
 * of seeds that runs in the other fidelity goes through the real module.
 */
import * as real from '../../src/iceberg/avro-container.ts';

export { avroBytes } from '../../src/iceberg/avro-container.ts';
export type { AvroContainer, AvroContents, AvroRecord, AvroValue } from '../../src/iceberg/avro-container.ts';

const MAGIC = 0x4d454d31;
let containers: real.AvroContainer[] = [];
let isReal = false;

/** Before each run: forgets what the run before wrote. */
export function resetContainers(useRealBytes: boolean): void {
  containers = [];
  isReal = useRealBytes;
}

export function writeAvroContainer(container: real.AvroContainer): Uint8Array {
  if (isReal) return real.writeAvroContainer(container);
  const view = new DataView(new ArrayBuffer(8));
  view.setUint32(0, MAGIC);
  view.setUint32(4, containers.length);
  containers.push(container);
  return new Uint8Array(view.buffer);
}

/** The container that the bytes stand for; null when they are real ones. */
export function containerOf(bytes: Uint8Array): real.AvroContainer | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return bytes.length === 8 && view.getUint32(0) === MAGIC ? containers[view.getUint32(4)] ?? null : null;
}

export function readAvroContainer(bytes: Uint8Array): real.AvroContents {
  const container = containerOf(bytes);
  if (container === null) return real.readAvroContainer(bytes);
  return {
    schema: container.schema, records: container.records, metadata: new Map(Object.entries(container.metadata)),
  };
}
