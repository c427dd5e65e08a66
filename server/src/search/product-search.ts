import { setTimeout } from 'node:timers/promises';
import type { ListedPage, ListForm } from '../catalog/browse/browse.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ProjectSettings } from '../projects/projects.ts';
import type { BudgetTerms, QuestionPool } from '../storage/threads/threads.ts';
import type { CategoryPage, CategoryQuestion, IndexOrder, SearchQuestion } from './hits/hits.ts';
import type { SearchStore } from './index-store/index-store.ts';
import { IndexWalks } from './index-walks.ts';
import type { IndexOutcome } from './search-threads.ts';
import type { ShopQuestion } from './shop/shop.ts';

type ProductQuestion = Omit<ShopQuestion, 'locale' | 'priceAttribute'>;

/** How long a search waits for the index; this suffices for 100,000 products on an idle machine. */
const WAIT_MS = 10_000;
/** How long a search of a shop or an agent waits; this suffices for 5,000 products on a busy machine. */
const SHORT_WAIT_MS = 1_000;
/** If a project is not searched for a week, its index is not updated until the next search. */
const FOLLOWED_MS = 7 * 24 * 3_600_000;

/** Four times the limit of the parts that read products one after another. */
const SEARCHING: BudgetTerms = { ms: 20_000, refusal: 'search_too_long' };

/** Reading ten products of 2 MB takes half a second. */
const READING: BudgetTerms = { ms: 20_000, refusal: 'question_too_long' };

/** How long after its last search another project counts as being searched. */
const RECENT_MS = 5_000;

/** The input of any operation. */
type InProject = { readonly projectId: number } & Readonly<Record<string, unknown>>;

export interface SearchParts {
  readonly store: SearchStore;
  /** Threads that keep their priority, because callers wait for their results. */
  readonly searchers: QuestionPool;
  readonly logger: Logger;
  /** How long a search waits for its index; docs/interface §4.13 has the default. */
  readonly searchWaitMs?: number | undefined;
  /** The locale of the project's numbers, such as `de-DE`. */
  getLocale(projectId: number): Promise<string>;
  getSettings(projectId: number): Promise<Pick<ProjectSettings, 'priceAttribute'>>;
}

/** The terms of a question. The signal is aborted when the caller disconnects. */
interface AskTerms {
  readonly signal: AbortSignal;
  /** Whether an answer must be complete; default: no. */
  readonly isWhole?: boolean;
  readonly waitMs?: number;
}

type IndexQuestion = Omit<IndexOrder, 'allowIncomplete'> & { readonly question: object };

/** The search for products from the view of the serving thread. */
export class ProductSearch {
  private readonly parts: SearchParts;
  private readonly waitMs: number;
  private readonly shortWaitMs: number;
  private readonly index: IndexWalks;
  private readonly searchedAt = new Map<number, number>();
  private readonly incompleteSince = new Map<number, number>();

  constructor(parts: SearchParts) {
    const { store, logger, searchWaitMs = WAIT_MS } = parts;
    this.parts = parts;
    this.waitMs = searchWaitMs;
    this.shortWaitMs = Math.min(searchWaitMs, SHORT_WAIT_MS);
    this.index = new IndexWalks({ store, logger, isShared: (projectId) => this.isShared(projectId) });
  }

  /**
   * Searches for products. Without an index, it searches a part of the catalog.
   * @returns JSON of a `SearchAnswer` @throws query_invalid, search_too_broad, search_too_long
   */
  find(projectId: number, question: SearchQuestion, signal: AbortSignal): Promise<Uint8Array> {
    return this.askIndex('searchProducts', { projectId, question }, { signal });
  }

  /**
   * Answers a search of a shop, or its suggestions. Without an index, it searches a part of the catalog.
   * @returns JSON @throws query_invalid, search_too_long, answer_too_large
   */
  async answerShop(
    projectId: number,
    shopQuestion: ProductQuestion,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { getLocale, getSettings } = this.parts;
    const [locale, { priceAttribute }] = [await getLocale(projectId), await getSettings(projectId)];
    const question: ShopQuestion = { ...shopQuestion, locale, priceAttribute };
    return this.askIndex('searchGroups', { projectId, question }, { signal, waitMs: this.shortWaitMs });
  }

  /** Answers a question of a room to the right with an operation of that room. @returns bytes or a small object */
  askOperation<Answer>(operation: string, order: IndexQuestion, signal: AbortSignal): Promise<Answer> {
    return this.askIndex(operation, order, { signal, waitMs: this.shortWaitMs });
  }

  /** The same for an operation that needs no index. */
  runOperation<Answer>(operation: string, order: InProject, signal: AbortSignal): Promise<Answer> {
    return this.parts.searchers.ask(operation, order, { key: order.projectId, terms: READING, signal });
  }

  /**
   * Lists a page of the products found. It waits for the index, so the page is complete.
   * @throws query_invalid, search_not_ready
   */
  list(
    projectId: number,
    listed: { readonly question: SearchQuestion; readonly form: ListForm },
    signal: AbortSignal,
  ): Promise<ListedPage> {
    return this.askIndex('listFound', { projectId, ...listed }, { signal, isWhole: true });
  }

  /** Lists categories with products. @throws query_invalid, search_not_ready */
  listCategories(projectId: number, question: CategoryQuestion, signal: AbortSignal): Promise<CategoryPage> {
    return this.askIndex('listCategories', { projectId, question }, { signal });
  }

  /** Updates the index after a change of the catalog, if the project was searched in the last week. */
  follow(projectId: number): void {
    const lastSearchAt = this.searchedAt.get(projectId);
    if (lastSearchAt === undefined) return;
    if (performance.now() - lastSearchAt < FOLLOWED_MS) void this.index.complete(projectId);
    else this.searchedAt.delete(projectId);
  }

  /** @throws search_not_ready if the answer must be complete and its index is not expected soon */
  private async askIndex<Answer>(
    operation: string,
    order: IndexQuestion,
    { signal, isWhole = false, waitMs = this.waitMs }: AskTerms,
  ): Promise<Answer> {
    const { projectId } = order;
    this.searchedAt.set(projectId, performance.now());
    const run = (allowed: IndexOrder['allowIncomplete']) => {
      const allowIncomplete = isWhole ? 'never' : allowed;
      const options = { key: projectId, terms: SEARCHING, signal };
      return this.parts.searchers.ask<IndexOutcome<Answer>>(
        operation,
        { ...order, allowIncomplete },
        options,
      );
    };
    const outcome = await askUntil(() => this.awaitIndex(projectId, waitMs), run);
    if (outcome.isBehind) void this.index.complete(projectId);
    if (outcome.isComplete) this.incompleteSince.delete(projectId);
    return outcome.answer;
  }

  /** Waits if the index can be expected soon. Later searches do not wait for the same index again. */
  private async awaitIndex(projectId: number, waitMs: number): Promise<boolean> {
    const now = performance.now();
    const since = this.incompleteSince.get(projectId) ?? now;
    this.incompleteSince.set(projectId, since);
    const completed = this.index.complete(projectId);
    const leftMs = since + waitMs - now;
    return leftMs > 0 && Promise.race([completed, setTimeout(leftMs, false, { ref: false })]);
  }

  private isShared(projectId: number): boolean {
    const since = performance.now() - RECENT_MS;
    return this.searchedAt.entries().some(([other, searchedAt]) => other !== projectId && searchedAt > since);
  }
}

/** @param awaitIndex returns whether the index is ready @throws search_not_ready */
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
