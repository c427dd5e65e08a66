import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { translateSqliteError } from '../../storage/storage.ts';
import { tooLarge } from '../input/input.ts';

/** Texts are read nearly in the order in which they were added. cache_size is in KiB. No data survives the process. */
const PRAGMAS = `
  pragma page_size = 16384;
  pragma cache_size = -32768;
  pragma journal_mode = off;
  pragma synchronous = off;
  pragma locking_mode = exclusive;
`;
/** The number of texts in 16 columns of a full sheet without a repeated text. */
const TEXTS = 16 * 1024 * 1024;
/** The size is limited because all projects share the disk. */
const LARGEST_BYTES = 4 * 1024 ** 3;
const TOO_MANY = 'The workbook has more texts than can be read: 16,777,216 or 4 GiB';

export type TextStore = Awaited<ReturnType<typeof openTextStore>>;

/**
 * Stores many texts by number on disk, because a workbook may contain gigabytes of texts, and its cells refer to any of
 * them. Up to 32 MiB of pages are in memory. The file has no name, like a file of `openNamelessFile`.
 */
export async function openTextStore(folder: string) {
  const own = await mkdtemp(join(folder, 'spool-'));
  const database = new DatabaseSync(join(own, 'texts'));
  try {
    // SQLite writes nothing until the pages in memory are full, so only `add` translates errors.
    database.exec(`${PRAGMAS} begin; create table text (number integer primary key, content text) strict`);
  } finally {
    await rm(own, { recursive: true });
  }
  const insert = database.prepare('insert into text values (?, ?)');
  const select = database.prepare('select content from text where number = ?');
  let count = 0;
  let bytes = 0;

  return {
    /** @throws FormatProblem too_large; ServiceError storage_full */
    add(text: string): void {
      bytes += Buffer.byteLength(text);
      if (count === TEXTS || bytes > LARGEST_BYTES) throw tooLarge(TOO_MANY);
      try {
        insert.run(count, text);
      } catch (error) {
        throw translateSqliteError(error);
      }
      count += 1;
    },
    /** @returns undefined if no text has the number */
    find: (number: number) => select.get(number)?.content as string | undefined,
    [Symbol.asyncDispose]: async (): Promise<void> => database.close(),
  };
}
