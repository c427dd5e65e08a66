import { setTimeout } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { ThreadPool } from '../../storage/threads/threads.ts';
import type { ListedPage, ListForm } from '../browse/browse.ts';
import type { CatalogStore } from '../port.ts';
import type { CategoryPage, CategoryQuestion } from './category-list.ts';
import type { IndexOrder } from './search-index.ts';
import type { SearchQuestion } from './search-plan.ts';
import type { FoundUploads, IndexOutcome, SearchAnswer } from './search-run.ts';
import type { ShopAnswer, ShopQuestion } from './shop-search.ts';

/** Search for products, as the serving thread sees it. */
export interface ProductSearch {
  /** @throws query_invalid, search_too_broad, search_too_long, search_not_ready while the index is made */
  find(
    projectId: number,
    question: SearchQuestion & { readonly mayLack?: 'most' },
    signal: AbortSignal,
  ): Promise<SearchAnswer>;
  /** A search of a shop, or its suggestions: without an index, of a part of the catalog. @throws query_invalid, search_too_long */
  ask(projectId: number, question: Omit<ShopQuestion, 'locale'>, signal: AbortSignal): Promise<ShopAnswer>;
  /** The same with the uploads of each group. @throws query_invalid */
  findUploads(
    projectId: number,
    question: Partial<ShopQuestion> & Pick<ShopQuestion, 'offset' | 'limit'>,
    signal: AbortSignal,
  ): Promise<FoundUploads>;
  /**
   * A page of all products found, which lacks none of them: it waits for the index as long as a first search.
   * @throws query_invalid, search_not_ready
   */
  list(
    projectId: number,
    listed: { readonly question: SearchQuestion; readonly form: ListForm },
    signal: AbortSignal,
  ): Promise<ListedPage>;
  /** Categories that hold products. @throws query_invalid, search_not_ready */
  listCategories(projectId: number, question: CategoryQuestion, signal: AbortSignal): Promise<CategoryPage>;
  /** The catalog changed: brings the index up to date, if anybody searched lately. */
  follow(projectId: number): void;
}

/** How long a search waits for the index: 100,000 products on an idle machine. */
const WAIT_MS = 10_000;
/** Where a part of the catalog is looked through otherwise: 5,000 products on a machine that is not idle. */
const SHORT_WAIT_MS = 1_000;
const RETRY_SECONDS = 2;
/** The index of a project without a search for so long is left alone until the next one. */
const FOLLOWED_MS = 3_600_000;

interface SearchParts {
  readonly store: CatalogStore;
  readonly searchers: ThreadPool;
  readonly logger: Logger;
  readonly searchWaitMs?: number | undefined;
  /** Of a project. */
  getLocale(projectId: number): Promise<string>;
}

