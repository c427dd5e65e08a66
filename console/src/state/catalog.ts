import type { Relata } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { writePath } from '../rules/category-path.ts';
import { useOfProject } from './project.ts';
import { useRelata } from './session.tsx';
import { useSettled } from './settled.ts';

/** More than one chooses from; beyond it a path is typed. */
const MOST = 5_000;
const PAGE = 1_000;
/** While a large change is indexed, more come each time. */
const AGAIN_MS = 3_000;
/** The index of a catalog that was not searched before is made meanwhile: calls are repeated until it is there. */
export const UNTIL_INDEXED = {
  retry: (count: number, error: unknown) =>
    error instanceof Error && 'reason' in error && error.reason === 'search_not_ready' && count < 150,
  retryDelay: 2_000,
  refetchOnWindowFocus: false,
} as const;

/** A search that had no index found a part of the catalog: it is repeated until it finds all. */
export const againWhile = (isPartial: boolean | undefined) => (isPartial ? AGAIN_MS : false);

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
export function useTotal(): number | undefined {
  const { data } = useOfProject(
    ['products', 'total'],
    async ({ relata, projectId, signal }) => {
      const { total, partial } = await relata.products.findManaged(projectId, { limit: 1 }, { signal });
      return { total, partial };
    },
    {
      staleTime: 30_000,
      refetchInterval: ({ state }) => againWhile(state.data?.partial),
      ...UNTIL_INDEXED,
    },
  );
  return data?.partial ? undefined : data?.total;
}

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
    queryFn: async ({ signal }) =>
      (await relata.products.findManaged(projectId, { limit, ...(q && { q }) }, { signal })).items,
    // Without words it lists any products: not while a name is being typed.
    enabled: isEnabled && (q !== '' || typed === ''),
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
}
