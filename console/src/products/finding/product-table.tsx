import type { Facet, Relata } from '@relata/client';
import {
  type InfiniteData,
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  type UseInfiniteQueryResult,
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
import { useCalls } from '../../state/rights.ts';
import { ProductGrid } from '../grid/product-grid.tsx';
import { bindPages, type ProductRow, toRow } from '../grid/product-rows.ts';
import { isSearch, type ProductFilters, toQuestion } from './product-filters.ts';

/** Small enough to be read in a few milliseconds, large enough that scrolling rarely waits. */
const PAGE_ROWS = 500;
/** The tallest page that browsers draw has room for about 800,000 rows. Further rows form another part. */
const PART_ROWS = 500_000;

/** All products, or those with a prefix, loaded by page while scrolling, in parts that browsers can draw. */
export function ProductTable({ prefix }: { prefix: string }) {
  const { parts, setParts } = useParts(prefix);
  const part = parts.at(-1) ?? FIRST_PART;
  const { pages, error, count, getRow, onNearEnd } = useScrolled(useProductPages(prefix, part));
  const next = pages?.at(-1)?.nextCursor ?? undefined;
  if (pages === undefined) return error ? <ErrorNote error={error} /> : <Loading />;
  if (count === 0 && prefix === '') return <FirstProducts />;
  if (count === 0) return <Empty icon="search" title={t('No product with this identifier')} />;
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
        {parts.length > 1 && (
          <Button look="quiet" onClick={() => setParts(parts.slice(0, -1))}>
            {t('Show previous')}
          </Button>
        )}
        {next !== undefined && count >= PART_ROWS && (
          <Button look="quiet" onClick={() => setParts([...parts, { before: loaded, cursor: next }])}>
            {t('Show next')}
          </Button>
        )}
        <ErrorNote error={error} />
      </div>
    </>
  );
}

interface LengthShape {
  prefix: string;
  before: number;
  loaded: number;
  isWhole: boolean;
}

/** The number of products. For a prefix, the number is known only at the end of the list. */
function Length({ prefix, before, loaded, isWhole }: LengthShape) {
  const all = useTotal();
  const total = isWhole ? loaded : prefix === '' ? all : undefined;
  const words = t('{count, plural, one {# product} other {# products}}', { count: total ?? 0 });
  return <span>{total === undefined ? describeLoaded(before, loaded) : words}</span>;
}

function describeLoaded(before: number, total: number): string {
  const rows =
    before === 0
      ? formatCount(total)
      : t('{first} to {last}', { first: formatCount(before + 1), last: formatCount(total) });
  return total - before < PART_ROWS
    ? t('{rows} loaded, more follow as you scroll', { rows })
    : t('{rows} loaded, the most that a page can hold. More follow on the next page.', { rows });
}

interface Part {
  readonly before: number;
  readonly cursor: string | undefined;
}

const FIRST_PART: Part = { before: 0, cursor: undefined };

/** The parts that led to the current one; another filter starts at the beginning again. */
function useParts(filter: string) {
  const [state, setState] = useState({ filter, parts: [FIRST_PART] as readonly Part[] });
  return {
    parts: state.filter === filter ? state.parts : [FIRST_PART],
    setParts: (parts: readonly Part[]) => setState({ filter, parts }),
  };
}

function useProductPages(prefix: string, { cursor }: Part) {
  const { relata, projectId } = useCalls();
  return useInfiniteQuery({
    queryKey: ['products', projectId, 'list', prefix, cursor],
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE_ROWS, cursor: pageParam, identifierPrefix: prefix || undefined, signal };
      const { items, nextCursor } = await relata.products.listTable(projectId, query);
      return { rows: items.map(toRow), nextCursor };
    },
    initialPageParam: cursor,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    // The previous rows stay while the user types. Another part of the list starts empty.
    placeholderData: cursor === undefined ? keepPreviousData : undefined,
    // Comparing or rereading a long list page by page would cost more than it is worth.
    structuralSharing: false,
    refetchOnWindowFocus: false,
    staleTime: 30_000,
  });
}

type Pages<Page> = Pick<
  UseInfiniteQueryResult<InfiniteData<Page>, unknown>,
  'data' | 'error' | 'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'fetchNextPage'
>;

/** @returns the rows of a paged list, as far as a browser can draw them, and a function that loads more */
function useScrolled<Page extends { rows: readonly ProductRow[] }>({ data, error, ...read }: Pages<Page>) {
  const pages = data?.pages;
  const { count, getRow } = useMemo(() => bindPages(pages ?? []), [pages]);
  const { fetchNextPage } = read;
  const canGoOn =
    read.hasNextPage && !read.isFetchingNextPage && !read.isFetchNextPageError && count < PART_ROWS;
  const onNearEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage();
  }, [canGoOn, fetchNextPage]);
  return { pages, error, count, getRow, onNearEnd };
}

/** The search results for words and facets, best first. */
export function ProductHits({ filters }: { filters: ProductFilters }) {
  const { relata, projectId } = useCalls();
  const hits = useInfiniteQuery(hitsQuery(relata, projectId, filters));
  const { pages: [first] = [], error, count, getRow, onNearEnd } = useScrolled(hits);
  if (first === undefined) {
    if (error) return <ErrorNote error={error} />;
    return (
      <div className="card-body">
        <Loading words={hits.failureReason ? t('The search is being prepared …') : t('Searching …')} />
      </div>
    );
  }
  const { total, isTotalExact, isComplete, partial } = first;
  return (
    <>
      {count === 0 ? (
        <Empty icon="search" title={t('No product matches all of these')} />
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
              ? t('The search is being prepared …')
              : t('Products of the last large change may be missing.')}
          </span>
        )}
        <ErrorNote error={error} />
      </div>
    </>
  );
}

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

/** The facets of a search come with its first page. The facets of a list are requested when they are shown. */
export function useFacets(filters: ProductFilters, isShown = true) {
  const { relata, projectId: id } = useCalls();
  const isFound = isSearch(filters);
  const listed = useQuery({
    ...facetsQuery(relata, id, filters),
    enabled: isShown && !isFound,
    placeholderData: keepPreviousData,
  });
  const search = useInfiniteQuery({
    ...hitsQuery(relata, id, filters),
    select: ({ pages: [first] }): Facets | undefined => first,
    enabled: isShown && isFound,
  });
  const { error } = isFound ? search : listed;
  // When the view changes between list and search, the old facets and the focus stay until the answer arrives.
  return { data: isFound ? (search.data ?? listed.data) : (listed.data ?? search.data), error };
}
