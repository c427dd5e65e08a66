import type { Match, MatchedValue, RelationDefinition } from '@relata/client';
import type { ReactNode } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { NumberField, SelectField, SwitchField, TextField } from '../parts/forms/field.tsx';
import { AttributeField, TableField } from '../parts/forms/suggest-field.tsx';
import { describeComparison, listMatches, listMatchOperators, nameMatched } from '../rules/filters.ts';
import { describeTerm, type Term } from '../rules/fit.ts';
import { joinList } from './sentence-chip.tsx';

export type MatchElement = NonNullable<RelationDefinition['match']>[number];

export const BLANK_MATCH: Match = { target: '', operator: 'equals', source: '' };

interface MatchShape {
  element: MatchElement;
  names: readonly string[];
  onChange(element: MatchElement): void;
}

/**
 * An element of a rule: one match, or several matches. With several, either any one of them has to
 * hold, or all of them have to hold in one row.
 */
export function MatchEditor({ element, names, onChange }: MatchShape) {
  const kind = element.any ? 'any' : element.together ? 'together' : undefined;
  const list = listMatches([element]);
  const write = (next: readonly Match[], as = kind) => {
    const [first = BLANK_MATCH] = next;
    onChange(as === undefined || next.length < 2 ? { ...first } : { [as]: [...next] });
  };
  const add = (as: 'any' | 'together') => write([...list, BLANK_MATCH], as);
  return (
    <div className="stack">
      {list.map((match, index) => (
        <div key={index} className="stack">
          {index > 0 && <strong className="small">{kind === 'any' ? t('or') : t('in the same row')}</strong>}
          <MatchFields match={match} names={names} onChange={(next) => write(list.with(index, next))} />
          {list.length > 1 && (
            <IconButton
              icon="cross"
              label={t('Remove this match')}
              onClick={() => write(list.toSpliced(index, 1))}
            />
          )}
        </div>
      ))}
      <div className="row">
        {kind !== 'together' && list.length < MOST.any && (
          <Button look="quiet" onClick={() => add('any')}>
            {t('Or another match')}
          </Button>
        )}
        {kind !== 'any' && list.length < MOST.together && (
          <Button look="quiet" onClick={() => add('together')}>
            {t('In one row with another match')}
          </Button>
        )}
      </div>
    </div>
  );
}

const MOST = { any: 8, together: 6 } as const;

interface MatchFieldsShape {
  match: Match;
  names: readonly string[];
  onChange(match: Match): void;
}

const nameSides = () => ({
  target: t('Attribute of the result'),
  source: t('Attribute of the requested product'),
});

const OTHER = { target: 'source', source: 'target' } as const;

function MatchFields({ match, names, onChange }: MatchFieldsShape) {
  const { missing, table, ...compared } = match;
  const labels = nameSides();
  return (
    <>
      <MatchedField side="target" match={match} names={names} onChange={onChange} />
      <SelectField
        label={t('Comparison')}
        choices={listMatchOperators()}
        value={match.operator}
        onChange={(operator) =>
          onChange({
            ...compared,
            operator,
            ...(missing && { missing }),
            ...(operator === 'equals' && table && { table }),
          })
        }
      />
      <MatchedField side="source" match={match} names={names} onChange={onChange} />
      {(['target', 'source'] as const).map((side) => (
        <TermFields
          key={side}
          label={labels[side]}
          term={termOf(match[side])}
          onChange={(term) => onChange({ ...match, [side]: writeValue(nameMatched(match[side]), term) })}
        />
      ))}
      <LenientFields match={match} onChange={onChange} />
    </>
  );
}

/** The attribute of one side. */
function MatchedField({ side, match, names, onChange }: MatchFieldsShape & { side: 'source' | 'target' }) {
  const other = OTHER[side];
  return (
    <AttributeField
      label={nameSides()[side]}
      value={nameMatched(match[side])}
      choices={[...names]}
      // Most matches compare an attribute with itself.
      onChange={(name) => {
        const value = writeValue(name, termOf(match[side]));
        onChange({ ...match, [side]: value, ...(match[other] === '' && { [other]: value }) });
      }}
    />
  );
}

