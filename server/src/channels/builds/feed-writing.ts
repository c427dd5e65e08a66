/** Writes the rows of a build page by page, counts them, and says what there is to say of products. */

import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BuildCounts,
  type ChannelDefinition,
  type FeedFile,
  NO_COUNTS,
  type PublishedRows,
} from '../definitions/definitions.ts';
import { planFiles } from '../formats/formats.ts';
import { openFeedChanges, type PublishedBefore } from './feed-changes.ts';
import { FeedFileWriter, type StorePiece } from './feed-files.ts';
import type { FeedRows, ReadPage, ReadRow } from './feed-rows.ts';

export interface BuildOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
  /** What the names of its payloads begin with. */
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
    new FeedWriting({
      ...{ rows, offer, reported },
      writer: new FeedFileWriter({ files, writer: rows.writer, store }),
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
  readonly writer: FeedFileWriter;
  readonly changes: Awaited<ReturnType<typeof openFeedChanges>>;
  /** Products of which was said what there is to say, before their rows came anew. */
  readonly reported: number;
}

/** The files of a build, page by page. */
class FeedWriting {
  readonly #parts: WritingParts;
  readonly #tally: BuildTally;
  #reported: number;

  constructor(parts: WritingParts) {
    this.#parts = parts;
    this.#tally = new BuildTally(parts.reported);
    this.#reported = parts.reported;
  }

  async take(page: ReadPage): Promise<void> {
    const { rows, writer, changes } = this.#parts;
    const tally = this.#tally;
    const going = tally.take(page);
    const texts = changes?.take(going) ?? going.map(({ row }) => rows.writer.write(row));
    await writer.add(await texts);
    const isMuch =
      tally.counts.products - this.#reported >= PRODUCTS_PER_EVENT ||
      tally.report.length >= PRODUCTS_PER_EVENT;
    if (isMuch) await this.stop();
  }

  /** @returns the number of products of which all is said */
  async stop(): Promise<number> {
    await this.#parts.offer(this.#tally.flush());
    this.#reported = this.#tally.counts.products;
    return this.#reported;
  }

  async end() {
    const { writer, changes, offer } = this.#parts;
    const tally = this.#tally;
    const published = await changes?.end((removed) => writer.add(removed));
    const written = await writer.end();
    Object.assign(tally.counts, changes?.counts);
    tally.reportAbsent();
    tally.counts.files = written.length;
    tally.counts.bytes = written.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    await offer(tally.flush());
    return { counts: { ...tally.counts }, files: written, ...(published && { published }) };
  }
}

/** Examples of related products that are not named. */
const SHOWN_ABSENT = 10;

/** What a build has counted, and what it has to say of products since it last did. */
class BuildTally {
  readonly counts = { ...NO_COUNTS };
  report: ReportLine[] = [];
  readonly #reported: number;
  readonly #absent: string[] = [];

  /** @param reported  products of which a tally before has said what there is to say */
  constructor(reported: number) {
    this.#reported = reported;
  }

  /** @returns the rows that go out */
  take({ products, rows }: ReadPage): ReadRow[] {
    const { counts } = this;
    counts.products += products;
    counts.filtered += products - rows.length;
    if (counts.products > this.#reported)
      for (const read of rows.filter(({ problems }) => problems.length > 0))
        this.report.push(...describe(read));
    const going = rows.filter(({ isLeftOut }) => !isLeftOut);
    counts.leftOut += rows.length - going.length;
    counts.rows += going.length;
    for (const { identifier, row, absent } of going) {
      for (const { identifiers } of row.related) counts.related += identifiers.length;
      counts.relatedLeftOut += absent.length;
      if (absent.length > 0 && this.#absent.length < SHOWN_ABSENT)
        this.#absent.push(`${absent[0]} of ${identifier}`);
    }
    return going;
  }

  /** One line stands for all: there may be more than products. */
  reportAbsent(): void {
    const { relatedLeftOut: count } = this.counts;
    if (count === 0) return;
    const message = `${count} related products are not named, because they do not go out themselves: ${this.#absent.join(', ')}`;
    this.report.push({ code: 'related_absent', field: 'related', count, message });
  }

  flush(): BuildEvent {
    const { report } = this;
    this.report = [];
    return { kind: 'page', counts: { ...this.counts }, report };
  }
}

const describe = ({ identifier, problems, isLeftOut }: ReadRow): ReportLine[] =>
  problems.map(({ field, code, value, message }) => ({
    ...{ identifier, code, field, ...(value !== undefined && { value }) },
    message: isLeftOut ? `left out: ${message}` : message,
  }));
