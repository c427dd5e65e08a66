import { readSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { translateSqliteError } from '../../storage/storage.ts';
import { FormatProblem } from './format-problem.ts';
import { openNamelessFile } from './spool.ts';

const PAGE_BYTES = 64 * 1024;
/** 32 MiB: texts are asked for nearly in the order in which they were added. */
const PAGES_KEPT = 512;
/** Offsets are 32 bits. */
const LARGEST_BYTES = 2 ** 32 - 1;
/** 16 columns of a full sheet without one text that comes twice; 64 MiB of offsets. */
const TEXTS = 16 * 1024 * 1024;

/**
 * Many texts by number, on disk: a workbook may hold gigabytes of them and asks for any of them at any time. In memory
 * are four bytes for each and the pages used last.
 */
export class TextStore {
  readonly #file: FileHandle;
  readonly #pages = new Map<number, Buffer<ArrayBuffer>>();
  #current = Buffer.allocUnsafeSlow(PAGE_BYTES);
  #starts = new Uint32Array(1024);
  #count = 0;
  #bytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(folder: string): Promise<TextStore> {
    return new TextStore(await openNamelessFile(folder));
  }

  /** @throws FormatProblem too_large; ServiceError storage_full */
  add(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#count === TEXTS || this.#bytes + bytes.length > LARGEST_BYTES)
      throw new FormatProblem(
        'too_large',
        'The workbook has more texts than can be read: 16,777,216 or 4 GiB',
      );
    if (this.#count + 1 >= this.#starts.length) this.#growStarts();
    for (let done = 0; done < bytes.length; ) {
      const at = (this.#bytes + done) % PAGE_BYTES;
      const copied = bytes.copy(this.#current, at, done);
      done += copied;
      if (at + copied === PAGE_BYTES) this.#finishPage(Math.floor((this.#bytes + done) / PAGE_BYTES) - 1);
    }
    this.#bytes += bytes.length;
    this.#count += 1;
    this.#starts[this.#count] = this.#bytes;
  }

  /** @returns undefined for a number that no text has */
  find(index: number): string | undefined {
    const start = this.#starts[index];
    const end = this.#starts[index + 1];
    if (start === undefined || end === undefined || !(index < this.#count)) return undefined;
    const first = Math.floor(start / PAGE_BYTES);
    if (end <= (first + 1) * PAGE_BYTES)
      return this.#page(first).toString('utf8', start - first * PAGE_BYTES, end - first * PAGE_BYTES);
    return this.#readLong(start, end);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #readLong(start: number, end: number): string {
    const parts: Buffer[] = [];
    for (let page = Math.floor(start / PAGE_BYTES); page * PAGE_BYTES < end; page += 1) {
      const offset = page * PAGE_BYTES;
      parts.push(this.#page(page).subarray(Math.max(0, start - offset), Math.min(PAGE_BYTES, end - offset)));
    }
    return Buffer.concat(parts).toString();
  }

  #page(number: number): Buffer {
    if (number === Math.floor(this.#bytes / PAGE_BYTES)) return this.#current;
    const kept = this.#pages.get(number);
    if (kept !== undefined) return kept;
    const page = this.#room();
    readSync(this.#file.fd, page, 0, PAGE_BYTES, number * PAGE_BYTES);
    this.#pages.set(number, page);
    return page;
  }

  #finishPage(number: number): void {
    try {
      writeSync(this.#file.fd, this.#current, 0, PAGE_BYTES, number * PAGE_BYTES);
    } catch (error) {
      throw translateSqliteError(error);
    }
    const next = this.#room();
    this.#pages.set(number, this.#current);
    this.#current = next;
  }

  /** The page that was taken in first gives its room to the next. */
  #room(): Buffer<ArrayBuffer> {
    const oldest = this.#pages.entries().next().value;
    if (this.#pages.size < PAGES_KEPT || oldest === undefined) return Buffer.allocUnsafeSlow(PAGE_BYTES);
    this.#pages.delete(oldest[0]);
    return oldest[1];
  }

  #growStarts(): void {
    const grown = new Uint32Array(this.#starts.length * 2);
    grown.set(this.#starts);
    this.#starts = grown;
  }
}
