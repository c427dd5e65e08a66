import { crc32 } from 'node:zlib';

/** In this many bytes the first few are sampled: 0.1 ms for 15 MB, and a premature write begins at the start of the memory. */
const EVERY_BYTES = 64 * 1024;
const LOOKED_AT_BYTES = 1024;

/** @returns a hash of some of the bytes, which shows if others have taken their place */
export function sampleBytes(bytes: Uint8Array): number {
  let sample = bytes.length;
  for (let at = 0; at < bytes.length; at += EVERY_BYTES)
    sample = crc32(bytes.subarray(at, at + LOOKED_AT_BYTES), sample);
  return sample;
}

/** @throws Error if the bytes are not those that were sampled: their memory was given back too early */
export function refuseOtherBytes(bytes: Uint8Array, sample: number): void {
  if (sampleBytes(bytes) !== sample)
    throw new Error('shared memory was written to while it was in use: nothing of it is stored');
}

/** @returns the text as shared bytes: V8 counts what is transferred, and would collect both threads' whole heap for it */
export function shareText(text: string): Uint8Array<SharedArrayBuffer> {
  const shared = new SharedArrayBuffer(Buffer.byteLength(text));
  Buffer.from(shared).write(text);
  return new Uint8Array(shared);
}
