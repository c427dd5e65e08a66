import { Autocomplete } from '@base-ui/react/autocomplete';
import type { Facet } from '@relata/client';
import { useQueries } from '@tanstack/react-query';
import { type FocusEvent, useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Icon } from '../../parts/button.tsx';
import { FieldFrame } from '../../parts/forms/field.tsx';
import { Suggestions } from '../../parts/forms/suggest-field.tsx';
import { ErrorNote, Loading } from '../../parts/page.tsx';
import { readPath } from '../../rules/category-path.ts';
import {
  type ChosenFacet,
  describeChosen,
  findRange,
  findValues,
  listUseful,
  readChosen,
  toggle,
  without,
  withRange,
  writeChosen,
} from '../../rules/chosen-facets.ts';
import { describeValue, formatCount } from '../../rules/format.ts';
import { useAttributes, useCategories, useFoundProducts } from '../../state/catalog.ts';
import { handleSubmit } from '../../state/forms.ts';
import { useCalls, useProject } from '../../state/rights.ts';
import { linkWith, projectLink } from '../../state/route.ts';
import { useSettled } from '../../state/timing.ts';
import { type ProductFilters, withFilters } from './product-filters.ts';
import { type Facets, facetsQuery, useFacets } from './product-table.tsx';

/** The number of facets open at first; more would be overwhelming. */
const OPEN_FACETS = 6;

interface Shape {
  filters: ProductFilters;
  onChange(changed: Partial<ProductFilters>): void;
}

/** The facets of the products found, to narrow them. */
export function ProductFacets({ filters, onChange }: Shape) {
  const { data, error } = useFacets(filters);
  const chosen = readChosen(filters.where);
  const own = useOwnFacets(filters, chosen);
  const change = (next: readonly ChosenFacet[]) => onChange({ where: writeChosen(next) });
  if (data === undefined) {
    if (error) return <ErrorNote error={error} />;
    return <Loading words={t('Reading the attributes …')} />;
  }
  const facets = listUseful(data.facets, chosen);
  // On a phone the products follow below.
  const open = matchMedia('(min-width: 64rem)').matches ? OPEN_FACETS : 0;
  const isChosen = (name: string) => chosen.some(({ attribute }) => attribute === name);
  return (
    <div className="facets">
      {isPart(data) && (
        <p className="soft small">
          {t('The counts cover the first {count, number} products found.', { count: data.facetsOf })}
        </p>
      )}
      {facets.length === 0 && (
        <p className="soft small">{t('These products have no common attribute to narrow them by.')}</p>
      )}
      {facets.map((facet, index) => {
        const Shown = facet.type === 'NUMERIC_ATTRIBUTE' ? Range : Values;
        return (
          <details key={facet.attribute} open={index < open || isChosen(facet.attribute)}>
            <summary>
              {facet.attribute} <span className="soft small">{formatCount(facet.count)}</span>
            </summary>
            <Shown {...{ facet, answer: data, chosen, onChange: change, ...own.get(facet.attribute) }} />
          </details>
        );
      })}
      {filters.category !== '' && (
        <a className="small" href={linkWith(projectLink('ontology'), { category: filters.category })}>
          {t('Coverage of this category')}
        </a>
      )}
    </div>
  );
}

/** Facets of attributes with chosen values, counted without that choice, so that other values can be added. */
function useOwnFacets(filters: ProductFilters, chosen: readonly ChosenFacet[]): ReadonlyMap<string, Own> {
  const { relata, projectId: id } = useCalls();
  const names = chosen.flatMap((facet) => ('in' in facet ? [facet.attribute] : []));
  const answers = useQueries({
    queries: names.map((attribute) =>
      facetsQuery(relata, id, { ...filters, where: writeChosen(without(chosen, attribute)) }),
    ),
  });
  const own = answers.flatMap(({ data: answer }, index) => {
    const facet = answer?.facets.find(({ attribute }) => attribute === names[index]);
    return answer && facet ? [{ facet, answer }] : [];
  });
  return new Map(own.map((entry) => [entry.facet.attribute, entry]));
}

