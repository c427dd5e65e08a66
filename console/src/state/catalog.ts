import type {
  Attribute,
  AttributeCoverage,
  Coverage as CoverageAnswer,
  Product,
  Relata,
  SentOntology,
} from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { writePath } from '../rules/category-path.ts';
import { reread, useOfProject, useRelata, useSettled } from './service.tsx';

/** More than one chooses from; beyond it a path is typed. */
const MOST = 5_000;
const PAGE = 1_000;
/** While a large change is indexed, more come each time. */
const AGAIN_MS = 1_000;
/** The index of a catalog that was not searched before is made meanwhile: calls are repeated until it is there. */
export const UNTIL_INDEXED = {
  retry: (count: number, error: unknown) =>
    error instanceof Error && 'reason' in error && error.reason === 'search_not_ready' && count < 150,
  retryDelay: 2_000,
  refetchOnWindowFocus: false,
} as const;

/** A search that had no index found a part of the catalog: it is repeated until it finds all. */
export const againWhile = (isPartial: boolean | undefined) => (isPartial ? AGAIN_MS : false);

/** @returns what such a search finds once there is an index */
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

/** The categories of the project as they are typed, on request: the first request makes the service index the catalog. */
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
  for (let cursor: string | undefined; ; ) {
    const page = await relata.products.listCategories(projectId, { limit: PAGE, cursor, signal });
    categories.push(...page.items.map(({ path }) => writePath(path)));
    if (page.nextCursor === null || categories.length >= MOST)
      return { categories, isComplete: page.isComplete };
    cursor = page.nextCursor;
  }
}

/** @returns how many products the project has, once the catalog is indexed */
export const useTotal = (): number | undefined =>
  useOfProject(
    ['products', 'total'],
    async ({ relata, projectId, signal }) => {
      const find = () => relata.products.findManaged(projectId, { limit: 1 }, { signal });
      return (await readWhole(find)).total;
    },
    { staleTime: 30_000, ...UNTIL_INDEXED },
  ).data;

/** A user who chooses waits for each list. */
const REST_MS = 200;

interface Search {
  readonly words: string;
  readonly limit: number;
  readonly isEnabled: boolean;
}