/** Options with which a match holds although the comparison of its values does not. */
function LenientFields({ match, onChange }: Omit<MatchFieldsShape, 'names'>) {
  const { missing, table, ...compared } = match;
  return (
    <details open={missing === 'passes' || table !== undefined}>
      <summary>{t('Missing values and tables')}</summary>
      <SwitchField
        label={t('Or unknown')}
        hint={t('It also holds if one of the two has no value.')}
        value={missing === 'passes'}
        onChange={(passes) =>
          onChange({ ...compared, ...(table && { table }), ...(passes && { missing: 'passes' }) })
        }
      />
      {match.operator === 'equals' && (
        <TableField
          label={t('Or a pair of this table')}
          value={table ?? ''}
          onChange={(name) =>
            onChange({ ...compared, ...(missing && { missing }), ...(name !== '' && { table: name }) })
          }
        />
      )}
    </details>
  );
}

const termOf = (value: MatchedValue): Term => (typeof value === 'string' ? {} : value);

/** @returns the bare name if there is no calculation */
const writeValue = (attribute: string, { times, plus }: Term): MatchedValue =>
  times === undefined && plus === undefined ? attribute : { attribute, ...writeTerm({ times, plus }) };

const writeTerm = ({ times, plus }: Term) => ({
  ...(times !== undefined && { times }),
  ...(plus !== undefined && { plus }),
});

interface TermFieldsShape {
  label: string;
  term: Term;
  onChange(term: Term): void;
}

/** @param label of the value to calculate with */
export const TermFields = ({ label, term: { times, plus }, onChange }: TermFieldsShape) => (
  <details open={times !== undefined || plus !== undefined}>
    <summary>{t('Calculate with: {label}', { label })}</summary>
    <div className="fields">
      <NumberField
        label={t('Times')}
        value={times}
        onChange={(next) => onChange(writeTerm({ times: next, plus }))}
      />
      <TextField
        label={t('Plus')}
        value={String(plus ?? '')}
        placeholder={t('for example 100 W')}
        onChange={(text) => onChange(writeTerm({ times, plus: readPlus(text) }))}
      />
    </div>
  </details>
);

const readPlus = (text: string): Term['plus'] => {
  if (text === '') return undefined;
  return /^[+-]?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
};

/** An element in the sentence: `Wattage is at least 1.2 times its TDP plus 100 W, or unknown`. */
export function describeElement(element: MatchElement): ReactNode {
  const parts = listMatches([element]).map((match, index) => <span key={index}>{describeMatch(match)}</span>);
  if (element.any) return joinList(parts, 'disjunction');
  return element.together
    ? rich('in one row {matches}', { matches: joinList(parts, 'conjunction') })
    : parts[0];
}

function describeMatch(match: Match): ReactNode {
  const words = describeCompared(match);
  const sentence = match.table
    ? rich('{words}, or one from the table <b>{table}</b>', { words, table: match.table })
    : words;
  return match.missing === 'passes' ? rich('{words}, or unknown', { words: sentence }) : sentence;
}

/** Uses a whole clause for each comparison, because languages place the verb differently. */
function describeCompared({ target: left, operator = 'equals', source: right }: Match): ReactNode {
  const [target, source] = [nameMatched(left) || '…', nameMatched(right) || '…'];
  const [ofTarget, ofSource] = [termOf(left), termOf(right)];
  if ([ofTarget, ofSource].some(({ times, plus }) => times !== undefined || plus !== undefined)) {
    const ownTerm = describeTerm(t('its {attribute}', { attribute: source }), ofSource);
    return <b>{describeComparison(describeTerm(target, ofTarget), operator, ownTerm)}</b>;
  }
  const parts = { target, source };
  if (operator === 'equals' && target === source && target !== '…')
    return rich('<b>{target}</b> is the same', parts);
  return rich(
    '<b>{target}</b> is {operator, select, notEquals {not } less {less than } lessOrEqual {at most } greater {more than } greaterOrEqual {at least } other {}}the requested product’s <b>{source}</b>',
    { ...parts, operator },
  );
}
