import { t } from '../../languages/text.ts';
import { Empty, ErrorNote, Loading } from '../../parts/page.tsx';
import { ProductGrid } from '../grid/product-grid.tsx';
import type { ProductFilters } from './product-filters.ts';
import { useHits } from './product-search.ts';

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
