import { setTimeout } from 'node:timers/promises';
import type { ListedPage, ListForm } from '../catalog/browse/browse.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ProjectSettings } from '../projects/projects.ts';
import type { BudgetTerms, QuestionPool } from '../storage/threads/threads.ts';
import type { CategoryPage, CategoryQuestion, IndexOrder, SearchQuestion } from './hits/hits.ts';
import type { SearchStore } from './index-store/index-store.ts';
import type { PreparedWalk } from './search-port.ts';
import type { IndexOutcome } from './search-run.ts';
import type { ShopQuestion } from './shop/shop.ts';

type ProductQuestion = Omit<ShopQuestion, 'locale' | 'priceAttribute'>;

/** How long a search waits for the index: enough for 100,000 products on an idle machine. */
const WAIT_MS = 10_000;
/** For a search in a shop or by an agent: enough for 5,000 products on a machine that is not idle. */
const SHORT_WAIT_MS = 1_000;
/** After this long without a search, a week, a project's index is not updated until the next one. */
const FOLLOWED_MS = 7 * 24 * 3_600_000;

/** Four times what its parts may take of products that are read one by one. */
const SEARCHING: BudgetTerms = { ms: 20_000, refusal: 'search_too_long' };

/** Ten products of 2 MB take half a second. */
const READING: BudgetTerms = { ms: 20_000, refusal: 'question_too_long' };

/** How long after its last search another project counts as still searching. */
const RECENT_MS = 5_000;

/** An order of any operation. */
type InProject = { readonly projectId: number } & Readonly<Record<string, unknown>>;

export interface SearchParts {
  readonly store: SearchStore;
  /** Threads that keep their priority, as callers wait for their results. */
  readonly searchers: QuestionPool;
  readonly logger: Logger;
  /** How long a search waits for its index; default: see docs/interface §4.13. */
  readonly searchWaitMs?: number | undefined;
  /** The locale for numbers in the project, as `de-DE`. */
  getLocale(projectId: number): Promise<string>;
  getSettings(projectId: number): Promise<Pick<ProjectSettings, 'priceAttribute'>>;
}

export type ProductSearch = ReturnType<typeof createProductSearch>;

/** Search for products, as the serving thread sees it. */
export function createProductSearch({
  store,
  searchers,
  logger,
  searchWaitMs = WAIT_MS,
  getLocale,
  getSettings,
}: SearchParts) {
  const searchedAt = new Map<number, number>();
  const isShared = (projectId: number) => {
    const since = performance.now() - RECENT_MS;
    return searchedAt.entries().some(([other, at]) => other !== projectId && at > since);
  };
  const index = createIndexWalks({ store, logger, isShared });
  const incompleteSince = new Map<number, number>();
  const briefly = { waitMs: Math.min(searchWaitMs, SHORT_WAIT_MS) };

  /** Waits if the index can be expected soon; later searches do not wait for it again. */
  async function awaitIndex(projectId: number, waitMs: number): Promise<boolean> {
    const now = performance.now();
    const since = incompleteSince.get(projectId) ?? now;
    incompleteSince.set(projectId, since);
    const completed = index.complete(projectId);
    const leftMs = since + waitMs - now;
    return leftMs > 0 && Promise.race([completed, setTimeout(leftMs, false, { ref: false })]);
  }

  /** @param isWhole whether an answer must be complete @throws search_not_ready if that needs an index which is not expected soon */
  async function ask<Answer>(
    operation: string,
    order: Omit<IndexOrder, 'allowIncomplete'> & { readonly question: object },
    {
      signal,
      isWhole = false,
      waitMs = searchWaitMs,
    }: { signal: AbortSignal; isWhole?: boolean; waitMs?: number },
  ): Promise<Answer> {
    const { projectId } = order;
    searchedAt.set(projectId, performance.now());
    const run = (allowed: IndexOrder['allowIncomplete']) => {
      const allowIncomplete = isWhole ? 'never' : allowed;
      const options = { key: projectId, terms: SEARCHING, signal };
      return searchers.ask<IndexOutcome<Answer>>(operation, { ...order, allowIncomplete }, options);
    };
    const outcome = await askUntil(() => awaitIndex(projectId, waitMs), run);
    if (outcome.isBehind) void index.complete(projectId);
    if (outcome.isComplete) incompleteSince.delete(projectId);
    return outcome.answer;
  }

  return {
    /**
     * Without an index, searches a part of the catalog.
     * @returns JSON of a `SearchAnswer` @throws query_invalid, search_too_broad, search_too_long
     */
    find(projectId: number, question: SearchQuestion & { readonly waits?: 'briefly' }, signal: AbortSignal) {
      const options = { signal, ...(question.waits === 'briefly' && briefly) };
      return ask<Uint8Array>('searchProducts', { projectId, question }, options);
    },
    /**
     * A search of a shop, or its suggestions; without an index, in a part of the catalog.
     * @returns JSON @throws query_invalid, search_too_long, answer_too_large
     */
    async ask(projectId: number, given: ProductQuestion, signal: AbortSignal): Promise<Uint8Array> {
      const [locale, { priceAttribute }] = [await getLocale(projectId), await getSettings(projectId)];
      const question: ShopQuestion = { ...given, locale, priceAttribute };
      return ask('searchGroups', { projectId, question }, { signal, ...briefly });
    },
    /** A question of a room to the right to the index, answered by its own operation. @returns bytes or a small object */
    askOperation: <Answer>(
      operation: string,
      order: { readonly projectId: number; readonly question: object },
      signal: AbortSignal,
    ) => ask<Answer>(operation, order, { signal, ...briefly }),
    /** The same for an operation that needs no index. */
    runOperation: <Answer>(operation: string, order: InProject, signal: AbortSignal) =>
      searchers.ask<Answer>(operation, order, { key: order.projectId, terms: READING, signal }),
    /**
     * A page of all products found, which is complete because it waits for the index.
     * @throws query_invalid, search_not_ready
     */
    list: (projectId: number, listed: { question: SearchQuestion; form: ListForm }, signal: AbortSignal) =>
      ask<ListedPage>('listFound', { projectId, ...listed }, { signal, isWhole: true }),
    /** Categories with products. @throws query_invalid, search_not_ready */
    listCategories: (projectId: number, question: CategoryQuestion, signal: AbortSignal) =>
      ask<CategoryPage>('listCategories', { projectId, question }, { signal }),
    /** After a change of the catalog, updates the index if it was searched lately. */
    follow(projectId: number): void {
      const at = searchedAt.get(projectId);
      if (at === undefined) return;
      if (performance.now() - at < FOLLOWED_MS) void index.complete(projectId);
      else searchedAt.delete(projectId);
    },
  };
}

