import type { FileHandle } from 'node:fs/promises';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { translateSqliteError } from '../../storage/storage.ts';
import { type ByteStream, boundBytes, checkRatio, tooLarge } from './byte-streams.ts';
import { compileGlob } from './glob.ts';
import { SourceProblem } from './source.ts';
import type { UnpackOptions } from './unpack.ts';

/** An archive for a pipeline holds one file, or a few of which one is chosen. */
const ENTRIES = 1_000;
const NAMES_SHOWN = 5;
const WORKBOOK_MARK = '[Content_Types].xml';
const READ_BYTES = 256 * 1024;

export interface ZipContent {
  /** The chosen file, or the whole archive if it is a workbook. */
  readonly content: ByteStream;
  /** Known once something has been read. */
  isWorkbook(): boolean;
}

/** A zip has its table of contents at its end, so it has to be whole before anything can be read. */
export function readZip(bytes: ByteStream, options: UnpackOptions): ZipContent {
  let isWorkbook = false;

  async function* readContent(): ByteStream {
    const file = await spool(bytes, options);
    try {
      const chosen = await chooseEntry(file, options);
      isWorkbook = chosen === undefined;
      if (chosen === undefined) yield* readWhole(file);
      else yield* readEntry(chosen.zip, chosen.entry, options);
    } finally {
      await file.close();
    }
  }
  return { content: readContent(), isWorkbook: () => isWorkbook };
}

/** The file has no name any more when this returns, so nothing is left whatever happens. */
async function spool(bytes: ByteStream, { tempDir, maxPackedBytes }: UnpackOptions): Promise<FileHandle> {
  const folder = await mkdtemp(join(tempDir, 'zip-'));
  const file = await open(join(folder, 'archive'), 'wx+', 0o600);
  try {
    await rm(folder, { recursive: true });
    for await (const chunk of boundBytes(bytes, maxPackedBytes, 'The zip archive'))
      await file.writeFile(chunk);
    return file;
  } catch (error) {
    await file.close();
    throw translateSqliteError(error);
  }
}

/** @returns undefined when the archive is a workbook */
async function chooseEntry(
  file: FileHandle,
  options: UnpackOptions,
): Promise<{ zip: ZipFile; entry: Entry } | undefined> {
  const zip = await understand(
    fromFdPromise(file.fd, { autoClose: false, lazyEntries: true, validateEntrySizes: true }),
  );
  const entries = await understand(listEntries(zip));
  if (entries.some(({ fileName }) => fileName === WORKBOOK_MARK)) return undefined;
  const entry = chooseOne(entries, options.entry);
  if (entry.isEncrypted()) throw new SourceProblem('archive', `${quote(entry)} in the archive is encrypted`);
  if (entry.uncompressedSize > options.maxUnpackedBytes)
    throw tooLarge(`${quote(entry)} in the archive`, options.maxUnpackedBytes);
  return { zip, entry };
}

async function listEntries(zip: ZipFile): Promise<Entry[]> {
  const tooMany = new SourceProblem('archive', `The archive holds more than ${ENTRIES} files`);
  if (zip.entryCount > ENTRIES) throw tooMany;
  const entries: Entry[] = [];
  for await (const entry of zip.eachEntry()) {
    if (entries.length >= ENTRIES) throw tooMany;
    entries.push(entry);
  }
  return entries;
}

/** Folders, hidden files and what a Mac adds to an archive are not meant. */
function chooseOne(entries: readonly Entry[], pattern: string | undefined): Entry {
  const files = entries.filter(({ fileName }) => !/(^|\/)(\.|__MACOSX\/)|\/$/.test(fileName));
  const glob = pattern === undefined ? undefined : compileGlob(pattern);
  const matching = glob === undefined ? files : files.filter(({ fileName }) => glob.matches(fileName));
  const [entry, ...others] = matching;
  if (entry !== undefined && others.length === 0) return entry;
  const shown = (entry === undefined ? files : matching).slice(0, NAMES_SHOWN).map(quote).join(', ');
  const holds = shown === '' ? 'holds no file' : `holds ${shown}`;
  if (entry === undefined && glob !== undefined)
    throw new SourceProblem('archive', `No file in the archive matches the pattern; it ${holds}`);
  if (entry === undefined) throw new SourceProblem('archive', `The archive ${holds}`);
  const text = `The archive holds ${matching.length} files that could be meant: ${shown}; a pattern has to choose one`;
  throw new SourceProblem('archive', text);
}

function quote({ fileName }: Entry): string {
  return JSON.stringify(fileName.length > 100 ? `${fileName.slice(0, 100)}…` : fileName);
}

async function* readWhole(file: FileHandle): ByteStream {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The library checks the length; the checksum of the content is checked here. */
async function* readEntry(zip: ZipFile, entry: Entry, options: UnpackOptions): ByteStream {
  const what = `${quote(entry)} in the archive`;
  const stream = await understand(zip.openReadStreamPromise(entry));
  let total = 0;
  let checksum = 0;
  try {
    for await (const chunk of understandStream(stream)) {
      total += chunk.length;
      checkRatio(total, entry.compressedSize, what);
      if (total > options.maxUnpackedBytes) throw tooLarge(what, options.maxUnpackedBytes);
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } finally {
    await closeStream(stream);
  }
  if (checksum !== entry.crc32)
    throw new SourceProblem('damaged', `${what} is damaged: its checksum differs`);
}

/** The file may be closed only when nothing reads from it any more. */
async function closeStream(stream: Readable): Promise<void> {
  if (stream.closed) return;
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  stream.on('error', () => {});
  stream.destroy();
  await closed;
}

async function* understandStream(stream: Readable): ByteStream {
  try {
    yield* stream as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toProblem(error);
  }
}

async function understand<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw toProblem(error);
  }
}

/** The library's own errors have no code; those of the system have one and are not the archive's fault. */
function toProblem(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SourceProblem) return error;
  const { code } = error as { code?: string };
  if (code !== undefined && !code.startsWith('Z_')) return error;
  const text = `The zip archive cannot be read: ${error.message.slice(0, 200)}`;
  return new SourceProblem('archive', text, { cause: error });
}
