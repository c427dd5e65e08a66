import { crc32 } from 'node:zlib';

/** Of so many bytes the first ones are looked at: 0.1 ms for 15 MB, and whoever writes to memory too early begins at its start. */
const EVERY_BYTES = 64 * 1024;
const LOOKED_AT_BYTES = 1024;

/** @returns a hash of a part of the bytes, by which others in their place are recognised */
export function sampleBytes(bytes: Uint8Array): number {
  let sample = bytes.length;
  for (let at = 0; at < bytes.length; at += EVERY_BYTES)
    sample = crc32(bytes.subarray(at, at + LOOKED_AT_BYTES), sample);
  return sample;
}

/** @throws Error for other bytes than those that were sampled: their memory was given back too early */
export function refuseOtherBytes(bytes: Uint8Array, sample: number): void {
  if (sampleBytes(bytes) !== sample)
    throw new Error('shared memory was written to while it was in use: nothing of it is stored');
}
