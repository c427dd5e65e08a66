import type { Attribute, RelationDefinition } from '@relata/client';
import { type ReactNode, useRef, useState } from 'react';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import {
  countUnfinished,
  EVERY_PRODUCT,
  isWholeMatch,
  listDirections,
  listMatchOperators,
  nameMatched,
  OWN_FIELDS,
} from '../rules/filters.ts';
import { AddChip, OpenChipContext, SentenceChip } from './sentence-chip.tsx';
import { joinList } from './sentence-lists.tsx';
import { saySide } from './sentence-side.tsx';

type Match = NonNullable<RelationDefinition['match']>[number];
type Sort = NonNullable<RelationDefinition['sort']>[number];

interface Shape {
  draft: RelationDefinition;
  attributes: readonly Attribute[];
  onChange(changed: Partial<RelationDefinition>): void;
  onOpenForm(): void;
}

/** A rule as one says it; every part is edited where it stands. */
export function RelationSentence({ draft, attributes, onChange, onOpenForm }: Shape) {
  const [place, open] = useState<string>();
  const box = useRef<HTMLParagraphElement>(null);
  const { source = EVERY_PRODUCT, target = EVERY_PRODUCT, match = [], sort = [] } = draft;
  const side = { attributes, onOpenForm };
  const unfinished = countUnfinished(draft);
  return (
    <OpenChipContext value={{ place, box, open }}>
      <p ref={box} className="sentence">
        {rich(
          '{hasMatch, select, yes {For {source}, show {target} whose {match}, {order}.} other {For {source}, show {target} {match}, {order}.}}',
          {
            hasMatch: match.length > 0 ? 'yes' : 'no',
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
            match: (
              <Matches match={match} attributes={attributes} onChange={(next) => onChange({ match: next })} />
            ),
            order: (
              <Order sort={sort} attributes={attributes} onChange={(next) => onChange({ sort: next })} />
            ),
          },
        )}
      </p>
      {unfinished > 0 && (
        <p className="note warn" role="status">
          {t(
            '{count, plural, one {A part of the sentence is unfinished and left out: finish it or remove it.} other {# parts of the sentence are unfinished and left out: finish them or remove them.}}',
            { count: unfinished },
          )}
        </p>
      )}
    </OpenChipContext>
  );
}

interface ListShape<Part> {
  attributes: readonly Attribute[];
  onChange(parts: Part[]): void;
}

function Matches({ match, attributes, onChange }: ListShape<Match> & { match: readonly Match[] }) {
  const names = [...attributes.map(({ name }) => name), ...OWN_FIELDS];
  const chips = match.map((one, at) => {
    const change = (changed: Partial<Match>) => onChange(match.with(at, { ...one, ...changed }));
    return (
      <SentenceChip
        key={at}
        place={`match ${at}`}
        label={t('What must match')}
        words={sayMatch(one)}
        isBlank={one.target === '' && one.source === ''}
        isUnfinished={!isWholeMatch(one)}
        onRemove={() => onChange(match.toSpliced(at, 1))}
      >
        <AttributeField
          label={t('Attribute of the result')}
          value={nameMatched(one.target)}
          choices={names}
          onChange={(target) => change({ target })}
        />
        <SelectField
          label={t('Comparison')}
          choices={listMatchOperators()}
          value={one.operator ?? 'equals'}
          onChange={(event) => change({ operator: event.target.value as 'equals' })}
        />
        <AttributeField
          label={t('Attribute of the requested product')}
          value={nameMatched(one.source)}
          choices={names}
          onChange={(source) => change({ source })}
        />
      </SentenceChip>
    );
  });
  return (
    <>
      {joinList(chips, 'conjunction')}
      <AddChip
        place={`match ${match.length}`}
        label={t('Add a match')}
        words={match.length === 0 ? t('with nothing to match') : undefined}
        onAdd={() => onChange([...match, { target: '', operator: 'equals', source: '' }])}
      />
    </>
  );
}

const bold = (words: ReactNode) => <b>{words}</b>;

/** A whole clause for each comparison: languages put the verb in other places. */
function sayMatch({ target: left, operator = 'equals', source: right }: Match): ReactNode {
  const [target, source] = [nameMatched(left) || '…', nameMatched(right) || '…'];
  const parts = { b: bold, target, source };
  if (operator === 'equals' && target === source && target !== '…')
    return rich('<b>{target}</b> is the same', parts);
  switch (operator) {
    case 'equals':
      return rich('<b>{target}</b> is the requested product’s <b>{source}</b>', parts);
    case 'notEquals':
      return rich('<b>{target}</b> is not the requested product’s <b>{source}</b>', parts);
    case 'less':
      return rich('<b>{target}</b> is less than the requested product’s <b>{source}</b>', parts);
    case 'lessOrEqual':
      return rich('<b>{target}</b> is at most the requested product’s <b>{source}</b>', parts);
    case 'greater':
      return rich('<b>{target}</b> is more than the requested product’s <b>{source}</b>', parts);
    case 'greaterOrEqual':
      return rich('<b>{target}</b> is at least the requested product’s <b>{source}</b>', parts);
  }
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
          onChange={(event) => change({ direction: event.target.value as 'asc' })}
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
  const parts = { b: bold, attribute: attribute || '…' };
  return direction === 'desc'
    ? rich('largest <b>{attribute}</b> first', parts)
    : rich('smallest <b>{attribute}</b> first', parts);
}
