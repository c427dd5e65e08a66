/** Writes the rows of a build page by page, counts them, and says what there is to say of products. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { type FeedFiles, planFiles } from '../../formats/formats.ts';
import type { RowWriter } from '../../formats/output/output.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BuildCounts,
  type ChannelDefinition,
  type FeedFile,
  NO_COUNTS,
  type PublishedRows,
} from '../channel-definitions/channel-definitions.ts';
import type { FeedRows, ReadPage, ReadRow } from './feed-rows.ts';
import { HashedTexts } from './hashed-texts.ts';
import { readPieces } from './served-files.ts';

export interface BuildOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
  /** The prefix of the names of its payloads. */
  readonly pieceName: string;
  /** For a build of changes: what was published before; absent where the build has to be whole. */
  readonly before?: PublishedBefore | undefined;
}

export interface BuildOutput {
  readonly catalogVersion: number;
  readonly counts: BuildCounts;
  readonly files: readonly FeedFile[];
  readonly published?: PublishedRows;
  readonly warnings: readonly string[];
}

export type BuildEvent =
  /** Named before it is there, so that one that was written by half goes too. */
  | { readonly kind: 'piece'; readonly name: string }
  | { readonly kind: 'page'; readonly counts: BuildCounts; readonly report: readonly ReportLine[] }
  | { readonly kind: 'end'; readonly output: BuildOutput };

/** Events between two pages that say nothing new would cost a turn each. */
const PRODUCTS_PER_EVENT = 2_000;

interface Writing {
  readonly order: BuildOrder;
  readonly rows: FeedRows;
  offer(event: BuildEvent): Promise<void>;
}

export async function writeFeed(payloads: PayloadFiles, { order, rows, offer }: Writing) {
  const files = planFiles(order.definition.format);
  const pieces: string[] = [];
  const store: StorePiece = async (bytes) => {
    const name = `${order.pieceName}-${pieces.length}`;
    pieces.push(name);
    await offer({ kind: 'piece', name });
    await payloads.write(order.projectId, name, bytes);
    return name;
  };
  const begin = async (reported: number) =>
    openWriting({
      rows,
      offer,
      reported,
      writer: createFileWriter({ files, writer: rows.writer, store }),
      changes: await openFeedChanges(rows, { ...order, payloads, store }),
    });
  let writing = await begin(0);
  for await (const page of rows.pages()) {
    if (page.isAnew) {
      const reported = await writing.stop();
      for (const name of pieces) await payloads.remove(order.projectId, name);
      writing = await begin(reported);
    } else await writing.take(page);
  }
  return writing.end();
}

interface WritingParts extends Pick<Writing, 'rows' | 'offer'> {
  readonly writer: ReturnType<typeof createFileWriter>;
  readonly changes: Awaited<ReturnType<typeof openFeedChanges>>;
  /** Products of which was said what there is to say, before their rows came anew. */
  readonly reported: number;
}

const SHOWN_ABSENT = 10;

/** Writes the files of a build page by page, and counts what it writes. */
function openWriting({ rows, offer, writer, changes, reported }: WritingParts) {
  const counts = { ...NO_COUNTS };
  const absentShown: string[] = [];
  /** Report lines about products since the last event. */
  let report: ReportLine[] = [];
  let productsSaid = reported;

  function count({ products, rows: all }: ReadPage): ReadRow[] {
    counts.products += products;
    counts.filtered += products - all.length;
    if (counts.products > reported) report.push(...all.flatMap(describe));
    const going = all.filter(({ isLeftOut }) => !isLeftOut);
    counts.leftOut += all.length - going.length;
    counts.rows += going.length;
    for (const { identifier, row, absent } of going) {
      counts.related += row.related.reduce((sum, { identifiers }) => sum + identifiers.length, 0);
      counts.relatedLeftOut += absent.length;
      if (absent.length > 0 && absentShown.length < SHOWN_ABSENT)
        absentShown.push(`${absent[0]} of ${identifier}`);
    }
    return going;
  }

  /** @returns the number of products that are completely reported */
  async function stop(): Promise<number> {
    await offer({ kind: 'page', counts: { ...counts }, report });
    report = [];
    productsSaid = counts.products;
    return productsSaid;
  }

  return {
    stop,
    async take(page: ReadPage): Promise<void> {
      const going = count(page);
      const texts = changes?.take(going) ?? going.map(({ row }) => rows.writer.write(row));
      await writer.add(await texts);
      const most = Math.max(counts.products - productsSaid, report.length);
      if (most >= PRODUCTS_PER_EVENT) await stop();
    },
    async end() {
      const published = await changes?.end((removed) => writer.add(removed));
      const files = await writer.end();
      Object.assign(counts, changes?.counts);
      const { relatedLeftOut } = counts;
      // One line for all, as there may be more than products.
      if (relatedLeftOut > 0) {
        const message = `${relatedLeftOut} related products are not named, because they do not go out themselves: ${absentShown.join(', ')}`;
        report.push({ code: 'related_absent', field: 'related', count: relatedLeftOut, message });
      }
      counts.files = files.length;
      counts.bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      await stop();
      return { counts, files, ...(published && { published }) };
    },
  };
}

