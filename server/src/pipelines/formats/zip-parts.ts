import type { FileHandle } from 'node:fs/promises';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { FormatProblem } from './format-problem.ts';

/** A workbook has a few dozen parts; one with many pictures some thousand. */
const PARTS = 10_000;
/** What the directory says about a part; names are short, and remarks are not written. */
const ENTRY_BYTES = 2_000;
/** A sheet with 1,048,576 rows of twenty columns has about 1 GiB of XML. */
const PART_BYTES = 4 * 1024 * 1024 * 1024;
/** XML of a sheet shrinks to a tenth, one of equal rows to a fiftieth; a bomb shrinks to a thousandth. */
const RATIO = 200;
const RATIO_FROM_BYTES = 64 * 1024 * 1024;
/** The first bytes of an old .xls file, and of a new one with a password. */
const COMPOUND_FILE = 'd0cf11e0';

/** The parts of an Office file: a zip whose entries are read by name. */
export class ZipParts {
  readonly #zip: ZipFile;
  /** By lower-case name: the standard compares them so. */
  readonly #entries: ReadonlyMap<string, Entry>;

  readonly #signal: AbortSignal | undefined;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>, signal: AbortSignal | undefined) {
    this.#zip = zip;
    this.#entries = entries;
    this.#signal = signal;
  }

  /** @throws FormatProblem damaged, refused, too_large */
  static async open(file: FileHandle, signal?: AbortSignal): Promise<ZipParts> {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.toString('hex') === COMPOUND_FILE) {
      const message =
        'The file is an old Excel file (.xls) or protected by a password. Please save it as .xlsx without one';
      throw new FormatProblem('refused', message);
    }
    const options = { autoClose: false, lazyEntries: true, validateEntrySizes: true };
    const zip = await understand(fromFdPromise(file.fd, options));
    if (zip.entryCount > PARTS)
      throw new FormatProblem('too_large', `The workbook has more than ${PARTS.toLocaleString('en')} parts`);
    return new ZipParts(zip, await understand(listEntries(zip)), signal);
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** @throws FormatProblem not_found, damaged, refused, too_large */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entries.get(name.toLowerCase());
    if (entry === undefined) throw new FormatProblem('not_found', `The workbook has no part ${name}`);
    if (entry.isEncrypted()) throw new FormatProblem('refused', 'The workbook is encrypted');
    const stream = await understand(this.#zip.openReadStreamPromise(entry));
    let total = 0;
    try {
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        this.#signal?.throwIfAborted();
        total += chunk.length;
        checkSize(total, entry);
        yield chunk;
      }
    } catch (error) {
      throw damaged(error);
    } finally {
      stream.destroy();
    }
  }
}

async function listEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) {
    if (entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength > ENTRY_BYTES)
      throw new FormatProblem('too_large', 'A part of the workbook has an endless name');
    entries.set(entry.fileName.toLowerCase(), entry);
  }
  return entries;
}

function checkSize(total: number, { compressedSize, fileName }: Entry): void {
  if (total > PART_BYTES)
    throw new FormatProblem('too_large', `The part ${fileName} is larger than 4 GiB, the limit`);
  if (total <= RATIO_FROM_BYTES || total <= compressedSize * RATIO) return;
  throw new FormatProblem('too_large', `The part ${fileName} unpacks to more than ${RATIO} times its size`);
}

async function understand<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw damaged(error);
  }
}

/** Errors of the archive are plain ones, those of zlib have a code of its own; all others are not about the file. */
function damaged(error: unknown): unknown {
  if (!(error instanceof Error) || error.constructor !== Error) return error;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' && !code.startsWith('Z_')) return error;
  return new FormatProblem('damaged', `The file is no whole workbook (.xlsx): ${error.message}`, {
    cause: error,
  });
}
