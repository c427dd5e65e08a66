/**
 * Undoes gzip and zip. The first bytes show the packing, not the file name. Nothing is unpacked twice: a workbook (xlsx
 * is a zip) stays unchanged, and any other archive within an archive is refused.
 */
import { crc32, createGunzip } from 'node:zlib';
import type { Entry } from 'yauzl';
import {
  type ByteStream,
  openNamelessFile,
  openZip,
  peekBytes,
  readSpool,
  writeSpool,
  type Zip,
  type ZipLimits,
} from '../../formats/streams/streams.ts';
import { boundBytes, checkRatio, tooLarge, unpackStream } from './byte-streams.ts';
import { compileGlob } from './glob.ts';
import { SourceProblem } from './source.ts';

export interface UnpackOptions {
  /** A pattern (`glob.ts`) for the file to read from an archive with several files. */
  readonly entry?: string | undefined;
  /** Where a zip is stored while it is read. */
  readonly tempDir: string;
  readonly maxPackedBytes: number;
  readonly maxUnpackedBytes: number;
}

/** The mark of a tar archive, and its position. */
const TAR_MARK = { at: 257, text: 'ustar' };
const HEAD_BYTES = TAR_MARK.at + TAR_MARK.text.length;
/** The number of bytes that are read from the inflater at a time. */
const CHUNK_BYTES = 64 * 1024;