const describe = ({ identifier, problems, isLeftOut }: ReadRow): ReportLine[] =>
  problems.map(({ field, code, value, message }) => ({
    identifier,
    code,
    field,
    ...(value !== undefined && { value }),
    message: isLeftOut ? `left out: ${message}` : message,
  }));

export interface PublishedBefore {
  readonly rows: PublishedRows;
  readonly since: number;
}

interface ChangeParts extends Pick<BuildOrder, 'projectId' | 'before' | 'definition'> {
  readonly payloads: PayloadFiles;
  readonly store: StorePiece;
}

/** A published product: its name for readers, a hash of its row, and the row that marks it as gone. */
type PublishedRow = readonly [name: string, hash: string, removal: string];

/** 96 bits: two rows of a product never share them in practice. */
const hashRow = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16);
const versionOf = (name: string, hash: string) => `${name}\n${hash}`;

type WriteTexts = (texts: readonly string[]) => Promise<void>;

/**
 * Compares a build with the earlier rows while it is written, so that a change that was undone is none.
 * @returns undefined for a channel whose builds are complete. If columns differ, every row counts as changed and none as gone
 */
async function openFeedChanges(feed: FeedRows, { before, definition, ...parts }: ChangeParts) {
  if (!definition.changes) return undefined;
  const { writer } = feed;
  const known = new HashedTexts();
  const hasColumns = before && (await readVersions(known, before, { ...parts, head: writer.head }));
  const former = hasColumns ? before : undefined;
  const counts = { unchanged: 0, removed: 0 };
  const present = new HashedTexts();
  const rows = createFileWriter({
    files: planFiles({ type: 'ndjson', compression: 'gzip' }),
    writer: { head: `${JSON.stringify(writer.head)}\n`, write: () => '', tail: '' },
    store: parts.store,
  });

  async function writeRemoved(write: WriteTexts): Promise<void> {
    if (former === undefined) return;
    for await (const line of readLines(former, parts)) {
      if (typeof line === 'string' || present.has(line[0])) continue;
      counts.removed += 1;
      await write([line[2]]);
    }
  }

  return {
    counts,
    async take(going: readonly ReadRow[]): Promise<string[]> {
      const made = going.map((read) => {
        const [name, text] = [feed.nameOf(read), writer.write(read.row)];
        return { name, text, hash: hashRow(text), removal: writer.remove?.(read.row) ?? '' };
      });
      await rows.add(made.map(({ name, hash, removal }) => `${JSON.stringify([name, hash, removal])}\n`));
      for (const { name } of made) present.add(name);
      const changed = made.filter(({ name, hash }) => !known.has(versionOf(name, hash)));
      counts.unchanged += made.length - changed.length;
      return changed.map(({ text }) => text);
    },
    /** Called after the last row; `write` takes rows of products that are gone. @returns the basis of the next comparison */
    async end(write: WriteTexts): Promise<PublishedRows> {
      await writeRemoved(write);
      const [file] = await rows.end();
      if (file === undefined) throw new Error('a build has rows, if only none');
      const { sizeBytes, sha256, pieces } = file;
      return { sizeBytes, sha256, pieces, rows: file.rows, ...(former && { since: former.since }) };
    },
  };
}

/** @returns whether the earlier file had the same head */
async function readVersions(
  known: HashedTexts,
  before: PublishedBefore,
  { head, ...parts }: Pick<ChangeParts, 'projectId' | 'payloads'> & { readonly head: string },
): Promise<boolean> {
  for await (const line of readLines(before, parts)) {
    if (typeof line !== 'string') known.add(versionOf(line[0], line[1]));
    else if (line !== head) return false;
  }
  return true;
}

