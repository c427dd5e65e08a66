import { ServiceError } from '../../kernel/errors.ts';
import { countShared } from './passed-bytes.ts';
import { ThreadReplaced } from './thread-failure.ts';

const MIB = 1024 * 1024;
/** Smaller buffers are not reused, because V8 collects them soon enough. */
const LEAST_BYTES = MIB;
/**
 * A full update with batches of 16 MiB uses four buffers at a time. A lower limit would waste memory, because dropped
 * buffers remain until every thread has collected.
 */
const IDLE_BYTES = 96 * MIB;
const IDLE_COUNT = 24;

/**
 * Memory that threads share. It is reused once it is given back, because V8 frees shared memory only after a full
 * collection of each thread that saw it (docs/decisions/0006). Each buffer has one owner, who gives it back when no
 * code reads or writes it any more. Its users are not counted. A buffer that is never given back, for example because
 * its thread died, is left to the collector.
 */
export class BufferPool {
  private readonly idle: SharedArrayBuffer[] = [];

  /** @returns a buffer of at least this many bytes, with arbitrary contents */
  take(bytes: number): Loan {
    // Sizes are powers of two, so that bodies of similar size share buffers. The system only backs the bytes that are
    // written.
    const size = bytes < LEAST_BYTES ? bytes : 2 ** Math.ceil(Math.log2(bytes));
    const index = this.idle.findLastIndex(({ byteLength }) => byteLength === size);
    const reused = index < 0 ? undefined : this.idle.splice(index, 1)[0];
    if (reused === undefined) countShared(size);
    const buffer = reused ?? new SharedArrayBuffer(size);
    return new Loan(new Uint8Array(buffer), () => this.keep(buffer));
  }

  private keep(buffer: SharedArrayBuffer): void {
    if (buffer.byteLength < LEAST_BYTES || buffer.byteLength > IDLE_BYTES) return;
    this.idle.push(buffer);
    let idleBytes = this.idle.reduce((sum, { byteLength }) => sum + byteLength, 0);
    // The buffer that was used last is taken next. The one that is idle longest is dropped, so that idle buffers of one
    // size do not block those of another.
    while (idleBytes > IDLE_BYTES || this.idle.length > IDLE_COUNT)
      idleBytes -= this.idle.shift()?.byteLength ?? 0;
  }
}

/** Shared memory, and the right to give it back once. It has one owner at a time. */
export class Loan {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  private end: (() => void) | undefined;

  constructor(bytes: Uint8Array<SharedArrayBuffer>, end: (() => void) | undefined) {
    this.bytes = bytes;
    this.end = end;
  }

  /** Call this when the memory is no longer read or written. */
  giveBack(): void {
    const { end } = this;
    this.end = undefined;
    end?.();
  }

  /** Leaves memory that may still be read or written to the collector, so that it is never reused. */
  abandon(): void {
    this.end = undefined;
  }

  /** @returns the same memory for another owner; this one can no longer give it back */
  move(): Loan {
    const moved = new Loan(this.bytes, this.end);
    this.end = undefined;
    return moved;
  }

  /** Gives the memory back when the thread that works on it has answered. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    const result = await this.unlessFailed(work);
    this.giveBack();
    return result;
  }

  /** Gives the memory back if the work is refused. After any other failure the thread may still use it. */
  async unlessFailed<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ServiceError && !(error instanceof ThreadReplaced)) this.giveBack();
      else this.abandon();
      throw error;
    }
  }
}
