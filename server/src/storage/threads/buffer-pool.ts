import { crc32 } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { countAllocated } from './collector.ts';

const MIB = 1024 * 1024;
/** Smaller ones are collected soon enough. */
const LEAST_BYTES = MIB;
/** A full update with batches of 16 MiB uses four at a time. Never less: what is dropped stays until every thread has collected. */
const IDLE_BYTES = 96 * MIB;
const IDLE_COUNT = 24;

/**
 * Memory that threads share, used again once it was given back: V8 frees what it shares only after a full collection of each
 * thread that saw it (docs/decisions/0006). Its one owner gives it back when it is not read or written any more; users are not
 * counted. What is never given back, e.g. since the thread that had it died, is left to the collector.
 */
export class BufferPool {
  private readonly idle: SharedArrayBuffer[] = [];

  /** @returns room for so many bytes or more, with anything in it */
  take(bytes: number): Loan {
    const size = sizeFor(bytes);
    const at = this.idle.findLastIndex(({ byteLength }) => byteLength === size);
    const reused = at < 0 ? undefined : this.idle.splice(at, 1)[0];
    if (reused === undefined) countAllocated(size);
    const buffer = reused ?? new SharedArrayBuffer(size);
    return new Loan(new Uint8Array(buffer), () => this.keep(buffer));
  }

  private keep(buffer: SharedArrayBuffer): void {
    if (buffer.byteLength < LEAST_BYTES || buffer.byteLength > IDLE_BYTES) return;
    this.idle.push(buffer);
    let idleBytes = this.idle.reduce((sum, { byteLength }) => sum + byteLength, 0);
    // What was used last is used next: else buffers of one size, once idle, would keep those of another from being used again.
    while (idleBytes > IDLE_BYTES || this.idle.length > IDLE_COUNT)
      idleBytes -= this.idle.shift()?.byteLength ?? 0;
  }
}

/** Powers of two, so that bodies of nearly the same size use the same: the system provides only what is written. */
const sizeFor = (bytes: number) => (bytes < LEAST_BYTES ? bytes : 2 ** Math.ceil(Math.log2(bytes)));

/** Shared memory, and the right to give it back: one owner has it at a time, and it can be used once. */
export class Loan {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  private end: (() => void) | undefined;

  constructor(bytes: Uint8Array<SharedArrayBuffer>, end: (() => void) | undefined) {
    this.bytes = bytes;
    this.end = end;
  }

  /** It is not read or written any more. */
  giveBack(): void {
    const { end } = this;
    this.end = undefined;
    end?.();
  }

  /** It may still be read or written: it is never used again. */
  abandon(): void {
    this.end = undefined;
  }

  /** @returns the same memory for another owner; this one cannot give it back any more */
  move(): Loan {
    const moved = new Loan(this.bytes, this.end);
    this.end = undefined;
    return moved;
  }

  /** Gives it back when the thread that works on it has answered. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    const result = await this.unlessFailed(work);
    this.giveBack();
    return result;
  }

  /** Gives it back when the work is refused; a thread that failed or died may still use it. */
  async unlessFailed<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ServiceError) this.giveBack();
      else this.abandon();
      throw error;
    }
  }
}

/** Of so many bytes the first ones are looked at: 0.1 ms for 15 MB, and a write that comes too early begins at the start of the memory. */
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
