import { ServiceError } from '../../kernel/errors.ts';
import { type ThreadPlace, ThreadSupply } from '../../storage/storage.ts';
import type { TaskRun } from '../../tasks/tasks.ts';
import type { BuildEvent, BuildOrder, BuildOutput } from './build-thread.ts';
import type { Delivery, DeliveryOrder } from './delivery.ts';
import type { FeedPreview, PreviewOrder } from './feed-preview.ts';

/** What the thread of a build is started with. */
export interface ChannelThreadData {
  readonly place: ThreadPlace;
  /** CIDR ranges that are delivered to although they are not public. */
  readonly allow: readonly string[];
}

/** Of objects: pages of products and what is made of them. */
const HEAP_MIB = 512;
const PREVIEW_MS = 60_000;

export interface BuildThreads {
  /** @param onPiece  told of a payload before it is written */
  build(order: BuildOrder, parts: BuildParts): Promise<BuildOutput>;
  /** @param signal  ends it wherever it is */
  deliver(order: DeliveryOrder, signal: AbortSignal): Promise<Delivery>;
  /** @param signal  ends it with its reason */
  preview(order: PreviewOrder, signal?: AbortSignal): Promise<FeedPreview>;
  close(): Promise<void>;
}

export interface BuildParts {
  readonly run: TaskRun;
  /** Of the catalog, as it was a moment ago. */
  readonly products: number;
  onPiece(name: string): void;
}

/** A build has a thread for itself, which ends with it when the build is stopped wherever it is. */
export function createBuildThreads(entry: URL, data: ChannelThreadData): BuildThreads {
  const builds = new ThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  const previews = new ThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  return {
    build: (order, parts) =>
      builds.use(parts.run.signal, async (thread) => {
        await thread.run('open', order, { key: 0 });
        for (;;) {
          const event = await thread.run<BuildEvent>('next', {}, { key: 0 });
          if (event.kind === 'end') return event.output;
          await takeEvent(event, parts);
        }
      }),
    deliver: (order, signal) =>
      builds.use(signal, (thread) => thread.run<Delivery>('deliver', order, { key: 0 })),
    async preview(order, signal) {
      const timeUp = AbortSignal.timeout(PREVIEW_MS);
      const either = signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]);
      try {
        return await previews.use(either, (thread) => thread.run<FeedPreview>('preview', order, { key: 0 }));
      } catch (error) {
        signal?.throwIfAborted();
        if (!timeUp.aborted) throw error;
        const details = [`looking at the first products took longer than ${PREVIEW_MS / 1_000} s`];
        throw new ServiceError('channel_unfit', { details });
      }
    },
    async close() {
      await builds.close();
      await previews.close();
    },
  };
}

async function takeEvent(
  event: Exclude<BuildEvent, { kind: 'end' }>,
  { run, products, onPiece }: BuildParts,
): Promise<void> {
  if (event.kind === 'piece') {
    onPiece(event.name);
    return;
  }
  for (const line of event.report) run.report(line);
  run.count({ counts: event.counts });
  await run.progress((event.counts.products / Math.max(products, event.counts.products, 1)) * 100);
}
