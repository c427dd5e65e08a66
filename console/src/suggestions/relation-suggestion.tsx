import type { RelationSuggestion } from '@relata/client';
import { t } from '../languages/text.ts';
import { LinkButton } from '../parts/button.tsx';
import { ProductLink } from '../parts/product-link.tsx';
import { nameMatched, sayComparison } from '../rules/filters.ts';
import { formatCount, formatPercent, formatTenths } from '../rules/format.ts';
import { draftedRelation } from '../state/handover.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { SuggestionCard } from './suggestion-card.tsx';

const nameCategory = ({ category }: { readonly category: readonly string[] }) => category.at(-1) ?? '';

/** Two categories whose products go together by their values; taken up in the editor of relations, with its preview. */
export function RelationItem({ item }: { item: RelationSuggestion }) {
  const project = useProject();
  const { draft, evidence } = item;
  const { source, target, targetsPerSource, examples, withoutPartner, values } = evidence;
  const match = (draft.match ?? []).map((one) =>
    sayComparison(nameMatched(one.target), one.operator, nameMatched(one.source)),
  );
  return (
    <SuggestionCard
      item={item}
      title={t('{target} for {source}', { target: nameCategory(target), source: nameCategory(source) })}
      accept={
        <LinkButton
          look="primary"
          href={linkTo('projects', project.id, 'relations', 'new')}
          onClick={() => draftedRelation.give(draft)}
        >
          {t('Make it a relation …')}
        </LinkButton>
      }
    >
      <p>
        <strong>{match.join(', ')}</strong>
      </p>
      <p>
        {t('{share} of {count} products of {category} would have results, {each} each on average.', {
          share: formatPercent(source.withPartner / Math.max(1, source.products)),
          count: formatCount(source.products),
          category: nameCategory(source),
          each: formatTenths(targetsPerSource),
        })}
      </p>
      {values.length > 0 && (
        <p className="soft small">
          {t('Most frequent values:')} {values.map(({ value }) => value).join(', ')}
        </p>
      )}
      <ul className="stack small">
        {examples.map(({ source: from, target: to }) => (
          <li key={`${from} ${to}`}>
            <ProductLink identifier={from} /> <span className="soft">→</span> <ProductLink identifier={to} />
          </li>
        ))}
        {withoutPartner.map(({ identifier, values: has }) => (
          <li key={identifier}>
            <ProductLink identifier={identifier} />{' '}
            <span className="soft">
              → {t('nothing')} {has.length > 0 && `(${has.join(', ')})`}
            </span>
          </li>
        ))}
      </ul>
    </SuggestionCard>
  );
}
