/** What sources and formats share: streams whose beginning is read before they are, files without a name, and archives. */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { translateSqliteError } from '../storage/storage.ts';

export type ByteStream = AsyncIterable<Uint8Array>;

/** A stream whose beginning can be read before it is. */
export class Peekable<Chunk extends { readonly length: number }> implements AsyncIterable<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  #peeked: Chunk[] = [];

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** @returns the first chunks, at least `length` long together unless the stream is shorter */
  async peek(length: number): Promise<readonly Chunk[]> {
    let have = this.#peeked.reduce((sum, chunk) => sum + chunk.length, 0);
    while (have < length) {
      const { done, value } = await this.#source.next();
      if (done) break;
      this.#peeked.push(value);
      have += value.length;
    }
    return this.#peeked;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    try {
      for (let chunk = this.#peeked.shift(); chunk !== undefined; chunk = this.#peeked.shift()) yield chunk;
      for (let next = await this.#source.next(); !next.done; next = await this.#source.next())
        yield next.value;
    } finally {
      await this.close();
    }
  }

  /** To be called when the stream is given up before it is read: it may hold a connection or a file. */
  async close(): Promise<void> {
    this.#peeked = [];
    await this.#source.return?.();
  }
}

/** @returns the first bytes, fewer than `length` only when there are no more, and the whole stream */
export async function peekBytes(bytes: ByteStream, length: number) {
  const stream = new Peekable(bytes);
  return { head: Buffer.concat(await stream.peek(length)).subarray(0, length), stream };
}

/** A file without a name: it is gone with the process, whatever happens. To be closed by the caller. */
export async function openNamelessFile(folder: string): Promise<FileHandle> {
  const own = await mkdtemp(join(folder, 'spool-'));
  try {
    return await open(join(own, 'spool'), 'wx+', 0o600);
  } finally {
    await rm(own, { recursive: true });
  }
}

/** Writes a stream to a file and hands on what is written. @throws storage_full, storage_failed */
export async function* writeSpool(bytes: ByteStream, file: FileHandle): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    try {
      await file.appendFile(chunk);
    } catch (error) {
      throw translateSqliteError(error);
    }
    yield chunk;
  }
}

const READ_BYTES = 64 * 1024;

export async function* readSpool(file: FileHandle, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    signal?.throwIfAborted();
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** How a zip is opened: the file is closed by its owner, entries are read one by one, and their lengths are checked. */
export const ZIP_OPTIONS = { autoClose: false, lazyEntries: true, validateEntrySizes: true } as const;

/** yauzl throws plain errors for the archive, zlib plain ones with a code of its own; all others are not about the file. */
export function isFaultOfArchive(error: unknown): error is Error {
  if (!(error instanceof Error) || error.constructor !== Error) return false;
  const { code } = error as { code?: unknown };
  return code === undefined || (typeof code === 'string' && code.startsWith('Z_'));
}