/** The head of the file, then its rows. */
async function* readLines(
  { rows: { pieces } }: PublishedBefore,
  { projectId, payloads }: Pick<ChangeParts, 'projectId' | 'payloads'>,
): AsyncGenerator<string | PublishedRow> {
  const unpacked = createGunzip();
  // An earlier failure makes reading it fail.
  pipeline(Readable.from(readPieces(payloads, { projectId, pieces })), unpacked, () => {});
  const decoder = new TextDecoder();
  let begun = '';
  for await (const bytes of unpacked) {
    const lines = (begun + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as string | PublishedRow;
  }
}

/** @returns the name of the stored piece, which is then durable */
type StorePiece = (bytes: Uint8Array) => Promise<string>;

interface FileParts {
  readonly files: FeedFiles;
  readonly writer: RowWriter;
  readonly store: StorePiece;
}

/** The size of a payload, and so how much of a file is read at a time. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** How many characters of rows are packed and hashed at a time. */
const TEXT_CHARACTERS = 64 * 1024;

/** Writes files in pieces, so that none is ever in memory completely. */
function createFileWriter(parts: FileParts) {
  const { files, writer } = parts;
  const { rowsPerFile = Number.POSITIVE_INFINITY } = files.format;
  const done: FeedFile[] = [];
  let file: ReturnType<typeof openFile> | undefined;

  async function endFile(): Promise<void> {
    if (file === undefined) return;
    const ended = await file.end(writer.tail);
    done.push({ name: files.nameOf(done.length + 1), mediaType: files.mediaType, ...ended });
    file = undefined;
  }

  return {
    /** Adds many rows at a time: waiting for each would cost as much as writing it. */
    async add(rows: readonly string[]): Promise<void> {
      for (let at = 0; at < rows.length; ) {
        if (file?.countRows() === rowsPerFile) await endFile();
        file ??= openFile(parts, writer.head);
        const fitting = rows.slice(at, at + rowsPerFile - file.countRows());
        await file.add(fitting);
        at += fitting.length;
      }
    },
    /** @returns at least one file: a feed without products has one, too */
    async end(): Promise<readonly FeedFile[]> {
      if (done.length === 0) file ??= openFile(parts, writer.head);
      await endFile();
      return done;
    },
  };
}

function openFile({ files, store }: FileParts, head: string) {
  const pieces: { name: string; sizeBytes: number }[] = [];
  const hash = createHash('sha256');
  // Level 5 takes two thirds of the time of 6 for 2 % more bytes.
  const gzip = files.isPacked ? createGzip({ level: 5 }).on('data', take) : undefined;
  let rows = 0;
  let text = head;
  let chunks: Uint8Array[] = [];
  let chunkBytes = 0;

  function take(bytes: Uint8Array): void {
    hash.update(bytes);
    chunks.push(bytes);
    chunkBytes += bytes.length;
  }

  async function flush(): Promise<void> {
    const bytes = Buffer.from(text);
    text = '';
    if (gzip === undefined) take(bytes);
    else if (bytes.length > 0 && !gzip.write(bytes)) await once(gzip, 'drain');
    await storePieces(PIECE_BYTES);
  }

  /** @param least the smallest number of bytes stored as a piece */
  async function storePieces(least: number): Promise<void> {
    while (chunkBytes >= least) {
      const bytes = Buffer.concat(chunks);
      const piece = bytes.subarray(0, PIECE_BYTES);
      const rest = bytes.subarray(PIECE_BYTES);
      chunks = rest.length > 0 ? [rest] : [];
      chunkBytes = rest.length;
      pieces.push({ name: await store(piece), sizeBytes: piece.length });
    }
  }

  return {
    countRows: () => rows,
    async add(added: readonly string[]): Promise<void> {
      rows += added.length;
      text += added.join('');
      if (text.length >= TEXT_CHARACTERS) await flush();
    },
    async end(tail: string): Promise<Omit<FeedFile, 'name' | 'mediaType'>> {
      text += tail;
      await flush();
      if (gzip !== undefined) await Promise.all([once(gzip, 'end'), gzip.end()]);
      await storePieces(1);
      const sizeBytes = pieces.reduce((sum, piece) => sum + piece.sizeBytes, 0);
      return { sizeBytes, rows, sha256: hash.digest('hex'), pieces };
    },
  };
}