interface Own {
  facet: Facet;
  answer: Facets;
}

interface One extends Own {
  chosen: readonly ChosenFacet[];
  onChange(next: readonly ChosenFacet[]): void;
}

function Values({ facet: { attribute, type, values }, chosen, onChange }: One) {
  const ticked = findValues(chosen, attribute);
  const others = ticked.filter((tickedValue) => values.every(({ value }) => value !== tickedValue));
  return (
    <ul className="facet-values">
      {[...others.map((value) => ({ value, count: undefined })), ...values].map(({ value, count }) => (
        <li key={value}>
          <label>
            <input
              type="checkbox"
              checked={ticked.includes(value)}
              onChange={() => onChange(toggle(chosen, attribute, value))}
            />
            <span className="cut" title={value}>
              {describeValue({ value, fact: { type } })}
            </span>
            {count !== undefined && <span className="soft small">{formatCount(count)}</span>}
          </label>
        </li>
      ))}
    </ul>
  );
}

const isPart = ({ facetsOf, total, partial }: Facets): boolean =>
  facetsOf > 0 && (partial === true || facetsOf < total);

/**
 * A range. It is applied by Enter or when both fields lose focus, because half of a range would be another
 * range.
 */
function Range({ facet: { attribute, unitName = '', min, max }, chosen, onChange }: One) {
  const range = findRange(chosen, attribute);
  const apply = (form: HTMLFormElement) => {
    const read = (name: string) => {
      const text = String(new FormData(form).get(name) ?? '');
      return text === '' ? null : Number(text);
    };
    const next = [read('low'), read('high')] as const;
    if (next[0] !== range[0] || next[1] !== range[1]) onChange(withRange(chosen, attribute, next));
  };
  const leave = ({ currentTarget, relatedTarget }: FocusEvent<HTMLFormElement>) => {
    if (!currentTarget.contains(relatedTarget)) apply(currentTarget);
  };
  const [low, high] = range;
  return (
    <form className="facet-range" onSubmit={handleSubmit(apply)} onBlur={leave}>
      <RangeEnd
        key={`low ${low}`}
        label={t('{attribute}, at least', { attribute })}
        name="low"
        value={low}
        empty={min}
      />
      <span aria-hidden="true">–</span>
      <RangeEnd
        key={`high ${high}`}
        label={t('{attribute}, at most', { attribute })}
        name="high"
        value={high}
        empty={max}
      />
      <span className="soft small">{unitName}</span>
      <button type="submit" className="hidden" tabIndex={-1}>
        {t('Apply')}
      </button>
    </form>
  );
}

interface End {
  label: string;
  name: string;
  value: number | null;
  empty: number | undefined;
}

function RangeEnd({ label, name, value, empty }: End) {
  const id = useId();
  return (
    <>
      <label htmlFor={id} className="hidden">
        {label}
      </label>
      <input
        id={id}
        name={name}
        className="input"
        inputMode="decimal"
        type="number"
        step="any"
        defaultValue={value ?? ''}
        placeholder={empty === undefined ? '' : String(empty)}
      />
    </>
  );
}

type Changed = Partial<ProductFilters>;

interface FilterChipsShape {
  filters: ProductFilters;
  onChange(changed: Changed): void;
}

