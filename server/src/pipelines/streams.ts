/** What sources and formats share: streams with a look-ahead, files without a name, and archives. */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { translateSqliteError } from '../storage/storage.ts';

export type ByteStream = AsyncIterable<Uint8Array>;

/** A stream whose beginning can be read ahead. */
export class Peekable<Chunk extends { readonly length: number }> implements AsyncIterable<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  #peeked: Chunk[] = [];

  constructor(source: AsyncIterable<Chunk>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** @returns the first chunks, together at least `length` long unless the stream is shorter */
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
      await this[Symbol.asyncDispose]();
    }
  }

  /** Call it when a stream is abandoned unread, as it may hold a connection or a file. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#peeked = [];
    await this.#source.return?.();
  }
}

/** @returns the first bytes, fewer than `length` only if there are no more, and the whole stream */
export async function peekBytes(bytes: ByteStream, length: number) {
  const stream = new Peekable(bytes);
  return { head: Buffer.concat(await stream.peek(length)).subarray(0, length), stream };
}

/** A file without a name, which disappears with the process in any case. The caller closes it. */
export async function openNamelessFile(folder: string): Promise<FileHandle> {
  const own = await mkdtemp(join(folder, 'spool-'));
  try {
    return await open(join(own, 'spool'), 'wx+', 0o600);
  } finally {
    await rm(own, { recursive: true });
  }
}

/** Writes a stream to a file and passes on what is written. @throws storage_full, storage_failed */
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

export async function* readSpool(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export interface ZipLimits {
  readonly entries: number;
  /** May refuse an entry before the next one is read. */
  readonly check?: (entry: Entry) => void;
  /** @returns the problem of an archive with too many entries */
  tooMany(): Error;
  /** @returns the problem of a damaged archive, in its own words */
  damaged(cause: Error): Error;
}

/** A zip whose entries are read one by one; the file is closed by its owner. */
export async function openZip(file: FileHandle, limits: ZipLimits) {
  const understand = (error: unknown): never => {
    throw isFaultOfArchive(error) ? limits.damaged(error) : error;
  };

  async function listEntries(zip: ZipFile): Promise<Entry[]> {
    const entries: Entry[] = [];
    if (zip.entryCount > limits.entries) throw limits.tooMany();
    for await (const entry of zip.eachEntry()) {
      if (entries.length >= limits.entries) throw limits.tooMany();
      limits.check?.(entry);
      entries.push(entry);
    }
    return entries;
  }

  const options = { autoClose: false, lazyEntries: true, validateEntrySizes: true } as const;
  const zip = await fromFdPromise(file.fd, options).catch(understand);
  return {
    entries: await listEntries(zip).catch(understand),
    /** Unpacks an entry. Close the file only when nothing reads from it any more. */
    async *read(entry: Entry): AsyncGenerator<Uint8Array> {
      const stream = await zip.openReadStreamPromise(entry).catch(understand);
      const closed = new Promise<void>((resolve) => stream.once('close', resolve));
      try {
        yield* stream as AsyncIterable<Uint8Array>;
      } catch (error) {
        understand(error);
      } finally {
        stream.on('error', () => {}).destroy();
        if (!stream.closed) await closed;
      }
    },
  };
}

export type Zip = Awaited<ReturnType<typeof openZip>>;

/** yauzl throws plain errors for the archive, zlib plain ones with a code of its own; all others do not concern the file. */
export function isFaultOfArchive(error: unknown): error is Error {
  if (!(error instanceof Error) || error.constructor !== Error) return false;
  const { code } = error as { code?: unknown };
  return code === undefined || (typeof code === 'string' && code.startsWith('Z_'));
}
