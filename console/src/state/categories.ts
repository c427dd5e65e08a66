import type { Relata } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { writePath } from '../rules/category-path.ts';
import { useProject } from './project.ts';
import { useRelata } from './session.tsx';

/** More than anybody chooses from; beyond it a path is typed. */
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

const NONE: readonly string[] = [];

/** The categories of the project as they are typed, once somebody wants them: asking makes the service index the catalog. */
export function useCategories(isWanted: boolean) {
  const relata = useRelata();
  const { id } = useProject();
  const { data, isPending } = useQuery({
    queryKey: ['categories', id],
    queryFn: ({ signal }) => readCategories(relata, id, signal),
    enabled: isWanted,
    staleTime: 60_000,
    refetchInterval: ({ state }) => (state.data?.isComplete === false ? AGAIN_MS : false),
    ...UNTIL_INDEXED,
  });
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
