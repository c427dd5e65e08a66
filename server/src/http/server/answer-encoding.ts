import { once } from 'node:events';
import { Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { allows, nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { Turns } from '../../kernel/turns.ts';
import { MemoryBudget } from '../bodies/bodies.ts';
import { changesSomething } from '../guards/guards.ts';

/** A smaller answer fits into one network packet without packing. Source: docs/interface §4 rule 8. */
const LEAST_BYTES = 1024;
/**
 * A larger answer is packed and sent part by part, so that it is not in memory twice and other answers get their turns.
 */
const AT_ONCE_BYTES = 1024 * 1024;
/** Packing fewer bytes takes less than a millisecond, so it needs no turn. */
const WITHOUT_TURN_BYTES = 64 * 1024;
/** Packing uses two of zlib's four threads, so that short answers never wait behind long ones. Accounts take turns. */
const turns = new Turns(2);
/** The longest header that is parsed. Browsers send 40 characters, and 100,000 took 9 ms. */
const LONGEST_HEADER = 1_000;
const TEXTS = /^(text\/(?!event-stream)|application\/(json|x-ndjson|javascript|xml)|image\/svg)/;

// Quality 4 takes as long as gzip and packs better. The default, 11, takes fifty times as long.
const brotliOf = (quality: number) => ({ params: { [zlib.constants.BROTLI_PARAM_QUALITY]: quality } });

/**
 * Encodings, best first, for a caller without a preference. A stream is flushed after every part, because it may show
 * progress. Packing limits the speed of an export, so streams have quick levels. gzip takes 43 % of the time of level
 * 6, and brotli 25 % of that of level 4, for 11 to 28 % more bytes.
 */
const ENCODINGS = {
  zstd: {
    pack: (bytes: Uint8Array) => promisify(zlib.zstdCompress)(bytes),
    stream: () => zlib.createZstdCompress({ flush: zlib.constants.ZSTD_e_flush }),
  },
  br: {
    pack: (bytes: Uint8Array) => promisify(zlib.brotliCompress)(bytes, brotliOf(4)),
    stream: () => zlib.createBrotliCompress({ ...brotliOf(1), flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  },
  gzip: {
    pack: (bytes: Uint8Array) => promisify(zlib.gzip)(bytes),
    stream: () => zlib.createGzip({ level: 3, flush: zlib.constants.Z_SYNC_FLUSH }),
  },
} as const;

/** The packed forms of fixed answers, by their bytes. */
const packedOnce = new WeakMap<Uint8Array, Map<keyof typeof ENCODINGS, Promise<Uint8Array>>>();

const NAMES = Object.keys(ENCODINGS) as (keyof typeof ENCODINGS)[];

/** @returns the answer, packed if this saves bytes and the caller accepts it */
export function packForCaller(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (!mayBePacked(request, reply)) return payload;
  const content = readContent(payload);
  if (content === undefined) return payload;
  varyByEncoding(reply);
  const encoding = chooseEncoding(request.headers['accept-encoding'], NAMES);
  if (encoding === undefined) return payload;
  reply.header('content-encoding', encoding).removeHeader('content-length');
  const { pack, stream } = ENCODINGS[encoding];
  if (content instanceof Uint8Array) {
    if (request.routeOptions.config.isFixed) return packOnce(content, encoding);
    if (content.length <= AT_ONCE_BYTES) return inTurn(request, content.length, () => pack(content));
  }
  return packParts(request, content instanceof Readable ? content : readParts([content]), stream);
}

function inTurn<Packed>({ caller }: Partial<FastifyRequest>, length: number, pack: () => Promise<Packed>) {
  return length <= WITHOUT_TURN_BYTES ? pack() : turns.take(pack, caller?.accountId);
}

/**
 * Packs a stream. Each part takes its own turn, so others pack theirs in between, and a slow reader holds no turn. A
 * failure also ends the packed stream, so that the caller notices it.
 */
function packParts(request: FastifyRequest, content: Readable, createPacker: () => Transform): Readable {
  async function* pack() {
    const packer = createPacker();
    const packed: Uint8Array[] = [];
    packer.on('data', (bytes: Uint8Array) => packed.push(bytes));
    // The callback of the failed write reports the error.
    packer.on('error', () => {});
    try {
      for await (const part of content as AsyncIterable<string | Uint8Array>) {
        await inTurn(request, part.length, () => write(packer, part));
        yield* packed.splice(0);
      }
      const ended = once(packer, 'end');
      packer.end();
      await ended;
      yield* packed;
    } finally {
      packer.destroy();
    }
  }
  const parts = pack();
  return new Readable({
    read() {
      parts.next().then(
        ({ value }) => void this.push(value ?? null),
        (error) => void this.destroy(error),
      );
    },
    destroy(error, done) {
      content.destroy();
      // A part that is still being packed is no longer sent, and its failure is ignored.
      parts.return(undefined).catch(() => {});
      done(error);
    },
  });
}

const write = (packer: Transform, part: string | Uint8Array) =>
  new Promise<void>((resolve, reject) => packer.write(part, (error) => (error ? reject(error) : resolve())));

function varyByEncoding(reply: FastifyReply): void {
  const vary = String(reply.getHeader('vary') ?? '');
  if (!vary.includes('Accept-Encoding'))
    reply.header('vary', [vary, 'Accept-Encoding'].filter((name) => name !== '').join(', '));
}

/** Packs a fixed answer once. Packing the page of the interface took 30 ms for each request. */
function packOnce(bytes: Uint8Array, encoding: keyof typeof ENCODINGS): Promise<Uint8Array> {
  const packedForms = packedOnce.getOrInsertComputed(
    bytes,
    () => new Map<typeof encoding, Promise<Uint8Array>>(),
  );
  const packed = packedForms.getOrInsertComputed(encoding, () => ENCODINGS[encoding].pack(bytes));
  packed.catch(() => packedForms.delete(encoding));
  return packed;
}

function mayBePacked({ method }: FastifyRequest, reply: FastifyReply): boolean {
  const { statusCode } = reply;
  if (String(reply.getHeader('cache-control')).includes('no-transform')) return false;
  const type = String(reply.getHeader('content-type') ?? '');
  return method !== 'HEAD' && statusCode !== 304 && !reply.hasHeader('content-encoding') && TEXTS.test(type);
}

/** @returns undefined for a payload that is too short */
function readContent(payload: unknown): Uint8Array | Readable | undefined {
  if (payload instanceof Readable) return payload;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  return bytes instanceof Uint8Array && bytes.length >= LEAST_BYTES ? bytes : undefined;
}

/** The sizes of streams whose bytes all exist before they are sent. */
const held = new WeakMap<object, number>();

/** @returns the number of bytes that a stream holds until its end; undefined if it reads or creates them on the way */
export const heldBytesOf = (stream: object): number | undefined => held.get(stream);

/** @returns the bytes, or a stream of parts if they are long */
export function inParts(pieces: readonly Uint8Array[]): Uint8Array | Readable {
  const [first] = pieces;
  if (sizeOf(pieces) > AT_ONCE_BYTES) return readParts(pieces);
  if (first === undefined || pieces.length > 1) return Buffer.concat(pieces);
  // Fastify sends shared memory only as a buffer.
  return Buffer.from(first.buffer, first.byteOffset, first.length);
}

const sizeOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0);

function readParts(pieces: readonly Uint8Array[]): Readable {
  const parts = function* () {
    for (const bytes of pieces)
      for (let offset = 0; offset < bytes.length; offset += AT_ONCE_BYTES)
        yield bytes.subarray(offset, offset + AT_ONCE_BYTES);
  };
  const stream = Readable.from(parts(), { objectMode: false });
  held.set(stream, sizeOf(pieces));
  return stream;
}

/**
 * @param offered the choices, best first
 * @returns undefined if the answer is sent unpacked. Source: RFC 9110 §12.5.3.
 */
export function chooseEncoding<Name extends string>(header: string | undefined, offered: readonly Name[]) {
  const weights = new Map<string, number>();
  for (const part of (header ?? '').slice(0, LONGEST_HEADER).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='));
    weights.set(name === 'x-gzip' ? 'gzip' : name, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  const weigh = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const [best] = [...offered].sort((a, b) => weigh(b) - weigh(a));
  return best !== undefined && weigh(best) > 0 && weigh(best) >= (weights.get('identity') ?? 0)
    ? best
    : undefined;
}

/** Smaller answers almost fit into the buffers of their sockets. Counting them would cost more than storing them. */
const COUNTED_BYTES = 64 * 1024;
/** An unread stream holds its next part and its buffers. A hundred exports of long texts held 480 MiB. */
const STREAM_BYTES = 4 * 1024 * 1024;

/**
 * Counts answers that are made but not yet read, because a slow reader keeps them in memory. An answer that does not
 * fit is refused. Its caller must read the others and retry. Source: docs/interface §8.
 * @throws answers_unread
 */
export function createAnswerMemory(limitBytes: number) {
  const budget = new MemoryBudget(limitBytes);
  return (request: FastifyRequest, reply: FastifyReply, payload: unknown): void => {
    const { caller } = request as Partial<FastifyRequest>;
    const bytes = heldSizeOf(payload, reply);
    if (bytes < COUNTED_BYTES || caller === undefined || mayHaveChanged(request)) return;
    const memory = budget.open({ caller: nameCaller(caller), accountId: caller.accountId });
    reply.raw.once('close', () => memory.release());
    if (memory.grow(bytes)) return;
    memory.release();
    if (payload instanceof Readable) payload.destroy();
    const details = ['too many large answers are unread: read them first, or request less at a time'];
    throw new ServiceError('answers_unread', { details, retryAfterSeconds: 1 });
  };
}

/** The answer to a change that may have taken effect is never refused. */
function mayHaveChanged(request: FastifyRequest): boolean {
  const { access = 'read' } = request.routeOptions.config;
  return !allows('read', access) && changesSomething(request);
}

function heldSizeOf(payload: unknown, reply: FastifyReply): number {
  // Events are short, and they count as waits instead.
  const isEvents = String(reply.getHeader('content-type')).startsWith('text/event-stream');
  if (payload instanceof Readable) return isEvents ? 0 : (heldBytesOf(payload) ?? STREAM_BYTES);
  if (typeof payload === 'string') return payload.length;
  return payload instanceof Uint8Array ? payload.length : 0;
}
