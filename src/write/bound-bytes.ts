import type { PrimitiveType } from '../iceberg/types.ts';
import type { BoundValue } from './columns/column.ts';

export function encodeSingleValue(type: PrimitiveType, value: BoundValue): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'boolean') return new Uint8Array([value ? 1 : 0]);
  const out = new DataView(new ArrayBuffer(8));
  switch (type.kind) {
    case 'int': case 'date': out.setInt32(0, Number(value), true); return new Uint8Array(out.buffer, 0, 4);
    case 'float': out.setFloat32(0, Number(value), true); return new Uint8Array(out.buffer, 0, 4);
    case 'double': out.setFloat64(0, Number(value), true); return new Uint8Array(out.buffer);
    case 'decimal': {
      const bytes: number[] = [];
      let rest = BigInt(value);
      for (;;) {
        const byte = Number(BigInt.asUintN(8, rest));
        bytes.unshift(byte);
        rest >>= 8n;
        if ((rest === 0n && byte < 128) || (rest === -1n && byte >= 128)) return new Uint8Array(bytes);
      }
    }
    default: out.setBigInt64(0, BigInt(value), true); return new Uint8Array(out.buffer);
  }
}
