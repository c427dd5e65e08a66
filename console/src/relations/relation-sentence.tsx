import type { Attribute, Filter, RelationDefinition } from '@relata/client';
import { type ReactNode, useRef, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { SelectField, SwitchField } from '../parts/forms/field.tsx';
import { ConditionFields, type FilterShape, PathField } from '../parts/forms/filter-editor.tsx';
import { AttributeField, ProductsField } from '../parts/forms/suggest-field.tsx';
import {
  asGroup,
  countUnfinished,
  describeFilter,
  EVERY_PRODUCT,
  isCondition,
  isWhole,
  isWholeMatch,
  isWholeTotal,
  listDirections,
  listMatchOperators,
  OWN_FIELDS,
  readGroup,
  sayComparison,
  writeGroup,
} from '../rules/filters.ts';
import { sayTerm } from '../rules/fit.ts';
import {
  AddChip,
  BLANK_MATCH,
  joinList,
  MatchEditor,
  type MatchElement,
  OpenChipContext,
  SentenceChip,
  sayElement,
  TermFields,
} from './sentence-chip.tsx';

type Sort = NonNullable<RelationDefinition['sort']>[number];

interface Shape {
  draft: RelationDefinition;
  attributes: readonly Attribute[];
  onChange(changed: Partial<RelationDefinition>): void;
  onOpenForm(): void;
}

/** A rule as a sentence whose parts are edited in place. */
export function RelationSentence({ draft, attributes, onChange, onOpenForm }: Shape) {
  const { match = [], sort = [] } = draft;
  const unfinished = countUnfinished(draft);
  return (
    <Sentence
      warning={
        unfinished > 0 &&
        t(
          '{count, plural, one {A part of the sentence is unfinished and left out: finish it or remove it.} other {# parts of the sentence are unfinished and left out: finish them or remove them.}}',
          { count: unfinished },
        )
      }
    >
      {rich(
        '{hasMatch, select, yes {For {source}, show {target} whose {match}, {order}.} other {For {source}, show {target} {match}, {order}.}}',
        {
          hasMatch: match.length > 0 ? 'yes' : 'no',
          ...saySides({ draft, attributes, onOpenForm, onChange }),
          match: (
            <Matches match={match} attributes={attributes} onChange={(next) => onChange({ match: next })} />
          ),
          order: <Order sort={sort} attributes={attributes} onChange={(next) => onChange({ sort: next })} />,
        },
      )}
    </Sentence>
  );
}

/** Allows one open chip at a time. */
function Sentence({ warning, children }: { warning: string | false; children: ReactNode }) {
  const [place, open] = useState<string>();
  const box = useRef<HTMLParagraphElement>(null);
  return (
    <OpenChipContext value={{ place, box, open }}>
      <p ref={box} className="sentence">
        {children}
      </p>
      {warning && (
        <p className="note warn" role="status">
          {warning}
        </p>
      )}
    </OpenChipContext>
  );
}

interface ListShape<Part> {
  attributes: readonly Attribute[];
  onChange(parts: Part[]): void;
}

function Matches({
  match,
  attributes,
  onChange,
}: ListShape<MatchElement> & { match: readonly MatchElement[] }) {
  const names = [...attributes.map(({ name }) => name), ...OWN_FIELDS];
  const chips = match.map((one, at) => (
    <SentenceChip
      key={at}
      place={`match ${at}`}
      label={t('What must match')}
      words={sayElement(one)}
      isBlank={one.target === '' && one.source === ''}
      isUnfinished={!isWholeMatch(one)}
      onRemove={() => onChange(match.toSpliced(at, 1))}
    >
      <MatchEditor element={one} names={names} onChange={(next) => onChange(match.with(at, next))} />
    </SentenceChip>
  ));
  return (
    <>
      {joinList(chips, 'conjunction')}
      <AddChip
        place={`match ${match.length}`}
        label={t('Add a match')}
        words={match.length === 0 ? t('with nothing to match') : undefined}
        onAdd={() => onChange([...match, BLANK_MATCH])}
      />
    </>
  );
}

function Order({ sort, attributes, onChange }: ListShape<Sort> & { sort: readonly Sort[] }) {
  const chips = sort.map((one, at) => {
    const change = (changed: Partial<Sort>) => onChange(sort.with(at, { ...one, ...changed }));
    return (
      <SentenceChip
        key={at}
        place={`sort ${at}`}
        label={t('Sort order')}
        words={saySort(one)}
        isBlank={one.attribute === ''}
        isUnfinished={one.attribute === ''}
        onRemove={() => onChange(sort.toSpliced(at, 1))}
      >
        <AttributeField
          label={t('Attribute')}
          value={one.attribute}
          choices={attributes.map(({ name }) => name)}
          onChange={(attribute) => change({ attribute })}
        />
        <SelectField
          label={t('Direction')}
          choices={listDirections()}
          value={one.direction}
          onChange={(direction) => change({ direction })}
        />
      </SentenceChip>
    );
  });
  const [first, ...others] = chips;
  return (
    <>
      {others.reduce<ReactNode>(
        (before, next) => rich('{before}, then {next}', { before: <span>{before}</span>, next }),
        first,
      )}
      <AddChip
        place={`sort ${sort.length}`}
        label={t('Add a sort')}
        words={first === undefined ? t('the oldest first') : undefined}
        onAdd={() => onChange([...sort, { attribute: '', direction: 'asc' }])}
      />
    </>
  );
}

function saySort({ attribute, direction }: Sort): ReactNode {
  const parts = { attribute: attribute || '…' };
  return direction === 'desc'
    ? rich('largest <b>{attribute}</b> first', parts)
    : rich('smallest <b>{attribute}</b> first', parts);
}

const NO_SUM: NonNullable<RelationDefinition['total']> = { attribute: '' };

/** A total as a sentence: `For Backpacks, the sum of Weight of Camping is at most its Maximum load.` */
export function TotalSentence({ draft, attributes, onChange, onOpenForm }: Shape) {
  const { total = NO_SUM, limit = NO_SUM } = draft;
  const { operator = 'lessOrEqual' } = draft;
  const names = attributes.filter(({ type }) => type === 'NUMERIC_ATTRIBUTE').map(({ name }) => name);
  const sum = t('the sum of {attribute}', { attribute: total.attribute || '…' });
  const its = t('its {attribute}', { attribute: limit.attribute || '…' });
  const { missing, ...summed } = total;
  return (
    <Sentence warning={!isWholeTotal(draft) && t('Choose what is added up, and the limit.')}>
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
                  total: { attribute: total.attribute, ...term, ...(missing && { missing }) } as typeof total,
                })
              }
            />
            <SwitchField
              label={t('Count a missing value as nothing')}
              value={missing === 'passes'}
              onChange={(passes) => onChange({ total: { ...summed, ...(passes && { missing: 'passes' }) } })}
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
    </Sentence>
  );
}

interface Side extends FilterShape {
  side: 'source' | 'target';
  /** Opens the form that can express everything. */
  onOpenForm(): void;
}

const NO_CONDITION: Filter = { attribute: '', operator: 'equals', value: '' };

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
        filter={one}
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
        onAdd={() => write([...group.filters, isEvery ? { category: [] } : NO_CONDITION])}
      />
    </>
  );
}

function isBlank(filter: Filter): boolean {
  if ('category' in filter) return filter.category.length === 0;
  if ('identifiers' in filter) return filter.identifiers.length === 0;
  return isCondition(filter) && filter.attribute === '';
}

const SAID = 3;

/** `isHead`: the condition names the products, for which the last part of the path is enough. */
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

/** @returns the chips of both sides, for the sentences of all kinds */
function saySides({ draft, onChange, ...side }: Shape) {
  const { source = EVERY_PRODUCT, target = EVERY_PRODUCT } = draft;
  return {
    source: saySide({ ...side, side: 'source', filter: source, onChange: (to) => onChange({ source: to }) }),
    target: saySide({ ...side, side: 'target', filter: target, onChange: (to) => onChange({ target: to }) }),
  };
}
