import type { Attribute, Filter, RelationDefinition } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { ConditionFields, PathField } from '../parts/forms/filter-editor.tsx';
import { ProductsField } from '../parts/forms/product-field.tsx';
import {
  asGroup,
  describeFilter,
  EVERY_PRODUCT,
  isCondition,
  isWhole,
  readGroup,
  writeGroup,
} from '../rules/filters.ts';
import { AddChip, SentenceChip } from './sentence-chip.tsx';
import { joinList } from './sentence-lists.tsx';

export type SideName = 'source' | 'target';

interface Side {
  side: SideName;
  filter: Filter;
  attributes: readonly Attribute[];
  onChange(filter: Filter): void;
  /** Where everything can be said. */
  onOpenForm(): void;
}

const BLANK: Filter = { attribute: '', operator: 'equals', value: '' };

/** The products of a side as part of the sentence: `Memory where Price is at most 100`. */
function saySide({ side, filter, attributes, onChange, onOpenForm }: Side): ReactNode {
  const labels = {
    source: {
      every: t('any product'),
      edit: t('Condition of the requested product'),
      add: t('Add a condition of the requested product'),
    },
    target: {
      every: t('all products'),
      edit: t('Condition of the results'),
      add: t('Add a condition of the results'),
    },
  }[side];
  const group = asGroup(filter);
  const write = (filters: readonly Filter[]) => onChange(writeGroup({ ...group, filters }));
  if (group.kind === 'none' || group.filters.some((one) => readGroup(one) !== undefined)) {
    return (
      <SentenceChip place={side} label={labels.edit} words={<b>{describeFilter(filter)}</b>}>
        <p>{t('These conditions stand in groups. The form below shows and changes them.')}</p>
        <Button onClick={onOpenForm}>{t('Open the form')}</Button>
      </SentenceChip>
    );
  }
  const chipOf = (one: Filter, at: number) => (
    <SentenceChip
      key={at}
      place={`${side} ${at}`}
      label={labels.edit}
      words={sayCondition(one, at === head)}
      title={describeFilter(one)}
      isBlank={isBlank(one)}
      isUnfinished={!isWhole(one)}
      onRemove={() => write(group.filters.toSpliced(at, 1))}
    >
      <ConditionEditor
        condition={one}
        attributes={attributes}
        onChange={(next) => write(group.filters.with(at, next))}
      />
    </SentenceChip>
  );
  // `Memory where …` reads better than `products where category is Memory and …`.
  const head = group.kind === 'all' ? group.filters.findIndex((one) => 'category' in one) : -1;
  const others = [...group.filters.entries()].filter(([at]) => at !== head);
  const what = head < 0 ? labels.every : chipOf(group.filters[head] as Filter, head);
  const conditions = joinList(
    others.map(([at, one]) => chipOf(one, at)),
    group.kind === 'any' ? 'disjunction' : 'conjunction',
  );
  const isEvery = group.filters.length === 0;
  return (
    <>
      {others.length > 0
        ? rich('{what} where {conditions}', {
            what: <span>{what}</span>,
            conditions: <span>{conditions}</span>,
          })
        : !isEvery && what}
      <AddChip
        place={`${side} ${group.filters.length}`}
        label={labels.add}
        words={isEvery ? labels.every : undefined}
        onAdd={() => write([...group.filters, isEvery ? { category: [] } : BLANK])}
      />
    </>
  );
}

function isBlank(filter: Filter): boolean {
  if ('category' in filter) return filter.category.length === 0;
  if ('identifiers' in filter) return filter.identifiers.length === 0;
  return isCondition(filter) && filter.attribute === '';
}

/** Of a list. */
const SAID = 3;

/** `isHead`: what the products are, of which the last part of the path says enough. */
function sayCondition(filter: Filter, isHead: boolean): ReactNode {
  if (isBlank(filter)) return '…';
  if ('category' in filter)
    return isHead ? (
      <b>{filter.category.at(-1)}</b>
    ) : (
      t('the category is {path}', { path: filter.category.join(' › ') })
    );
  if ('identifiers' in filter) {
    const { identifiers } = filter;
    const more = identifiers.length > SAID ? ', …' : '';
    return t('the product is one of {identifiers}', {
      identifiers: identifiers.slice(0, SAID).join(', ') + more,
    });
  }
  return describeFilter(filter);
}

const kindOf = (filter: Filter) => {
  if ('category' in filter) return 'category';
  return 'identifiers' in filter ? 'products' : 'attribute';
};

const EMPTY_OF: Readonly<Record<string, Filter>> = {
  attribute: BLANK,
  category: { category: [] },
  products: { identifiers: [] },
};

function ConditionEditor({
  condition,
  attributes,
  onChange,
}: {
  condition: Filter;
  attributes: readonly Attribute[];
  onChange(filter: Filter): void;
}) {
  return (
    <>
      <SelectField
        label={t('Condition')}
        choices={[
          ['category', t('Category')],
          ['attribute', t('Attribute')],
          ['products', t('Products')],
        ]}
        value={kindOf(condition)}
        onChange={(value) => onChange(EMPTY_OF[value] ?? BLANK)}
      />
      {'category' in condition && (
        <PathField path={condition.category} onChange={(category) => onChange({ category })} />
      )}
      {'identifiers' in condition && (
        <ProductsField
          identifiers={condition.identifiers}
          onChange={(identifiers) => onChange({ identifiers })}
        />
      )}
      {isCondition(condition) && (
        <ConditionFields condition={condition} attributes={attributes} onChange={onChange} />
      )}
    </>
  );
}

interface BothSides extends Pick<Side, 'attributes' | 'onOpenForm'> {
  draft: RelationDefinition;
  onChange(changed: Partial<RelationDefinition>): void;
}

/** @returns the chips of both sides, as the sentences of all kinds name them */
export function saySides({ draft, onChange, ...side }: BothSides) {
  const { source = EVERY_PRODUCT, target = EVERY_PRODUCT } = draft;
  return {
    source: saySide({
      ...side,
      side: 'source',
      filter: source,
      onChange: (next) => onChange({ source: next }),
    }),
    target: saySide({
      ...side,
      side: 'target',
      filter: target,
      onChange: (next) => onChange({ target: next }),
    }),
  };
}
