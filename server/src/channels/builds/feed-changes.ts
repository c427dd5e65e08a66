import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { planFiles } from '../../formats/formats.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { ChannelDefinition, PublishedRows } from '../channel-definitions/channel-definitions.ts';
import { createFileWriter, type StorePiece } from './feed-files.ts';
import type { FeedRows, ReadRow } from './feed-rows.ts';
import { HashedTexts } from './hashed-texts.ts';
import { readPieces } from './served-files.ts';

export interface PublishedBefore {
  readonly rows: PublishedRows;
  readonly since: number;
}

interface ChangeParts {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
  readonly before?: PublishedBefore | undefined;
  readonly payloads: PayloadFiles;
  readonly store: StorePiece;
}

/** A published product: its name for readers, the hash of its row, and the row that marks it as removed. */
type PublishedRow = readonly [name: string, hash: string, removal: string];

/** With 96 bits, two rows of a product never share a hash in practice. */
const hashRow = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16);
const versionOf = (name: string, hash: string) => `${name}\n${hash}`;

type WriteTexts = (texts: readonly string[]) => Promise<void>;

/**
 * Compares a build with the earlier rows while it is written, so that a change that was undone does not count as a
 * change. If columns differ, every row counts as changed, and no product as removed.
 * @returns undefined for a channel whose builds are complete
 */
export async function openFeedChanges(feed: FeedRows, { before, definition, ...parts }: ChangeParts) {
  if (!definition.changes) return undefined;
  const { writer } = feed;
  const formerVersions = new HashedTexts();
  const hasColumns = before && (await readVersions(formerVersions, before, { ...parts, head: writer.head }));
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
      const rowsMade = going.map((read) => {
        const [name, text] = [feed.nameOf(read), writer.write(read.row)];
        return { name, text, hash: hashRow(text), removal: writer.remove?.(read.row) ?? '' };
      });
      await rows.add(rowsMade.map(({ name, hash, removal }) => `${JSON.stringify([name, hash, removal])}\n`));
      for (const { name } of rowsMade) present.add(name);
      const changed = rowsMade.filter(({ name, hash }) => !formerVersions.has(versionOf(name, hash)));
      counts.unchanged += rowsMade.length - changed.length;
      return changed.map(({ text }) => text);
    },
    /**
     * Called after the last row.
     * @param write receives the rows of removed products
     * @returns the basis of the next comparison
     */
    async end(write: WriteTexts): Promise<PublishedRows> {
      await writeRemoved(write);
      const [file] = await rows.end();
      if (file === undefined) throw new Error('a build must have a file of rows, even an empty one');
      const { sizeBytes, sha256, pieces } = file;
      return { sizeBytes, sha256, pieces, rows: file.rows, ...(former && { since: former.since }) };
    },
  };
}

/** @returns whether the earlier file had the same head */
async function readVersions(
  versions: HashedTexts,
  before: PublishedBefore,
  { head, ...parts }: Pick<ChangeParts, 'projectId' | 'payloads'> & { readonly head: string },
): Promise<boolean> {
  for await (const line of readLines(before, parts)) {
    if (typeof line !== 'string') versions.add(versionOf(line[0], line[1]));
    else if (line !== head) return false;
  }
  return true;
}

/** Yields the head of the file, then its rows. */
async function* readLines(
  { rows: { pieces } }: PublishedBefore,
  { projectId, payloads }: Pick<ChangeParts, 'projectId' | 'payloads'>,
): AsyncGenerator<string | PublishedRow> {
  const unpacked = createGunzip();
  // If an earlier part fails, reading the stream fails.
  pipeline(Readable.from(readPieces(payloads, { projectId, pieces })), unpacked, () => {});
  const decoder = new TextDecoder();
  let begun = '';
  for await (const bytes of unpacked) {
    const lines = (begun + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as string | PublishedRow;
  }
}
