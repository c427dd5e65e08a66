/** Byte streams with limits: for their size, and for the size to which they unpack. */

import { pipeline, Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';
import { type ByteStream, peekBytes } from '../../formats/streams/streams.ts';
import { SourceProblem } from './source.ts';

export const MIB = 1024 * 1024;
/** Files of products hardly ever shrink to a hundredth. A zip bomb of zeros shrinks to a thousandth. */
const RATIO = 200;
/** Small files may shrink by any factor. */
const RATIO_FROM_BYTES = 10 * MIB;

/** @throws SourceProblem too_large as soon as the limit is exceeded */
export async function* boundBytes(bytes: ByteStream, maxBytes: number, subject: string): ByteStream {
  let total = 0;
  for await (const chunk of bytes) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(subject, maxBytes);
    yield chunk;
  }
}

export function tooLarge(subject: string, maxBytes: number): SourceProblem {
  const most =
    maxBytes >= MIB ? `${Math.floor(maxBytes / MIB).toLocaleString('en')} MiB` : `${maxBytes} bytes`;
  return new SourceProblem('too_large', `${subject} is larger than ${most}, the limit`);
}

/**
 * @param what the subject of the messages
 * @throws SourceProblem damaged, too_large; errors of the stream pass through
 */
export async function* unpackStream(
  bytes: ByteStream,
  { what, maxBytes, createTransform }: { what: string; maxBytes: number; createTransform(): Transform },
): ByteStream {
  let packedBytes = 0;
  async function* count(): ByteStream {
    for await (const chunk of bytes) {
      packedBytes += chunk.length;
      yield chunk;
    }
  }
  const transform = createTransform();
  let source: unknown;
  // The callback also receives errors. They are thrown where the transform is read.
  const input = Readable.from(count(), { objectMode: false });
  input.once('error', (error) => {
    source = error;
  });
  pipeline(input, transform, () => {});
  let total = 0;
  try {
    for await (const chunk of transform as AsyncIterable<Uint8Array>) {
      total += chunk.length;
      checkRatio(total, packedBytes, what);
      if (total > maxBytes) throw tooLarge(`${what}, unpacked,`, maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw source ?? describeUnpacking(error, what);
  } finally {
    transform.destroy();
  }
}

export function checkRatio(unpackedBytes: number, packedBytes: number, subject: string): void {
  if (unpackedBytes <= RATIO_FROM_BYTES || unpackedBytes <= packedBytes * RATIO) return;
  const text = `${subject} unpacks to more than ${RATIO} times its size; no file of products does that`;
  throw new SourceProblem('too_large', text);
}

/** Node reports a stream that ends too early in the same way for every compression. */
function describeUnpacking(error: unknown, subject: string): unknown {
  const code = (error as { code?: unknown }).code;
  if (error instanceof SourceProblem || typeof code !== 'string') return error;
  if (code === 'Z_BUF_ERROR')
    return new SourceProblem('broken_off', `${subject} ends too early`, { cause: error });
  const isPacking = /^(Z_|ERR__ERROR_|ERR_BROTLI|ERR_ZSTD|ZSTD_)/.test(code);
  return isPacking ? new SourceProblem('damaged', `${subject} is damaged`, { cause: error }) : error;
}

export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** A cache that compresses compressed content sends two encodings. More encodings are an attack. */
const ENCODINGS = 2;
const chunkSize = 64 * 1024;

const createTransforms: Readonly<Record<string, (head: Buffer) => Transform>> = {
  gzip: () => zlib.createGunzip({ chunkSize }),
  'x-gzip': () => zlib.createGunzip({ chunkSize }),
  // The standard means zlib, but some servers send the raw stream. RFC 9110 §8.4.1.2.
  deflate: (head) =>
    isZlib(head) ? zlib.createInflate({ chunkSize }) : zlib.createInflateRaw({ chunkSize }),
  br: () => zlib.createBrotliDecompress({ chunkSize }),
  zstd: () => zlib.createZstdDecompress({ chunkSize }),
};

/** @throws SourceProblem damaged for an unsupported encoding; reading throws broken_off, too_large, damaged */
export function undoEncodings(bytes: ByteStream, header: string | undefined, maxBytes: number): ByteStream {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const unknown = names.find((name) => !Object.hasOwn(createTransforms, name));
  if (unknown !== undefined) {
    const text = `The answer has the unknown encoding ${unknown.slice(0, 30)}`;
    throw new SourceProblem('damaged', text);
  }
  if (names.length > ENCODINGS) throw new SourceProblem('damaged', 'The answer is encoded too many times');
  return names.reduceRight((inner, name) => undo(inner, name, maxBytes), bytes);
}

async function* undo(bytes: ByteStream, name: string, maxBytes: number): ByteStream {
  const { head, stream } = await peekBytes(bytes, 2);
  // Some servers name an encoding but send no body.
  if (head.length === 0) return;
  const createTransform = () => createTransforms[name]?.(head) as Transform;
  yield* unpackStream(stream, { what: 'The answer', maxBytes, createTransform });
}

const isZlib = (head: Buffer) =>
  head.length === 2 && (head[0] ?? 0) % 16 === 8 && head.readUInt16BE(0) % 31 === 0;
