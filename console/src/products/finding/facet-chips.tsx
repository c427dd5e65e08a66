import { t } from '../../languages/text.ts';
import { Icon } from '../../parts/icon.tsx';
import { readChosen, sayChosen, without, writeChosen } from '../../rules/chosen-facets.ts';
import { useAttributes } from '../../state/attributes.ts';
import type { ProductFilters } from './product-filters.ts';

/** What was chosen of the facets; each can be taken off. */
export function FacetChips({
  filters,
  onChange,
}: {
  filters: ProductFilters;
  onChange(changed: Partial<ProductFilters>): void;
}) {
  const attributes = useAttributes();
  const chosen = readChosen(filters.where);
  return chosen.map((one) => {
    const unit = 'between' in one && attributes.find(({ name }) => name === one.attribute)?.unitName;
    const words = sayChosen(one, unit || '');
    return (
      <button
        key={one.attribute}
        type="button"
        className="facet-chip"
        aria-label={t('Remove {words}', { words })}
        onClick={() => onChange({ where: writeChosen(without(chosen, one.attribute)) })}
      >
        {words}
        <Icon name="cross" size={12} />
      </button>
    );
  });
}
