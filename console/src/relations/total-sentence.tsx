import type { Attribute, RelationDefinition } from '@relata/client';
import { useRef, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { SelectField, SwitchField } from '../parts/forms/field.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import { isWholeTotal, listMatchOperators, sayComparison } from '../rules/filters.ts';
import { sayTerm } from '../rules/fit.ts';
import { TermFields } from './match-editor.tsx';
import { OpenChipContext, SentenceChip } from './sentence-chip.tsx';
import { saySides } from './sentence-side.tsx';

interface Shape {
  draft: RelationDefinition;
  attributes: readonly Attribute[];
  onChange(changed: Partial<RelationDefinition>): void;
  onOpenForm(): void;
}

const BLANK: NonNullable<RelationDefinition['total']> = { attribute: '' };

/** A total as one says it: `For Backpacks, the sum of Weight of Camping is at most its Maximum load.` */
export function TotalSentence({ draft, attributes, onChange, onOpenForm }: Shape) {
  const [place, open] = useState<string>();
  const box = useRef<HTMLParagraphElement>(null);
  const { total = BLANK, limit = BLANK } = draft;
  const { operator = 'lessOrEqual' } = draft;
  const names = attributes.filter(({ type }) => type === 'NUMERIC_ATTRIBUTE').map(({ name }) => name);
  const sum = t('the sum of {attribute}', { attribute: total.attribute || '…' });
  const its = t('its {attribute}', { attribute: limit.attribute || '…' });
  const { missing, ...summed } = total;
  return (
    <OpenChipContext value={{ place, box, open }}>
      <p ref={box} className="sentence">
        {rich('For {source}, {total} of {target} {limit}.', {
          ...saySides({ draft, attributes, onOpenForm, onChange }),
          total: (
            <SentenceChip
              place="total"
              label={t('What is added up')}
              words={<b>{sayTerm(sum, total)}</b>}
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
                    total: {
                      attribute: total.attribute,
                      ...term,
                      ...(missing && { missing }),
                    } as typeof total,
                  })
                }
              />
              <SwitchField
                label={t('Count a missing value as nothing')}
                value={missing === 'passes'}
                onChange={(passes) =>
                  onChange({ total: { ...summed, ...(passes && { missing: 'passes' }) } })
                }
              />
            </SentenceChip>
          ),
          limit: (
            <SentenceChip
              place="limit"
              label={t('The limit')}
              words={<b>{sayComparison('', operator, sayTerm(its, limit))}</b>}
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
                onChange={(term) =>
                  onChange({ limit: { attribute: limit.attribute, ...term } as typeof limit })
                }
              />
            </SentenceChip>
          ),
        })}
      </p>
      {!isWholeTotal(draft) && (
        <p className="note warn" role="status">
          {t('Choose what is added up, and the limit.')}
        </p>
      )}
    </OpenChipContext>
  );
}
