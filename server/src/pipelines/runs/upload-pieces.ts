/** A file that is sent in, on its way to the store. Source: docs/interface.md §13.1. */
import { createHash, randomBytes } from 'node:crypto';
import type { PayloadFiles } from '../../storage/storage.ts';

/** What one piece holds, and so what is held of a file at a time. */
const PIECE_BYTES = 8 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

export interface StoredFile {
  /** Payloads, in their order. */
  readonly pieces: readonly string[];
  readonly sizeBytes: number;
  readonly digest: string;
}

export interface PiecePlace {
  readonly payloads: PayloadFiles;
  readonly projectId: number;
}

/**
 * Writes a file in pieces; they are durable when it returns.
 * @throws what reading or writing throws; then no piece is left
 */
export async function storePieces(
  chunks: AsyncIterable<Uint8Array>,
  { payloads, projectId }: PiecePlace,
): Promise<StoredFile> {
  const name = `pipeline-${randomBytes(12).toString('hex')}`;
  const digest = createHash('sha256');
  const pieces: string[] = [];
  const piece = new Piece();
  let sizeBytes = 0;

  async function write(): Promise<void> {
    if (piece.length === 0) return;
    const next = `${name}-${pieces.length}`;
    // Named before it is there, so that one that was written by half goes too.
    pieces.push(next);
    await payloads.write(projectId, next, piece.take());
  }

  try {
    for await (const chunk of chunks) {
      digest.update(chunk);
      sizeBytes += chunk.length;
      for (let rest = chunk; rest.length > 0; ) {
        rest = piece.add(rest);
        if (piece.isFull) await write();
      }
    }
    await write();
  } catch (error) {
    // What cannot be removed now nobody owns, and it goes at a later start.
    await removePieces(pieces, { payloads, projectId }).catch(() => {});
    throw error;
  }
  return { pieces, sizeBytes, digest: digest.digest('hex') };
}

export async function removePieces(
  pieces: readonly string[],
  { payloads, projectId }: PiecePlace,
): Promise<void> {
  for (const name of pieces) await payloads.remove(projectId, name);
}

/** Grows with what is sent: most files are small. */
class Piece {
  length = 0;
  #bytes = new Uint8Array(FIRST_BYTES);

  get isFull(): boolean {
    return this.length === PIECE_BYTES;
  }

  /** @returns what does not fit */
  add(chunk: Uint8Array): Uint8Array {
    const taken = chunk.subarray(0, PIECE_BYTES - this.length);
    if (this.length + taken.length > this.#bytes.length) this.#grow(this.length + taken.length);
    this.#bytes.set(taken, this.length);
    this.length += taken.length;
    return chunk.subarray(taken.length);
  }

  /** @returns its bytes, to be used until something is added */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return bytes;
  }

  #grow(needed: number): void {
    const larger = new Uint8Array(Math.min(PIECE_BYTES, Math.max(needed, this.#bytes.length * 2)));
    larger.set(this.#bytes.subarray(0, this.length));
    this.#bytes = larger;
  }
}
