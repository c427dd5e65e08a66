import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { Empty, ErrorNote, Loading } from '../parts/page.tsx';
import { Ago, Thumb } from '../parts/show.tsx';
import { VirtualGrid } from '../parts/virtual-grid.tsx';
import { formatCount } from '../state/format.ts';
import { type ProductFilters, readPath } from '../state/product-filters.ts';
import { type ProductRow, toRow } from '../state/product-rows.ts';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { FirstProducts } from './first-products.tsx';

/** Small enough to be read in a few milliseconds, large enough that scrolling seldom waits. */
const PAGE_ROWS = 500;
/** The highest page that browsers draw has room for about 800,000 rows. */
const MOST_ROWS = 500_000;

/** All products, or those of a prefix or category, page by page as one scrolls. */
export function ProductTable({ filters }: { filters: ProductFilters }) {
  const { error, isReady, count, isWhole, getRow, onNearEnd } = useProductPages(filters);
  if (error && !isReady) return <ErrorNote error={error} />;
  if (!isReady) return <Loading />;
  if (count === 0) return <NoProducts isFiltered={filters.prefix !== '' || filters.category !== ''} />;
  return (
    <>
      <ProductGrid label="Products" count={count} getRow={getRow} onNearEnd={onNearEnd} />
      <div className="grid-foot" role="status">
        {isWhole
          ? `${formatCount(count)} products`
          : `${formatCount(count)} loaded, more follow as you scroll`}
        {count >= MOST_ROWS && ' — narrow them down by identifier or category'}
      </div>
    </>
  );
}

function NoProducts({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <FirstProducts />;
  return <Empty icon="search" title="No product of this identifier or category" />;
}

function useProductPages({ prefix, category }: ProductFilters) {
  const relata = useRelata();
  const project = useProject();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['products', project.id, prefix, category],
    queryFn: async ({ pageParam, signal }) => {
      const { items, nextCursor } = await relata.products.list(project.id, {
        limit: PAGE_ROWS,
        cursor: pageParam,
        identifierPrefix: prefix || undefined,
        category: readPath(category),
        signal,
      });
      return { rows: items.map(toRow), nextCursor };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    placeholderData: keepPreviousData,
    // Comparing or reading a long list anew, page after page, would cost more than it tells.
    structuralSharing: false,
    refetchOnWindowFocus: false,
    staleTime: 30_000,
  });
  const pages = data?.pages;
  const count = countRows(pages);
  const getRow = useCallback(
    (index: number) => pages?.[Math.floor(index / PAGE_ROWS)]?.rows[index % PAGE_ROWS],
    [pages],
  );
  const canGoOn = hasNextPage && !isFetchingNextPage && count < MOST_ROWS;
  const onNearEnd = useCallback(() => {
    if (canGoOn) void fetchNextPage();
  }, [canGoOn, fetchNextPage]);
  return { error, isReady: pages !== undefined, count, isWhole: !hasNextPage, getRow, onNearEnd };
}

/** All pages but the last one are full. */
function countRows(pages: readonly { rows: readonly ProductRow[] }[] | undefined): number {
  if (!pages?.length) return 0;
  return (pages.length - 1) * PAGE_ROWS + (pages.at(-1)?.rows.length ?? 0);
}

const COLUMNS = [
  { words: '' },
  { words: 'Identifier' },
  { words: 'Name' },
  { words: 'Category', isWideOnly: true },
  { words: 'Group', isWideOnly: true },
  { words: 'Changed', isWideOnly: true },
];
const WIDE = '1.75rem minmax(7rem, 1fr) minmax(0, 2.4fr) minmax(0, 1.6fr) minmax(0, 0.9fr) 8rem';
const NARROW = '1.75rem minmax(0, 1fr) minmax(0, 1.4fr)';

/** The rows, wherever they come from. */
export function ProductGrid({
  label,
  count,
  getRow,
  onNearEnd,
}: {
  label: string;
  count: number;
  getRow(index: number): ProductRow | undefined;
  onNearEnd(): void;
}) {
  const project = useProject();
  const isNarrow = matchMedia('(max-width: 52rem)').matches;
  const linkOf = useCallback(
    ({ identifier }: ProductRow) => linkTo('projects', project.id, 'products', identifier),
    [project.id],
  );
  const open = useCallback((row: ProductRow) => goTo(linkOf(row)), [linkOf]);
  const renderCells = useCallback(
    (row: ProductRow) => (
      <>
        <span role="gridcell">
          <Thumb url={row.image} />
        </span>
        <span role="gridcell" className="cut mono">
          <a href={linkOf(row)} tabIndex={-1}>
            {row.identifier}
          </a>
        </span>
        <span role="gridcell" className="cut" title={row.name}>
          {row.name}
        </span>
        <span role="gridcell" className="cut soft wide-only" title={row.category}>
          {row.category}
        </span>
        <span role="gridcell" className="cut mono soft wide-only">
          {row.group}
        </span>
        <span role="gridcell" className="soft wide-only">
          <Ago at={row.lastUpdateTs} />
        </span>
      </>
    ),
    [linkOf],
  );
  return (
    <VirtualGrid
      label={label}
      template={isNarrow ? NARROW : WIDE}
      columns={COLUMNS}
      count={count}
      getRow={getRow}
      renderCells={renderCells}
      onOpen={open}
      onNearEnd={onNearEnd}
    />
  );
}