/** The products of a project with these words; those of the words before, until they have come. */
export function useFoundProducts(projectId: number, { words, limit, isEnabled }: Search) {
  const relata = useRelata();
  const typed = words.trim();
  const q = useSettled(typed, REST_MS);
  return useQuery({
    queryKey: ['found-products', projectId, q, limit],
    queryFn: ({ signal }) => relata.products.findManaged(projectId, { limit, ...(q && { q }) }, { signal }),
    // None of a part of the catalog says nothing yet.
    select: ({ items, partial }) => (partial && items.length === 0 ? undefined : items),
    refetchInterval: ({ state }) => againWhile(state.data?.partial),
    // Without words it lists any products: not while a name is being typed.
    enabled: isEnabled && (q !== '' || typed === ''),
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
}

/** The attributes of the project's ontology, to choose from. */
export const useAttributes = (): readonly Attribute[] => useOntology().data?.value.attributes ?? [];

/** The whole of it, with the ETag that it came with. */
export const useOntology = () =>
  useOfProject(['ontology'], ({ relata, projectId, signal }) => relata.ontology.get(projectId, { signal }));

/** The relations of the project, as they are defined. */
export const useRelations = (isEnabled = true) =>
  useOfProject(
    ['relations'],
    ({ relata, projectId, signal }) => relata.relations.list(projectId, { signal }),
    { enabled: isEnabled },
  );

/**
 * Called right after a change of the ontology.
 * @returns what puts the former one back; it is refused with 412 once something else has changed the ontology
 */
export async function undoOntology(relata: Relata, projectId: number, former: SentOntology) {
  const { etag } = await relata.ontology.get(projectId);
  return () => relata.ontology.put(projectId, former, etag ? { ifMatch: etag } : {});
}

/** The names of the tables of the project, once one is about to be chosen: each comes with all of its pairs. */
export function useTableNames(isNeeded: boolean): readonly string[] {
  const { data = [] } = useOfProject(
    ['relations', 'tables'],
    async ({ relata, projectId, signal }) =>
      (await relata.relations.tables.list(projectId, { signal })).items.map(({ name }) => name),
    { enabled: isNeeded },
  );
  return data;
}
/** What takes seconds to count in a large catalog holds for a while. */
const COUNTED_MS = 60_000;

export interface Coverage {
  readonly answer: CoverageAnswer;
  readonly byName: ReadonlyMap<string, AttributeCoverage>;
}

/** Of all products, or of those of a category. Counting takes some seconds in a large catalog. */
export function useCoverage(category: readonly string[] = [], isEnabled = true) {
  const { data, isLoading, error } = useOfProject(
    ['coverage', category],
    async ({ relata, projectId, signal }): Promise<Coverage> => {
      const answer = await relata.ontology.coverage(projectId, { category, signal });
      return { answer, byName: new Map(answer.attributes.map((one) => [one.name, one])) };
    },
    { enabled: isEnabled, staleTime: COUNTED_MS },
  );
  return { coverage: data, isCounting: isLoading, error };
}

/** What the data alone shows; the service keeps it until the catalog changes. */
export const useSuggestions = (isDismissed: boolean, isEnabled = true) =>
  useOfProject(
    ['suggestions', isDismissed],
    ({ relata, projectId, signal }) => relata.suggestions.list(projectId, { dismissed: isDismissed, signal }),
    { enabled: isEnabled, staleTime: COUNTED_MS },
  );

/** What comes into sight together is asked for in one call. */
const GATHER_MS = 40;
const MOST_AT_ONCE = 200;

interface LookUp {
  /** Another one when the product may have changed. */
  readonly version?: number;
  readonly isEnabled?: boolean;
}

/** @returns a product as it is answered, null where there is none; undefined until it has come */
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

/** A row that leaves the sight before it was asked for is not. */
function gather(of: Pick<Waiting, 'relata' | 'projectId' | 'identifier'>, signal: AbortSignal) {
  return new Promise<Product | null>((resolve, reject) => {
    const one = { ...of, resolve, reject };
    if (waiting.size === 0) setTimeout(flush, GATHER_MS);
    waiting.add(one);
    signal.addEventListener('abort', () => waiting.delete(one) && reject(signal.reason));
  });
}

function flush(): void {
  const byProject = Map.groupBy(waiting, ({ projectId }) => projectId);
  waiting.clear();
  for (const list of byProject.values()) {
    for (let at = 0; at < list.length; at += MOST_AT_ONCE) {
      const batch = list.slice(at, at + MOST_AT_ONCE);
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
  const found = new Map(products.map((product) => [product.identifier, product]));
  for (const { identifier, resolve } of batch) resolve(found.get(identifier) ?? null);
}

interface Deletion {
  readonly relata: Relata;
  readonly projectId: number;
  /** One for each time a person confirms: behind a cut network the same deletion is sent again. */
  readonly idempotencyKey: string;
}

/**
 * Deletes products as one commit, and waits until lists no longer show them.
 * @returns what brings them back, as long as nothing else was committed or deleted
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
    if (last?.taskId !== deletion.id) throw new Error(t('The catalog has changed since: see the updates.'));
    // Whatever is committed before this arrives is not undone.
    const { task } = await relata.products.restore({ projectId, ifLast: last.id });
    await wait(task.id);
  };
}

/**
 * @returns the `Idempotency-Key` of what the user is asked to confirm: confirmed again after the network was cut, it is done
 * once, and the first answer comes again (docs/interface.md §7.5). `crypto.randomUUID` is missing over plain HTTP.
 */
export const makeIdempotencyKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');
