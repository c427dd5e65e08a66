/**
 * The serving thread's side of a build's thread: its orders, its time limits, and its reports. The operations of the
 * thread are in `build-thread.ts`.
 */
import { ServiceError } from '../../kernel/errors.ts';
import type { ThreadPlace } from '../../storage/storage.ts';
import { createThreadSupply } from '../../storage/threads/threads.ts';
import type { TaskRun } from '../../tasks/tasks.ts';
import type { Delivery, DeliveryOrder } from './delivery.ts';
import type { PreviewOrder } from './feed-preview.ts';
import type { BuildEvent, BuildOrder } from './feed-writing.ts';

export interface ChannelThreadData {
  readonly place: ThreadPlace;
  /** CIDR ranges that accept deliveries although they are not public. */
  readonly allow: readonly string[];
}

/** The limit for objects: pages of products and the rows made of them. */
const HEAP_MIB = 512;
const PREVIEW_MS = 60_000;

export type BuildThreads = ReturnType<typeof createBuildThreads>;

interface BuildParts {
  readonly run: TaskRun;
  /** The number of products in the catalog shortly before the build. */
  readonly products: number;
  /** Called before the payload is written. */
  onPiece(name: string): void;
}

/** A build has its own thread. The thread ends with the build if the build is stopped midway. */
export function createBuildThreads(entry: URL, data: ChannelThreadData) {
  const builds = createThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  const previews = createThreadSupply(entry, { workerData: data, heapMib: HEAP_MIB });
  return {
    build: (order: BuildOrder, parts: BuildParts) =>
      builds.use(parts.run.signal, async (thread) => {
        await thread.run('open', order, { key: 0 });
        for (;;) {
          const event = await thread.run<BuildEvent>('next', {}, { key: 0 });
          if (event.kind === 'end') return event.output;
          await takeEvent(event, parts);
        }
      }),
    deliver: (order: DeliveryOrder, signal: AbortSignal) =>
      builds.use(signal, (thread) => thread.run<Delivery>('deliver', order, { key: 0 })),
    async preview(order: PreviewOrder, signal?: AbortSignal) {
      const timeUp = AbortSignal.timeout(PREVIEW_MS);
      const either = signal === undefined ? timeUp : AbortSignal.any([signal, timeUp]);
      try {
        return await previews.use(either, (thread) => thread.run<Uint8Array>('preview', order, { key: 0 }));
      } catch (error) {
        signal?.throwIfAborted();
        if (!timeUp.aborted) throw error;
        const detail = `reading the first products took longer than ${PREVIEW_MS / 1_000} s`;
        throw new ServiceError('channel_unfit', detail);
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
) {
  if (event.kind === 'piece') return onPiece(event.name);
  for (const line of event.report) run.report(line);
  run.count({ counts: event.counts });
  await run.progress((event.counts.products / Math.max(products, event.counts.products, 1)) * 100);
}
