import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { pipeline, Readable, type Writable } from 'node:stream';
import { pipeline as pump } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { UsageError } from './connection.ts';

/** Reads product files of shops: JSON lists, `{"products":[…]}` or one product per line, packed or not. */

/** With Node's default of 16 KiB, unpacking takes three times the processor time. */
const CHUNK_BYTES = 256 * 1024;

export interface FileProgress {
  /** The bytes read so far, before unpacking. */
  read: number;
  /** 0 if unknown, as for a pipe. */
  readonly total: number;
}

/** @throws UsageError for a missing file */
export function measureFiles(paths: readonly string[]): FileProgress {
  const sizes = paths.map((path) => (path === '-' ? 0 : sizeOf(path)));
  return { read: 0, total: sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0) };
}

function sizeOf(path: string): number {
  try {
    const stat = fs.statSync(path);
    if (stat.isFile()) return stat.size;
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
  throw new UsageError(`${path} is not a file`);
}

/** @returns the products in order, each as its bytes in the file. @throws UsageError for a truncated file */
export async function* readProducts(paths: readonly string[], progress: FileProgress) {
  for (const path of paths) yield* readFile(path, progress);
}

async function* readFile(path: string, progress: FileProgress): AsyncGenerator<Buffer[]> {
  const source: Readable =
    path === '-' ? process.stdin : fs.createReadStream(path, { highWaterMark: CHUNK_BYTES });
  let splitter: Splitter | undefined;
  let head = Buffer.alloc(0);
  for await (const chunk of unpack(source, progress)) {
    if (splitter === undefined) {
      head = withoutMark(Buffer.concat([head, chunk]));
      splitter = chooseSplitter(head);
      if (splitter !== undefined) yield splitter.split(head);
    } else yield splitter.split(chunk);
  }
  if (splitter === undefined) {
    splitter = new LineSplitter();
    yield splitter.split(head);
  }
  const rest = splitter.end();
  if (rest === undefined) throw new UsageError(`${path} ends in the middle of a product`);
  yield rest;
}

async function* unpack(source: Readable, progress: FileProgress): AsyncGenerator<Buffer> {
  const parts = countRead(source, progress);
  const { value: first } = await parts.next();
  if (first === undefined) return;
  const decoder = createDecoder(first);
  async function* readAgain() {
    yield first;
    yield* parts;
  }
  const all = Readable.from(readAgain(), { objectMode: false });
  // A failure of the source also ends the decoder with an error, so the reader receives it.
  yield* decoder === undefined ? all : pipeline(all, decoder, () => {});
}

async function* countRead(source: Readable, progress: FileProgress): AsyncGenerator<Buffer, undefined> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    progress.read += chunk.length;
    yield chunk;
  }
}

/** Recognises the compression by the first bytes and not by the name of the file. */
function createDecoder(first: Buffer) {
  const magic = first.subarray(0, 4).toString('hex');
  if (magic.startsWith('1f8b')) return createGunzip({ chunkSize: CHUNK_BYTES });
  return magic === '28b52ffd' ? createZstdDecompress({ chunkSize: CHUNK_BYTES }) : undefined;
}

/** Files from spreadsheets begin with a byte order mark. */
const withoutMark = (head: Buffer<ArrayBuffer>) =>
  head.subarray(0, 3).toString('hex') === 'efbbbf' ? head.subarray(3) : head;

/** Enough bytes to recognise the form of the file. */
const HEAD_BYTES = 4_096;

