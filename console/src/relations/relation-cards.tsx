import type { SurveyCard } from '@relata/client';
import { t } from '../languages/text.ts';
import { ProductChip } from '../parts/product-chip.tsx';
import { Reason } from '../parts/reason.tsx';

const noteVariants = ({ variants }: SurveyCard['results'][number]) =>
  variants > 0
    ? t(' and {count, plural, one {# variant} other {# variants}}', { count: variants })
    : undefined;

/** Products of the relation as one looks at them: what leads to what and why; and what would be nearest where nothing fits. */
export function RelationCards({ cards }: { cards: readonly SurveyCard[] }) {
  return (
    <ul className="stack" aria-label={t('Examples')}>
      {cards.map(({ source, results, nearest }) => (
        <li key={source.identifier} className="relation-card">
          <ProductChip product={source} />
          <ul className="stack">
            {results.map((product) => (
              <li key={product.identifier}>
                <ProductChip product={product} note={noteVariants(product)}>
                  <Reason reason={product.explain} />
                </ProductChip>
              </li>
            ))}
            {results.length === 0 && <li className="soft small">{t('Leads to nothing.')}</li>}
            {nearest && (
              <li>
                <span className="soft small">{t('Nearest, and what it lacks:')}</span>
                <ProductChip product={nearest} note={noteVariants(nearest)}>
                  <Reason reason={nearest.explain} />
                </ProductChip>
              </li>
            )}
          </ul>
        </li>
      ))}
    </ul>
  );
}

/** How many results the products get: `counts` of those with 0, 1, … 9, and 10 or more. */
export function ResultCounts({ counts }: { counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const last = counts.length - 1;
  return (
    <div className="stack">
      <h3>{t('Results of a product')}</h3>
      <ol className="histogram">
        {counts.map((count, results) => {
          const words = t(
            '{count, plural, one {# product has} other {# products have}} {isMost, select, yes {{results} results or more} other {{results, plural, one {# result} other {# results}}}}',
            { count, results, isMost: results === last ? 'yes' : 'no' },
          );
          return (
            <li key={results} title={words}>
              <span className="histogram-bar" style={{ height: `${(100 * count) / most}%` }} />
              <span aria-hidden="true">{results === last ? `${results}+` : results}</span>
              <span className="hidden">{words}</span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
