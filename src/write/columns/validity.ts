/**
 * Arrow's validity bitmap, kept all ones so that a valid value costs nothing: only nulls touch it.
 */
export class Validity {
  nullCount = 0;
  #bits = new Uint8Array(128).fill(0xff);

  setNull(index: number): void {
    const byte = index >> 3;
    if (byte >= this.#bits.length) this.#grow(byte + 1);
    this.#bits[byte] = (this.#bits[byte] ?? 0) & ~(1 << (index & 7));
    this.nullCount += 1;
  }

  isNull(index: number): boolean {
    const byte = this.#bits[index >> 3];
    return byte !== undefined && (byte & (1 << (index & 7))) === 0;
  }

  /** Makes the indices from `from` to `to` valid again. */
  truncate(from: number, to: number): void {
    if (this.nullCount === 0) return;
    for (let index = from; index < to; index++) {
      if (!this.isNull(index)) continue;
      const byte = index >> 3;
      this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << (index & 7));
      this.nullCount -= 1;
    }
  }

  reset(): void {
    if (this.nullCount > 0) this.#bits.fill(0xff);
    this.nullCount = 0;
  }

  /** The bitmap of `length` values; null when all are valid, which Arrow takes as no bitmap. */
  toBitmap(length: number): Uint8Array | null {
    if (this.nullCount === 0) return null;
    const bytes = (length + 7) >> 3;
    if (bytes > this.#bits.length) this.#grow(bytes);
    return this.#bits.subarray(0, bytes);
  }

  #grow(needed: number): void {
    const grown = new Uint8Array(Math.max(needed, this.#bits.length * 2)).fill(0xff);
    grown.set(this.#bits);
    this.#bits = grown;
  }
}
