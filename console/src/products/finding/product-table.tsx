import type { Facet, Relata } from '@relata/client';
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { FirstProducts } from '../../parts/first-products.tsx';
import { Empty, ErrorNote, Loading } from '../../parts/page.tsx';
import { formatCount } from '../../rules/format.ts';
import { againWhile, UNTIL_INDEXED, useTotal } from '../../state/catalog.ts';
import { useCalls } from '../../state/project.ts';
import { ProductGrid } from '../grid/product-grid.tsx';
import { bindPages, toRow } from '../grid/product-rows.ts';
import { isSearch, type ProductFilters, toQuestion } from './product-filters.ts';

/** Small enough to be read in a few milliseconds, large enough that scrolling seldom waits. */
const PAGE_ROWS = 500;
/** The highest page that browsers draw has room for about 800,000 rows: what follows is a part of its own. */
const PART_ROWS = 500_000;

/** All products, or those of a prefix, page by page as one scrolls, in parts that a browser can draw. */
export function ProductTable({ prefix }: { prefix: string }) {
  const { parts, setParts } = useParts(prefix);
  const part = parts.at(-1) ?? FIRST_PART;
  const { error, isReady, count, next, getRow, onNearEnd } = useProductPages(prefix, part);
  if (!isReady) return error ? <ErrorNote error={error} /> : <Loading />;
  if (count === 0) return <NoProducts isFiltered={prefix !== ''} />;
  const loaded = part.before + count;
  return (
    <>
      <ProductGrid
        key={part.before}
        label={t('Products')}
        count={count}
        getRow={getRow}
        onNearEnd={onNearEnd}
      />
      <div className="grid-foot" role="status">
        <Length {...{ prefix, before: part.before, loaded, isWhole: next === undefined }} />
        <PartButtons
          back={parts.length > 1 ? () => setParts(parts.slice(0, -1)) : undefined}
          onward={
            next !== undefined && count >= PART_ROWS
              ? () => setParts([...parts, { before: loaded, cursor: next }])
              : undefined
          }
        />
        <ErrorNote error={error} />
      </div>
    </>
  );
}

function PartButtons({ back, onward }: Readonly<Record<'back' | 'onward', (() => void) | undefined>>) {
  return (
    <>
      {back && (
        <Button look="quiet" onClick={back}>
          {t('Show previous')}
        </Button>
      )}
      {onward && (
        <Button look="quiet" onClick={onward}>
          {t('Show next')}
        </Button>
      )}
    </>
  );
}

interface LengthShape {
  prefix: string;
  before: number;
  loaded: number;
  isWhole: boolean;
}

/** How many there are; of those with a prefix it is known at their end. */
function Length({ prefix, before, loaded, isWhole }: LengthShape) {
  const all = useTotal();
  const total = isWhole ? loaded : prefix === '' ? all : undefined;
  const words = t('{count, plural, one {# product} other {# products}}', { count: total ?? 0 });
  return <span>{total === undefined ? sayLoaded(before, loaded) : words}</span>;
}

function sayLoaded(before: number, total: number): string {
  const rows =
    before === 0
      ? formatCount(total)
      : t('{first} to {last}', { first: formatCount(before + 1), last: formatCount(total) });
  return total - before < PART_ROWS
    ? t('{rows} loaded, more follow as you scroll', { rows })
    : t('{rows} loaded, as many as a page can hold; more follow', { rows });
}

/** Where the rows begin. */
interface Part {
  readonly before: number;
  readonly cursor: string | undefined;
}

const FIRST_PART: Part = { before: 0, cursor: undefined };

/** The parts that led to the present one; with another filter one is at the beginning again. */
function useParts(filter: string) {
  const [state, setState] = useState({ filter, parts: [FIRST_PART] as readonly Part[] });
  return {
    parts: state.filter === filter ? state.parts : [FIRST_PART],
    setParts: (parts: readonly Part[]) => setState({ filter, parts }),
  };
}

function NoProducts({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <FirstProducts />;
  return <Empty icon="search" title={t('No product with this identifier')} />;
}

function useProductPages(prefix: string, { cursor }: Part) {
  const { relata, projectId } = useCalls();
  const { data, error, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } =
    useInfiniteQuery({
      queryKey: ['products', projectId, 'list', prefix, cursor],
      queryFn: async ({ pageParam, signal }) => {
        const { items, nextCursor } = await relata.products.listTable(projectId, {
          limit: PAGE_ROWS,
          cursor: pageParam,
          identifierPrefix: prefix || undefined,
          signal,
        });
        return { rows: items.map(toRow), nextCursor };
      },
      initialPageParam: cursor,
      getNextPageParam: (page) => page.nextCursor ?? undefined,
      // While one types; another part is no picture of this one.
      placeholderData: cursor === undefined ? keepPreviousData : undefined,
      // Comparing or reading a long list anew, page after page, would cost more than it tells.
      structuralSharing: false,
      refetchOnWindowFocus: false,
      staleTime: 30_000,
    });
  const pages = data?.pages;
  const { count, getRow } = useMemo(() => bindPages(pages ?? []), [pages]);
  const canGoOn = hasNextPage && !isFetchingNextPage && !isFetchNextPageError && count < PART_ROWS;
  const onNearEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage();
  }, [canGoOn, fetchNextPage]);
  return {
    error,
    isReady: pages !== undefined,
    count,
    next: pages?.at(-1)?.nextCursor ?? undefined,
    getRow,
    onNearEnd,
  };
}

/** What the search finds by words and facets, best hits first. */
export function ProductHits({ filters }: { filters: ProductFilters }) {
  const { first, error, failureReason, count, getRow, onNearEnd } = useHits(filters);
  if (first === undefined) {
    if (error) return <ErrorNote error={error} />;
    return (
      <div className="card-body">
        <Loading words={failureReason ? t('The search is being made ready …') : t('Searching …')} />
      </div>
    );
  }
  const { total, isTotalExact, isComplete, partial } = first;
  return (
    <>
      {count === 0 ? (
        <Empty icon="search" title={t('No product has all of these')} />
      ) : (
        <ProductGrid label={t('Products found')} count={count} getRow={getRow} onNearEnd={onNearEnd} />
      )}
      <div className="grid-foot" role="status">
        <span>
          {isTotalExact
            ? t('{count, plural, one {# product found} other {# products found}}', { count: total })
            : t('at least {count, number} products found', { count: total })}
        </span>
        {!isComplete && (
          <span>
            {partial
              ? t('The search is being made ready …')
              : t('Products of the last large change may be missing.')}
          </span>
        )}
        <ErrorNote error={error} />
      </div>
    </>
  );
}

/** The most that the service gives at once. */
const FOUND_ROWS = 100;
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
      const page = { limit: FOUND_ROWS, ...(pageParam && { cursor: pageParam }) };
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