/** @param awaitIndex tells whether the index is there @throws search_not_ready */
async function askUntil<Answer>(
  awaitIndex: () => Promise<boolean>,
  run: (allowed: IndexOrder['allowIncomplete']) => Promise<IndexOutcome<Answer>>,
): Promise<Exclude<IndexOutcome<Answer>, { missing: string }>> {
  let outcome = await run('far');
  while ('missing' in outcome) {
    const isThere = await awaitIndex();
    outcome = await run(isThere ? 'far' : 'most');
    if (isThere || !('missing' in outcome)) continue;
    throw new ServiceError('search_not_ready', outcome.missing, { retryAfterSeconds: 2 });
  }
  return outcome;
}

/** At most one walk per project at a time; it continues after completion to remove dead entries. */
function createIndexWalks({
  store,
  logger,
  isShared,
}: Pick<SearchParts, 'store' | 'logger'> & {
  /** Whether other projects are being searched. */
  isShared(projectId: number): boolean;
}) {
  type Waiter = (isComplete: boolean) => void;
  const waiters = new Map<number, Waiter[]>();

  async function takeStep(projectId: number, waiting: Waiter[], prepared?: PreparedWalk) {
    const heard = waiting.length;
    const step = await store.walkSearch(projectId, { prepared });
    if (step.isComplete) for (const resolve of waiting.splice(0, heard)) resolve(true);
    return { ...step, isMore: !step.isComplete || !step.isTidy || waiting.length > 0 };
  }

  /** While a step is written, the next one is prepared. The last one is prepared by the writing thread. */
  async function goOn(projectId: number, waiting: Waiter[], prepared?: PreparedWalk) {
    const [step, next] = await Promise.all([
      takeStep(projectId, waiting, prepared),
      prepared?.isLast === false ? store.prepareWalk(projectId, prepared.last) : undefined,
    ]);
    const isFirst = prepared === undefined && !step.isComplete;
    const following = isFirst ? await store.prepareWalk(projectId, step.lastDocument) : next;
    return { isMore: step.isMore, prepared: following };
  }

  async function walk(projectId: number, waiting: Waiter[]): Promise<void> {
    try {
      for (let prepared: PreparedWalk | undefined, isMore = true; isMore; ) {
        const begunAt = performance.now();
        ({ isMore, prepared } = await goOn(projectId, waiting, prepared));
        // A step occupies a process of the database and a thread, so others get the processors half of the time.
        if (isMore && isShared(projectId))
          await setTimeout(performance.now() - begunAt, undefined, { ref: false });
      }
    } catch (error) {
      // Waiting callers learn that the index is behind, and the next search continues the walk.
      logger.warn({ err: error, project: projectId }, 'the index of search is not up to date');
    }
    waiters.delete(projectId);
    for (const resolve of waiting) resolve(false);
  }

  return {
    /** @returns whether the index became complete, with everything that was in the catalog at this call */
    complete(projectId: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      // A walk that has answered all waiting callers may still be tidying the index.
      const isWalked = waiters.has(projectId);
      const waiting = waiters.getOrInsert(projectId, []);
      waiting.push(resolve);
      if (!isWalked) void walk(projectId, waiting);
      return promise;
    },
  };
}
