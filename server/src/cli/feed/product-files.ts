import { createReadStream, statSync } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { LineSplitter, ListSplitter, type Splitter } from './splitters.ts';
import { UsageError } from './usage-error.ts';

/** Files of products as a shop exports them: JSON lists, `{"products":[…]}` or a product a line, packed or not. */

/** Node's own 16 KiB make unpacking take three times the processor time. */
const CHUNK_BYTES = 256 * 1024;

export interface FileProgress {
  /** Bytes of the files that were read, as they are on the disk. */
  read: number;
  /** 0 where a pipe does not say. */
  readonly total: number;
}

/** @throws UsageError for a file that is not there */
export function measureFiles(paths: readonly string[]): FileProgress {
  const sizes = paths.map((path) => (path === '-' ? 0 : sizeOf(path)));
  return { read: 0, total: sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0) };
}

function sizeOf(path: string): number {
  try {
    const stat = statSync(path);
    if (stat.isFile()) return stat.size;
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
  throw new UsageError(`${path} is no file`);
}

/** @returns the products in their order, each as the bytes that it has there @throws UsageError for what holds none */
export async function* readProducts(
  paths: readonly string[],
  progress: FileProgress,
): AsyncGenerator<Buffer[]> {
  for (const path of paths) yield* readFile(path, progress);
}

async function* readFile(path: string, progress: FileProgress): AsyncGenerator<Buffer[]> {
  const source: Readable =
    path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  let splitter: Splitter | undefined;
  let head = Buffer.alloc(0);
  for await (const chunk of unpack(source, progress)) {
    if (splitter === undefined) {
      head = withoutMark(Buffer.concat([head, chunk]));
      splitter = chooseSplitter(head);
      if (splitter !== undefined) yield splitter.split(head);
    } else yield splitter.split(chunk);
  }
  splitter ??= new LineSplitter();
  if (!splitter.hasBegun) yield splitter.split(head);
  const rest = splitter.end();
  if (rest === undefined) throw new UsageError(`${path} ends in the middle of a product`);
  yield rest;
}

async function* unpack(source: Readable, progress: FileProgress): AsyncGenerator<Buffer> {
  const parts = countRead(source, progress);
  const { value: first } = await parts.next();
  if (first === undefined) return;
  const decoder = createDecoder(first);
  const all = Readable.from(concat(first, parts), { objectMode: false });
  // A failure ends the decoder too, which is what the reader gets to see.
  yield* decoder === undefined ? all : pipeline(all, decoder, () => {});
}

async function* countRead(source: Readable, progress: FileProgress): AsyncGenerator<Buffer, undefined> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    progress.read += chunk.length;
    yield chunk;
  }
}

async function* concat(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** By the first bytes of a file, whatever its name is. */
function createDecoder(first: Buffer) {
  const magic = first.subarray(0, 4).toString('hex');
  if (magic.startsWith('1f8b')) return createGunzip({ chunkSize: CHUNK_BYTES });
  return magic === '28b52ffd' ? createZstdDecompress({ chunkSize: CHUNK_BYTES }) : undefined;
}

/** Spreadsheets begin a file with a byte order mark. */
const withoutMark = (head: Buffer<ArrayBuffer>) =>
  head.subarray(0, 3).toString('hex') === 'efbbbf' ? head.subarray(3) : head;

const WRAPPER = /^\s*\{\s*"(?:products|content)"\s*:\s*\[/;
/** So much is enough to see which form it is. */
const HEAD_BYTES = 4_096;

/** @returns undefined while too little was read */
function chooseSplitter(head: Buffer): Splitter | undefined {
  const text = head.subarray(0, HEAD_BYTES).toString('latin1');
  if (/^\s*\[/.test(text)) return new ListSplitter(1);
  if (WRAPPER.test(text)) return new ListSplitter(2);
  return head.length >= HEAD_BYTES ? new LineSplitter() : undefined;
}
