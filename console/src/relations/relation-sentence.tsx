import type { Attribute, RelationDefinition } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { AttributeField } from '../parts/forms/suggest-field.tsx';
import { countUnfinished, isWholeMatch, listDirections, OWN_FIELDS } from '../rules/filters.ts';
import { BLANK_MATCH, describeElement, MatchEditor, type MatchElement } from './match-editor.tsx';
import { AddChip, joinList, Sentence, SentenceChip } from './sentence-chip.tsx';
import { describeSides, type RuleShape } from './sentence-side.tsx';

type Sort = NonNullable<RelationDefinition['sort']>[number];

/** A rule as a sentence whose parts are edited in place. */
export function RelationSentence({ draft, attributes, onChange, onOpenForm }: RuleShape) {
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
          ...describeSides({ draft, attributes, onOpenForm, onChange }),
          match: (
            <Matches match={match} attributes={attributes} onChange={(next) => onChange({ match: next })} />
          ),
          order: <Order sort={sort} attributes={attributes} onChange={(next) => onChange({ sort: next })} />,
        },
      )}
    </Sentence>
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
  const chips = match.map((element, index) => (
    <SentenceChip
      key={index}
      position={`match ${index}`}
      label={t('What must match')}
      words={describeElement(element)}
      isBlank={element.target === '' && element.source === ''}
      isUnfinished={!isWholeMatch(element)}
      onRemove={() => onChange(match.toSpliced(index, 1))}
    >
      <MatchEditor element={element} names={names} onChange={(next) => onChange(match.with(index, next))} />
    </SentenceChip>
  ));
  return (
    <>
      {joinList(chips, 'conjunction')}
      <AddChip
        position={`match ${match.length}`}
        label={t('Add a match')}
        words={match.length === 0 ? t('with nothing to match') : undefined}
        onAdd={() => onChange([...match, BLANK_MATCH])}
      />
    </>
  );
}

function Order({ sort, attributes, onChange }: ListShape<Sort> & { sort: readonly Sort[] }) {
  const chips = sort.map((order, index) => {
    const change = (changed: Partial<Sort>) => onChange(sort.with(index, { ...order, ...changed }));
    return (
      <SentenceChip
        key={index}
        position={`sort ${index}`}
        label={t('Sort order')}
        words={describeSort(order)}
        isBlank={order.attribute === ''}
        isUnfinished={order.attribute === ''}
        onRemove={() => onChange(sort.toSpliced(index, 1))}
      >
        <AttributeField
          label={t('Attribute')}
          value={order.attribute}
          choices={attributes.map(({ name }) => name)}
          onChange={(attribute) => change({ attribute })}
        />
        <SelectField
          label={t('Direction')}
          choices={listDirections()}
          value={order.direction}
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
        position={`sort ${sort.length}`}
        label={t('Add a sort')}
        words={first === undefined ? t('the oldest first') : undefined}
        onAdd={() => onChange([...sort, { attribute: '', direction: 'asc' }])}
      />
    </>
  );
}

function describeSort({ attribute, direction }: Sort): ReactNode {
  const parts = { attribute: attribute || '…' };
  return direction === 'desc'
    ? rich('largest <b>{attribute}</b> first', parts)
    : rich('smallest <b>{attribute}</b> first', parts);
}
