import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createGzip } from 'node:zlib';
import type { FeedFiles } from '../../formats/formats.ts';
import type { RowWriter } from '../../formats/output/output.ts';
import type { FeedFile } from '../channel-definitions/channel-definitions.ts';

/** @returns the name of the stored piece, which is then durable */
export type StorePiece = (bytes: Uint8Array) => Promise<string>;

interface FileParts {
  readonly files: FeedFiles;
  readonly writer: RowWriter;
  readonly store: StorePiece;
}

/** The size of a payload, which is also how much of a file is read at a time. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** How many characters of rows are packed and hashed at a time. */
const TEXT_CHARACTERS = 64 * 1024;

/** Writes files in pieces, so that no file is ever in memory as a whole. */
export function createFileWriter(parts: FileParts) {
  const { files, writer } = parts;
  const { rowsPerFile = Number.POSITIVE_INFINITY } = files.format;
  const written: FeedFile[] = [];
  let file: ReturnType<typeof openFile> | undefined;

  async function endFile(): Promise<void> {
    if (file === undefined) return;
    const ended = await file.end(writer.tail);
    written.push({ name: files.nameOf(written.length + 1), mediaType: files.mediaType, ...ended });
    file = undefined;
  }

  return {
    /** Adds many rows at a time, because waiting for each row would cost as much as writing it. */
    async add(rows: readonly string[]): Promise<void> {
      for (let start = 0; start < rows.length; ) {
        if (file?.countRows() === rowsPerFile) await endFile();
        file ??= openFile(parts, writer.head);
        const fitting = rows.slice(start, start + rowsPerFile - file.countRows());
        await file.add(fitting);
        start += fitting.length;
      }
    },
    /** @returns at least one file, even for a feed without products */
    async end(): Promise<readonly FeedFile[]> {
      if (written.length === 0) file ??= openFile(parts, writer.head);
      await endFile();
      return written;
    },
  };
}

function openFile({ files, store }: FileParts, head: string) {
  const pieces: { name: string; sizeBytes: number }[] = [];
  const hash = createHash('sha256');
  // Level 5 takes two thirds of the time of level 6, for 2 % more bytes.
  const gzip = files.isPacked ? createGzip({ level: 5 }).on('data', take) : undefined;
  let rows = 0;
  let text = head;
  let chunks: Uint8Array[] = [];
  let chunkBytes = 0;

  function take(bytes: Uint8Array): void {
    hash.update(bytes);
    chunks.push(bytes);
    chunkBytes += bytes.length;
  }

  async function flush(): Promise<void> {
    const bytes = Buffer.from(text);
    text = '';
    if (gzip === undefined) take(bytes);
    else if (bytes.length > 0 && !gzip.write(bytes)) await once(gzip, 'drain');
    await storePieces(PIECE_BYTES);
  }

  /** @param least the smallest number of bytes that is stored as a piece */
  async function storePieces(least: number): Promise<void> {
    while (chunkBytes >= least) {
      const bytes = Buffer.concat(chunks);
      const piece = bytes.subarray(0, PIECE_BYTES);
      const rest = bytes.subarray(PIECE_BYTES);
      chunks = rest.length > 0 ? [rest] : [];
      chunkBytes = rest.length;
      pieces.push({ name: await store(piece), sizeBytes: piece.length });
    }
  }

  return {
    countRows: () => rows,
    async add(added: readonly string[]): Promise<void> {
      rows += added.length;
      text += added.join('');
      if (text.length >= TEXT_CHARACTERS) await flush();
    },
    async end(tail: string): Promise<Omit<FeedFile, 'name' | 'mediaType'>> {
      text += tail;
      await flush();
      if (gzip !== undefined) await Promise.all([once(gzip, 'end'), gzip.end()]);
      await storePieces(1);
      const sizeBytes = pieces.reduce((sum, piece) => sum + piece.sizeBytes, 0);
      return { sizeBytes, rows, sha256: hash.digest('hex'), pieces };
    },
  };
}
