import { pipeline, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';

/** How a body was packed by its sender. */
export type BodyEncoding = 'identity' | 'gzip' | 'zstd' | 'br';

const MIB = 1024 * 1024;
// A window of 8 MiB is what RFC 9659 allows on the way; Node would take one of 128 MiB.
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } };

const NAMES: Readonly<Record<string, BodyEncoding>> = {
  '': 'identity',
  identity: 'identity',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  zstd: 'zstd',
  br: 'br',
};

/** @throws body_encoding */
export function readEncoding(header: string | undefined): BodyEncoding {
  const name = header?.trim().toLowerCase() ?? '';
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  if (known !== undefined) return known;
  throw new ServiceError('body_encoding', `Content-Encoding ${name} is not known`);
}

/** On the calling thread. Stops at the limit, so that a small body cannot fill the memory. @throws body_not_unpacked, body_too_large */
export function unpackNow(bytes: Buffer, encoding: BodyEncoding, maxMib: number): Buffer {
  const limit = { maxOutputLength: maxMib * MIB };
  try {
    if (encoding === 'gzip') return zlib.gunzipSync(bytes, limit);
    if (encoding === 'br') return zlib.brotliDecompressSync(bytes, limit);
    return encoding === 'zstd' ? zlib.zstdDecompressSync(bytes, { ...ZSTD, ...limit }) : bytes;
  } catch (error) {
    throw refuseUnpacking(error, encoding, maxMib);
  }
}

/** So much comes of a beginning at most: it is unpacked on the calling thread. */
const BEGINNING_BYTES = 64 * 1024;

/** @returns what can be read of a body of which there is only the beginning; undefined: nothing */
export function unpackBeginning(bytes: Uint8Array, encoding: BodyEncoding): Uint8Array | undefined {
  const limit = { maxOutputLength: BEGINNING_BYTES };
  try {
    if (encoding === 'gzip')
      return zlib.gunzipSync(bytes, { ...limit, finishFlush: zlib.constants.Z_SYNC_FLUSH });
    if (encoding === 'br')
      return zlib.brotliDecompressSync(bytes, {
        ...limit,
        finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      });
    if (encoding === 'identity') return bytes;
    return zlib.zstdDecompressSync(bytes, { ...ZSTD, ...limit, finishFlush: zlib.constants.ZSTD_e_flush });
  } catch {
    // It is for the list of kept requests (§14.9): a body that cannot be unpacked is not shown there.
    return undefined;
  }
}

/** The parts of a body, unpacked as they come. Never holds more than a part. @throws body_not_unpacked, body_too_large */
export async function* unpackParts(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: BodyEncoding,
  maxMib: number,
): AsyncGenerator<Uint8Array> {
  const unpacker = createUnpacker(encoding);
  let length = 0;
  try {
    for await (const part of unpacker === undefined ? parts : pipeline(parts, unpacker, () => {})) {
      length += part.length;
      if (length > maxMib * MIB) throw new ServiceError('body_too_large', { values: [maxMib] });
      yield part;
    }
  } catch (error) {
    throw unpacker === undefined ? error : refuseUnpacking(error, encoding, maxMib);
  }
}

function createUnpacker(encoding: BodyEncoding): Transform | undefined {
  if (encoding === 'zstd') return zlib.createZstdDecompress(ZSTD);
  if (encoding === 'br') return zlib.createBrotliDecompress();
  return encoding === 'gzip' ? zlib.createGunzip() : undefined;
}

/** Of what an unpacker throws. */
function refuseUnpacking(error: unknown, encoding: BodyEncoding, maxMib: number): unknown {
  if (error instanceof ServiceError) return error;
  const { code, message } = error as Error & { code?: string };
  if (code === 'ERR_BUFFER_TOO_LARGE') return new ServiceError('body_too_large', { values: [maxMib] });
  return new ServiceError('body_not_unpacked', { values: [encoding], details: [message], cause: error });
}
