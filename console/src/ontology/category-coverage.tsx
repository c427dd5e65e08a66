import { t } from '../languages/text.ts';
import { Card, ErrorNote, Loading } from '../parts/page.tsx';
import { Meter } from '../parts/show.tsx';
import { type CoveredAttribute, listWorstFirst } from '../rules/category-coverage.ts';
import { readPath } from '../rules/category-path.ts';
import { formatAll, formatPercent } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo, linkWith } from '../state/route.ts';
import { useSettled } from '../state/settled.ts';
import { useCoverage } from './coverage.ts';

/** How many products of a category have each attribute, the worst first, and which do not. */
export function CategoryCoverage({ category }: { category: string }) {
  const project = useProject();
  const settled = useSettled(category);
  const { coverage, error } = useCoverage(project.id, readPath(settled));
  if (readPath(category).length === 0) return null;
  const name = readPath(settled).at(-1) ?? '';
  const { sampled = false, sampledProducts = 0, attributes = [] } = coverage?.answer ?? {};
  return (
    <Card
      isBare
      title={t('Coverage of {category}', { category: name })}
      actions={
        coverage && (
          <span className="soft small">
            {sampled
              ? t('{count, plural, one {# product} other {# products}} of a sample', {
                  count: sampledProducts,
                })
              : t('{count, plural, one {# product} other {# products}}', { count: sampledProducts })}
          </span>
        )
      }
    >
      <ErrorNote error={error} />
      {!coverage && !error && (
        <div className="card-body">
          <Loading words={t('Counting …')} />
        </div>
      )}
      {coverage && (
        <Covered list={listWorstFirst(attributes, sampledProducts)} category={settled} name={name} />
      )}
    </Card>
  );
}

interface Shape {
  list: readonly CoveredAttribute[];
  category: string;
  name: string;
}

function Covered({ list, category, name }: Shape) {
  const project = useProject();
  if (list.length === 0)
    return <p className="card-body soft">{t('No product of this category has an attribute.')}</p>;
  const products = linkTo('projects', project.id, 'products');
  const whole = list.filter(({ lacking }) => lacking === 0);
  const lacked = list.filter(({ lacking }) => lacking > 0);
  return (
    <>
      {lacked.length > 0 && (
        <div className="table-box">
          <table className="table">
            <thead>
              <tr>
                <th>{t('Attribute')}</th>
                <th>{t('Coverage')}</th>
                <th>{t('Without it')}</th>
              </tr>
            </thead>
            <tbody>
              {lacked.map(({ name: attribute, share, lacking }) => (
                <tr key={attribute}>
                  <td>{attribute}</td>
                  <td>
                    <span className="stack" style={{ gap: '0.125rem', minWidth: '7rem' }}>
                      <span className="small">
                        {t('{share} of {category}', { share: formatPercent(share), category: name })}
                      </span>
                      <Meter share={share} label={t('Products with a fact of {name}', { name: attribute })} />
                    </span>
                  </td>
                  <td>
                    <a
                      href={linkWith(products, {
                        category,
                        where: JSON.stringify([{ attribute, lacks: true }]),
                      })}
                      aria-label={t(
                        '{count, plural, one {# product} other {# products}} of {category} without {attribute}',
                        { count: lacking, category: name, attribute },
                      )}
                    >
                      {t('{count, plural, one {# product} other {# products}}', { count: lacking })}
                    </a>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {whole.length > 0 && (
        <p className="card-body small">
          <span>
            <strong>{t('{share} of {category}', { share: formatPercent(1), category: name })}:</strong>{' '}
            {formatAll(whole.map((one) => one.name))}
          </span>
        </p>
      )}
    </>
  );
}
