import type { RelationDefinition } from '@relata/client';
import { rich, t } from '../languages/text.ts';
import { SelectField, SwitchField } from '../parts/forms/field.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import { describeComparison, isWholeTotal, listMatchOperators } from '../rules/filters.ts';
import { describeTerm } from '../rules/fit.ts';
import { TermFields } from './match-editor.tsx';
import { Sentence, SentenceChip } from './sentence-chip.tsx';
import { describeSides, type RuleShape } from './sentence-side.tsx';

const NO_SUM: NonNullable<RelationDefinition['total']> = { attribute: '' };

/** A total as a sentence: `For Backpacks, the sum of Weight of Camping is at most its Maximum load.` */
export function TotalSentence({ draft, attributes, onChange, onOpenForm }: RuleShape) {
  const names = attributes.filter(({ type }) => type === 'NUMERIC_ATTRIBUTE').map(({ name }) => name);
  return (
    <Sentence warning={!isWholeTotal(draft) && t('Choose what is added up, and the limit.')}>
      {rich('For {source}, {total} of {target} {limit}.', {
        ...describeSides({ draft, attributes, onOpenForm, onChange }),
        total: <SumChip draft={draft} names={names} onChange={onChange} />,
        limit: <LimitChip draft={draft} names={names} onChange={onChange} />,
      })}
    </Sentence>
  );
}

interface PartShape extends Pick<RuleShape, 'draft' | 'onChange'> {
  /** Attributes with numbers. */
  names: readonly string[];
}

/** The attribute that is added up. */
function SumChip({ draft: { total = NO_SUM }, names, onChange }: PartShape) {
  const { missing, ...summed } = total;
  const sum = t('the sum of {attribute}', { attribute: total.attribute || '…' });
  return (
    <SentenceChip
      position="total"
      label={t('What is added up')}
      words={<b>{describeTerm(sum, total)}</b>}
      isUnfinished={total.attribute === ''}
    >
      <AttributeField
        label={t('Attribute to add up')}
        value={total.attribute}
        choices={names}
        onChange={(attribute) => onChange({ total: { ...total, attribute } })}
      />
      <TermFields
        label={t('Attribute to add up')}
        term={summed}
        onChange={(term) =>
          onChange({
            total: { attribute: total.attribute, ...term, ...(missing && { missing }) } as typeof total,
          })
        }
      />
      <SwitchField
        label={t('Count a missing value as 0')}
        value={missing === 'passes'}
        onChange={(passes) => onChange({ total: { ...summed, ...(passes && { missing: 'passes' }) } })}
      />
    </SentenceChip>
  );
}

function LimitChip({ draft, names, onChange }: PartShape) {
  const { limit = NO_SUM, operator = 'lessOrEqual' } = draft;
  const ownTerm = t('its {attribute}', { attribute: limit.attribute || '…' });
  return (
    <SentenceChip
      position="limit"
      label={t('The limit')}
      words={<b>{describeComparison('', operator, describeTerm(ownTerm, limit))}</b>}
      isUnfinished={limit.attribute === ''}
    >
      <SelectField
        label={t('Comparison')}
        choices={listMatchOperators().slice(2)}
        value={operator}
        onChange={(next) => onChange({ operator: next as 'lessOrEqual' })}
      />
      <AttributeField
        label={t('Attribute of the limit')}
        value={limit.attribute}
        choices={names}
        onChange={(attribute) => onChange({ limit: { ...limit, attribute } })}
      />
      <TermFields
        label={t('Attribute of the limit')}
        term={limit}
        onChange={(term) => onChange({ limit: { attribute: limit.attribute, ...term } as typeof limit })}
      />
    </SentenceChip>
  );
}
