import { createHash, randomBytes } from 'node:crypto';
import { cutPieces } from '../../kernel/pieces.ts';
import type { Base } from '../../storage/storage.ts';

/** The size of a piece, which is also how much of a file is in memory at a time. */
const PIECE_BYTES = 8 * 1024 * 1024;

type PiecePlace = Pick<Base, 'payloads'> & { readonly projectId: number };

/**
 * Writes a file in pieces. The file is durable when this returns.
 * @returns the payloads in order, with the size and digest of the file
 * @throws any error of reading or writing; then no piece is left
 */
export async function storePieces(chunks: AsyncIterable<Uint8Array>, { payloads, projectId }: PiecePlace) {
  const name = `pipeline-${randomBytes(12).toString('hex')}`;
  const digest = digestFile();
  const pieces: string[] = [];
  let sizeBytes = 0;
  async function* measured(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      digest.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  try {
    for await (const piece of cutPieces(measured(), PIECE_BYTES)) {
      const next = `${name}-${pieces.length}`;
      // Listed before it exists, so that a partly written piece is also removed.
      pieces.push(next);
      await payloads.write(projectId, next, piece);
    }
  } catch (error) {
    // A piece that cannot be removed now belongs to no run, and a later start removes it.
    await removePieces(pieces, { payloads, projectId }).catch(() => {});
    throw error;
  }
  return { pieces, sizeBytes, digest: digest.end() };
}

/**
 * The header of gzip: its first bytes, and the position of the time at which the file was packed. Source: RFC 1952
 * §2.3.
 */
const GZIP = { magic: Buffer.from([0x1f, 0x8b]), time: { from: 4, to: 8 } };

/** Digests a file without the time at which gzip packed it, so that the same file packed again has the same digest. */
function digestFile() {
  const hash = createHash('sha256');
  let head: Buffer = Buffer.alloc(0);
  const isWhole = () => head.length >= GZIP.time.to;
  const addHead = () => {
    if (head.subarray(0, GZIP.magic.length).equals(GZIP.magic)) head.fill(0, GZIP.time.from, GZIP.time.to);
    hash.update(head);
  };
  return {
    update(chunk: Uint8Array): void {
      if (isWhole()) return void hash.update(chunk);
      head = Buffer.concat([head, chunk]);
      if (isWhole()) addHead();
    },
    end(): string {
      if (!isWhole()) addHead();
      return hash.digest('hex');
    },
  };
}

export async function removePieces(
  pieces: readonly string[],
  { payloads, projectId }: PiecePlace,
): Promise<void> {
  for (const name of pieces) await payloads.remove(projectId, name);
}
