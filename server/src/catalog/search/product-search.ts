import { setTimeout } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import type { ListedPage, ListForm } from '../browse/browse.ts';
import type { CatalogParts } from '../parts.ts';
import type { PreparedWalk } from '../port.ts';
import type { CategoryPage, CategoryQuestion } from './category-list.ts';
import type { IndexOrder } from './search-index.ts';
import type { SearchQuestion } from './search-plan.ts';
import type { FoundUploads, IndexOutcome } from './search-run.ts';
import type { ShopQuestion } from './shop-search.ts';

type ProductQuestion = Omit<ShopQuestion, 'locale' | 'priceAttribute'>;

/** How long a search waits for the index: 100,000 products on an idle machine. */
const WAIT_MS = 10_000;
/** For a search in a shop or by an agent: 5,000 products on a machine that is not idle. */
const SHORT_WAIT_MS = 1_000;
const RETRY_SECONDS = 2;
/** The index of a project without a search for so long, a week, is left alone until the next one. */
const FOLLOWED_MS = 7 * 24 * 3_600_000;

/** So long after its last search another project is taken to go on searching. */
const RECENT_MS = 5_000;

/** Search for products, as the serving thread sees it. */
export function createProductSearch({
  store,
  searchers,
  logger,
  searchWaitMs = WAIT_MS,
  getLocale,
  getSettings,
  prepareWalk,
}: Pick<CatalogParts, 'store' | 'searchers' | 'logger' | 'searchWaitMs' | 'getLocale' | 'getSettings'> & {
  readonly prepareWalk: PrepareWalk;
}) {
  const searchedAt = new Map<number, number>();
  const isShared = (projectId: number) => {
    const since = performance.now() - RECENT_MS;
    return searchedAt.entries().some(([other, at]) => other !== projectId && at > since);
  };
  const index = createIndexWalks({ store, logger, prepareWalk, isShared });
  const incompleteSince = new Map<number, number>();
  const briefly = { waitMs: Math.min(searchWaitMs, SHORT_WAIT_MS) };

  /** Waits as long as the index can be expected soon; later searches do not wait for it again. */
  async function awaitIndex(projectId: number, waitMs: number): Promise<boolean> {
    const now = performance.now();
    const since = incompleteSince.get(projectId) ?? now;
    incompleteSince.set(projectId, since);
    const completed = index.complete(projectId);
    const leftMs = since + waitMs - now;
    return leftMs > 0 && Promise.race([completed, setTimeout(leftMs, false)]);
  }

  /** @param isWhole whether an answer may lack nothing @throws search_not_ready where the index cannot be waited for, of what needs one */
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
      const options = { key: projectId, unordered: true, signal };
      return searchers.run<IndexOutcome<Answer>>(operation, { ...order, allowIncomplete }, options);
    };
    const outcome = await askUntil(() => awaitIndex(projectId, waitMs), run);
    if (outcome.isBehind) void index.complete(projectId);
    if (outcome.isComplete) incompleteSince.delete(projectId);
    return outcome.answer;
  }

  return {
    /**
     * Where there is no index yet, of a part of the catalog.
     * @returns JSON of a `SearchAnswer` @throws query_invalid, search_too_broad, search_too_long
     */
    find: (
      projectId: number,
      question: SearchQuestion & { readonly waits?: 'briefly' },
      signal: AbortSignal,
    ): Promise<Uint8Array> =>
      ask(
        'searchProducts',
        { projectId, question },
        { signal, ...(question.waits === 'briefly' && briefly) },
      ),
    /**
     * A search of a shop, or its suggestions: without an index, of a part of the catalog, too.
     * @returns JSON @throws query_invalid, search_too_long, answer_too_large
     */
    async ask(projectId: number, given: ProductQuestion, signal: AbortSignal): Promise<Uint8Array> {
      const [locale, { priceAttribute }] = [await getLocale(projectId), await getSettings(projectId)];
      const question: ShopQuestion = { ...given, locale, priceAttribute };
      return ask('searchGroups', { projectId, question }, { signal, ...briefly });
    },
    /** The same with the uploads of each group. @throws query_invalid, answer_too_large */
    findUploads(
      projectId: number,
      given: Partial<ProductQuestion> & Pick<ShopQuestion, 'offset' | 'limit'>,
      signal: AbortSignal,
    ): Promise<FoundUploads> {
      const unsorted = { query: '', filters: [], sort: undefined, locale: '', priceAttribute: '' };
      const question: ShopQuestion = { ...unsorted, ...given };
      return ask('findUploads', { projectId, question }, { signal, ...briefly });
    },
    /**
     * A page of all products found, which lacks none of them: it waits for the index.
     * @throws query_invalid, search_not_ready
     */
    list: (
      projectId: number,
      listed: { readonly question: SearchQuestion; readonly form: ListForm },
      signal: AbortSignal,
    ): Promise<ListedPage> => ask('listFound', { projectId, ...listed }, { signal, isWhole: true }),
    /** Categories that hold products. @throws query_invalid, search_not_ready */
    listCategories: (
      projectId: number,
      question: CategoryQuestion,
      signal: AbortSignal,
    ): Promise<CategoryPage> => ask('listCategories', { projectId, question }, { signal }),
    /** The catalog changed: brings the index up to date, if it was searched lately. */
    follow(projectId: number): void {
      const at = searchedAt.get(projectId);
      if (at === undefined) return;
      if (performance.now() - at < FOLLOWED_MS) void index.complete(projectId);
      else searchedAt.delete(projectId);
    },
  };
}

