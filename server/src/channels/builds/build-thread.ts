/** The work of a build's thread. It reads one state of a catalog, and writes the files of a channel. */
import type { CatalogPasses } from '../../relations/relation-store/relation-store.ts';
import { type Operation, shareText } from '../../storage/threads/threads.ts';
import { type DeliveryOrder, type DeliveryParts, deliver } from './delivery.ts';
import { type PreviewOrder, previewFeed } from './feed-preview.ts';
import { FeedRows } from './feed-rows.ts';
import { type BuildEvent, type BuildOrder, writeFeed } from './feed-writing.ts';

export interface BuildThreadParts extends DeliveryParts {
  readonly passes: CatalogPasses;
}

/** The build pauses at each event until the event is taken. */
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

/** The operations of the thread. It runs one build or preview at a time. */
export function channelThreadOperations(parts: BuildThreadParts): Record<string, Operation> {
  let building: ReturnType<typeof buildFeed> | undefined;
  return {
    open(order: BuildOrder) {
      building = buildFeed(parts, order);
    },
    /** @returns the next event. @throws if the build fails */
    async next() {
      const current = building;
      building = undefined;
      const event = await current?.take();
      if (event?.kind !== 'end') building = current;
      return event;
    },
    /** A build in progress holds its catalog open, so it can end only with the thread. */
    close() {
      if (building !== undefined) throw new Error('a build in progress cannot be closed');
    },
    deliver: (order: DeliveryOrder) => deliver(parts, order),
    /** @returns JSON bytes, because the values may be long and the serving thread only sends them */
    preview: async (order: PreviewOrder) => shareText(JSON.stringify(await previewFeed(parts.passes, order))),
  };
}
