import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { Answer, Card } from '../../parts/page.tsx';
import { ProductChip } from '../../parts/product-chip.tsx';
import { Reason } from '../../parts/reason.tsx';
import { formatCount } from '../../rules/format.ts';
import { listWays, type Variants, type Way } from '../../rules/related.ts';
import { useProject } from '../../state/project.ts';
import { useRelations } from '../../state/relations.ts';
import { linkTo } from '../../state/route.ts';
import { FIRST_GROUPS, MOST_GROUPS, useRelated } from './around.ts';
import { IdleRelations } from './idle-relations.tsx';

/** Two rows of cards. */
const SHOWN = 6;

/** What a product leads to and what leads to it, relation by relation, with the reason. */
export function RelatedCard({ identifier }: { identifier: string }) {
  const [limit, setLimit] = useState(FIRST_GROUPS);
  const related = useRelated(identifier, limit);
  return (
    <Card title={t('Related products')}>
      <Answer of={related}>
        {(relations) => (
          <>
            {listWays(relations).map((way) => (
              <WayCards
                key={`${way.relation.id} ${way.isBack}`}
                way={way}
                {...{ limit, onMore: () => setLimit(MOST_GROUPS) }}
              />
            ))}
            <IdleRelations identifier={identifier} relations={relations} />
          </>
        )}
      </Answer>
    </Card>
  );
}

interface WayShape {
  way: Way;
  /** More groups than that are not known. */
  limit: number;
  onMore(): void;
}

function WayCards({ way, limit, onMore }: WayShape) {
  const [isWhole, setWhole] = useState(false);
  const { groups } = way;
  const mayHaveMore = groups.length === limit;
  const shown = isWhole ? groups : groups.slice(0, SHOWN);
  const canShowMore = shown.length < groups.length || (mayHaveMore && limit < MOST_GROUPS);
  const showMore = () => {
    setWhole(true);
    if (mayHaveMore) onMore();
  };
  return (
    <section className="stack">
      <WayHead way={way} count={`${formatCount(groups.length)}${mayHaveMore ? '+' : ''}`} />
      <ul className="products-strip cards">
        {shown.map((variants) => (
          <FoldedCard key={variants[0].groupId} variants={variants} />
        ))}
      </ul>
      {canShowMore && (
        <div>
          <Button onClick={showMore}>
            {mayHaveMore ? t('Show more') : t('Show all {count}', { count: formatCount(groups.length) })}
          </Button>
        </div>
      )}
    </section>
  );
}

function WayHead({ way: { relation, isBack }, count }: { way: Way; count: string }) {
  const project = useProject();
  const { data: known = [] } = useRelations();
  const twoWay = known.find(({ id }) => id === relation.id)?.twoWay ?? false;
  return (
    <div>
      <h3 className="row">
        <a href={linkTo('projects', project.id, 'relations', relation.id)}>{relation.name}</a>
        <span className="badge plain">{count}</span>
        <span className="tag">{isBack ? t('leads here') : t('leads to')}</span>
        {!relation.enabled && <span className="tag">{t('switched off')}</span>}
      </h3>
      <p className="soft small">{sayDirection(isBack, twoWay)}</p>
    </div>
  );
}

function sayDirection(isBack: boolean, twoWay: boolean): string {
  if (twoWay) return t('Both ways: shown with this product, and this product with them.');
  return isBack ? t('This product is shown with them, not they with it.') : t('Shown with this product.');
}

function FoldedCard({ variants: [first, ...others] }: { variants: Variants }) {
  return (
    <li className={others.length > 0 ? 'folded' : undefined}>
      <ProductChip product={first}>
        <Reason reason={first.explain} />
      </ProductChip>
      {others.length > 0 && (
        <details className="small">
          <summary>
            {t('{count, plural, one {# more variant} other {# more variants}}', { count: others.length })}
          </summary>
          <ul className="variants">
            {others.map((product) => (
              <li key={product.identifier}>
                <ProductChip product={product}>
                  <Reason reason={product.explain} />
                </ProductChip>
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
