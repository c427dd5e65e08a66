import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../kernel/errors.ts';
import type { BodyEncoding, PayloadWriter } from '../../storage/payloads/payloads.ts';
import { readEncoding, unpackParts } from '../../storage/payloads/payloads.ts';
import { type BufferPool, countPassed, countPassedAtOnce, type Loan } from '../../storage/threads/threads.ts';
import type { HeldMemory } from './memory-budget.ts';

/**
 * A body as received, in shared memory, so that one thread can parse it without a copy while this thread writes it to
 * disk.
 */
export interface RawBody {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  /** The payload to which the body was written while it was received. */
  readonly payload?: PayloadWriter | undefined;
  /** The loan of the memory of `bytes`. The code that uses the bytes last returns the loan. */
  readonly loan?: Loan | undefined;
  /** A copy of the first bytes if the body's memory is on loan. It is readable as long as the request exists. */
  readonly beginning?: Uint8Array | undefined;
}

/** A payload that is written while its body is received. */
export interface IncomingPayload extends PayloadWriter {
  /** The pool that lends the memory of the body. */
  readonly buffers: BufferPool;
}

export const MIB = 1024 * 1024;
/** The memory that is allocated for a body before any of it has arrived. */
const FIRST_BYTES = MIB;

/** Enough for the shown part of a body, because a packed body becomes longer when it is unpacked. */
export const BEGINNING_BYTES = 4_096;

interface BodyTerms {
  readonly maxMib: number;
  /** Where received bytes are counted; if undefined, they are not counted. */
  readonly memory: HeldMemory | undefined;
  /** Where received bytes are written, if the body is stored. */
  readonly payload?: IncomingPayload | undefined;
  /** @returns the reason why the sender has lost access, if it has */
  findRefusal(): Promise<Error | undefined>;
}

/**
 * Reads a body into memory.
 * @throws body_encoding, body_too_large, body_stalled, body_slow, and the result of findRefusal
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
    const pace = watchSender({ allowedMib: (declared ?? maxMib * MIB) / MIB, ...terms, refuse: fail });
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
    // The memory is returned later, because a piece of the body may still be being written to the disk.
    void payload?.abandon().then(() => collected.loan?.giveBack());
    throw error;
  }
  const { loan } = collected;
  const bytes = collected.take();
  return { bytes, encoding, payload, loan, beginning: loan && bytes.slice(0, BEGINNING_BYTES) };
}

const tooLarge = (maxMib: number) => new ServiceError('body_too_large', { values: [maxMib] });

export const brokeOff = (cause?: unknown) =>
  new ServiceError('body_stalled', 'the connection broke off', { values: [0], cause });

/** @throws body_too_large */
function checkDeclared(request: IncomingMessage, maxMib: number): number | undefined {
  const declared = declaredLength(request);
  if (declared !== undefined && declared > maxMib * MIB) throw tooLarge(maxMib);
  return declared;
}

/**
 * Collects chunks at their final position in memory, because copying 15 MB at the end of a body would delay every
 * lookup by some milliseconds.
 */
class BodyBuffer {
  length = 0;
  private bytes: Uint8Array;
  private readonly expectedBytes: number;
  private readonly buffers: BufferPool | undefined;
  /** The loan of the present memory, if it comes from the pool. */
  loan: Loan | undefined;

  /** Does not allocate the whole declared length, because that many bytes may never arrive. */
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

  private grow(leastBytes: number): void {
    const expected = Math.min(this.expectedBytes, this.bytes.length * 16);
    const length = Math.max(leastBytes, expected, this.bytes.length * 2, 64 * 1024);
    // The former memory is not reused but left to the garbage collector, because it may still be being written to the
    // payload.
    this.loan = this.buffers?.take(length);
    const larger = this.loan?.bytes ?? new Uint8Array(new SharedArrayBuffer(length));
    larger.set(this.take());
    this.bytes = larger;
  }
}

/** @returns the length that the sender declared; undefined for a chunked body */
export function declaredLength(request: IncomingMessage): number | undefined {
  const text = request.headers['content-length'];
  return text === undefined ? undefined : Number(text);
}

/** The most bytes of a streamed body that are held at a time. */
const STREAMED_BYTES = 8 * MIB;

/**
 * The limit of a streamed body after unpacking, as a multiple of its limit. Files have the same multiple. Source:
 * docs/interface §8.
 */
const UNPACKED_TIMES = 2;

/**
 * Reads a body chunk by chunk, at the speed of its reader. A gzip body is passed on packed. Bodies in zstd and br are
 * unpacked here, because the reader could not recognise these encodings by their first bytes.
 * @throws body_encoding, body_not_unpacked, body_too_large, body_stalled, body_slow and the result of findRefusal,
 * possibly after many chunks
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
  // If the sender is refused while the reader handles a chunk, no code awaits this promise.
  refused.catch(() => {});
  const pace = watchSender({ ...terms, allowedMib: (declared ?? maxMib * MIB) / MIB, refuse });
  // If the iterator destroyed the socket with the request, the refusal could not be sent.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  let length = 0;
  try {
    for (;;) {
      // Only the sender is timed, because the reader may wait for a disk.
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

/** Source of these four limits: docs/interface §7.2 rule 7. */
const STALL_SECONDS = 30;
const BASE_SECONDS = 60;
const SECONDS_PER_MIB = 10;
const LEAST_BYTES_PER_MINUTE = 1024 * 1024;

interface PaceTerms {
  /** The declared size, or the limit if no size is declared. */
  readonly allowedMib: number;
  findRefusal(): Promise<Error | undefined>;
  /** Called at most once. */
  refuse(error: Error): void;
}

/** Checks every second whether the sender of a body is fast enough and still allowed, until the body has ended. */
function watchSender({ allowedMib, findRefusal, refuse }: PaceTerms) {
  const allowedSeconds = BASE_SECONDS + Math.ceil(allowedMib * SECONDS_PER_MIB);
  let seconds = 0;
  let silentSeconds = 0;
  let bytesOfMinute = 0;
  let isAsking = false;

  const pace = {
    /** The sender's time stops while the service makes it wait. */
    isHeld: false,
    hasEnded: false,
    arrived(bytes: number): void {
      silentSeconds = 0;
      bytesOfMinute += bytes;
    },
    end(): void {
      pace.hasEnded = true;
      clearInterval(timer);
    },
  };
  const timer = setInterval(() => {
    const fault = pace.isHeld ? undefined : findFault();
    if (fault !== undefined) endWith(fault);
    else if (!isAsking) void requestRefusal();
  }, 1_000);

  function findFault(): ServiceError | undefined {
    seconds += 1;
    silentSeconds += 1;
    if (silentSeconds >= STALL_SECONDS) return new ServiceError('body_stalled', { values: [STALL_SECONDS] });
    const isMinuteOver = seconds % 60 === 0;
    const isSlow = isMinuteOver && bytesOfMinute < LEAST_BYTES_PER_MINUTE;
    if (isMinuteOver) bytesOfMinute = 0;
    if (!isSlow && seconds < allowedSeconds) return undefined;
    return new ServiceError('body_slow', { values: [allowedSeconds] });
  }

  async function requestRefusal(): Promise<void> {
    isAsking = true;
    const refusal = await findRefusal();
    isAsking = false;
    if (refusal !== undefined) endWith(refusal);
  }

  function endWith(error: Error): void {
    if (pace.hasEnded) return;
    pace.end();
    refuse(error);
  }

  return pace;
}
