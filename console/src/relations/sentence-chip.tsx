import { Popover } from '@base-ui/react/popover';
import type { Match, MatchedValue, RelationDefinition } from '@relata/client';
import { createContext, Fragment, type ReactNode, type RefObject, useContext, useRef } from 'react';
import { presentLanguage, rich, t } from '../languages/text.ts';
import { Button, Icon, IconButton } from '../parts/button.tsx';
import { NumberField, SelectField, SwitchField, TextField, useLocked } from '../parts/forms/field.tsx';
import { AttributeField, TableField } from '../parts/forms/suggest-field.tsx';
import { listMatches, listMatchOperators, nameMatched, sayComparison } from '../rules/filters.ts';
import { sayTerm, type Term } from '../rules/fit.ts';
import { handleSubmit } from '../state/service.tsx';

/** The open chip of a sentence, by its place: `match 0`. */
export interface OpenChip {
  readonly place: string | undefined;
  /** The sentence's box: popovers open above or below it, so that the preview beside it stays visible. */
  readonly box: RefObject<HTMLElement | null>;
  open(place: string | undefined): void;
}

export const OpenChipContext = createContext<OpenChip>({
  place: undefined,
  box: { current: null },
  open() {},
});

interface Shape {
  place: string;
  label: string;
  words: ReactNode;
  /** The full text of abbreviated words. */
  title?: string | undefined;
  /** Whether nothing is chosen yet; closing it like that removes it. */
  isBlank?: boolean;
  /** Whether it is incomplete, and ignored by the preview of the rule. */
  isUnfinished?: boolean;
  onRemove?: (() => void) | undefined;
  children: ReactNode;
}

