import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, CopyButton, IconButton } from '../parts/button.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { CategoryField } from '../parts/forms/suggest-field.tsx';
import { Card, Dialog, Page } from '../parts/page.tsx';
import { readViews, type SavedView, withoutView, withView } from '../rules/saved-views.ts';
import { handleSubmit } from '../state/forms.ts';
import { viewsOf } from '../state/language.ts';
import { useProject, useRights } from '../state/rights.ts';
import { linkWith, projectLink, useFilters } from '../state/route.ts';
import { useSettled } from '../state/timing.ts';
import { BulkActions, ExportButton } from './bulk/bulk-actions.tsx';
import { FilterChips, ProductFacets, ProductFinder } from './finding/product-facets.tsx';
import {
  EARLIER_FILTERS,
  isSearch,
  NO_FILTERS,
  PRODUCT_FILTERS,
  type ProductFilters,
  renewFilters,
  VIEW_PARTS,
  withFilters,
} from './finding/product-filters.ts';
import { ProductHits, ProductTable } from './finding/product-table.tsx';
import { type Column, writeColumns } from './grid/columns.ts';
import {
  ColumnChooser,
  createSelection,
  SelectionContext,
  storeColumns,
  useColumns,
} from './grid/product-grid.tsx';

const REST_MS = 150;

/** The catalog. The filters are part of the address, so that a view can be sent as a link. */
export function Products() {
  const { filters, change, step, dropColumns } = useViewFilters();
  const { canChange } = useRights();
  const [selection] = useState(createSelection);
  const applied = useApplied(filters);
  const [isOpen, setOpen] = useFacetsOpen(applied);
  const canNarrow = applied.prefix === '';
  const hasFacets = isOpen && canNarrow;
  return (
    <SelectionContext value={canChange ? selection : undefined}>
      <Page
        title={t('Products')}
        actions={<ListActions filters={filters} onSort={(sort) => step({ sort })} onColumns={dropColumns} />}
      >
        {/* biome-ignore lint/a11y/useSemanticElements: not every screen reader supports <search> yet */}
        <div role="search">
          <ProductFinder filters={filters} onChange={(q) => change({ q })} />
        </div>
        <div className="row">
          <Button aria-expanded={hasFacets} disabled={!canNarrow} onClick={() => setOpen(!isOpen)}>
            {t('Filters')}
          </Button>
          <FilterChips filters={filters} onChange={step} />
          {PRODUCT_FILTERS.some((name) => filters[name] !== '') && (
            <Button look="quiet" onClick={() => step(NO_FILTERS)}>
              {t('Clear')}
            </Button>
          )}
        </div>
        <div className={hasFacets ? 'faceted' : undefined}>
          {hasFacets && (
            <Card title={t('Narrow by')}>
              <CategoryField value={filters.category} onChange={(category) => change({ category })} />
              <ProductFacets filters={filters} onChange={step} />
            </Card>
          )}
          <Card isBare>
            {isSearch(applied) ? <ProductHits filters={applied} /> : <ProductTable prefix={applied.prefix} />}
          </Card>
        </div>
      </Page>
    </SelectionContext>
  );
}

/** @returns the filters of the address. `change` is for typing. `step` is for a click and adds a history entry. */
function useViewFilters() {
  const [filters, changeSome, stepSome] = useFilters([...VIEW_PARTS, ...EARLIER_FILTERS]);
  const renewed = renewFilters(filters);
  useEffect(() => {
    if (renewed) stepSome(renewed);
  });
  return {
    filters,
    change: (changed: Partial<ProductFilters>) => changeSome(withFilters(changed)),
    step: (changed: Partial<ProductFilters>) => stepSome(withFilters(changed)),
    /** Returns to the columns that this browser keeps. */
    dropColumns: () => filters.columns !== '' && stepSome({ columns: '' }),
  };
}

/**
 * Typing has priority. The table updates when the browser has time, and a search starts when the user pauses.
 */
