import type { AttributeSuggestion, DuplicateSuggestion } from '@relata/client';
import { t } from '../languages/text.ts';
import { formatCount, formatPercent, formatType, formatTypeIn } from '../rules/format.ts';
import { StoreDraft } from './store-draft.tsx';
import { SeenValues, SuggestionCard } from './suggestion-card.tsx';

/** An attribute whose values are nearly all of another type, or a key with values like an attribute's. */
export function AttributeItem({ item }: { item: AttributeSuggestion }) {
  const { draft, evidence } = item;
  const { name, type, unitName } = draft.attribute;
  const { typeNow, products, values, fits, distinctMisfits, misfits, examples } = evidence;
  const kind = formatTypeIn(type, unitName);
  const title =
    typeNow === null
      ? t('Add {name} as an attribute: {kind}', { name, kind })
      : t('Change {name} from {before} to {kind}', { name, before: formatType(typeNow), kind });
  return (
    <SuggestionCard item={item} title={title} accept={<StoreDraft title={title} draft={draft} />}>
      <p>
        {t('{share} of {values} values fit, on {products, plural, one {# product} other {# products}}.', {
          share: formatPercent(fits / Math.max(1, values)),
          values: formatCount(values),
          products,
        })}{' '}
        {distinctMisfits > 0 &&
          t('{count, plural, one {# value} other {# values}} to look at.', { count: distinctMisfits })}
      </p>
      <SeenValues title={t('Would make no fact')} values={misfits} />
      <SeenValues title={t('Would make a fact')} values={examples} />
    </SuggestionCard>
  );
}

/** Two attributes that mean one. */
export function DuplicateItem({ item }: { item: DuplicateSuggestion }) {
  const { draft, evidence } = item;
  const { kept, dropped, withBoth, sharedValues, values, examples, misfits } = evidence;
  const title = t('{dropped} and {kept} look like one attribute', { dropped: dropped.name, kept: kept.name });
  return (
    <SuggestionCard item={item} title={title} accept={<StoreDraft title={title} draft={draft} />}>
      <p>
        {t(
          '{dropped} has {droppedCount, plural, one {# product} other {# products}}, {kept} has {keptCount, plural, one {# product} other {# products}}, and {both, plural, one {# has} other {# have}} both. {shared} of {values} values of {dropped} are values of {kept} too.',
          {
            ...{ dropped: dropped.name, droppedCount: dropped.products, kept: kept.name },
            ...{ keptCount: kept.products, both: withBoth },
            ...{ shared: formatCount(sharedValues), values: formatCount(values) },
          },
        )}
      </p>
      <p className="soft small">{examples.map(({ value }) => value).join(', ')}</p>
      <SeenValues title={t('Values that only one of them has')} values={misfits} />
    </SuggestionCard>
  );
}
