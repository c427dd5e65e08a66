import { t } from '../../languages/text.ts';
import { Icon } from '../../parts/icon.tsx';
import { readPath } from '../../rules/category-path.ts';
import { readChosen, sayChosen, without, writeChosen } from '../../rules/chosen-facets.ts';
import { sayValue } from '../../rules/measures.ts';
import { useAttributes } from '../../state/definitions.ts';
import type { ProductFilters } from './product-filters.ts';

type Changed = Partial<ProductFilters>;

/** What the products are narrowed by beside words; each can be taken off. */
export function FilterChips({
  filters: { where, category, prefix },
  onChange,
}: {
  filters: ProductFilters;
  onChange(changed: Changed): void;
}) {
  const attributes = useAttributes();
  const chosen = readChosen(where);
  const chips: (readonly [words: string, off: Changed])[] = chosen.map((one) => {
    const { type = 'TEXT_ATTRIBUTE', unitName } = attributes.find(({ name }) => name === one.attribute) ?? {};
    const said =
      'in' in one ? { ...one, in: one.in.map((value) => sayValue({ value, fact: { type } })) } : one;
    return [
      sayChosen(said, 'between' in one ? unitName : ''),
      { where: writeChosen(without(chosen, one.attribute)) },
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