/** Packings that people try. Only gzip and zip are supported. */
const PACKINGS: readonly (readonly [string, string])[] = [
  ['\x1f\x8b', 'gzip'],
  ['PK\x03\x04', 'zip'],
  ['PK\x05\x06', 'zip'],
  ['BZh', 'bzip2'],
  ['\xfd7zXZ\0', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
  ['7z\xbc\xaf\x27\x1c', '7z'],
  ['Rar!\x1a\x07', 'rar'],
];

/**
 * @returns the bytes of the only file inside, or the given bytes if they are not packed
 * @throws SourceProblem too_large, damaged, broken_off, archive
 */
export async function* unpackBytes(bytes: ByteStream, options: UnpackOptions): ByteStream {
  const { stream, packing } = await peekPacking(bytes);
  if (packing === 'gzip') yield* unpackGzip(boundBytes(stream, options.maxPackedBytes, 'The file'), options);
  else if (packing === 'zip') yield* unpackZip(stream, options);
  else if (packing === undefined) yield* boundBytes(stream, options.maxUnpackedBytes, 'The file');
  else {
    await stream[Symbol.asyncDispose]();
    const text = `The file is a ${packing} archive; only gzip and zip are unpacked`;
    throw new SourceProblem('archive', text);
  }
}

async function* unpackGzip(bytes: ByteStream, { maxUnpackedBytes: maxBytes }: UnpackOptions): ByteStream {
  const createTransform = () => createGunzip({ chunkSize: CHUNK_BYTES });
  yield* refuseNested(unpackStream(bytes, { what: 'The gzip file', maxBytes, createTransform }), 'gzip');
}

/** A zip has its directory at its end, so it has to be complete before it can be read. */
async function* unpackZip(bytes: ByteStream, options: UnpackOptions): ByteStream {
  await using file = await openNamelessFile(options.tempDir);
  const packed = boundBytes(bytes, options.maxPackedBytes, 'The zip archive');
  for await (const _ of writeSpool(packed, file));
  const zip = await openZip(file, limits);
  const entry = chooseEntry(zip.entries, options);
  if (entry === undefined) yield* readSpool(file);
  else yield* refuseNested(readEntry(zip, entry, options), 'zip');
}

async function* refuseNested(unpacked: ByteStream, outer: string): ByteStream {
  const { stream, packing } = await peekPacking(unpacked);
  if (packing !== undefined) {
    await stream[Symbol.asyncDispose]();
    const text = `There is a ${packing} archive inside the ${outer} archive; only one packing is undone`;
    throw new SourceProblem('archive', text);
  }
  yield* stream;
}

/** A workbook counts as not packed. */
async function peekPacking(bytes: ByteStream) {
  const { head, stream } = await peekBytes(bytes, HEAD_BYTES);
  const text = head.toString('latin1');
  const isTar = text.slice(TAR_MARK.at) === TAR_MARK.text;
  const packing = PACKINGS.find(([magic]) => text.startsWith(magic))?.[1] ?? (isTar ? 'tar' : undefined);
  return { stream, packing: packing === 'zip' && isWorkbookHead(head) ? undefined : packing };
}

const NAME_LENGTH_AT = 26;
const NAME_AT = 30;

/** Nearly every program writes this part first. If not, `chooseEntry` recognises the workbook. */
function isWorkbookHead(head: Buffer): boolean {
  if (head.length < NAME_AT) return false;
  const name = head.toString('latin1', NAME_AT, NAME_AT + head.readUInt16LE(NAME_LENGTH_AT));
  return /^(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(name);
}

/** An archive for a pipeline has one file, or a few files from which a pattern chooses one. */
const ENTRIES = 1_000;
const NAMES_SHOWN = 5;

/** @returns undefined if the archive is a workbook */
function chooseEntry(entries: readonly Entry[], options: UnpackOptions): Entry | undefined {
  if (entries.some(({ fileName }) => fileName === '[Content_Types].xml')) return undefined;
  const entry = chooseOne(entries, options.entry);
  if (entry.isEncrypted()) throw new SourceProblem('archive', `${quote(entry)} in the archive is encrypted`);
  if (entry.uncompressedSize > options.maxUnpackedBytes)
    throw tooLarge(`${quote(entry)} in the archive`, options.maxUnpackedBytes);
  return entry;
}

const limits: ZipLimits = {
  entries: ENTRIES,
  tooMany: () => new SourceProblem('archive', `The archive contains more than ${ENTRIES} files`),
  damaged: (cause) =>
    new SourceProblem('archive', `The zip archive cannot be read: ${cause.message.slice(0, 200)}`, { cause }),
};

/** Ignores folders, hidden files, and files that a Mac adds to an archive. */
function chooseOne(entries: readonly Entry[], pattern: string | undefined): Entry {
  const files = entries.filter(({ fileName }) => !/(^|\/)(\.|__MACOSX\/)|\/$/.test(fileName));
  const glob = pattern === undefined ? undefined : compileGlob(pattern);
  const matching = glob === undefined ? files : files.filter(({ fileName }) => glob.matches(fileName));
  const [entry, ...others] = matching;
  if (entry !== undefined && others.length === 0) return entry;
  const shown = (entry === undefined ? files : matching).slice(0, NAMES_SHOWN).map(quote).join(', ');
  const holds = shown === '' ? 'contains no file' : `contains ${shown}`;
  if (entry === undefined && glob !== undefined)
    throw new SourceProblem('archive', `No file in the archive matches the pattern; it ${holds}`);
  if (entry === undefined) throw new SourceProblem('archive', `The archive ${holds}`);
  const text = `The archive contains ${matching.length} matching files: ${shown}; use a pattern that matches only one`;
  throw new SourceProblem('archive', text);
}

const quote = ({ fileName }: Entry): string =>
  JSON.stringify(fileName.length > 100 ? `${fileName.slice(0, 100)}…` : fileName);

/** The library checks the length, and this function checks the checksum of the content. */
async function* readEntry(zip: Zip, entry: Entry, options: UnpackOptions): ByteStream {
  const subject = `${quote(entry)} in the archive`;
  let total = 0;
  let checksum = 0;
  for await (const chunk of zip.read(entry)) {
    total += chunk.length;
    checkRatio(total, entry.compressedSize, subject);
    if (total > options.maxUnpackedBytes) throw tooLarge(subject, options.maxUnpackedBytes);
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (checksum !== entry.crc32)
    throw new SourceProblem('damaged', `${subject} is damaged: its checksum differs`);
}
