/**
 * Undoes gzip and zip. What a file is, its first bytes say, not its name. Nothing is unpacked twice: a workbook (xlsx is
 * a zip) is passed on as it is, and any other archive in an archive is refused.
 */
import { createGunzip } from 'node:zlib';
import { type ByteStream, boundBytes, peekBytes, unpackStream } from './byte-streams.ts';
import { SourceProblem } from './source.ts';
import { readZip } from './zip.ts';

export interface UnpackOptions {
  /** A pattern (`glob.ts`) for the file to take out of an archive with several. */
  readonly entry?: string | undefined;
  /** A zip is read from its end, so it is kept here while it is read. */
  readonly tempDir: string;
  readonly maxPackedBytes: number;
  readonly maxUnpackedBytes: number;
}

/** Where a tar archive says that it is one, and how far. */
const TAR_MARK = { at: 257, text: 'ustar' };
const HEAD_BYTES = TAR_MARK.at + TAR_MARK.text.length;
/** Bytes taken from the inflater at a time. */
const CHUNK_BYTES = 64 * 1024;

type Packing = 'gzip' | 'zip' | 'workbook' | { readonly unknown: string };

/** Packings that people try; none of them is read. */
const OTHER_PACKINGS: readonly (readonly [string, string])[] = [
  ['BZh', 'bzip2'],
  ['\xfd7zXZ\0', 'xz'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
  ['7z\xbc\xaf\x27\x1c', '7z'],
  ['Rar!\x1a\x07', 'rar'],
];

/**
 * @returns the bytes of the one file inside, or those that were given when they are not packed
 * @throws SourceProblem too_large, damaged, broken_off, archive
 */
export async function* unpackBytes(given: ByteStream, options: UnpackOptions): ByteStream {
  const { head, bytes } = await peekBytes(given, HEAD_BYTES);
  const packing = packingOf(head);
  if (packing === 'gzip') yield* unpackGzip(boundBytes(bytes, options.maxPackedBytes, 'The file'), options);
  else if (packing === 'zip') yield* unpackZip(bytes, options);
  else yield* passOn(bytes, packing, options);
}

async function* unpackGzip(bytes: ByteStream, options: UnpackOptions): ByteStream {
  const unpacked = unpackStream(bytes, {
    what: 'The gzip file',
    maxBytes: options.maxUnpackedBytes,
    createTransform: () => createGunzip({ chunkSize: CHUNK_BYTES }),
  });
  yield* refuseNested(unpacked, 'gzip');
}

async function* unpackZip(bytes: ByteStream, options: UnpackOptions): ByteStream {
  const { content, isWorkbook } = readZip(bytes, options);
  const peeked = await peekBytes(content, HEAD_BYTES);
  if (isWorkbook()) yield* peeked.bytes;
  else yield* refuseNested(peeked.bytes, 'zip');
}

async function* refuseNested(unpacked: ByteStream, outer: string): ByteStream {
  const { head, bytes } = await peekBytes(unpacked, HEAD_BYTES);
  const packing = packingOf(head);
  if (packing !== undefined && packing !== 'workbook') {
    await close(bytes);
    const inner = typeof packing === 'string' ? packing : packing.unknown;
    const text = `There is a ${inner} archive inside the ${outer} archive; only one packing is undone`;
    throw new SourceProblem('archive', text);
  }
  yield* bytes;
}

async function* passOn(
  bytes: ByteStream,
  packing: Packing | undefined,
  { maxUnpackedBytes }: UnpackOptions,
): ByteStream {
  if (typeof packing === 'object') {
    await close(bytes);
    const text = `The file is a ${packing.unknown} archive; gzip and zip are unpacked, nothing else`;
    throw new SourceProblem('archive', text);
  }
  yield* boundBytes(bytes, maxUnpackedBytes, 'The file');
}

/** A stream that is not read to its end holds a connection or a file. */
async function close(bytes: ByteStream): Promise<void> {
  for await (const _ of bytes) break;
}

function packingOf(head: Buffer): Packing | undefined {
  const text = head.toString('latin1');
  if (text.startsWith('\x1f\x8b')) return 'gzip';
  if (text.startsWith('PK\x03\x04') || text.startsWith('PK\x05\x06'))
    return isWorkbookHead(head) ? 'workbook' : 'zip';
  const other = OTHER_PACKINGS.find(([magic]) => text.startsWith(magic));
  if (other !== undefined) return { unknown: other[1] };
  return text.slice(TAR_MARK.at) === TAR_MARK.text ? { unknown: 'tar' } : undefined;
}

const NAME_LENGTH_AT = 26;
const NAME_AT = 30;

/** Nearly every program writes this part first; `zip.ts` finds it wherever it stands. */
function isWorkbookHead(head: Buffer): boolean {
  if (head.length < NAME_AT) return false;
  const name = head.toString('latin1', NAME_AT, NAME_AT + head.readUInt16LE(NAME_LENGTH_AT));
  return /^(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(name);
}
