/** Writes the rows of a build page by page, counts them, and reports the problems of products. */

import { planFiles } from '../../formats/formats.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BuildCounts,
  type ChannelDefinition,
  type FeedFile,
  NO_COUNTS,
  type PublishedRows,
} from '../channel-definitions/channel-definitions.ts';
import { openFeedChanges, type PublishedBefore } from './feed-changes.ts';
import { createFileWriter, type StorePiece } from './feed-files.ts';
import type { FeedRows, ReadPage, ReadRow } from './feed-rows.ts';

export interface BuildOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
  /** The prefix of the names of its payloads. */
  readonly pieceName: string;
  /** For a build of changes: the rows that were published before; absent if the build has to be complete. */
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
  /** Named before the payload exists, so that a partly written payload is also removed. */
  | { readonly kind: 'piece'; readonly name: string }
  | { readonly kind: 'page'; readonly counts: BuildCounts; readonly report: readonly ReportLine[] }
  | { readonly kind: 'end'; readonly output: BuildOutput };

/** An event is sent after this many products or report lines, because each event costs a turn of both threads. */
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
  /** The number of products whose report lines were sent before their rows were made again. */
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
      // All related products share one line, because they may be more numerous than products.
      if (relatedLeftOut > 0) {
        const message = `${relatedLeftOut} related products are not named, because they are not in the file: ${absentShown.join(', ')}`;
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
