import { crc32 } from 'node:zlib';

/**
 * The first few bytes of each block of this size are sampled. This takes 0.1 ms for 15 MB, and a premature write begins
 * at the start of the memory.
 */
const EVERY_BYTES = 64 * 1024;
const LOOKED_AT_BYTES = 1024;

/** @returns a hash of some of the bytes, which shows whether other code has replaced them */
export function sampleBytes(bytes: Uint8Array): number {
  let sample = bytes.length;
  for (let offset = 0; offset < bytes.length; offset += EVERY_BYTES)
    sample = crc32(bytes.subarray(offset, offset + LOOKED_AT_BYTES), sample);
  return sample;
}

/** @throws Error if the bytes differ from the sampled ones because their memory was given back too early */
export function refuseOtherBytes(bytes: Uint8Array, sample: number): void {
  if (sampleBytes(bytes) !== sample)
    throw new Error('shared memory was written to while it was in use: nothing of it is stored');
}

/**
 * Copies a text into shared memory, because V8 counts transferred memory and would collect the whole heap of both
 * threads for it.
 * @returns the text as shared bytes
 */
export function shareText(text: string): Uint8Array<SharedArrayBuffer> {
  const shared = new SharedArrayBuffer(Buffer.byteLength(text));
  Buffer.from(shared).write(text);
  return new Uint8Array(shared);
}
