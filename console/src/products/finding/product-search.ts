import type { Facet, Relata } from '@relata/client';
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { againWhile, UNTIL_INDEXED } from '../../state/catalog.ts';
import { useCalls } from '../../state/project.ts';
import { bindPages, toRow } from '../grid/product-rows.ts';
import { isSearch, type ProductFilters, toQuestion } from './product-filters.ts';

/** The most that the service gives at once. */
const PAGE_ROWS = 100;
export interface Facets {
  readonly facets: readonly Facet[];
  readonly facetsOf: number;
  readonly total: number;
  readonly partial?: true | undefined;
}

const patient = { ...UNTIL_INDEXED, staleTime: 30_000 } as const;

export const facetsQuery = (relata: Relata, projectId: number, filters: ProductFilters) =>
  queryOptions({
    queryKey: ['products', projectId, 'facets', filters.q.trim(), filters.where, filters.category],
    queryFn: async ({ signal }): Promise<Facets> => {
      const question = toQuestion({ ...filters, sort: '' });
      return relata.products.findManaged(projectId, { ...question, limit: 1 }, { signal });
    },
    refetchInterval: ({ state }) => againWhile(state.data?.partial),
    ...patient,
  });

const hitsQuery = (relata: Relata, projectId: number, filters: ProductFilters) => {
  const question = toQuestion(filters);
  return infiniteQueryOptions({
    queryKey: ['products', projectId, 'found', question],
    queryFn: async ({ pageParam, signal }) => {
      const page = { limit: PAGE_ROWS, ...(pageParam && { cursor: pageParam }) };
      const { items, facets, ...answer } = await relata.products.findManaged(
        projectId,
        { ...question, ...page },
        { signal },
      );
      return { ...answer, facets: pageParam ? [] : facets, rows: items.map(toRow) };
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    refetchInterval: ({ state }) => againWhile(state.data?.pages[0]?.partial),
    ...patient,
  });
};

/** Those of a search come with its first page; of a list they are asked for when they are shown. */
export function useFacets(filters: ProductFilters, isShown = true) {
  const { relata, projectId: id } = useCalls();
  const isFound = isSearch(filters);
  const listed = useQuery({
    ...facetsQuery(relata, id, filters),
    enabled: isShown && !isFound,
    placeholderData: keepPreviousData,
  });
  const found = useInfiniteQuery({
    ...hitsQuery(relata, id, filters),
    select: ({ pages: [first] }): Facets | undefined => first,
    enabled: isShown && isFound,
  });
  const { error } = isFound ? found : listed;
  // From the list to a search, what is shown stays until its answer is there, and with it the keyboard.
  return { data: isFound ? (found.data ?? listed.data) : (listed.data ?? found.data), error };
}

/** The hits of a search, page by page as one scrolls. */
export function useHits(filters: ProductFilters) {
  const { relata, projectId: id } = useCalls();
  const { data, error, failureReason, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } =
    useInfiniteQuery(hitsQuery(relata, id, filters));
  const pages = data?.pages;
  const { count, getRow } = useMemo(() => bindPages(pages ?? []), [pages]);
  const canGoOn = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  const onNearEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage();
  }, [canGoOn, fetchNextPage]);
  return { first: pages?.[0], error, failureReason, count, getRow, onNearEnd };
}
