import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A file may be written in a folder that takes no other, or be mounted by itself. */
const NO_PART: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS'];
const NO_RENAME: readonly unknown[] = ['EACCES', 'EPERM', 'EBUSY', 'EXDEV'];

/**
 * A file that is cut at the end of a line looks whole: it gets its name when it is. Devices and links are written as they
 * are, and so is what can have no part beside it.
 */
export async function writeWhole(path: string, write: (file: Writable) => Promise<void>): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // Another process may write the same file at this moment.
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  const fd = found === undefined || found.isFile() ? openPart(part, found?.mode) : undefined;
  if (fd === undefined) return write(createWriteStream(path));
  try {
    await write(createWriteStream(part, { fd, flush: true }));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  await give(part, path);
}

/** @returns undefined where there can be none */
function openPart(part: string, mode: number | undefined): number | undefined {
  try {
    return openSync(part, 'wx', mode);
  } catch (error) {
    if (NO_PART.includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** What was downloaded is never lost for want of its name. */
async function give(part: string, path: string): Promise<void> {
  try {
    if (!rename(part, path)) await pipeline(createReadStream(part), createWriteStream(path, { flush: true }));
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${path} cannot be replaced, what belongs there is in ${part}: ${message}`, {
      cause: error,
    });
  }
  rmSync(part, { force: true });
}

function rename(part: string, path: string): boolean {
  try {
    renameSync(part, path);
    return true;
  } catch (error) {
    if (NO_RENAME.includes(codeOf(error))) return false;
    throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