/** @param awaitIndex  says whether it is there @throws search_not_ready */
async function askUntil<Answer>(
  awaitIndex: () => Promise<boolean>,
  run: (allowed: IndexOrder['allowIncomplete']) => Promise<IndexOutcome<Answer>>,
): Promise<Exclude<IndexOutcome<Answer>, { missing: string }>> {
  let outcome = await run('far');
  while ('missing' in outcome) {
    const isThere = await awaitIndex();
    outcome = await run(isThere ? 'far' : 'most');
    if (isThere || !('missing' in outcome)) continue;
    throw new ServiceError('search_not_ready', outcome.missing, { retryAfterSeconds: RETRY_SECONDS });
  }
  return outcome;
}

/** By a thread that parses. */
type PrepareWalk = (projectId: number, after: number) => Promise<PreparedWalk>;

/** One walk a project at a time; it goes on behind its completion to remove what leads nowhere. */
function createIndexWalks({
  store,
  logger,
  prepareWalk,
  isShared,
}: Pick<CatalogParts, 'store' | 'logger'> & {
  readonly prepareWalk: PrepareWalk;
  /** Whether other projects are searched meanwhile. */
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

  /** While a step is written, the next one is prepared. The last one is prepared by the thread that writes it. */
  async function goOn(projectId: number, waiting: Waiter[], prepared?: PreparedWalk) {
    const [step, next] = await Promise.all([
      takeStep(projectId, waiting, prepared),
      prepared?.isLast === false ? prepareWalk(projectId, prepared.last) : undefined,
    ]);
    const isFirst = prepared === undefined && !step.isComplete;
    const following = isFirst ? await prepareWalk(projectId, step.lastDocument) : next;
    return { isMore: step.isMore, prepared: following };
  }

  async function walk(projectId: number, waiting: Waiter[]): Promise<void> {
    for (let prepared: PreparedWalk | undefined, isMore = true; isMore; ) {
      const begunAt = performance.now();
      ({ isMore, prepared } = await goOn(projectId, waiting, prepared));
      if (isMore) await rest(projectId, performance.now() - begunAt);
    }
  }

  /** A step keeps a process of the database and a thread busy: others have the processors half of the time. */
  const rest = async (projectId: number, ms: number) =>
    isShared(projectId) && setTimeout(ms, undefined, { ref: false });

  async function walkLogged(projectId: number, waiting: Waiter[]): Promise<void> {
    try {
      await walk(projectId, waiting);
    } catch (error) {
      // Those who wait learn that the index is behind, and the next search walks on.
      logger.warn({ err: error, project: projectId }, 'the index of search is not up to date');
    }
    waiters.delete(projectId);
    for (const resolve of waiting) resolve(false);
  }

  return {
    /** @returns whether the index became complete, with all that was in the catalog at this call */
    complete(projectId: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      // A walk that has answered all who wait still tidies the index.
      const isWalked = waiters.has(projectId);
      const waiting = waiters.getOrInsert(projectId, []);
      waiting.push(resolve);
      if (!isWalked) void walkLogged(projectId, waiting);
      return promise;
    },
  };
}
