import type { PipelinePreview, PreviewCatalog } from '@relata/client';
import type { ReactNode } from 'react';
import { Card } from '../parts/page.tsx';
import { Figure, Thumb } from '../parts/show.tsx';
import { countOf, formatCount, formatPercent, formatType, plural } from '../rules/format.ts';

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
  return (
    <>
      <Figures catalog={catalog} />
      {!isWhole && (
        <p className="note">
          These are the figures of the first {countOf(catalog.rows, 'row')}. The import reads the whole file.
        </p>
      )}
      {rejected.count > 0 && (
        <div className="note warn">
          <span>
            <strong>{countOf(rejected.count, 'row')}</strong> {plural(rejected.count, 'makes', 'make')} no
            product and would be left out.{' '}
            {rejected.examples.map(({ row, reason }) => `Row ${row}: ${reason}`).join('. ')}.
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
      <Figure label="Products" value={formatCount(products)} more={catalog.isWhole ? '' : 'so far'} />
      <Figure label="Categories" value={atLeast(categories.length, hasMoreCategories)} />
      <Figure label="Attributes" value={atLeast(attributes.length, hasMoreAttributes)} />
      <Figure label="Rows left out" value={formatCount(rejected.count + filtered)} />
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
    <Card title="First products">
      <div className="products-strip">
        {products
          .slice(0, SHOWN_PRODUCTS)
          .map(({ identifier, name, images, categories, attributes = [] }, at) => (
            <div key={`${at} ${identifier}`} className="product-chip">
              <Thumb url={images?.[0]?.url} />
              <span>
                <span className="cut block">{name}</span>
                <span className="mono soft">{identifier}</span>
                <span className="soft small cut block">{categories?.[0]?.path.join(' › ')}</span>
                <span className="soft small cut block">
                  {attributes
                    .slice(0, SHOWN_VALUES)
                    .map(({ key, value }) => `${key}: ${value}`)
                    .join(', ')}
                </span>
              </span>
            </div>
          ))}
      </div>
    </Card>
  );
}

function Categories({ catalog: { categories, hasMoreCategories, products } }: { catalog: PreviewCatalog }) {
  return (
    <Card title="Categories" isBare>
      {categories.length === 0 ? (
        <p className="card-body soft">The file has none. Products can be grouped by attributes too.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <section className="table-box short" tabIndex={0} aria-label="Categories">
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
            <p className="grid-foot">The most frequent {formatCount(categories.length)}.</p>
          )}
        </section>
      )}
    </Card>
  );
}

function Attributes({ catalog: { attributes, hasMoreAttributes, products } }: { catalog: PreviewCatalog }) {
  return (
    <Card title="Attributes" isBare>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <section className="table-box short" tabIndex={0} aria-label="Attributes">
        <table className="table small">
          <thead>
            <tr>
              <th>Attribute</th>
              <th>Type</th>
              <th className="number">Products</th>
              <th>Values</th>
            </tr>
          </thead>
          <tbody>
            {attributes.map(({ name, type, unitName, reason, products: count, examples }) => (
              <tr key={name}>
                <td className="break">{name}</td>
                <td title={reason}>
                  {formatType(type)}
                  {unitName && ` in ${unitName}`}
                </td>
                <td className="number">{formatPercent(count / Math.max(1, products))}</td>
                <td className="soft break">{examples.join(' · ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {hasMoreAttributes && (
          <p className="grid-foot">The most frequent {formatCount(attributes.length)}.</p>
        )}
      </section>
    </Card>
  );
}
