/** What the thread of a build does: it reads one state of a catalog, and writes the files of a channel. */

import { setTimeout as delay } from 'node:timers/promises';
import {
  allowAddresses,
  createTimeouts,
  type Outbound,
  OutboundProblem,
  type WaitLimits,
} from '../../outbound/outbound.ts';
import type { CatalogPasses } from '../../relations/store/store.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Operation } from '../../storage/threads/threads.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  type BuildCounts,
  type ChannelDefinition,
  type FeedFile,
  type FeedPreview,
  NO_COUNTS,
  type PublishedRows,
  type Snapshot,
} from '../definitions/definitions.ts';
import { type Destination, openDestination } from '../destinations/destinations.ts';
import { planFiles } from '../formats/formats.ts';
import { openFeedChanges, type PublishedBefore } from './feed-changes.ts';
import { FeedFileWriter, type StorePiece } from './feed-files.ts';
import { type FeedRows, openFeedRows, type ReadPage, type ReadRow } from './feed-rows.ts';
import { listServedFiles } from './served-files.ts';

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

export interface BuildThreadParts extends DeliveryParts {
  readonly passes: CatalogPasses;
}

/** Events between two pages that say nothing new would cost a turn each. */
const PRODUCTS_PER_EVENT = 2_000;

interface Building {
  take(): Promise<BuildEvent | undefined>;
}

/** The build goes on when an event is taken. */
export function buildFeed(parts: BuildThreadParts, order: BuildOrder): Building {
  const { readable, writable } = new TransformStream<BuildEvent>({}, {}, { highWaterMark: 0 });
  const events = readable.getReader();
  const writer = writable.getWriter();
  const offer = (event: BuildEvent) => writer.write(event);
  const work = parts.passes.pass(order.projectId, async (pass) => {
    const rows = openFeedRows(pass, order.definition);
    try {
      const built = await writeFeed(parts, { order, rows, offer });
      return { ...built, catalogVersion: pass.version, warnings: rows.warnings };
    } finally {
      await rows.close();
    }
  });
  work.then(
    (output) => offer({ kind: 'end', output }),
    (error: unknown) => writer.abort(error),
  );
  return { take: async () => (await events.read()).value };
}

interface Writing {
  readonly order: BuildOrder;
  readonly rows: FeedRows;
  offer(event: BuildEvent): Promise<void>;
}

