import type { ListForm } from '../catalog/browse/browse.ts';
import type { CatalogSnapshot, CatalogSnapshots } from '../catalog/catalog.ts';
import { refuseLarge } from '../catalog/lookup/lookup.ts';
import { indexByKey } from '../catalog/ontology/ontology.ts';
import { type Budget, type Operation, shareText } from '../storage/threads/threads.ts';
import { CachedCounts } from './cached-counts.ts';
import {
  answerSearch,
  type CategoryQuestion,
  findGroups,
  HitList,
  type IndexOrder,
  LIMITS,
  listCategories,
  listProducts,
  type OpenGroups,
  type OpenIndex,
  openGroups,
  openIndex,
  planSearch,
  readWords,
  type SearchLimits,
  type SearchPlan,
  type SearchQuestion,
} from './hits/hits.ts';
import { openSearched } from './index-store/index-store.ts';
import {
  answerShopSearch,
  answerSuggestions,
  listNamedCategories,
  planShopSearch,
  type ShopQuestion,
  type Sorting,
} from './shop/shop.ts';

/** The operations of the threads that search. Each runs on one state of a catalog with its index. */

type Order<Question> = IndexOrder & { readonly question: Question };

export type GroupQuestion = Pick<ShopQuestion, 'named' | 'offset' | 'limit' | 'filter'> &
  Partial<Pick<ShopQuestion, 'query' | 'filters'>>;

/** @returns the result of `use` for the groups that the question finds @throws query_invalid */
export type FindGroups = <Answer>(
  order: Order<GroupQuestion>,
  use: (groups: OpenGroups) => Promise<Answer>,
  budget: Budget,
) => Promise<IndexOutcome<Answer>>;

export type IndexOutcome<Answer> =
  | {
      readonly answer: Answer;
      /** Whether the index lacked a few documents, which were read too. */
      readonly isBehind: boolean;
      /** False if recently changed products may be missing. */
      readonly isComplete: boolean;
    }
  | { readonly missing: string };

/** The work that answers a valid question. */
interface Work<Answer> {
  /** The plan to scan the catalog with, if there is no index; undefined: no answer without an index. */
  readonly sought?: SearchPlan;
  run(index: OpenIndex): Promise<Answer>;
}

/** Plans the work. It refuses invalid questions, even if there is no index yet. */
type PlanWork<Answer> = (snapshot: CatalogSnapshot) => Work<Answer> | Promise<Work<Answer>>;

/** Any number above 1, so that `refuseLarge` applies the limit of an answer's size. */
const MANY = 2;
/** The number of groups whose names complete a word. */
const SUGGESTED_FROM = 20;
const EVERYTHING = { query: '', filters: [], sort: undefined, locale: '', priceAttribute: '' } as const;

export const searchOperations = (snapshots: CatalogSnapshots, limits?: SearchLimits) =>
  openSearch(snapshots, limits).operations;

/** @returns the operations of a thread that searches, and `findGroups` for other operations of this thread */
export function openSearch(
  snapshots: CatalogSnapshots,
  limits: SearchLimits = LIMITS,
): {
  readonly operations: Record<string, Operation> & { readonly searchProducts: Operation };
  readonly findGroups: FindGroups;
} {
  const search = new ThreadSearch(snapshots, limits);
  return {
    operations: {
      searchProducts: (order: Order<SearchQuestion>, budget) => search.searchProducts(order, budget),
      searchGroups: (order: Order<ShopQuestion>, budget) => search.searchGroups(order, budget),
      listFound: (order: ListOrder, budget) => search.listFound(order, budget),
      listCategories: (order: Order<CategoryQuestion>, budget) => search.listCategories(order, budget),
    },
    findGroups: (order, use, budget) => search.useGroups(order, use, budget),
  };
}

interface ListOrder extends Order<SearchQuestion> {
  readonly form: ListForm;
}

class ThreadSearch {
  private readonly snapshots: CatalogSnapshots;
  private readonly limits: SearchLimits;
  private readonly counts = new CachedCounts();

  constructor(snapshots: CatalogSnapshots, limits: SearchLimits) {
    this.snapshots = snapshots;
    this.limits = limits;
  }

