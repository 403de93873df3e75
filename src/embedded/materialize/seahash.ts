/**
 * SeaHash, the hash function of Materialize's `seahash`, after its published description: four lanes of 64 bits, eight
 * bytes a step, lanes taken in turn. In: bytes. Out: 64 bits, unsigned.
 */
const MASK = 0xffff_ffff_ffff_ffffn;
const PRIME = 0x6eed_0e9d_a4d9_4a4fn;
const SEEDS = [0x16f1_1fe8_9b0d_677cn, 0xb480_a793_d8e6_c86cn, 0x6fe2_e5aa_f078_ebc9n, 0x14f9_94a4_c525_9381n] as const;
const LANE_BYTES = 8;

function diffuse(value: bigint): bigint {
  const once = (value * PRIME) & MASK;
  return ((once ^ ((once >> 32n) >> (once >> 60n))) * PRIME) & MASK;
}

export function seahash(bytes: Uint8Array): bigint {
  let [a, b, c, d]: [bigint, bigint, bigint, bigint] = [...SEEDS];
  for (let start = 0; start < bytes.length; start += LANE_BYTES) {
    let lane = 0n;
    for (let at = Math.min(start + LANE_BYTES, bytes.length) - 1; at >= start; at--) lane = (lane << 8n) | BigInt(bytes[at]!);
    [a, b, c, d] = [b, c, d, diffuse(a ^ lane)];
  }
  return diffuse(a ^ b ^ c ^ d ^ BigInt(bytes.length));
}
