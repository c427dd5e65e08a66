import { Autocomplete } from '@base-ui/react/autocomplete';
import { useId, useState } from 'react';
import { t } from '../../languages/text.ts';
import { FieldFrame } from '../../parts/forms/field.tsx';
import { Suggestions } from '../../parts/forms/suggest-field.tsx';
import { findValues, readChosen, toggle, writeChosen } from '../../rules/chosen-facets.ts';
import { useSettled } from '../../state/act.ts';
import { useCategories, useFoundProducts } from '../../state/catalog.ts';
import { useProject } from '../../state/project.ts';
import { linkWith, projectLink } from '../../state/route.ts';
import { type ProductFilters, withFilters } from './product-filters.ts';
import { useFacets } from './product-table.tsx';

const REST_MS = 200;
const MOST_PRODUCTS = 6;
const MOST_OTHERS = 4;

/** Something that the words may mean: each has an address. */
interface Guess {
  readonly words: string;
  readonly about: string;
  readonly href: string;
}

/** The one field of the list: words to search for, and what they may mean, as a category, a value or an identifier. */
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
    ...{ words: filters.q, limit: MOST_PRODUCTS, isEnabled: isTyped },
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
      ...{ words: value, about: attribute },
      href: goTo({ where: writeChosen(toggle(chosen, attribute, value)) }),
    })),
    ...products.map(({ identifier, name }) => ({
      ...{ words: name, about: identifier },
      href: projectLink('products', identifier),
    })),
    ...(/\s/.test(q) ? [] : [{ words: q, about: t('Identifier begins with'), href: goTo({ prefix: q }) }]),
  ];
}
