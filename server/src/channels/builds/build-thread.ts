/** What the thread of a build does: it reads one state of a catalog, and writes the files of a channel. */
import type { CatalogPasses } from '../../relations/relations.ts';
import type { Operation } from '../../storage/storage.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import type { BuildCounts, ChannelDefinition, FeedFile } from '../definitions/definitions.ts';
import { NO_COUNTS } from '../definitions/definitions.ts';
import { planFiles } from '../formats/formats.ts';
import { type DeliveryOrder, type DeliveryParts, deliver } from './delivery.ts';
import { FeedFileWriter } from './feed-files.ts';
import { type PreviewOrder, previewFeed } from './feed-preview.ts';
import { type FeedRows, openFeedRows, type ReadPage, type ReadRow } from './feed-rows.ts';

export interface BuildOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
  /** What the names of its payloads begin with. */
  readonly pieceName: string;
}

export interface BuildOutput {
  readonly catalogVersion: number;
  readonly counts: BuildCounts;
  readonly files: readonly FeedFile[];
  readonly warnings: readonly string[];
}

export type BuildEvent =
  /** Named before it is there, so that one that was written by half goes too. */
  | { readonly kind: 'piece'; readonly name: string }
  | { readonly kind: 'page'; readonly counts: BuildCounts; readonly report: readonly ReportLine[] }
  | { readonly kind: 'end'; readonly output: BuildOutput };

export interface BuildThreadParts extends DeliveryParts {
  readonly passes: CatalogPasses;
}

/** Hands events over one at a time: whoever offers one goes on when it is taken. */
class Handoff {
  #offered = Promise.withResolvers<BuildEvent>();
  #taken = Promise.withResolvers<void>();

  async offer(event: BuildEvent): Promise<void> {
    this.#offered.resolve(event);
    await this.#taken.promise;
  }

  fail(error: unknown): void {
    // The reader may have gone already, and then nothing takes the rejection.
    this.#offered.promise.catch(() => {});
    this.#offered.reject(error);
  }

  async take(): Promise<BuildEvent> {
    const event = await this.#offered.promise;
    const taken = this.#taken;
    this.#offered = Promise.withResolvers();
    this.#taken = Promise.withResolvers();
    taken.resolve();
    return event;
  }
}

/** Events between two pages that say nothing new would cost a turn each. */
const PRODUCTS_PER_EVENT = 2_000;

export function buildFeed(parts: BuildThreadParts, order: BuildOrder): Pick<Handoff, 'take'> {
  const handoff = new Handoff();
  const work = parts.passes.pass(order.projectId, async (pass) => {
    const rows = openFeedRows(pass, order.definition);
    try {
      const built = await writeFeed(parts, { order, rows, offer: (event) => handoff.offer(event) });
      return { ...built, catalogVersion: pass.version, warnings: rows.warnings };
    } finally {
      await rows.close();
    }
  });
  work.then(
    (output) => handoff.offer({ kind: 'end', output }),
    (error: unknown) => handoff.fail(error),
  );
  return handoff;
}

interface Writing {
  readonly order: BuildOrder;
  readonly rows: FeedRows;
  offer(event: BuildEvent): Promise<void>;
}

async function writeFeed({ payloads }: BuildThreadParts, { order, rows, offer }: Writing) {
  const files = planFiles(order.definition.format);
  let pieces = 0;
  const writer = new FeedFileWriter({
    ...{ files, writer: rows.writer },
    async store(bytes) {
      const name = `${order.pieceName}-${pieces++}`;
      await offer({ kind: 'piece', name });
      await payloads.write(order.projectId, name, bytes);
      return name;
    },
  });
  const tally = new BuildTally();
  let told = 0;
  for await (const page of rows.pages()) {
    await writer.add(tally.take(page).map(({ row }) => rows.writer.write(row)));
    const isMuch =
      tally.counts.products - told >= PRODUCTS_PER_EVENT || tally.report.length >= PRODUCTS_PER_EVENT;
    if (!isMuch) continue;
    await offer(tally.tell());
    told = tally.counts.products;
  }
  const written = await writer.end();
  tally.tellAbsent();
  tally.counts.files = written.length;
  tally.counts.bytes = written.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await offer(tally.tell());
  return { counts: { ...tally.counts }, files: written };
}

/** Examples of related products that are not named. */
const SHOWN_ABSENT = 10;

/** What a build has counted, and what it has to say of products since it last did. */
class BuildTally {
  readonly counts = { ...NO_COUNTS };
  report: ReportLine[] = [];
  readonly #absent: string[] = [];

  /** @returns the rows that go out */
  take({ products, rows }: ReadPage): ReadRow[] {
    const { counts } = this;
    counts.products += products;
    counts.filtered += products - rows.length;
    for (const read of rows) if (read.problems.length > 0) this.report.push(...describe(read));
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
  tellAbsent(): void {
    const { relatedLeftOut: count } = this.counts;
    if (count === 0) return;
    const message = `${count} related products are not named, because they do not go out themselves: ${this.#absent.join(', ')}`;
    this.report.push({ code: 'related_absent', field: 'related', count, message });
  }

  tell(): BuildEvent {
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

/** The operations of the thread, one build or preview at a time. */
export function channelThreadOperations(parts: BuildThreadParts): Record<string, Operation> {
  let building: Pick<Handoff, 'take'> | undefined;
  return {
    open(order: BuildOrder) {
      building = buildFeed(parts, order);
      return {};
    },
    /** The next event; a failure of the build is one of this call. */
    async next() {
      const taken = building;
      building = undefined;
      const output = await taken?.take();
      if (output?.kind !== 'end') building = taken;
      return { output };
    },
    /** A build that goes on holds its catalog open: the thread ends with it. */
    close() {
      if (building !== undefined) throw new Error('a build cannot be let go of');
      return {};
    },
    deliver: async (order: DeliveryOrder) => ({ output: await deliver(parts, order) }),
    preview: async (order: PreviewOrder) => ({ output: await previewFeed(parts.passes, order) }),
  };
}