export function createProductSearch({
  store,
  searchers,
  logger,
  searchWaitMs = WAIT_MS,
  getLocale,
}: SearchParts): ProductSearch {
  const index = createIndexWalks(store, logger);
  const searchedAt = new Map<number, number>();
  const lackingSince = new Map<number, number>();

  /** Waits as long as the index can be expected soon; later searches do not wait for it again. */
  async function awaitIndex(projectId: number): Promise<boolean> {
    const now = performance.now();
    const since = lackingSince.get(projectId) ?? now;
    lackingSince.set(projectId, since);
    const completed = index.complete(projectId);
    const leftMs = since + searchWaitMs - now;
    return leftMs > 0 && Promise.race([completed, setTimeout(leftMs, false)]);
  }

  type Run<Answer> = (lacking: IndexOrder['mayLack']) => Promise<IndexOutcome<Answer>>;
  type Found<Answer> = Exclude<IndexOutcome<Answer>, { missing: string }>;

  /** @throws search_not_ready where the index cannot be waited for */
  async function askAgain<Answer>(projectId: number, run: Run<Answer>): Promise<Found<Answer>> {
    const isThere = await awaitIndex(projectId);
    const outcome = await run(isThere ? 'far' : 'any');
    if (!('missing' in outcome)) return outcome;
    if (!isThere) refuseMissing(outcome);
    return askAgain(projectId, run);
  }

  async function askSoon<Answer>(projectId: number, run: Run<Answer>): Promise<Found<Answer>> {
    await Promise.race([index.complete(projectId), setTimeout(Math.min(searchWaitMs, SHORT_WAIT_MS))]);
    const outcome = await run('most');
    return 'missing' in outcome ? askAgain(projectId, run) : outcome;
  }

  /** @throws search_not_ready */
  async function ask<Answer>(
    operation: string,
    order: Omit<IndexOrder, 'mayLack'> & { readonly question: object },
    { signal, allows }: { readonly signal: AbortSignal; readonly allows?: 'never' | 'most' | undefined },
  ): Promise<Answer> {
    const { projectId } = order;
    searchedAt.set(projectId, performance.now());
    const run = (lacking: IndexOrder['mayLack']) => {
      const mayLack = allows === 'never' ? allows : lacking;
      const options = { key: projectId, unordered: true, signal };
      return searchers.run<IndexOutcome<Answer>>(operation, { ...order, mayLack }, options);
    };
    const found = await run('far');
    const again = allows === 'most' ? askSoon : askAgain;
    const outcome = 'missing' in found ? await again(projectId, run) : found;
    if (outcome.isBehind) void index.complete(projectId);
    return outcome.answer;
  }

  return {
    async find(projectId, question, signal) {
      const order = { projectId, question };
      const answer = await ask<SearchAnswer>('searchProducts', order, { signal, allows: question.mayLack });
      if (answer.isComplete) lackingSince.delete(projectId);
      return answer;
    },
    async ask(projectId, asked, signal) {
      const question: ShopQuestion = { ...asked, locale: await getLocale(projectId) };
      return ask<ShopAnswer>('searchGroups', { projectId, question }, { signal, allows: 'most' });
    },
    findUploads(projectId, asked, signal) {
      const question: ShopQuestion = { query: '', filters: [], sort: undefined, locale: '', ...asked };
      return ask<FoundUploads>('findUploads', { projectId, question }, { signal, allows: 'most' });
    },
    async list(projectId, listed, signal) {
      const order = { projectId, ...listed };
      const page = await ask<ListedPage>('listFound', order, { signal, allows: 'never' });
      lackingSince.delete(projectId);
      return page;
    },
    async listCategories(projectId, question, signal) {
      const page = await ask<CategoryPage>('listCategories', { projectId, question }, { signal });
      if (page.isComplete) lackingSince.delete(projectId);
      return page;
    },
    follow(projectId) {
      const at = searchedAt.get(projectId);
      if (at === undefined) return;
      if (performance.now() - at < FOLLOWED_MS) void index.complete(projectId);
      else searchedAt.delete(projectId);
    },
  };
}

function refuseMissing(outcome: IndexOutcome<unknown>): void {
  if (!('missing' in outcome)) return;
  const details = [outcome.missing];
  throw new ServiceError('search_not_ready', { retryAfterSeconds: RETRY_SECONDS, details });
}

/** One walk a project at a time; it goes on behind its completion to remove what leads nowhere. */
function createIndexWalks(store: CatalogStore, logger: Logger) {
  type Waiter = (isComplete: boolean) => void;
  const waiters = new Map<number, Waiter[]>();

  /** @returns whether there is more to do */
  async function step(projectId: number, waiting: Waiter[]): Promise<boolean> {
    const heard = waiting.length;
    const { isComplete, isTidy } = await store.walkSearch(projectId);
    if (!isComplete) return true;
    for (const resolve of waiting.splice(0, heard)) resolve(true);
    return !isTidy || waiting.length > 0;
  }

  async function walkLogged(projectId: number, waiting: Waiter[]): Promise<void> {
    try {
      while (await step(projectId, waiting));
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
      const waiting = waiters.get(projectId);
      if (waiting !== undefined) waiting.push(resolve);
      else {
        const first = [resolve];
        waiters.set(projectId, first);
        void walkLogged(projectId, first);
      }
      return promise;
    },
  };
}
