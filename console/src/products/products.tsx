import { useDeferredValue } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { CategoryField } from '../parts/forms/category-field.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Card, Page } from '../parts/page.tsx';
import { useProject } from '../state/project.ts';
import { linkTo, useFilters } from '../state/route.ts';
import { PRODUCT_FILTERS, type ProductFilters, readAttribute } from './product-filters.ts';
import { ProductScan } from './product-scan.tsx';
import { ProductTable } from './product-table.tsx';

/** The catalog. The filters stand in the address, so that a view can be sent to somebody. */
export function Products() {
  const project = useProject();
  const [filters, change] = useFilters(PRODUCT_FILTERS);
  // Typing goes first; the table follows when there is time.
  const applied = useDeferredValue(filters);
  const isScan = applied.name !== '' || readAttribute(applied.attribute) !== undefined;
  const hasFilters = PRODUCT_FILTERS.some((name) => filters[name] !== '');
  return (
    <Page title={t('Products')} crumbs={[[project.name, linkTo('projects', project.id)]]}>
      {/* biome-ignore lint/a11y/useSemanticElements: <search> is not known to every reader yet */}
      <div className="filters" role="search">
        <FilterField label={t('Identifier begins with')} name="prefix" filters={filters} onChange={change} />
        <CategoryField value={filters.category} onChange={(category) => change({ category })} />
        <FilterField label={t('Name contains')} name="name" filters={filters} onChange={change} />
        <FilterField
          label={t('Attribute')}
          name="attribute"
          filters={filters}
          onChange={change}
          placeholder={t('Colour: red')}
        />
        {hasFilters && (
          <Button look="quiet" onClick={() => change({ prefix: '', category: '', name: '', attribute: '' })}>
            {t('Clear')}
          </Button>
        )}
      </div>
      <Card isBare>
        {isScan ? (
          <ProductScan key={JSON.stringify(applied)} filters={applied} />
        ) : (
          <ProductTable filters={applied} />
        )}
      </Card>
    </Page>
  );
}

function FilterField({
  label,
  name,
  filters,
  onChange,
  placeholder,
}: {
  label: string;
  name: keyof ProductFilters;
  filters: ProductFilters;
  placeholder?: string;
  onChange(changed: Partial<ProductFilters>): void;
}) {
  return (
    <TextField
      label={label}
      type="search"
      value={filters[name]}
      placeholder={placeholder}
      onChange={(event) => onChange({ [name]: event.target.value })}
    />
  );
}
