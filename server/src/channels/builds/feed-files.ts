/** Writes the files of a build in pieces, so that none is ever in memory as a whole. */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createGzip, type Gzip } from 'node:zlib';
import type { FeedFile } from '../definitions/definitions.ts';
import type { FeedFiles, RowWriter } from '../formats/formats.ts';

/** @returns the name under which the piece is stored; it is durable then */
export type StorePiece = (bytes: Uint8Array) => Promise<string>;

export interface FileParts {
  readonly files: FeedFiles;
  readonly writer: RowWriter;
  readonly store: StorePiece;
}

/** What a payload holds, and so what is read of a file at a time. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Rows are packed and hashed so many characters at a time. */
const TEXT_CHARACTERS = 64 * 1024;
/** 5 takes two thirds of the time of 6 for 2 % more. */
const GZIP = { level: 5 };

export class FeedFileWriter {
  readonly #parts: FileParts;
  readonly #done: FeedFile[] = [];
  #file: OpenFile | undefined;

  constructor(parts: FileParts) {
    this.#parts = parts;
  }

  /** Many at a time: to wait for each row would cost as much as to write it. */
  async add(rows: readonly string[]): Promise<void> {
    const { files, writer } = this.#parts;
    const { rowsPerFile = Number.POSITIVE_INFINITY } = files.format;
    for (let at = 0; at < rows.length; ) {
      if (this.#file?.rows === rowsPerFile) await this.#end();
      this.#file ??= new OpenFile(this.#parts, writer.head);
      const fitting = rows.slice(at, at + rowsPerFile - this.#file.rows);
      await this.#file.add(fitting);
      at += fitting.length;
    }
  }

  /** @returns at least one file: a feed of no products is one, too */
  async end(): Promise<readonly FeedFile[]> {
    if (this.#done.length === 0) this.#file ??= new OpenFile(this.#parts, this.#parts.writer.head);
    await this.#end();
    return this.#done;
  }

  async #end(): Promise<void> {
    const { files, writer } = this.#parts;
    if (this.#file === undefined) return;
    const ended = await this.#file.end(writer.tail);
    const name = files.nameOf(this.#done.length + 1);
    this.#done.push({ name, mediaType: files.mediaType, ...ended });
    this.#file = undefined;
  }
}

class OpenFile {
  rows = 0;
  readonly #pieces: { name: string; sizeBytes: number }[] = [];
  readonly #store: StorePiece;
  readonly #hash: Hash = createHash('sha256');
  readonly #gzip: Gzip | undefined;
  #text: string;
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;

  constructor({ files, store }: FileParts, head: string) {
    this.#store = store;
    this.#text = head;
    if (!files.isPacked) return;
    this.#gzip = createGzip(GZIP);
    this.#gzip.on('data', (bytes: Uint8Array) => this.#take(bytes));
  }

  async add(rows: readonly string[]): Promise<void> {
    this.rows += rows.length;
    this.#text += rows.join('');
    if (this.#text.length >= TEXT_CHARACTERS) await this.#flush();
  }

  async end(tail: string): Promise<Omit<FeedFile, 'name' | 'mediaType'>> {
    this.#text += tail;
    await this.#flush();
    if (this.#gzip !== undefined) {
      const ended = once(this.#gzip, 'end');
      this.#gzip.end();
      await ended;
    }
    await this.#storePieces(1);
    const sizeBytes = this.#pieces.reduce((sum, piece) => sum + piece.sizeBytes, 0);
    return { sizeBytes, rows: this.rows, sha256: this.#hash.digest('hex'), pieces: this.#pieces };
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    if (this.#gzip === undefined) this.#take(bytes);
    else if (bytes.length > 0 && !this.#gzip.write(bytes)) await once(this.#gzip, 'drain');
    await this.#storePieces(PIECE_BYTES);
  }

  #take(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#chunks.push(bytes);
    this.#chunkBytes += bytes.length;
  }

  /** @param least  bytes that are worth a piece */
  async #storePieces(least: number): Promise<void> {
    while (this.#chunkBytes >= least) {
      const bytes = Buffer.concat(this.#chunks);
      const piece = bytes.subarray(0, PIECE_BYTES);
      const rest = bytes.subarray(PIECE_BYTES);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#chunkBytes = rest.length;
      this.#pieces.push({ name: await this.#store(piece), sizeBytes: piece.length });
    }
  }
}
