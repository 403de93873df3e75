/** The 16 random bytes that separate the blocks of an Avro file, out of a uuid's hex digits. */
export function syncMarkerOf(uuid: string): Uint8Array {
  return Uint8Array.from(uuid.replaceAll('-', '').match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}