/** The active filters apart from the words; each can be removed. */
export function FilterChips({ filters: { where, category, prefix }, onChange }: FilterChipsShape) {
  const attributes = useAttributes();
  const chosen = readChosen(where);
  const chips: (readonly [words: string, off: Changed])[] = chosen.map((facet) => {
    const { type = 'TEXT_ATTRIBUTE', unitName } =
      attributes.find(({ name }) => name === facet.attribute) ?? {};
    const words =
      'in' in facet
        ? { ...facet, in: facet.in.map((value) => describeValue({ value, fact: { type } })) }
        : facet;
    return [
      describeChosen(words, 'between' in facet ? unitName : ''),
      { where: writeChosen(without(chosen, facet.attribute)) },
    ];
  });
  if (category) chips.unshift([`${t('Category')}: ${readPath(category).join(' › ')}`, { category: '' }]);
  if (prefix) chips.unshift([`${t('Identifier begins with')}: ${prefix}`, { prefix: '' }]);
  return chips.map(([words, off]) => (
    <button
      key={words}
      type="button"
      className="facet-chip"
      aria-label={t('Remove {words}', { words })}
      onClick={() => onChange(off)}
    >
      {words}
      <Icon name="cross" size={12} />
    </button>
  ));
}

const REST_MS = 200;
const MOST_PRODUCTS = 6;
const MOST_OTHERS = 4;

interface Guess {
  readonly words: string;
  readonly about: string;
  readonly href: string;
}

/** The search field of the list: words, and what they may mean: a category, a value or an identifier. */
export function ProductFinder({ filters, onChange }: { filters: ProductFilters; onChange(q: string): void }) {
  const id = useId();
  const [isFocused, setFocused] = useState(false);
  const guesses = useGuesses(filters, isFocused);
  return (
    <FieldFrame id={id} label={t('Search')}>
      <Autocomplete.Root
        items={guesses}
        filter={null}
        itemToStringValue={({ words }: Guess) => words}
        value={filters.q}
        onValueChange={onChange}
      >
        <Autocomplete.Input
          id={id}
          type="search"
          className="input"
          placeholder={t('Name, identifier, category or a value')}
          onFocus={() => setFocused(true)}
        />
        {guesses.length > 0 && (
          <Suggestions empty="">
            {(guess: Guess) => (
              <Autocomplete.Item
                key={guess.href}
                value={guess}
                className="menu-item"
                render={<a href={guess.href} tabIndex={-1} />}
              >
                <span className="cut">{guess.words}</span>
                <span className="soft small nowrap">{guess.about}</span>
              </Autocomplete.Item>
            )}
          </Suggestions>
        )}
      </Autocomplete.Root>
    </FieldFrame>
  );
}

function useGuesses(filters: ProductFilters, isFocused: boolean): readonly Guess[] {
  const { id } = useProject();
  const q = useSettled(filters.q.trim(), REST_MS);
  const isTyped = isFocused && q !== '';
  const { categories } = useCategories(isTyped);
  const { data: facets } = useFacets(filters, isTyped);
  const { data: products = [] } = useFoundProducts(id, {
    words: filters.q,
    limit: MOST_PRODUCTS,
    isEnabled: isTyped,
  });
  if (!isTyped) return [];
  const has = (text: string) => text.toLowerCase().includes(q.toLowerCase());
  const here = projectLink('products');
  const goTo = (changed: Partial<ProductFilters>) =>
    linkWith(here, { ...filters, ...withFilters(changed), q: '' });
  const chosen = readChosen(filters.where);
  const values = (facets?.facets ?? []).flatMap(({ attribute, values: list }) =>
    list
      .filter(({ value }) => has(value) && !findValues(chosen, attribute).includes(value))
      .map(({ value }) => ({ attribute, value })),
  );
  return [
    ...categories
      .filter(has)
      .slice(0, MOST_OTHERS)
      .map((category) => ({ words: category, about: t('Category'), href: goTo({ category }) })),
    ...values.slice(0, MOST_OTHERS).map(({ attribute, value }) => ({
      words: value,
      about: attribute,
      href: goTo({ where: writeChosen(toggle(chosen, attribute, value)) }),
    })),
    ...products.map(({ identifier, name }) => ({
      words: name,
      about: identifier,
      href: projectLink('products', identifier),
    })),
    ...(/\s/.test(q) ? [] : [{ words: q, about: t('Identifier begins with'), href: goTo({ prefix: q }) }]),
  ];
}
