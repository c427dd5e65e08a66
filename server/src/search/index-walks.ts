import { setTimeout } from 'node:timers/promises';
import type { Logger } from '../kernel/logger.ts';
import type { SearchStore } from './index-store/index-store.ts';
import type { PreparedWalk } from './search-port.ts';

/** Receives whether the index became complete. */
type Waiter = (isComplete: boolean) => void;

interface WalkParts {
  readonly store: SearchStore;
  readonly logger: Logger;
  /** Whether other projects are being searched too. */
  isShared(projectId: number): boolean;
}

/**
 * Updates the indexes of projects: at most one walk per project at a time. A walk continues after completion to
 * remove dead entries.
 */
export class IndexWalks {
  private readonly parts: WalkParts;
  private readonly waiters = new Map<number, Waiter[]>();

  constructor(parts: WalkParts) {
    this.parts = parts;
  }

  /** @returns whether the index became complete, with everything that was in the catalog at the time of this call */
  complete(projectId: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // A walk that has answered all waiting callers may still be tidying the index.
    const isWalked = this.waiters.has(projectId);
    const waiting = this.waiters.getOrInsert(projectId, []);
    waiting.push(resolve);
    if (!isWalked) void this.walk(projectId, waiting);
    return promise;
  }

  private async walk(projectId: number, waiting: Waiter[]): Promise<void> {
    const { logger, isShared } = this.parts;
    try {
      for (let prepared: PreparedWalk | undefined, isMore = true; isMore; ) {
        const begunAt = performance.now();
        ({ isMore, prepared } = await this.advance(projectId, waiting, prepared));
        // A step occupies a process of the database and a thread, so the walk pauses for the time of a step if others
        // need the processors.
        if (isMore && isShared(projectId))
          await setTimeout(performance.now() - begunAt, undefined, { ref: false });
      }
    } catch (error) {
      // Waiting callers get the answer that the index is behind, and the next search continues the walk.
      logger.warn(
        { err: error, project: projectId },
        'updating the index of search failed; the next search continues it',
      );
    }
    this.waiters.delete(projectId);
    for (const resolve of waiting) resolve(false);
  }

  /** Prepares the next step while a step is written. The writing thread prepares the last one. */
  private async advance(projectId: number, waiting: Waiter[], prepared?: PreparedWalk) {
    const { store } = this.parts;
    const [step, next] = await Promise.all([
      this.takeStep(projectId, waiting, prepared),
      prepared?.isLast === false ? store.prepareWalk(projectId, prepared.last) : undefined,
    ]);
    const isFirst = prepared === undefined && !step.isComplete;
    const following = isFirst ? await store.prepareWalk(projectId, step.lastDocument) : next;
    return { isMore: step.isMore, prepared: following };
  }

  private async takeStep(projectId: number, waiting: Waiter[], prepared?: PreparedWalk) {
    const waitingBefore = waiting.length;
    const step = await this.parts.store.walkSearch(projectId, { prepared });
    if (step.isComplete) for (const resolve of waiting.splice(0, waitingBefore)) resolve(true);
    return { ...step, isMore: !step.isComplete || !step.isTidy || waiting.length > 0 };
  }
}
