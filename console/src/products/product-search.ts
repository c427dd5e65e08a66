import type { Facet, Relata } from '@relata/client';
import {
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { readPath } from '../rules/category-path.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { readChosen, toFilter } from './chosen-facets.ts';
import { type ProductFilters, wayOf } from './product-filters.ts';
import { bindPages, toRow } from './product-rows.ts';

/** The most that the service gives at once. */
const PAGE_ROWS = 100;
/** The index of a catalog that was not searched before is made meanwhile. */
const AGAIN_MS = 2_000;
const MOST_AGAIN = 150;

interface Facets {
  readonly facets: readonly Facet[];
  readonly facetsOf: number;
  readonly total: number;
}

/** @returns the filters as the service takes them */
export function toQuestion({ q, where, sort, category }: ProductFilters) {
  const path = readPath(category);
  const filter = toFilter(readChosen(where));
  return {
    ...(q.trim() && { q: q.trim() }),
    ...(filter && { filter }),
    ...(sort && { sort }),
    ...(path.length > 0 && { category: JSON.stringify(path) }),
  };
}

const isNotReady = (error: unknown) =>
  error instanceof Error && 'reason' in error && error.reason === 'search_not_ready';
/** Asked again until the index is there. */
const patient = {
  retry: (count: number, error: unknown) => isNotReady(error) && count < MOST_AGAIN,
  retryDelay: AGAIN_MS,
  refetchOnWindowFocus: false,
  staleTime: 30_000,
} as const;

const facetsKey = (projectId: number, { q, where, category }: ProductFilters) =>
  ['products', projectId, 'facets', q.trim(), where, category] as const;

export const facetsQuery = (relata: Relata, projectId: number, filters: ProductFilters) =>
  queryOptions({
    queryKey: facetsKey(projectId, filters),
    queryFn: async ({ signal }): Promise<Facets> => {
      const question = toQuestion({ ...filters, sort: '' });
      return relata.products.findManaged(projectId, { ...question, limit: 1 }, { signal });
    },
    ...patient,
  });

/** Those of a search come with its first page; of a list they are asked for when they are wanted. */
export function useFacets(filters: ProductFilters, isWanted = true) {
  const relata = useRelata();
  const { id } = useProject();
  return useQuery({
    ...facetsQuery(relata, id, filters),
    enabled: isWanted && wayOf(filters) === 'list',
    placeholderData: keepPreviousData,
  });
}

/** The hits of a search, page by page as one scrolls. */
export function useHits(filters: ProductFilters) {
  const relata = useRelata();
  const queries = useQueryClient();
  const { id } = useProject();
  const question = toQuestion(filters);
  const { data, error, failureReason, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } =
    useInfiniteQuery({
      queryKey: ['products', id, 'found', question],
      queryFn: async ({ pageParam, signal }) => {
        const page = { limit: PAGE_ROWS, ...(pageParam && { cursor: pageParam }) };
        const { items, facets, facetsOf, ...answer } = await relata.products.findManaged(
          id,
          { ...question, ...page },
          { signal },
        );
        const { total } = answer;
        if (!pageParam) queries.setQueryData(facetsKey(id, filters), { facets, facetsOf, total });
        return { ...answer, rows: items.map(toRow) };
      },
      initialPageParam: '',
      getNextPageParam: (page) => page.nextCursor,
      placeholderData: keepPreviousData,
      structuralSharing: false,
      ...patient,
    });
  const pages = data?.pages;
  const { count, getRow } = useMemo(() => bindPages(pages ?? []), [pages]);
  const canGoOn = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  const onNearEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage();
  }, [canGoOn, fetchNextPage]);
  return { first: pages?.[0], error, failureReason, count, getRow, onNearEnd };
}
