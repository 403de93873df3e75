/** A taker of encoded files that puts their parts together, for tests that want to look into whole ones. */
import type { EncodedFile, EncodedPart } from '../../src/sink/ports.ts';
import { UPLOAD_PART_BYTES } from '../../src/write/file-parts.ts';

export interface WholeFiles {
  allocatePart(): Uint8Array<ArrayBuffer>;
  reusePart(): void;
  takePart(part: EncodedPart): Promise<void>;
  takeFile(file: EncodedFile): Promise<void>;
}

/** `onFile` is given each file with all of its bytes; the encoder waits for it. */
export function wholeFiles(onFile: (file: EncodedFile) => Promise<void> | void): WholeFiles {
  const parts = new Map<number, Uint8Array[]>();
  return {
    allocatePart: () => new Uint8Array(UPLOAD_PART_BYTES),
    reusePart: () => undefined,
    async takePart({ fileId, bytes }) {
      parts.set(fileId, [...(parts.get(fileId) ?? []), bytes.slice()]);
    },
    async takeFile({ file, bytes, fileId }) {
      const before = fileId === null ? [] : parts.get(fileId) ?? [];
      await onFile({ file, bytes: new Uint8Array(Buffer.concat([...before, bytes])), fileId: null });
    },
  };
}