  /** @returns JSON of a `SearchAnswer` */
  searchProducts(order: Order<SearchQuestion>, budget: Budget): Promise<IndexOutcome<Uint8Array>> {
    const { question } = order;
    return this.onIndex(order, budget, async (snapshot) => {
      const plan = planSearch(question, await readAttributes(snapshot));
      return workOn(plan, async (list) => encode(JSON.stringify(await answerSearch(list, question))));
    });
  }

  /** @returns JSON of the answer for a shop, or of its suggestions */
  searchGroups(order: Order<ShopQuestion>, budget: Budget): Promise<IndexOutcome<Uint8Array>> {
    const { question } = order;
    return this.onIndex(order, budget, (snapshot) =>
      planGroups(snapshot, question, async (list, sorting) => {
        const { suggested } = question;
        if (suggested === undefined)
          return encode(answerShopSearch(question, sorting, await findGroups(list, question)));
        const read = { offset: 0, limit: Math.max(suggested.product, SUGGESTED_FROM) };
        return encode(answerSuggestions({ ...question, suggested }, await findGroups(list, read)));
      }),
    );
  }

  listFound(order: ListOrder, budget: Budget) {
    const { question, form } = order;
    return this.onIndex(order, budget, async (snapshot) => {
      const plan = planSearch(question, await readAttributes(snapshot));
      return {
        run: async (index) =>
          listProducts(
            new HitList(index, await readWords(plan, index, { isForgiving: false })),
            question,
            form,
          ),
      };
    });
  }

  listCategories(order: Order<CategoryQuestion>, budget: Budget) {
    return this.onIndex(order, budget, () => ({ run: (index) => listCategories(index, order.question) }));
  }

  useGroups<Answer>(
    order: Order<GroupQuestion>,
    use: (groups: OpenGroups) => Promise<Answer>,
    budget: Budget,
  ): Promise<IndexOutcome<Answer>> {
    const question = { ...EVERYTHING, ...order.question };
    return this.onIndex(order, budget, (snapshot) =>
      planGroups(snapshot, question, async (list) => use(await openGroups(list, question))),
    );
  }

  private onIndex<Answer>(
    { projectId, allowIncomplete }: IndexOrder,
    budget: Budget,
    plan: PlanWork<Answer>,
  ): Promise<IndexOutcome<Answer>> {
    const { limits, counts } = this;
    return this.snapshots.read(projectId, budget, async (snapshot) => {
      const work = await plan(snapshot);
      const scope = { allowIncomplete, sought: work.sought };
      const countOnce: OpenIndex['countOnce'] = (name, count) => counts.find(`${projectId} ${name}`, count);
      const index = await openIndex(openSearched(snapshot), scope, { budget, limits, countOnce });
      if ('missing' in index) return index;
      const isComplete = index.isMade && index.newer === undefined;
      return { answer: await work.run(index), isBehind: index.isBehind, isComplete };
    });
  }
}

const workOn = <Answer>(plan: SearchPlan, answer: (list: HitList) => Promise<Answer>): Work<Answer> => ({
  sought: plan,
  run: async (index) => answer(new HitList(index, await readWords(plan, index, { isForgiving: true }))),
});

/** @throws query_invalid */
async function planGroups<Answer>(
  snapshot: CatalogSnapshot,
  question: ShopQuestion,
  answer: (list: HitList, sorting: Sorting | undefined) => Promise<Answer>,
): Promise<Work<Answer>> {
  const byKey = await readAttributes(snapshot);
  const categories = await listNamedCategories(snapshot, question);
  const { sorting, question: planned } = planShopSearch(question, { byKey, categories });
  return workOn(planSearch(planned, byKey), (list) => answer(list, sorting));
}

const readAttributes = async (snapshot: CatalogSnapshot) =>
  indexByKey((await snapshot.readOntology()).attributes);

/** @param answer JSON, which the serving thread sends without parsing @throws answer_too_large */
function encode(answer: string): Uint8Array {
  const bytes = shareText(answer);
  refuseLarge(bytes.length, MANY);
  return bytes;
}
