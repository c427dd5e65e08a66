import type { PipelinePreview, PreviewCatalog } from '@relata/client';
import type { ReactNode } from 'react';
import { t } from '../languages/text.ts';
import { Card } from '../parts/page.tsx';
import { ProductChip } from '../parts/product-chip.tsx';
import { Figure } from '../parts/show.tsx';
import { TableBox } from '../parts/table-box.tsx';
import { formatCount, formatPercent, formatTypeIn } from '../rules/format.ts';

/** As many as one looks at before a click. */
const SHOWN_PRODUCTS = 8;
const SHOWN_VALUES = 3;

/** The catalog as it would be: counts, first products, categories, attributes with types and units. `children`: what can be done. */
export function ImportCatalog({
  catalog,
  rows,
  children,
}: { catalog: PreviewCatalog; children: ReactNode } & Pick<PipelinePreview, 'rows'>) {
  const { rejected, isWhole } = catalog;
  const examples = rejected.examples
    .map(({ row, reason }) => t('Row {row}: {reason}.', { row, reason }))
    .join(' ');
  return (
    <>
      <Figures catalog={catalog} />
      {!isWhole && (
        <p className="note">
          {t(
            'These are the figures of the first {count, plural, one {# row} other {# rows}}. The import reads the whole file.',
            { count: catalog.rows },
          )}
        </p>
      )}
      {rejected.count > 0 && (
        <div className="note warn">
          <span>
            {t(
              '{count, plural, one {# row makes} other {# rows make}} no product and would be left out. {examples}',
              { count: rejected.count, examples },
            )}
          </span>
        </div>
      )}
      {children}
      <FirstProducts rows={rows} />
      <div className="columns">
        <Categories catalog={catalog} />
        <Attributes catalog={catalog} />
      </div>
    </>
  );
}

function Figures({ catalog }: { catalog: PreviewCatalog }) {
  const { products, categories, hasMoreCategories, attributes, hasMoreAttributes, rejected, filtered } =
    catalog;
  const atLeast = (count: number, hasMore: boolean) => `${formatCount(count)}${hasMore ? '+' : ''}`;
  return (
    <dl className="figures">
      <Figure label={t('Products')} value={formatCount(products)} more={catalog.isWhole ? '' : t('so far')} />
      <Figure label={t('Categories')} value={atLeast(categories.length, hasMoreCategories)} />
      <Figure label={t('Attributes')} value={atLeast(attributes.length, hasMoreAttributes)} />
      <Figure label={t('Rows left out')} value={formatCount(rejected.count + filtered)} />
    </dl>
  );
}

interface ShownProduct {
  readonly identifier: string;
  readonly name?: string;
  readonly images?: readonly { readonly url: string }[];
  readonly categories?: readonly { readonly path: readonly string[] }[];
  readonly attributes?: readonly { readonly key: string; readonly value: unknown }[];
}

function FirstProducts({ rows }: Pick<PipelinePreview, 'rows'>) {
  const products = rows
    .filter(({ problems = [] }) => problems.length === 0)
    .flatMap(({ product }) => (product === undefined ? [] : [product as unknown as ShownProduct]));
  return (
    <Card title={t('First products')}>
      <div className="products-strip">
        {products
          .slice(0, SHOWN_PRODUCTS)
          .map(({ identifier, name, images, categories, attributes = [] }, at) => (
            <ProductChip
              key={`${at} ${identifier}`}
              product={{ identifier, name, thumbnail: images?.[0]?.url }}
              isPlanned
            >
              <span className="soft small cut block">{categories?.[0]?.path.join(' › ')}</span>
              <span className="soft small cut block">
                {attributes
                  .slice(0, SHOWN_VALUES)
                  .map(({ key, value }) => `${key}: ${value}`)
                  .join(', ')}
              </span>
            </ProductChip>
          ))}
      </div>
    </Card>
  );
}

function Categories({ catalog: { categories, hasMoreCategories, products } }: { catalog: PreviewCatalog }) {
  return (
    <Card title={t('Categories')} isBare>
      {categories.length === 0 ? (
        <p className="card-body soft">{t('The file has none. Products can be grouped by attributes too.')}</p>
      ) : (
        <TableBox label={t('Categories')} isShort>
          <table className="table small">
            <tbody>
              {categories.map(({ path, products: count }) => (
                <tr key={path.join('\n')}>
                  <td className="break">{path.join(' › ')}</td>
                  <td className="number">{formatCount(count)}</td>
                  <td className="number soft">{formatPercent(count / Math.max(1, products))}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {hasMoreCategories && (
            <p className="grid-foot">
              {t('The most frequent {count}.', { count: formatCount(categories.length) })}
            </p>
          )}
        </TableBox>
      )}
    </Card>
  );
}

function Attributes({ catalog: { attributes, hasMoreAttributes, products } }: { catalog: PreviewCatalog }) {
  return (
    <Card title={t('Attributes')} isBare>
      <TableBox label={t('Attributes')} isShort>
        <table className="table small">
          <thead>
            <tr>
              <th>{t('Attribute')}</th>
              <th>{t('Type')}</th>
              <th className="number">{t('Products')}</th>
              <th>{t('Values')}</th>
            </tr>
          </thead>
          <tbody>
            {attributes.map(({ name, type, unitName, reason, products: count, examples }) => (
              <tr key={name}>
                <td className="break">{name}</td>
                <td title={reason}>{formatTypeIn(type, unitName)}</td>
                <td className="number">{formatPercent(count / Math.max(1, products))}</td>
                <td className="soft break">{examples.join(' · ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {hasMoreAttributes && (
          <p className="grid-foot">
            {t('The most frequent {count}.', { count: formatCount(attributes.length) })}
          </p>
        )}
      </TableBox>
    </Card>
  );
}
