import { setTimeout } from 'node:timers/promises';
import type { Logger } from '../../kernel/logger.ts';
import type { CatalogStore } from '../port.ts';
import { isComplete } from './category-walk.ts';

/** Updates the index of categories on demand; only requests for categories wait for it. */
export interface CategoryIndex {
  /** @returns whether it is complete, which a change of a few thousand products hardly delays */
  isReady(projectId: number): Promise<boolean>;
  /** Waits until it is complete, or until it cannot be. */
  complete(projectId: number): Promise<void>;
}

/** How long a list waits for the index before it scans the products instead. */
const INDEX_TIMEOUT_MS = 300;

export function createCategoryIndex(store: CatalogStore, logger: Logger): CategoryIndex {
  const walks = new Map<number, Promise<boolean>>();

  /** One walk a project at a time. @returns whether it came to its end */
  function walk(projectId: number): Promise<boolean> {
    const underWay = walks.get(projectId);
    if (underWay !== undefined) return underWay;
    const walked = walkAll(projectId)
      // The caller falls back to a scan; the next one walks on where this one ended.
      .catch((error: unknown) => {
        logger.warn({ err: error, project: projectId }, 'the index of categories is not up to date');
        return false;
      })
      .finally(() => walks.delete(projectId));
    walks.set(projectId, walked);
    return walked;
  }

  async function walkAll(projectId: number): Promise<boolean> {
    while (!(await store.walkCategories(projectId)).isComplete);
    return true;
  }

  async function isUpToDate(projectId: number): Promise<boolean> {
    const state = await store.readCategoryWalk(projectId);
    return state !== undefined && isComplete(state);
  }

  return {
    isReady: async (projectId) =>
      (await isUpToDate(projectId)) || Promise.race([walk(projectId), setTimeout(INDEX_TIMEOUT_MS, false)]),
    async complete(projectId) {
      if (!(await isUpToDate(projectId))) await walk(projectId);
    },
  };
}
