/** The work of a build's thread: it reads one state of a catalog, and writes the files of a channel. */
import { setTimeout as delay } from 'node:timers/promises';
import { planFiles } from '../../formats/formats.ts';
import {
  allowAddresses,
  createTimeouts,
  type Outbound,
  OutboundProblem,
  type WaitLimits,
} from '../../outbound/outbound.ts';
import type { CatalogPasses } from '../../relations/relation-store/relation-store.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import { type Operation, shareText } from '../../storage/threads/threads.ts';
import type { FeedPreview, Snapshot } from '../channel-definitions/channel-definitions.ts';
import { type Destination, openDestination } from '../destinations/destinations.ts';
import { FeedRows, type ReadRow } from './feed-rows.ts';
import { type BuildEvent, type BuildOrder, writeFeed } from './feed-writing.ts';
import { listServedFiles } from './served-files.ts';

export interface BuildThreadParts {
  readonly passes: CatalogPasses;
  readonly payloads: PayloadFiles;
  /** `RELATA_FETCH_ALLOW`. */
  readonly allow: readonly string[];
}

/** The build continues when an event is taken. */
function buildFeed(parts: BuildThreadParts, order: BuildOrder) {
  const { readable, writable } = new TransformStream<BuildEvent>({}, {}, { highWaterMark: 0 });
  const events = readable.getReader();
  const writer = writable.getWriter();
  const offer = (event: BuildEvent) => writer.write(event);
  const work = parts.passes.pass(order.projectId, async (pass) => {
    await using rows = new FeedRows(pass, order.definition);
    const built = await writeFeed(parts.payloads, { order, rows, offer });
    return { ...built, catalogVersion: pass.version, warnings: rows.warnings };
  });
  work.then(
    (output) => offer({ kind: 'end', output }),
    (error: unknown) => writer.abort(error),
  );
  return { take: async () => (await events.read()).value };
}

/** The operations of the thread, one build or preview at a time. */
export function channelThreadOperations(parts: BuildThreadParts): Record<string, Operation> {
  let building: ReturnType<typeof buildFeed> | undefined;
  return {
    open(order: BuildOrder) {
      building = buildFeed(parts, order);
    },
    /** Returns the next event; throws if the build fails. */
    async next() {
      const taken = building;
      building = undefined;
      const event = await taken?.take();
      if (event?.kind !== 'end') building = taken;
      return event;
    },
    /** A build in progress holds its catalog open, so it can only end with the thread. */
    close() {
      if (building !== undefined) throw new Error('a build cannot be let go of');
    },
    deliver: (order: DeliveryOrder) => deliver(parts, order),
    /** @returns JSON: its values may be long, and the serving thread only sends it */
    preview: async (order: PreviewOrder) => shareText(JSON.stringify(await previewFeed(parts.passes, order))),
  };
}

/** Brings what a build has published to a destination. Runs in the build's thread. Source: docs/interface §16.8. */

export interface DeliveryOrder {
  readonly snapshot: Snapshot;
  /** Names of files that only a larger earlier build had. */
  readonly stale: readonly string[];
  /** The destination with its secrets. */
  readonly destination: Destination;
}

export interface Delivery {
  readonly files: number;
  readonly bytes: number;
  /** Why it does not have all files, in words. */
  readonly problem?: string;
}

const LIMITS: WaitLimits = { connectMs: 15_000, idleMs: 120_000, wholeMs: 3_600_000 };
/** Delays before the second and the third attempt. */
const RETRY_MS: readonly number[] = [5_000, 30_000];
/** Transient problems. Repeating a wrong password would lock accounts. */
const PASSING: ReadonlySet<string> = new Set(['connection', 'timeout', 'broken_off']);

/** Retries transient problems, within the time for all attempts. */
export async function deliver(
  { payloads, allow }: Pick<BuildThreadParts, 'payloads' | 'allow'>,
  order: DeliveryOrder,
  { retryMs = RETRY_MS, limits = LIMITS }: { retryMs?: readonly number[]; limits?: WaitLimits } = {},
): Promise<Delivery> {
  const timeouts = createTimeouts(limits, 'The destination');
  const via = { allows: allowAddresses(allow), resolve: undefined, timeouts, signal: undefined };
  for (let attempt = 0; ; attempt += 1) {
    const done = await deliverOnce(payloads, order, via).catch(toProblem);
    if (!(done instanceof OutboundProblem)) return done;
    const mayPass = PASSING.has(done.reason) && !timeouts.areUsedUp();
    const wait = mayPass ? retryMs[attempt] : undefined;
    const attempts = attempt === 0 ? '' : ` (${attempt + 1} attempts)`;
    if (wait === undefined) return { files: 0, bytes: 0, problem: `${done.message}${attempts}` };
    await delay(wait);
  }
}

function toProblem(error: unknown): OutboundProblem {
  if (error instanceof OutboundProblem) return error;
  throw error;
}

async function deliverOnce(
  payloads: PayloadFiles,
  { snapshot, stale, destination }: DeliveryOrder,
  via: Outbound,
): Promise<Delivery> {
  const files = listServedFiles(payloads, snapshot);
  using opened = await openDestination(destination, via);
  let bytes = 0;
  for (const { name, mediaType, sizeBytes, read } of files)
    bytes += await opened.write(name, read(0, sizeBytes), mediaType);
  for (const name of stale) await opened.remove(name);
  return { files: files.length, bytes };
}

export type PreviewOrder = Pick<BuildOrder, 'projectId' | 'definition'>;

const SHOWN_ROWS = 20;
const SHOWN_IDENTIFIERS = 10;
const TAKEN = 1_000;
const READ = 20_000;

/** The first products that pass the filter, as the file would have them, and what many of them lack. */
function previewFeed(passes: CatalogPasses, order: PreviewOrder): Promise<FeedPreview> {
  return passes.pass(order.projectId, async (pass) => {
    await using rows = new FeedRows(pass, order.definition);
    return await readFirst(rows, planFiles(order.definition.format).nameOf(1));
  });
}

async function readFirst(rows: FeedRows, fileName: string): Promise<FeedPreview> {
  const { columns, mapping, writer } = rows;
  const taken: ReadRow[] = [];
  let products = 0;
  for await (const page of rows.pages(true)) {
    products += page.products;
    taken.push(...page.rows);
    if (taken.length >= TAKEN || products >= READ) break;
  }
  const first = taken.slice(0, SHOWN_ROWS);
  const lines = first.filter(({ isLeftOut }) => !isLeftOut).map(({ row }) => writer.write(row));
  const leftOut = taken.filter(({ isLeftOut }) => isLeftOut).length;
  return {
    fileName,
    columns,
    mapping,
    rows: first.map((read) => showRow(read, columns)),
    missing: listMissing(taken),
    looked: { products, taken: taken.length, leftOut },
    text: `${writer.head}${lines.join('')}${writer.tail}`,
  };
}

function showRow({ identifier, row, problems, isLeftOut, absent }: ReadRow, columns: readonly string[]) {
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
      field,
      products: all.length,
      message: all[0]?.message ?? '',
      identifiers: all.slice(0, SHOWN_IDENTIFIERS).map(({ identifier }) => identifier),
    }))
    .sort((a, b) => b.products - a.products);
}
