import type { ProductRelation } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { Reason } from '../../parts/explanation.tsx';
import { Answer, Card } from '../../parts/page.tsx';
import { Joined, ProductChip } from '../../parts/show.tsx';
import { formatCount } from '../../rules/format.ts';
import { listIdle, listWays, type Variants, type Way } from '../../rules/walk.ts';
import { useRelations } from '../../state/catalog.ts';
import { linkWith, projectLink } from '../../state/route.ts';
import { FIRST_GROUPS, MOST_GROUPS, useRelated } from './around.ts';

/** Two rows of cards. */
const SHOWN = 6;

/** What a product leads to and what leads to it, relation by relation, with the reason. */
export function RelatedCard({ identifier, shown = SHOWN }: { identifier: string; shown?: number }) {
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
                {...{ limit, shown, onMore: () => setLimit(MOST_GROUPS) }}
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
  /** So many are seen at first. */
  shown: number;
  onMore(): void;
}

function WayCards({ way, limit, shown: first, onMore }: WayShape) {
  const [isWhole, setWhole] = useState(false);
  const { groups } = way;
  const mayHaveMore = groups.length === limit;
  const shown = isWhole ? groups : groups.slice(0, first);
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
  const { data: known = [] } = useRelations();
  const twoWay = known.find(({ id }) => id === relation.id)?.twoWay ?? false;
  return (
    <div>
      <h3 className="row">
        <a href={projectLink('relations', relation.id)}>{relation.name}</a>
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

interface Shape {
  identifier: string;
  relations: readonly ProductRelation[];
}

/** The relations that find nothing for a product, each with the reason and what can be done. */
function IdleRelations({ identifier, relations }: Shape) {
  if (relations.length === 0)
    return (
      <p className="soft">
        {rich(
          'This project has no relations yet. <relations>Make one</relations>, or see what the data <suggestions>suggests</suggestions>.',
          { relations: projectLink('relations'), suggestions: projectLink('suggestions') },
        )}
      </p>
    );
  const idle = listIdle(relations);
  if (idle.length === 0) return null;
  const found = relations.length - idle.length;
  const list = <IdleList identifier={identifier} relations={idle} />;
  return found > 0 ? (
    <details>
      <summary>
        {t('{count, plural, one {# relation finds} other {# relations find}} nothing for this product', {
          count: idle.length,
        })}
      </summary>
      {list}
    </details>
  ) : (
    <>
      <p>
        <strong>{t('No relation leads from this product to another one, or to it.')}</strong>
      </p>
      {list}
    </>
  );
}

function IdleList({ identifier, relations }: Shape) {
  const nameOf = ({ id, name }: ProductRelation) => <a href={projectLink('relations', id)}>{name}</a>;
  const { data: known = [] } = useRelations();
  const lists = new Set(known.filter(({ kind }) => kind === 'links').map(({ id }) => id));
  const say = (relation: ProductRelation) => sayIdle(relation, lists.has(relation.id));
  const explained = relations.filter((relation) => say(relation) !== undefined);
  const elsewhere = relations.filter((relation) => say(relation) === undefined);
  const why = linkWith(projectLink('why'), { source: identifier });
  return (
    <div className="stack">
      <ul className="stack small">
        {explained.map((relation) => (
          <li key={relation.id}>
            {nameOf(relation)}: {say(relation)}
          </li>
        ))}
        {elsewhere.length > 0 && (
          <li>
            {t('This product meets the conditions of neither side:')}{' '}
            <Joined list={elsewhere}>{nameOf}</Joined>
          </li>
        )}
      </ul>
      <p>
        {rich('<link>Why not?</link> Choose a product that should go with it, and see what is missing.', {
          link: why,
        })}
      </p>
    </div>
  );
}

/** @returns undefined where the product stands on neither side */
function sayIdle({ state, asSource, asTarget }: ProductRelation, isList: boolean): string | undefined {
  if (state === 'building') return t('It is being built.');
  if (state === 'misconfigured') return t('It cannot work and returns nothing.');
  if (isList) return t('Its links name no other product with this one.');
  if (asSource?.stands) return t('This product may have results, but no other product matches it.');
  return asTarget?.stands ? t('This product may be a result, but it matches no other product.') : undefined;
}
