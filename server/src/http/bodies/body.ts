import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type BodyEncoding,
  type PayloadWriter,
  readEncoding,
  unpackParts,
} from '../../storage/payloads/payloads.ts';
import { type BufferPool, countPassed, countPassedAtOnce, type Loan } from '../../storage/threads/threads.ts';
import type { HeldMemory } from './memory-budget.ts';

/** A body as it came, in shared memory: a thread parses it while this one writes it to disk, and it is not copied. */
export interface RawBody {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  /** Where it was written while it was received. */
  readonly payload?: PayloadWriter | undefined;
  /** Of the memory of `bytes`: the last user gives it back. */
  readonly loan?: Loan | undefined;
  /** A copy of the first of them, where they are lent: it can be read for as long as the request is there. */
  readonly beginning?: Uint8Array | undefined;
}

/** A payload that is written while it is received. */
export interface IncomingPayload extends PayloadWriter {
  /** Where its memory comes from. */
  readonly buffers: BufferPool;
}

export const MIB = 1024 * 1024;
/** Allocated for a body of which nothing came yet. */
const FIRST_BYTES = MIB;

/** Of a body that is packed, and unpacked is more; what is shown of it is less. */
export const BEGINNING_BYTES = 4_096;

/** How a body is read. */
export interface BodyTerms {
  readonly maxMib: number;
  /** Where what came is counted; undefined: nowhere. */
  readonly memory: HeldMemory | undefined;
  /** Where what came is written, if it is to be stored. */
  readonly payload?: IncomingPayload | undefined;
  /** @returns why its sender may send no more, once that is so */
  findRefusal(): Promise<Error | undefined>;
}

/**
 * Reads a body into memory.
 * @throws body_encoding, body_too_large, body_stalled, body_slow, and what findRefusal returns
 */
export async function readBody(request: IncomingMessage, terms: BodyTerms): Promise<RawBody> {
  const { maxMib, memory, payload } = terms;
  const encoding = readEncoding(request.headers['content-encoding']);
  const declared = checkDeclared(request, maxMib);
  const collected = new BodyBuffer(declared ?? 0, payload?.buffers);
  const count = payload === undefined ? countPassed : countPassedAtOnce;
  const arriving = new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      pace.arrived(chunk.length);
      if (collected.length + chunk.length > maxMib * MIB) return fail(tooLarge(maxMib));
      collected.add(chunk);
      count(chunk.length);
      payload?.received(collected.take());
      if (memory?.grow(collected.length) === false) void waitForRoom(memory);
    };
    const waitForRoom = async (room: HeldMemory) => {
      request.pause();
      pace.isHeld = true;
      await room.waitFor(collected.length);
      pace.isHeld = false;
      if (!pace.hasEnded) request.resume();
    };
    const onEnd = () => finish(resolve);
    const onClose = () => fail(brokeOff());
    const fail = (error: Error) => {
      request.pause();
      finish(() => reject(error));
    };
    const pace = new SenderPace({ allowedMib: (declared ?? maxMib * MIB) / MIB, ...terms, refuse: fail });
    const finish = (settle: () => void) => {
      pace.end();
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      settle();
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
  try {
    await arriving;
  } catch (error) {
    // A piece of it may still be on its way to the disk.
    void payload?.abandon().then(() => collected.loan?.giveBack());
    throw error;
  }
  const { loan } = collected;
  const bytes = collected.take();
  return { bytes, encoding, payload, loan, beginning: loan && bytes.slice(0, BEGINNING_BYTES) };
}

export const tooLarge = (maxMib: number) => new ServiceError('body_too_large', { values: [maxMib] });

export const brokeOff = (cause?: unknown) =>
  new ServiceError('body_stalled', { values: [0], details: ['the connection broke off'], cause });

/** @returns the length that was announced @throws body_too_large */
export function checkDeclared(request: IncomingMessage, maxMib: number): number | undefined {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > maxMib * MIB) throw tooLarge(maxMib);
  return declared;
}

/**
 * Collects chunks where they will stay: copying 15 MB at the end of a body would hold up every lookup for some
 * milliseconds.
 */
class BodyBuffer {
  length = 0;
  private bytes: Uint8Array;
  private readonly expectedBytes: number;
  private readonly buffers: BufferPool | undefined;
  /** Of the present memory, once it is of the pool. */
  loan: Loan | undefined;

  /** What was announced need not come: not all of it is allocated at once. */
  constructor(expectedBytes: number, buffers: BufferPool | undefined) {
    this.expectedBytes = expectedBytes;
    this.buffers = buffers;
    this.bytes = new Uint8Array(new SharedArrayBuffer(Math.min(expectedBytes, FIRST_BYTES)));
  }

  add(chunk: Uint8Array): void {
    if (this.length + chunk.length > this.bytes.length) this.grow(this.length + chunk.length);
    this.bytes.set(chunk, this.length);
    this.length += chunk.length;
  }