function useApplied(filters: ProductFilters): ProductFilters {
  const deferred = useDeferredValue(filters);
  const q = useSettled(filters.q, REST_MS);
  return useMemo(() => ({ ...deferred, q: deferred.q && q }), [deferred, q]);
}

interface ListActionsShape {
  filters: ProductFilters;
  onSort(sort: string): void;
  /** Called when the user has chosen columns, which this browser stores. */
  onColumns(): void;
}

function ListActions({ filters, onSort, onColumns }: ListActionsShape) {
  const project = useProject();
  const { canChange } = useRights();
  const chooseColumns = (columns: readonly Column[]) => {
    storeColumns(project.id, columns);
    onColumns();
  };
  return (
    <>
      {canChange && <BulkActions filters={filters} />}
      <ExportButton filters={filters} />
      <ViewList filters={filters} />
      <ColumnChooser sort={filters.sort} onSort={onSort} onChange={chooseColumns} />
    </>
  );
}

const STORED = 'relata-facets';

/** Opens beside the list during a search, if there is room, unless the user has chosen otherwise. */
function useFacetsOpen({ q, where, category }: ProductFilters) {
  const [chosen, setChosen] = useState<boolean>();
  const isWide = matchMedia('(min-width: 64rem)').matches;
  const stored = localStorage.getItem(STORED);
  const before = stored === null ? `${q}${where}${category}` !== '' : stored === 'open';
  const setOpen = (isOpen: boolean) => {
    setChosen(isOpen);
    if (isWide) localStorage.setItem(STORED, isOpen ? 'open' : 'closed');
  };
  return [chosen ?? (isWide && before), setOpen] as const;
}

/** Named views, kept by this browser, and a link that shows the current one to others. */
export function ViewList({ filters }: { filters: ProductFilters }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Views')}</Button>
      <Dialog title={t('Saved views')} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Views filters={filters} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Views({ filters, onClose }: { filters: ProductFilters; onClose(): void }) {
  const { id } = useProject();
  const columns = useColumns();
  const key = viewsOf(id);
  const [views, setViews] = useState(() => readViews(localStorage.getItem(key)));
  const [name, setName] = useState('');
  const list = projectLink('products');
  const link = linkWith(list, { ...filters, columns: writeColumns(columns) });
  // Another tab may have saved a view since.
  const keep = (change: (stored: readonly SavedView[]) => readonly SavedView[]) => {
    const next = change(readViews(localStorage.getItem(key)));
    localStorage.setItem(key, JSON.stringify(next));
    setViews(next);
  };
  const save = handleSubmit(() => {
    const view = { name: name.trim(), query: link.slice(list.length + 1) };
    keep((stored) => withView(stored, view));
    setName('');
  });
  return (
    <div className="stack wide">
      <form className="name-and-save" onSubmit={save}>
        <TextField label={t('Name of the current view')} value={name} maxLength={100} onChange={setName} />
        <Button type="submit" disabled={name.trim() === ''}>
          {t('Save')}
        </Button>
      </form>
      {views.length > 0 && (
        <ul className="column-list">
          {views.map((view) => (
            <li key={view.name}>
              <a className="cut" href={`${list}?${view.query}`} onClick={onClose}>
                {view.name}
              </a>
              <IconButton
                icon="cross"
                label={t('Remove {name}', { name: view.name })}
                onClick={() => keep((stored) => withoutView(stored, view.name))}
              />
            </li>
          ))}
        </ul>
      )}
      <p className="soft small">
        {t(
          'Views are kept in this browser. A link to a view contains its filters, columns and order, so everyone who opens it sees the same view.',
        )}
      </p>
      <div className="row">
        <CopyButton
          text={location.href.split('#')[0] + link}
          label={t('Copy the link to this view')}
          words={t('Copy the link to this view')}
        />
      </div>
    </div>
  );
}
