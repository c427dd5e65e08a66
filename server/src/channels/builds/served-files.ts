import { createHash } from 'node:crypto';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Base } from '../../storage/storage.ts';
import {
  CHANNELS,
  type FeedFile,
  findPublished,
  type Snapshot,
} from '../channel-definitions/channel-definitions.ts';

export interface ServedFile {
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** The ETag, in quotes. */
  readonly etag: string;
  readonly modifiedAt: number;
  /** @returns the bytes from `from` to `to`, with `to` excluded */
  read(from: number, to: number): AsyncGenerator<Uint8Array>;
}

const INDEX = 'index.json';
/** 192 bits, which are unique for each file. */
const ETAG_DIGITS = 48;

/** @returns a file of the snapshot that the channel with this token serves now */
export async function findServedFile(
  { database, payloads }: Pick<Base, 'database' | 'payloads'>,
  token: string,
  fileName: string,
): Promise<ServedFile | undefined> {
  const channel = await CHANNELS.findByToken(database.read, 'token', token);
  const snapshot = channel && (await findPublished(database.read, channel.resource));
  if (snapshot === undefined) return undefined;
  if (fileName === INDEX) return serveIndex(snapshot);
  const file = snapshot.files.find(({ name }) => name === fileName);
  return file && serveFeedFile(payloads, snapshot, file);
}

/** @returns the bytes of a file from `from` to `to`, with `to` excluded */
export async function* readPieces(
  payloads: PayloadFiles,
  { projectId, pieces }: { readonly projectId: number; readonly pieces: FeedFile['pieces'] },
  [from, to] = [0, Number.POSITIVE_INFINITY],
): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (const piece of pieces) {
    const [begin, end] = [offset, offset + piece.sizeBytes];
    offset = end;
    if (end <= from || begin >= to) continue;
    const bytes = await payloads.read(projectId, piece.name);
    yield bytes.subarray(Math.max(0, from - begin), Math.min(piece.sizeBytes, to - begin));
  }
}

/** @returns the files of rows with their names, then the index */
export const listServedFiles = (payloads: PayloadFiles, snapshot: Snapshot) => [
  ...snapshot.files.map((file) => ({ name: file.name, ...serveFeedFile(payloads, snapshot, file) })),
  { name: INDEX, ...serveIndex(snapshot) },
];

function serveFeedFile(
  payloads: PayloadFiles,
  { projectId, createdAt }: Snapshot,
  { mediaType, sizeBytes, sha256, pieces }: FeedFile,
): ServedFile {
  return {
    mediaType,
    sizeBytes,
    etag: `"${sha256.slice(0, ETAG_DIGITS)}"`,
    modifiedAt: createdAt,
    read: (from, to) => readPieces(payloads, { projectId, pieces }, [from, to]),
  };
}

/** Serves the index, for readers of more than one file. */
function serveIndex({ catalogVersion, rows, files, published, createdAt }: Snapshot): ServedFile {
  const listed = files.map(({ name, mediaType, rows: ofFile, sizeBytes, sha256 }) => ({
    name,
    mediaType,
    rows: ofFile,
    sizeBytes,
    sha256,
  }));
  const bytes = Buffer.from(
    JSON.stringify({
      builtAt: new Date(createdAt).toISOString(),
      catalogVersion,
      rows,
      files: listed,
      ...(published?.since !== undefined && { since: new Date(published.since).toISOString() }),
    }),
  );
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, ETAG_DIGITS)}"`;
  return {
    mediaType: 'application/json; charset=utf-8',
    sizeBytes: bytes.length,
    etag,
    modifiedAt: createdAt,
    async *read(from, to) {
      yield bytes.subarray(from, to);
    },
  };
}
