import type { Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { type ByteStream, peekBytes, unpackStream } from './byte-streams.ts';
import { SourceProblem } from './source.ts';

export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** Two are sent by a cache that packs what was packed; more is an attack. */
const ENCODINGS = 2;
const chunkSize = 64 * 1024;

const createTransforms: Readonly<Record<string, (head: Buffer) => Transform>> = {
  gzip: () => createGunzip({ chunkSize }),
  'x-gzip': () => createGunzip({ chunkSize }),
  // The standard means zlib; some servers send the bare stream. RFC 9110 §8.4.1.2.
  deflate: (head) => (isZlib(head) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize })),
  br: () => createBrotliDecompress({ chunkSize }),
  zstd: () => createZstdDecompress({ chunkSize }),
};

/** @throws SourceProblem damaged, for an encoding that was not asked for; reading throws broken_off, too_large, damaged */
export function undoEncodings(bytes: ByteStream, header: string | undefined, maxBytes: number): ByteStream {
  const names = (header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const unknown = names.find((name) => !Object.hasOwn(createTransforms, name));
  if (unknown !== undefined)
    throw new SourceProblem(
      'damaged',
      `The answer is encoded as ${unknown.slice(0, 30)}, which is not known`,
    );
  if (names.length > ENCODINGS) throw new SourceProblem('damaged', 'The answer is encoded too many times');
  return names.reduceRight((inner, name) => undo(inner, name, maxBytes), bytes);
}

async function* undo(bytes: ByteStream, name: string, maxBytes: number): ByteStream {
  const peeked = await peekBytes(bytes, 2);
  // Some servers name an encoding and send no body at all.
  if (peeked.head.length === 0) return;
  yield* unpackStream(peeked.bytes, {
    what: 'The answer',
    maxBytes,
    createTransform: () => createTransforms[name]?.(peeked.head) as Transform,
  });
}

const isZlib = (head: Buffer) =>
  head.length === 2 && (head[0] ?? 0) % 16 === 8 && head.readUInt16BE(0) % 31 === 0;
