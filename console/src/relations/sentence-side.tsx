import type { Attribute, Filter, RelationDefinition } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField } from '../parts/forms/field.tsx';
import { ConditionFields, type FilterShape, PathField } from '../parts/forms/filter-editor.tsx';
import { ProductsField } from '../parts/forms/suggest-field.tsx';
import {
  asGroup,
  describeFilter,
  EVERY_PRODUCT,
  isCondition,
  isWhole,
  readGroup,
  writeGroup,
} from '../rules/filters.ts';
import { AddChip, joinList, SentenceChip } from './sentence-chip.tsx';

/** A rule that is edited as a sentence. */
export interface RuleShape {
  draft: RelationDefinition;
  attributes: readonly Attribute[];
  onChange(changed: Partial<RelationDefinition>): void;
  /** Opens the form that can express everything. */
  onOpenForm(): void;
}

/** @returns the chips of both sides, for the sentences of all kinds */
export function describeSides({ draft, onChange, ...shape }: RuleShape) {
  const { source = EVERY_PRODUCT, target = EVERY_PRODUCT } = draft;
  return {
    source: <Side {...shape} side="source" filter={source} onChange={(next) => onChange({ source: next })} />,
    target: <Side {...shape} side="target" filter={target} onChange={(next) => onChange({ target: next })} />,
  };
}

interface SideShape extends FilterShape {
  side: 'source' | 'target';
  onOpenForm(): void;
}

const nameParts = (side: SideShape['side']) =>
  ({
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
  })[side];

const NO_CONDITION: Filter = { attribute: '', operator: 'equals', value: '' };

/** The products of a side as part of the sentence: `Memory where Price is at most 100`. */
function Side({ onOpenForm, ...shape }: SideShape) {
  const { side, filter } = shape;
  const group = asGroup(filter);
  if (group.kind === 'none' || group.filters.some((part) => readGroup(part) !== undefined)) {
    return (
      <SentenceChip position={side} label={nameParts(side).edit} words={<b>{describeFilter(filter)}</b>}>
        <p>{t('These conditions are nested in groups. Edit them in the form below.')}</p>
        <Button onClick={onOpenForm}>{t('Open the form')}</Button>
      </SentenceChip>
    );
  }
  return <Conditions {...shape} group={group} />;
}

interface ConditionsShape extends Omit<SideShape, 'onOpenForm'> {
  group: ReturnType<typeof asGroup>;
}

/** Conditions without groups within. */
function Conditions({ group, ...shape }: ConditionsShape) {
  const { side, onChange } = shape;
  const { filters } = group;
  const labels = nameParts(side);
  // `Memory where …` reads better than `products where category is Memory and …`.
  const head = group.kind === 'all' ? filters.findIndex((condition) => 'category' in condition) : -1;
  const write = (next: readonly Filter[]) => onChange(writeGroup({ ...group, filters: next }));
  const chipOf = (condition: Filter, index: number) => (
    <ConditionChip
      {...shape}
      key={index}
      filter={condition}
      position={`${side} ${index}`}
      isHead={index === head}
      onChange={(next) => write(filters.with(index, next))}
      onRemove={() => write(filters.toSpliced(index, 1))}
    />
  );
  const others = [...filters.entries()].filter(([index]) => index !== head);
  const products = head < 0 ? labels.every : chipOf(filters[head] as Filter, head);
  const conditions = joinList(
    others.map(([index, condition]) => chipOf(condition, index)),
    group.kind === 'any' ? 'disjunction' : 'conjunction',
  );
  const isEvery = filters.length === 0;
  return (
    <>
      {others.length > 0
        ? rich('{what} where {conditions}', {
            what: <span>{products}</span>,
            conditions: <span>{conditions}</span>,
          })
        : !isEvery && products}
      <AddChip
        position={`${side} ${filters.length}`}
        label={labels.add}
        words={isEvery ? labels.every : undefined}
        onAdd={() => write([...filters, isEvery ? { category: [] } : NO_CONDITION])}
      />
    </>
  );
}

interface ConditionChipShape extends Omit<SideShape, 'onOpenForm'> {
  position: string;
  /** Whether the condition names the products. */
  isHead: boolean;
  onRemove(): void;
}

const ConditionChip = ({ side, filter, position, isHead, onRemove, ...shape }: ConditionChipShape) => (
  <SentenceChip
    position={position}
    label={nameParts(side).edit}
    words={describeCondition(filter, isHead)}
    title={describeFilter(filter)}
    isBlank={isBlank(filter)}
    isUnfinished={!isWhole(filter)}
    onRemove={onRemove}
  >
    <ConditionEditor filter={filter} {...shape} />
  </SentenceChip>
);

function isBlank(filter: Filter): boolean {
  if ('category' in filter) return filter.category.length === 0;
  if ('identifiers' in filter) return filter.identifiers.length === 0;
  return isCondition(filter) && filter.attribute === '';
}

const SAID = 3;

/** `isHead`: the condition names the products, for which the last part of the path is enough. */
function describeCondition(filter: Filter, isHead: boolean): ReactNode {
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

/** Empty filters by the member that identifies their kind. */
const EMPTY_OF: Readonly<Record<string, Filter>> = {
  category: { category: [] },
  attribute: NO_CONDITION,
  identifiers: { identifiers: [] },
};

const ConditionEditor = ({ filter: condition, attributes, onChange }: FilterShape) => (
  <>
    <SelectField
      label={t('Condition')}
      choices={[
        ['category', t('Category')],
        ['attribute', t('Attribute')],
        ['identifiers', t('Products')],
      ]}
      value={Object.keys(EMPTY_OF).find((member) => member in condition)}
      onChange={(value) => onChange(EMPTY_OF[value] ?? NO_CONDITION)}
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