  take(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  private grow(needed: number): void {
    const expected = Math.min(this.expectedBytes, this.bytes.length * 16);
    const length = Math.max(needed, expected, this.bytes.length * 2, 64 * 1024);
    // What came so far may still be written to its payload: the former memory is left to the collector.
    this.loan = this.buffers?.take(length);
    const larger = this.loan?.bytes ?? new Uint8Array(new SharedArrayBuffer(length));
    larger.set(this.take());
    this.bytes = larger;
  }
}

/** @returns the length the sender announced; undefined when it sends in chunks. */
export function declaredLength(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

/** What is held of a streamed body at a time. */
const STREAMED_BYTES = 8 * MIB;

/** What is packed may be so much larger when it is unpacked, as for files. Source: docs/interface.md §8. */
const UNPACKED_TIMES = 2;

/**
 * Reads a body chunk by chunk, as fast as its reader takes the chunks. What gzip packed is passed on as it came; zstd and br are
 * unpacked here: a reader of the file could not recognise them by its first bytes.
 * @throws body_encoding, body_not_unpacked, body_too_large, body_stalled, body_slow and what findRefusal returns, also after
 * many chunks
 */
export async function* streamBody(request: IncomingMessage, terms: BodyTerms): AsyncGenerator<Uint8Array> {
  const { maxMib } = terms;
  const encoding = readEncoding(request.headers['content-encoding']);
  const sent = streamSent(request, terms);
  if (encoding === 'identity' || encoding === 'gzip') yield* sent;
  else yield* unpackParts(sent, encoding, maxMib * UNPACKED_TIMES);
}

async function* streamSent(request: IncomingMessage, terms: BodyTerms): AsyncGenerator<Uint8Array> {
  const { maxMib, memory } = terms;
  const declared = checkDeclared(request, maxMib);
  const { promise: refused, reject: refuse } = Promise.withResolvers<never>();
  // The reader may be busy with a chunk while the sender is refused.
  refused.catch(() => {});
  const pace = new SenderPace({
    allowedMib: declared === undefined ? maxMib : declared / MIB,
    ...terms,
    refuse,
  });
  // A socket that is destroyed with the request cannot carry the refusal.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  let length = 0;
  try {
    for (;;) {
      // Only the sender is timed: the reader may wait for a disk.
      pace.isHeld = false;
      const { done, value } = await Promise.race([chunks.next(), refused]).catch(toRefusal);
      pace.isHeld = true;
      if (done === true) return;
      length += value.length;
      if (length > maxMib * MIB) throw tooLarge(maxMib);
      pace.arrived(value.length);
      const held = Math.min(length, STREAMED_BYTES);
      if (memory?.grow(held) === false) await memory.waitFor(held);
      yield value;
    }
  } finally {
    pace.end();
  }
}

function toRefusal(error: unknown): never {
  throw error instanceof ServiceError ? error : brokeOff(error);
}

/** Source of the four: docs/interface.md §7.2 rule 7. */
const STALL_SECONDS = 30;
const BASE_SECONDS = 60;
const SECONDS_PER_MIB = 10;
const LEAST_BYTES_PER_MINUTE = 1024 * 1024;

interface PaceTerms {
  /** What is announced, or else allowed. */
  readonly allowedMib: number;
  findRefusal(): Promise<Error | undefined>;
  /** Called once. */
  refuse(error: Error): void;
}

/** Whether the sender of a body is fast enough and may go on, looked at each second until the body has ended. */
class SenderPace {
  /** The sender waits for us: its time stands still. */
  isHeld = false;
  hasEnded = false;
  private readonly terms: PaceTerms;
  private readonly timer: NodeJS.Timeout;
  private readonly allowedSeconds: number;
  private seconds = 0;
  private silentSeconds = 0;
  private bytesOfMinute = 0;
  private isAsking = false;

  constructor(terms: PaceTerms) {
    this.terms = terms;
    this.allowedSeconds = BASE_SECONDS + Math.ceil(terms.allowedMib * SECONDS_PER_MIB);
    this.timer = setInterval(() => this.check(), 1_000);
  }

  arrived(bytes: number): void {
    this.silentSeconds = 0;
    this.bytesOfMinute += bytes;
  }

  end(): void {
    this.hasEnded = true;
    clearInterval(this.timer);
  }

  private check(): void {
    const error = this.isHeld ? undefined : this.findFault();
    if (error !== undefined) this.refuse(error);
    else void this.requestRefusal();
  }

  private findFault(): ServiceError | undefined {
    this.seconds += 1;
    this.silentSeconds += 1;
    if (this.silentSeconds >= STALL_SECONDS)
      return new ServiceError('body_stalled', { values: [STALL_SECONDS] });
    const isMinuteOver = this.seconds % 60 === 0;
    const isSlow = isMinuteOver && this.bytesOfMinute < LEAST_BYTES_PER_MINUTE;
    if (isMinuteOver) this.bytesOfMinute = 0;
    if (!isSlow && this.seconds < this.allowedSeconds) return undefined;
    return new ServiceError('body_slow', { values: [this.allowedSeconds] });
  }

  private async requestRefusal(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const refusal = await this.terms.findRefusal();
    this.isAsking = false;
    if (refusal !== undefined) this.refuse(refusal);
  }

  private refuse(error: Error): void {
    if (this.hasEnded) return;
    this.end();
    this.terms.refuse(error);
  }
}