/** A part of a sentence that is edited in place. */
export function SentenceChip({
  place,
  label,
  words,
  title,
  isBlank = false,
  isUnfinished = false,
  onRemove,
  children,
}: Shape) {
  const { place: opened, box, open } = useContext(OpenChipContext);
  const isLocked = useLocked();
  const chip = useRef<HTMLButtonElement>(null);
  const isGone = useRef(false);
  const remove = () => {
    isGone.current = true;
    open(undefined);
    onRemove?.();
  };
  const close = () => (isBlank && onRemove ? remove() : open(undefined));
  /** The element to focus: the chip, or, if that is removed, the button that adds another. */
  const findHeir = () => {
    const heir = isGone.current ? findAdd(box.current, place) : chip.current;
    isGone.current = false;
    return heir;
  };
  if (isLocked) return <span title={title}>{words}</span>;
  return (
    <Popover.Root open={opened === place} onOpenChange={(isOpen) => (isOpen ? open(place) : close())}>
      <Stays>
        <Popover.Trigger
          ref={chip}
          className={isUnfinished ? 'sentence-chip unfinished' : 'sentence-chip'}
          title={title}
        >
          {words}
          {isUnfinished && <span className="hidden"> ({t('unfinished')})</span>}
        </Popover.Trigger>
      </Stays>
      <Popover.Portal>
        <Popover.Positioner
          className="menu-place"
          sideOffset={6}
          align="start"
          collisionPadding={8}
          {...boundOf(opened === place ? box.current : null)}
        >
          <Popover.Popup className="chip-editor" aria-label={label} finalFocus={findHeir}>
            <form className="stack" onSubmit={handleSubmit(close)}>
              {children}
              <div className="row spread">
                {onRemove ? (
                  <Button look="quiet" icon="cross" onClick={remove}>
                    {t('Remove')}
                  </Button>
                ) : (
                  <span />
                )}
                <Button type="submit" look="primary">
                  {t('Done')}
                </Button>
              </div>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** Keeps a comma after it on the same line. */
const Stays = ({ children }: { children: ReactNode }) => (
  <span className="sentence-part">
    {children}
    {'\u2060'}
  </span>
);

const listOf = (place: string) => place.split(' ')[0] ?? '';

const findAdd = (box: HTMLElement | null, place: string) =>
  box?.querySelector<HTMLElement>(`[data-adds="${listOf(place)}"]`) ?? null;

function boundOf(box: HTMLElement | null) {
  if (box === null) return {};
  const { x, width } = box.getBoundingClientRect();
  // On a phone there is nothing beside it.
  if (width > innerWidth / 2) return {};
  return { collisionBoundary: { x, y: 0, width, height: innerHeight } };
}

interface AddChipShape {
  place: string;
  label: string;
  words?: string | undefined;
  onAdd(): void;
}

/** Adds a part and opens it. @param props.place of the new part @param props.words shown without any part */
export function AddChip({ place, label, words, onAdd }: AddChipShape) {
  const { open } = useContext(OpenChipContext);
  if (useLocked()) return words ?? null;
  const add = () => {
    onAdd();
    open(place);
  };
  // One element for both looks, as removing a focused one would lose focus.
  return (
    <Stays>
      <button
        type="button"
        className={words === undefined ? 'button quiet icon sentence-add' : 'sentence-chip adds'}
        aria-label={words === undefined ? label : `${words}: ${label}`}
        title={label}
        data-adds={listOf(place)}
        onClick={add}
      >
        {words ?? <Icon name="plus" />}
      </button>
    </Stays>
  );
}

/** @returns the parts joined as the language does: `A, B and C`, `A, B oder C` */
export function joinList(parts: readonly ReactNode[], type: 'conjunction' | 'disjunction'): ReactNode {
  const places = parts.map((_, at) => String(at));
  const list = new Intl.ListFormat(presentLanguage(), { type }).formatToParts(places);
  return list.map(({ type: kind, value }, at) => (
    <Fragment key={at}>{kind === 'element' ? parts[Number(value)] : value}</Fragment>
  ));
}

export type MatchElement = NonNullable<RelationDefinition['match']>[number];

export const BLANK_MATCH: Match = { target: '', operator: 'equals', source: '' };

interface MatchShape {
  element: MatchElement;
  names: readonly string[];
  onChange(element: MatchElement): void;
}

/** An element of a rule: a match, or several of which any has to hold, or all in one row. */
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
      {list.map((match, at) => (
        <div key={at} className="stack">
          {at > 0 && <strong className="small">{kind === 'any' ? t('or') : t('in the same row')}</strong>}
          <MatchFields match={match} names={names} onChange={(next) => write(list.with(at, next))} />
          {list.length > 1 && (
            <IconButton
              icon="cross"
              label={t('Remove this match')}
              onClick={() => write(list.toSpliced(at, 1))}
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

function MatchFields({ match, names, onChange }: MatchFieldsShape) {
  const { missing, table, ...compared } = match;
  const isAny = missing === 'passes' || table !== undefined;
  const labels = { target: t('Attribute of the result'), source: t('Attribute of the requested product') };
  const attributeOf = (side: 'source' | 'target', other: 'source' | 'target') => (
    <AttributeField
      label={labels[side]}
      value={nameMatched(match[side])}
      choices={[...names]}
      // Most matches compare an attribute with itself.
      onChange={(name) => {
        const value = writeValue(name, termOf(match[side]));
        onChange({ ...match, [side]: value, ...(match[other] === '' && { [other]: value }) });
      }}
    />
  );
  return (
    <>
      {attributeOf('target', 'source')}
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
      {attributeOf('source', 'target')}
      {(['target', 'source'] as const).map((side) => (
        <TermFields
          key={side}
          label={labels[side]}
          term={termOf(match[side])}
          onChange={(term) => onChange({ ...match, [side]: writeValue(nameMatched(match[side]), term) })}
        />
      ))}
      <details open={isAny}>
        <summary>{t('Missing values and tables')}</summary>
        <SwitchField
          label={t('Or unknown')}
          hint={t('It also holds where one of the two has no value.')}
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
    </>
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
export function sayElement(element: MatchElement): ReactNode {
  const parts = listMatches([element]).map((match, at) => <span key={at}>{sayMatch(match)}</span>);
  if (element.any) return joinList(parts, 'disjunction');
  return element.together
    ? rich('in one row {matches}', { matches: joinList(parts, 'conjunction') })
    : parts[0];
}

function sayMatch(match: Match): ReactNode {
  const words = sayCompared(match);
  const held = match.table
    ? rich('{words}, or one from the table <b>{table}</b>', { words, table: match.table })
    : words;
  return match.missing === 'passes' ? rich('{words}, or unknown', { words: held }) : held;
}

/** Uses a whole clause for each comparison, because languages place the verb differently. */
function sayCompared({ target: left, operator = 'equals', source: right }: Match): ReactNode {
  const [target, source] = [nameMatched(left) || '…', nameMatched(right) || '…'];
  const [ofTarget, ofSource] = [termOf(left), termOf(right)];
  if ([ofTarget, ofSource].some(({ times, plus }) => times !== undefined || plus !== undefined)) {
    const its = sayTerm(t('its {attribute}', { attribute: source }), ofSource);
    return <b>{sayComparison(sayTerm(target, ofTarget), operator, its)}</b>;
  }
  const parts = { target, source };
  if (operator === 'equals' && target === source && target !== '…')
    return rich('<b>{target}</b> is the same', parts);
  return rich(
    '<b>{target}</b> is {operator, select, notEquals {not } less {less than } lessOrEqual {at most } greater {more than } greaterOrEqual {at least } other {}}the requested product’s <b>{source}</b>',
    { ...parts, operator },
  );
}