/** @returns undefined if too few bytes were read */
function chooseSplitter(head: Buffer): Splitter | undefined {
  const text = head.subarray(0, HEAD_BYTES).toString('latin1');
  if (/^\s*\[/.test(text)) return new ListSplitter(1);
  if (/^\s*\{\s*"(?:products|content)"\s*:\s*\[/.test(text)) return new ListSplitter(2);
  return head.length >= HEAD_BYTES ? new LineSplitter() : undefined;
}

/** Splits bytes that arrive in arbitrary pieces into products. */
interface Splitter {
  /** @returns the products that are complete after this piece */
  split(chunk: Buffer): Buffer[];
  /** @returns the remaining products; undefined if one is incomplete */
  end(): Buffer[] | undefined;
}

const NEWLINE = 0x0a;

/** Splits one product per line. */
class LineSplitter implements Splitter {
  private rest: Buffer[] = [];

  split(chunk: Buffer): Buffer[] {
    const products: Buffer[] = [];
    let from = 0;
    for (let index = chunk.indexOf(NEWLINE); index !== -1; index = chunk.indexOf(NEWLINE, from)) {
      products.push(this.take(chunk.subarray(from, index)));
      from = index + 1;
    }
    if (from < chunk.length) this.rest.push(chunk.subarray(from));
    return products.filter(isNotBlank);
  }

  end(): Buffer[] {
    return [this.take(Buffer.alloc(0))].filter(isNotBlank);
  }

  private take(last: Buffer): Buffer {
    if (this.rest.length === 0) return last;
    const line = Buffer.concat([...this.rest, last]);
    this.rest = [];
    return line;
  }
}

/** @returns false for a line that is blank or only a byte order mark */
const isNotBlank = (line: Buffer) => line.some((byte) => byte > 0x20 && byte < 0x80);

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

/** Splits the objects of a list at the given depth of the file. */
class ListSplitter implements Splitter {
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  /** Bytes of the unfinished product. */
  private rest: Buffer[] = [];
  private readonly depthOfList: number;

  constructor(depthOfList: number) {
    this.depthOfList = depthOfList;
  }

  split(chunk: Buffer): Buffer[] {
    const products: Buffer[] = [];
    let from = this.depth > this.depthOfList ? 0 : -1;
    for (let index = 0; index < chunk.length; index += 1) {
      const before = this.depth;
      this.read(chunk[index] as number);
      if (this.depth === before || Math.min(this.depth, before) !== this.depthOfList) continue;
      if (this.depth > before) {
        from = index;
        continue;
      }
      products.push(Buffer.concat([...this.rest, chunk.subarray(from, index + 1)]));
      this.rest = [];
      from = -1;
    }
    if (from !== -1) this.rest.push(chunk.subarray(from));
    return products;
  }

  end(): Buffer[] | undefined {
    return this.depth === 0 ? [] : undefined;
  }

  private read(byte: number): void {
    if (this.isInText) this.readText(byte);
    else if (byte === QUOTE) this.isInText = true;
    else if (byte === OPEN || byte === OPEN_LIST) this.depth += 1;
    else if (byte === CLOSE || byte === CLOSE_LIST) this.depth -= 1;
  }

  private readText(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) this.isInText = false;
  }
}

/** A folder may not accept another file, or the file may be a mount point. */
const NO_PART: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS'];
const NO_RENAME: readonly unknown[] = ['EACCES', 'EPERM', 'EBUSY', 'EXDEV'];

/**
 * Renames a temporary file to the path only once it is complete, because a file that is truncated at the end of a line
 * looks complete. Writes devices and links directly, and also files in a folder where it cannot create another file.
 */
export async function writeWhole(path: string, write: (file: Writable) => Promise<void>): Promise<void> {
  const existing = fs.lstatSync(path, { throwIfNoEntry: false });
  // Another process may be writing the same file.
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  const fd = existing === undefined || existing.isFile() ? openPart(part, existing?.mode) : undefined;
  if (fd === undefined) return write(fs.createWriteStream(path));
  try {
    await write(fs.createWriteStream(part, { fd, flush: true }));
  } catch (error) {
    fs.rmSync(part, { force: true });
    throw error;
  }
  await give(part, path);
}

/** @returns undefined if the temporary file cannot be created */
function openPart(part: string, mode: number | undefined): number | undefined {
  try {
    return fs.openSync(part, 'wx', mode);
  } catch (error) {
    if (NO_PART.includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Moves a complete download to its path. If that fails, the temporary file stays and the error names it. */
async function give(part: string, path: string): Promise<void> {
  try {
    if (!rename(part, path))
      await pump(fs.createReadStream(part), fs.createWriteStream(path, { flush: true }));
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${path} cannot be replaced; the complete file is ${part}: ${message}`, {
      cause: error,
    });
  }
  fs.rmSync(part, { force: true });
}

function rename(part: string, path: string): boolean {
  try {
    fs.renameSync(part, path);
    return true;
  } catch (error) {
    if (NO_RENAME.includes(codeOf(error))) return false;
    throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
