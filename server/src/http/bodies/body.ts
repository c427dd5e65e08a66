import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../kernel/errors.ts';
import {
  type BodyEncoding,
  type BufferPool,
  countPassed,
  countPassedAtOnce,
  type Loan,
  type PayloadWriter,
  readEncoding,
} from '../../storage/storage.ts';
import type { HeldMemory } from './memory-budget.ts';
import { SenderPace } from './sender-pace.ts';

/** A body as it came, in shared memory: a thread parses it while this one writes it to disk, and nobody copies it. */
export interface RawBody {
  readonly bytes: Uint8Array;
  readonly encoding: BodyEncoding;
  /** Where it was written while it was received. */
  readonly payload?: PayloadWriter | undefined;
  /** Of the memory of `bytes`: whoever is done with them gives it back. */
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
