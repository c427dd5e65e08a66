import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { translateSqliteError } from '../../storage/storage.ts';
import type { ByteStream } from './peekable.ts';

/** Opens a file without a name, which disappears with the process in any case. The caller closes it. */
export async function openNamelessFile(folder: string): Promise<FileHandle> {
  const own = await mkdtemp(join(folder, 'spool-'));
  try {
    return await open(join(own, 'spool'), 'wx+', 0o600);
  } finally {
    await rm(own, { recursive: true });
  }
}

/** Writes a stream to a file and yields each chunk after writing it. @throws storage_full, storage_failed */
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