async function writeFeed({ payloads }: BuildThreadParts, { order, rows, offer }: Writing) {
  const files = planFiles(order.definition.format);
  let pieces = 0;
  const store: StorePiece = async (bytes) => {
    const name = `${order.pieceName}-${pieces++}`;
    await offer({ kind: 'piece', name });
    await payloads.write(order.projectId, name, bytes);
    return name;
  };
  const writer = new FeedFileWriter({ files, writer: rows.writer, store });
  const changes = await openFeedChanges(rows, { ...order, payloads, store });
  const tally = new BuildTally();
  let reported = 0;
  for await (const page of rows.pages()) {
    const going = tally.take(page);
    const texts = changes?.take(going) ?? going.map(({ row }) => rows.writer.write(row));
    await writer.add(await texts);
    const isMuch =
      tally.counts.products - reported >= PRODUCTS_PER_EVENT || tally.report.length >= PRODUCTS_PER_EVENT;
    if (!isMuch) continue;
    await offer(tally.flush());
    reported = tally.counts.products;
  }
  const published = await changes?.end((removed) => writer.add(removed));
  const written = await writer.end();
  Object.assign(tally.counts, changes?.counts);
  tally.reportAbsent();
  tally.counts.files = written.length;
  tally.counts.bytes = written.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await offer(tally.flush());
  return { counts: { ...tally.counts }, files: written, ...(published && { published }) };
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

/** The operations of the thread, one build or preview at a time. */
export function channelThreadOperations(parts: BuildThreadParts): Record<string, Operation> {
  let building: Building | undefined;
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

/** Brings what a build has published to a destination. Runs in the thread of a build. Source: docs/interface.md §16.8. */

export interface DeliveryOrder {
  readonly snapshot: Snapshot;
  /** Names of files that a larger build before had. */
  readonly stale: readonly string[];
  /** With its secrets. */
  readonly destination: Destination;
}

export interface Delivery {
  readonly files: number;
  readonly bytes: number;
  /** Why it does not have all files, in words. */
  readonly problem?: string;
}

interface DeliveryParts {
  readonly payloads: PayloadFiles;
  /** `RELATA_FETCH_ALLOW`. */
  readonly allow: readonly string[];
}

interface DeliveryPatience {
  /** Before each further attempt. */
  readonly retryMs?: readonly number[];
  /** Of all attempts together. */
  readonly limits?: WaitLimits;
}

const LIMITS: WaitLimits = { connectMs: 15_000, idleMs: 120_000, wholeMs: 3_600_000 };
/** Before the second and the third attempt. */
const RETRY_MS: readonly number[] = [5_000, 30_000];
/** What passes. A wrong password that is sent again locks accounts. */
const PASSING: ReadonlySet<string> = new Set(['connection', 'timeout', 'broken_off']);

/** Tries again what may pass, within the time for all attempts. */
export async function deliver(
  { payloads, allow }: DeliveryParts,
  order: DeliveryOrder,
  { retryMs = RETRY_MS, limits = LIMITS }: DeliveryPatience = {},
): Promise<Delivery> {
  const timeouts = createTimeouts(limits, 'The destination');
  const via = { allows: allowAddresses(allow), resolve: undefined, timeouts, signal: undefined };
  for (let attempt = 0; ; attempt += 1) {
    const done = await deliverOnce(payloads, order, via).catch(toProblem);
    if (!(done instanceof OutboundProblem)) return done;
    const mayPass = PASSING.has(done.reason) && !timeouts.areUsedUp();
    const wait = mayPass ? retryMs[attempt] : undefined;
    if (wait === undefined) return { files: 0, bytes: 0, problem: describeFailure(done, attempt + 1) };
    await delay(wait);
  }
}

function toProblem(error: unknown): OutboundProblem {
  if (error instanceof OutboundProblem) return error;
  throw error;
}

const describeFailure = ({ message }: Error, attempts: number) =>
  attempts === 1 ? message : `${message} (${attempts} attempts)`;

async function deliverOnce(
  payloads: PayloadFiles,
  { snapshot, stale, destination }: DeliveryOrder,
  via: Outbound,
): Promise<Delivery> {
  const files = listServedFiles(payloads, snapshot);
  const opened = await openDestination(destination, via);
  try {
    let bytes = 0;
    for (const { name, mediaType, sizeBytes, read } of files)
      bytes += await opened.write(name, read(0, sizeBytes), mediaType);
    for (const name of stale) await opened.remove(name);
    return { files: files.length, bytes };
  } finally {
    opened.close();
  }
}

/** The first rows of a channel, and what products lack; nothing is stored. Runs in the thread of a build. */

export interface PreviewOrder {
  readonly projectId: number;
  readonly definition: ChannelDefinition;
}

const SHOWN_ROWS = 20;
const SHOWN_IDENTIFIERS = 10;
const TAKEN = 1_000;
const READ = 20_000;

/** The first products that the filter takes, as the file would have them, and what many of them lack. */
function previewFeed(passes: CatalogPasses, order: PreviewOrder): Promise<FeedPreview> {
  return passes.pass(order.projectId, async (pass) => {
    const rows = openFeedRows(pass, order.definition);
    try {
      return await readFirst(rows, planFiles(order.definition.format).nameOf(1));
    } finally {
      await rows.close();
    }
  });
}

async function readFirst(rows: FeedRows, fileName: string): Promise<FeedPreview> {
  const { columns, mapping, writer } = rows;
  const taken: ReadRow[] = [];
  let products = 0;
  for await (const page of rows.pages()) {
    products += page.products;
    taken.push(...page.rows);
    if (taken.length >= TAKEN || products >= READ) break;
  }
  const first = taken.slice(0, SHOWN_ROWS);
  const lines = first.filter(({ isLeftOut }) => !isLeftOut).map(({ row }) => writer.write(row));
  const leftOut = taken.filter(({ isLeftOut }) => isLeftOut).length;
  return {
    ...{ fileName, columns, mapping, rows: first.map((read) => showRow(read, columns)) },
    missing: listMissing(taken),
    looked: { products, taken: taken.length, leftOut },
    text: `${writer.head}${lines.join('')}${writer.tail}`,
  };
}

function showRow(
  { identifier, row, problems, isLeftOut, absent }: ReadRow,
  columns: readonly string[],
): FeedPreview['rows'][number] {
  const values = columns.flatMap((name, at) => {
    const found = row.values[at] ?? [];
    return found.length === 0 ? [] : [[name, found]];
  });
  const related = row.related.map(({ as, identifiers }) => ({ as, identifiers }));
  const message = `related products are not named, because they do not go out themselves: ${absent.slice(0, SHOWN_IDENTIFIERS).join(' ')}`;
  const notes = absent.length === 0 ? [] : [{ field: 'related', code: 'related_absent', message }];
  const shown = { identifier, values: Object.fromEntries(values), related };
  return { ...shown, problems: [...problems, ...notes], isLeftOut };
}

/** @returns required fields that products lack, the most frequent first */
function listMissing(taken: readonly ReadRow[]): FeedPreview['missing'] {
  const found = taken.flatMap(({ identifier, problems }) =>
    problems.filter(({ code }) => code === 'field_missing').map((problem) => ({ identifier, ...problem })),
  );
  return [...Map.groupBy(found, ({ field }) => field)]
    .map(([field, all]) => ({
      ...{ field, products: all.length, message: all[0]?.message ?? '' },
      identifiers: all.slice(0, SHOWN_IDENTIFIERS).map(({ identifier }) => identifier),
    }))
    .sort((a, b) => b.products - a.products);
}
