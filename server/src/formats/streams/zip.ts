import type { FileHandle } from 'node:fs/promises';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';

export interface ZipLimits {
  readonly entries: number;
  /** May refuse an entry before the next entry is read. */
  readonly check?: (entry: Entry) => void;
  /** @returns the error for an archive with too many entries */
  tooMany(): Error;
  /** @returns the error for a damaged archive; `cause` is the reason in the words of the library */
  damaged(cause: Error): Error;
}

/** Opens a zip whose entries are read one by one. The caller closes the file. */
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
    /** Unpacks an entry. Close the file only after all reading has ended. */
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

/**
 * yauzl throws plain errors for the archive, and zlib plain errors with its own code. All other errors do not concern
 * the file.
 */
export function isFaultOfArchive(error: unknown): error is Error {
  if (!(error instanceof Error) || error.constructor !== Error) return false;
  const { code } = error as { code?: unknown };
  return code === undefined || (typeof code === 'string' && code.startsWith('Z_'));
}
