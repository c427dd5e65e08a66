import type { ProductRelation } from '@relata/client';
import { Fragment, type ReactNode } from 'react';
import { rich } from '../../languages/rich.tsx';
import { t } from '../../languages/text.ts';
import { listIdle } from '../../rules/related.ts';
import { useProject } from '../../state/project.ts';
import { useRelations } from '../../state/relations.ts';
import { linkTo, linkWith } from '../../state/route.ts';

interface Shape {
  identifier: string;
  relations: readonly ProductRelation[];
}

/** The relations that find nothing for a product, each with the reason and what can be done. */
export function IdleRelations({ identifier, relations }: Shape) {
  const project = useProject();
  const link = (...place: string[]) =>
    function Link(words: ReactNode) {
      return <a href={linkTo('projects', project.id, ...place)}>{words}</a>;
    };
  if (relations.length === 0)
    return (
      <p className="soft">
        {rich(
          'This project has no relations yet. <relations>Make one</relations>, or see what the data <suggestions>suggests</suggestions>.',
          { relations: link('relations'), suggestions: link('suggestions') },
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
  const project = useProject();
  const nameOf = ({ id, name }: ProductRelation) => (
    <a href={linkTo('projects', project.id, 'relations', id)}>{name}</a>
  );
  const { data: known = [] } = useRelations();
  const lists = new Set(known.filter(({ kind }) => kind === 'links').map(({ id }) => id));
  const say = (relation: ProductRelation) => sayIdle(relation, lists.has(relation.id));
  const told = relations.filter((relation) => say(relation) !== undefined);
  const elsewhere = relations.filter((relation) => say(relation) === undefined);
  const why = linkWith(linkTo('projects', project.id, 'why'), { source: identifier });
  return (
    <div className="stack">
      <ul className="stack small">
        {told.map((relation) => (
          <li key={relation.id}>
            {nameOf(relation)}: {say(relation)}
          </li>
        ))}
        {elsewhere.length > 0 && (
          <li>
            {t('This product meets the conditions of neither side:')}{' '}
            {elsewhere.map((relation, at) => (
              <Fragment key={relation.id}>
                {at > 0 && ', '}
                {nameOf(relation)}
              </Fragment>
            ))}
          </li>
        )}
      </ul>
      <p>
        {rich('<link>Why not?</link> Choose a product that should go with it, and see what is missing.', {
          link: (words) => <a href={why}>{words}</a>,
        })}
      </p>
    </div>
  );
}

/** @returns undefined where the product stands on neither side */
function sayIdle({ state, asSource, asTarget }: ProductRelation, isList: boolean): string | undefined {
  if (state === 'building') return t('It is being built.');
  if (state === 'misconfigured') return t('It is misconfigured and returns nothing.');
  if (isList) return t('Its links name no other product with this one.');
  if (asSource?.stands) return t('This product may have results, but no other product matches it.');
  return asTarget?.stands ? t('This product may be a result, but it matches no other product.') : undefined;
}
