import type {
  Attribute,
  AttributeCoverage,
  Coverage as CoverageAnswer,
  Product,
  Relata,
  SentOntology,
} from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { t } from '../languages/text.ts';
import { writePath } from '../rules/category-path.ts';
import type { Extent } from '../rules/sampled.ts';
import { readPages, useOfProject } from './answers.ts';
import { extentOf, type SampledQuestion, useCounts } from './counts.ts';
import { reread } from './queries.ts';
import { useRelata } from './session.tsx';
import { useSettled } from './timing.ts';

/** More than anyone would choose from; further paths can be typed. */
const MOST = 5_000;
const PAGE = 1_000;
/** While a large change is indexed, each request returns more. */
const AGAIN_MS = 1_000;
/** Repeats calls while a catalog that was not searched before is being indexed. */
export const UNTIL_INDEXED = {
  retry: (count: number, error: unknown) =>
    error instanceof Error && 'reason' in error && error.reason === 'search_not_ready' && count < 150,
  retryDelay: 2_000,
  refetchOnWindowFocus: false,
} as const;

/** A search during indexing finds only a part of the catalog; it is repeated until it finds all. */
export const againWhile = (isPartial: boolean | undefined) => (isPartial ? AGAIN_MS : false);

/** @returns the results of such a search once the index is complete */
export async function readWhole<Page extends { readonly partial?: boolean | undefined }>(
  read: () => Promise<Page>,
): Promise<Page> {
  for (;;) {
    const page = await read();
    if (!page.partial) return page;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

const NONE: readonly string[] = [];

/** The project's category paths, on request: the first request makes the service index the catalog. */
export function useCategories(isEnabled: boolean) {
  const { data, isPending } = useOfProject(
    ['categories'],
    ({ relata, projectId, signal }) => readCategories(relata, projectId, signal),
    {
      enabled: isEnabled,
      staleTime: 60_000,
      refetchInterval: ({ state }) => againWhile(state.data?.isComplete === false),
      ...UNTIL_INDEXED,
    },
  );
  return { categories: data?.categories ?? NONE, isPending, isComplete: data?.isComplete ?? false };
}

async function readCategories(relata: Relata, projectId: number, signal: AbortSignal) {
  const categories: string[] = [];
  let isComplete = false;
  const read = (cursor: string | undefined) =>
    relata.products.listCategories(projectId, { limit: PAGE, cursor, signal });
  for await (const page of readPages(read)) {
    categories.push(...page.items.map(({ path }) => writePath(path)));
    isComplete = page.isComplete;
    if (categories.length >= MOST) break;
  }
  return { categories, isComplete };
}

/** @returns the number of products of the project, once the catalog is indexed */
export const useTotal = (): number | undefined =>
  useOfProject(
    ['products', 'total'],
    async ({ relata, projectId, signal }) => {
      const find = () => relata.products.findManaged(projectId, { limit: 1 }, { signal });
      return (await readWhole(find)).total;
    },
    { staleTime: 30_000, ...UNTIL_INDEXED },
  ).data;

/** Short, because a user who is choosing waits for each list. */
const REST_MS = 200;

interface Search {
  readonly words: string;
  readonly limit: number;
  readonly isEnabled: boolean;
}

/**
 * The products of a project that match these words. Until they arrive, it returns the products of the previous
 * words, and `isSettled` is false.
 */
export function useFoundProducts(projectId: number, { words, limit, isEnabled }: Search) {
  const relata = useRelata();
  const typed = words.trim();
  const q = useSettled(typed, REST_MS);
  const { data, error, isPlaceholderData } = useQuery({
    queryKey: ['found-products', projectId, q, limit],
    queryFn: ({ signal }) => relata.products.findManaged(projectId, { limit, ...(q && { q }) }, { signal }),
    // If a part of the catalog has no hits, other parts may still have some.
    select: ({ items, partial }) => (partial && items.length === 0 ? undefined : items),
    refetchInterval: ({ state }) => againWhile(state.data?.partial),
    // Without words, the service lists any products, which the user does not want while typing a name.
    enabled: isEnabled && (q !== '' || typed === ''),
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
  const isAnswered = !isPlaceholderData && (data !== undefined || error !== null);
  return { data, error, isSettled: q === typed && isAnswered };
}

/** The attributes of the project's ontology, to choose from. */
export const useAttributes = (): readonly Attribute[] => useOntology().data?.value.attributes ?? [];

/** The whole ontology, with its ETag. */
export const useOntology = () =>
  useOfProject(['ontology'], ({ relata, projectId, signal }) => relata.ontology.get(projectId, { signal }));

/** The project's relations, as defined. */
export const useRelations = (isEnabled = true) =>
  useOfProject(
    ['relations'],
    ({ relata, projectId, signal }) => relata.relations.list(projectId, { signal }),
    { enabled: isEnabled },
  );

/**
 * Has to be called right after a change of the ontology.
 * @returns a function that restores the former ontology. It is refused with 412 if the ontology has changed
 * since
 */
export async function undoOntology(relata: Relata, projectId: number, former: SentOntology) {
  const { etag } = await relata.ontology.get(projectId);
  return () => relata.ontology.put(projectId, former, etag ? { ifMatch: etag } : {});
}

/**
 * The names of the project's tables. They are loaded just before a choice, because each table comes with all
 * its pairs.
 */
export function useTableNames(isNeeded: boolean): readonly string[] {
  const { data = [] } = useOfProject(
    ['relations', 'tables'],
    async ({ relata, projectId, signal }) => {
      const pages = readPages((cursor) => relata.relations.tables.list(projectId, { cursor, signal }));
      const names: string[] = [];
      for await (const { items } of pages) names.push(...items.map(({ name }) => name));
      return names;
    },
    { enabled: isNeeded },
  );
  return data;
}
/** Counts that take seconds in a large catalog are reused for a while. */
const COUNTED_MS = 60_000;

export interface Coverage {
  readonly answer: CoverageAnswer;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
  readonly extent: Extent;
}

/** The coverage of all products, or of a category's. Counting takes some seconds in a large catalog. */
export function useCoverage(category: readonly string[] = [], isEnabled = true) {
  const cover = (path: readonly string[], isAsked: boolean): SampledQuestion<CoverageAnswer> => ({
    key: ['coverage', path],
    ask: ({ relata, projectId, signal }, sample) =>
      relata.ontology.coverage(projectId, { category: path, sample, signal }),
    isEnabled: isAsked,
    staleMs: COUNTED_MS,
  });
  const { data: answer, ...query } = useCounts(cover(category, isEnabled));
  // The sample of a category is its part of the sample of all products.
  const isPart = category.length > 0 && answer?.sampled === true;
  const { data: sample } = useOfProject(['coverage', []], (of) => cover([], true).ask(of, 'even'), {
    enabled: isEnabled && isPart,
    staleTime: COUNTED_MS,
  });
  const extent = isPart ? extentOf(sample) : query.extent;
  const coverage = useMemo(
    (): Coverage | undefined =>
      answer && {
        answer,
        byName: new Map(answer.attributes.map((attribute) => [attribute.name, attribute])),
        extent,
      },
    [answer, extent.looked, extent.of],
  );
  return { ...query, coverage };
}

/** Suggestions from the data alone; the service keeps them until the catalog changes. */
export const useSuggestions = (isDismissed: boolean, isEnabled = true) =>
  useOfProject(
    ['suggestions', isDismissed],
    ({ relata, projectId, signal }) => relata.suggestions.list(projectId, { dismissed: isDismissed, signal }),
    { enabled: isEnabled, staleTime: COUNTED_MS },
  );

/** Products that come into sight together are requested in one call. */
const GATHER_MS = 40;
const MOST_AT_ONCE = 200;

interface LookUp {
  /** Changes when the product may have changed. */
  readonly version?: number;
  readonly isEnabled?: boolean;
}

/** @returns a product as answered; null if there is none, undefined until it has arrived */
export function useLookedUp(
  identifier: string,
  { version = 0, isEnabled = true }: LookUp = {},
): Product | null | undefined {
  return useOfProject(
    ['looked-up', identifier, version],
    ({ signal, ...of }) => gather({ ...of, identifier }, signal),
    { enabled: isEnabled, refetchOnWindowFocus: false, staleTime: 60_000, gcTime: 60_000 },
  ).data;
}

interface Waiting {
  readonly relata: Relata;
  readonly projectId: number;
  readonly identifier: string;
  resolve(product: Product | null): void;
  reject(reason: unknown): void;
}

const waiting = new Set<Waiting>();

/** A row that leaves the view before its request is sent is left out of it. */
function gather(of: Pick<Waiting, 'relata' | 'projectId' | 'identifier'>, signal: AbortSignal) {
  return new Promise<Product | null>((resolve, reject) => {
    const request = { ...of, resolve, reject };
    if (waiting.size === 0) setTimeout(flush, GATHER_MS);
    waiting.add(request);
    signal.addEventListener('abort', () => waiting.delete(request) && reject(signal.reason));
  });
}

function flush(): void {
  const byProject = Map.groupBy(waiting, ({ projectId }) => projectId);
  waiting.clear();
  for (const list of byProject.values()) {
    for (let start = 0; start < list.length; start += MOST_AT_ONCE) {
      const batch = list.slice(start, start + MOST_AT_ONCE);
      send(batch).catch((reason: unknown) => {
        for (const { reject } of batch) reject(reason);
      });
    }
  }
}

async function send(batch: readonly Waiting[]): Promise<void> {
  const [{ relata, projectId }] = batch as readonly [Waiting, ...Waiting[]];
  const identifiers = batch.map(({ identifier }) => identifier);
  const products = await relata.products.lookUp([...new Set(identifiers)], { projectId });
  const productById = new Map(products.map((product) => [product.identifier, product]));
  for (const { identifier, resolve } of batch) resolve(productById.get(identifier) ?? null);
}

interface Deletion {
  readonly relata: Relata;
  readonly projectId: number;
  /**
   * One key for each confirmation by the user. After a network failure, the console sends the same deletion
   * again.
   */
  readonly idempotencyKey: string;
}

/**
 * Deletes products as one commit, and waits until lists no longer show them.
 * @returns a function that restores them, as long as nothing else was committed or deleted
 */
export async function deleteProducts(
  identifiers: readonly string[],
  { relata, projectId, idempotencyKey }: Deletion,
): Promise<() => Promise<void>> {
  const wait = async (taskId: string) => {
    await relata.tasks.wait(taskId);
    await reread('products');
  };
  const { task: deletion } = await relata.products.delete(identifiers, { projectId, idempotencyKey });
  await wait(deletion.id);
  return async () => {
    const { items } = await relata.commits.list(projectId);
    const [last] = items;
    if (last?.taskId !== deletion.id)
      throw new Error(t('The catalog has changed in the meantime. See the updates.'));
    // `ifLast` makes the service refuse this if another commit was made in the meantime.
    const { task } = await relata.products.restore({ projectId, ifLast: last.id });
    await wait(task.id);
  };
}

/**
 * @returns the `Idempotency-Key` of an action. If the user confirms again after a network failure, the action
 * is done once, with the same answer (docs/interface §7.5). `crypto.randomUUID` is missing over plain HTTP.
 */
export const makeIdempotencyKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');
