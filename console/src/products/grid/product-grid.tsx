import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { SelectField, TextField } from '../../parts/forms/field.tsx';
import { Dialog } from '../../parts/page.tsx';
import { Ago, Thumb } from '../../parts/show.tsx';
import { VirtualGrid } from '../../parts/virtual-grid.tsx';
import { useAttributes, useLookedUp } from '../../state/catalog.ts';
import { columnsOf, useLanguage } from '../../state/language.ts';
import { useProject } from '../../state/rights.ts';
import { goTo, projectLink, useRoute } from '../../state/route.ts';
import { createShared } from '../../state/shared.ts';
import {
  attributeOf,
  type Column,
  columnOf,
  listOwn,
  MOST_COLUMNS,
  nameColumn,
  readColumns,
  writeColumns,
} from './columns.ts';
import { type ProductRow, toValues, type Values } from './product-rows.ts';

const WIDTHS: Readonly<Record<Column, string>> = {
  category: 'minmax(0, 1.6fr)',
  group: 'minmax(0, 0.9fr)',
  changed: '7rem',
};
const WIDE = 'minmax(0, 3.4fr)';
const NARROW = 'minmax(0, 2.4fr)';
/** As in tables.css: on a phone, a name takes two lines. */
const ROW_HEIGHTS = { wide: 44, narrow: 64 };

/** A phone has room for only one more column. */
const isWideOnly = (columns: readonly Column[], column: Column) =>
  column !== columns.find((candidate) => attributeOf(candidate) !== undefined);

interface ProductGridShape {
  label: string;
  count: number;
  getRow(index: number): ProductRow | undefined;
  onNearEnd(): void;
}

export function ProductGrid({ label, count, getRow, onNearEnd }: ProductGridShape) {
  const project = useProject();
  const language = useLanguage();
  const columns = useColumns();
  const selection = useSelection();
  const isNarrow = matchMedia('(max-width: 52rem)').matches;
  const linkOf = useCallback(
    ({ identifier }: ProductRow) => projectLink('products', identifier),
    [project.id],
  );
  const open = useCallback((row: ProductRow) => goTo(linkOf(row)), [linkOf]);
  const renderCells = useCallback(
    (row: ProductRow) => <Cells row={row} href={linkOf(row)} columns={columns} />,
    // Cells contain dates in the language of their creation, so a change of language creates them again.
    [linkOf, columns, language],
  );
  const template = useMemo(() => {
    const first = selection ? '1.125rem 1.75rem' : '1.75rem';
    if (!isNarrow)
      return [first, WIDE, ...columns.map((column) => WIDTHS[column] ?? 'minmax(0, 1.2fr)')].join(' ');
    const hasOne = columns.some((column) => !isWideOnly(columns, column));
    return `${first} ${NARROW} ${hasOne ? 'minmax(0, 0.9fr)' : ''}`;
  }, [isNarrow, columns, selection]);
  const mark = useCallback(({ identifier }: ProductRow) => selection?.toggle(identifier), [selection]);
  return (
    <VirtualGrid
      label={label}
      template={template}
      columns={[
        ...(selection ? [{ words: '' }] : []),
        { words: '' },
        { words: t('Product') },
        ...columns.map((column) => ({ words: nameColumn(column), isWideOnly: isWideOnly(columns, column) })),
      ]}
      count={count}
      rowHeight={isNarrow ? ROW_HEIGHTS.narrow : ROW_HEIGHTS.wide}
      getRow={getRow}
      renderCells={renderCells}
      onOpen={open}
      onMark={selection && mark}
      onNearEnd={onNearEnd}
    />
  );
}

/** The cells of a row; attribute values follow once the row is in sight. */
function Cells({ row, href, columns }: { row: ProductRow; href: string; columns: readonly Column[] }) {
  const values = useValues(
    row,
    columns.some((column) => attributeOf(column) !== undefined),
  );
  return (
    <>
      <Tick identifier={row.identifier} />
      <span role="gridcell">
        <Thumb url={row.image} />
      </span>
      <span role="gridcell" title={row.name}>
        <a className="named" href={href} tabIndex={-1}>
          <span>{row.name}</span> <span className="mono soft cut">{row.identifier}</span>
        </a>
      </span>
      {columns.map((column) => (
        <Cell key={column} isWideOnly={isWideOnly(columns, column)} {...showCell(row, column, values)} />
      ))}
    </>
  );
}

function Tick({ identifier }: Pick<ProductRow, 'identifier'>) {
  const selection = useSelection();
  const isChosen = useIsChosen(identifier);
  if (selection === undefined) return null;
  return (
    <span role="gridcell">
      <input
        type="checkbox"
        className="tick"
        aria-label={t('Choose {identifier}', { identifier })}
        tabIndex={-1}
        checked={isChosen}
        onChange={() => selection.toggle(identifier)}
      />
    </span>
  );
}

interface Shown {
  readonly text?: string;
  readonly content: ReactNode;
  readonly look?: string;
}

function showCell(row: ProductRow, column: Column, values: Values | undefined): Shown {
  if (column === 'changed') return { content: <Ago instant={row.lastUpdateTs} />, look: 'soft' };
  if (column === 'category') return { text: row.category, content: row.category, look: 'soft' };
  if (column === 'group') return { content: row.group, look: 'mono soft' };
  if (values === undefined) return { content: '…', look: 'soft' };
  const text = values[attributeOf(column) ?? ''] ?? '';
  return { text, content: text };
}

const Cell = ({ isWideOnly, text, content, look = '' }: Shown & { isWideOnly: boolean }) => (
  <span
    role="gridcell"
    className={`cut ${look} ${isWideOnly ? 'wide-only' : ''}`}
    {...(text && { title: text })}
  >
    {content}
  </span>
);

const NONE = toValues({ facts: [] });

/** The values of a visible row. Nothing is prefetched, so the length of the list does not matter. */
export function useValues({ identifier, lastUpdateTs }: ProductRow, isEnabled: boolean): Values | undefined {
  const product = useLookedUp(identifier, { version: lastUpdateTs, isEnabled });
  return useMemo(() => (product === null ? NONE : product && toValues(product)), [product]);
}

/** The most products that one commit deletes, so that they can be restored (docs/interface §4.6). */
export const MOST_CHOSEN = 10_000;

/** The ticked products, by identifier, whether or not their rows are in sight. */
export type Selection = ReturnType<typeof createSelection>;

export function createSelection() {
  const chosen = createShared<ReadonlySet<string>>(new Set());
  return {
    useRead: chosen.useRead,
    clear: () => chosen.set(new Set()),
    toggle(identifier: string) {
      const next = new Set(chosen.get());
      if (!next.delete(identifier) && next.size < MOST_CHOSEN) next.add(identifier);
      chosen.set(next);
    },
  };
}

const NOTHING = createSelection();

/** Undefined if a table has no actions on its products. */
export const SelectionContext = createContext<Selection | undefined>(undefined);

export const useSelection = (): Selection | undefined => useContext(SelectionContext);

const useIsChosen = (identifier: string): boolean =>
  (useSelection() ?? NOTHING).useRead((chosen) => chosen.has(identifier));

export const useChosen = (): ReadonlySet<string> => (useSelection() ?? NOTHING).useRead((chosen) => chosen);

/** The number of attributes that a user can look through. The filter finds the others. */
const SHOWN_COLUMNS = 16;

interface ColumnsShape {
  sort: string;
  onSort(sort: string): void;
  onChange(columns: readonly Column[]): void;
}

/** Chooses the table's columns, their order, and the order of the products. */
export function ColumnChooser(props: ColumnsShape) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Columns')}</Button>
      <Dialog title={t('Columns and order')} isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="stack wide">
          <OrderField {...props} />
          <ShownColumns onChange={props.onChange} />
          <OtherColumns onChange={props.onChange} />
        </div>
      </Dialog>
    </>
  );
}

function OrderField({ sort, onSort }: ColumnsShape) {
  const columns = useColumns();
  const sorted = sort.replace(/:desc$/, '');
  const names = new Set([
    ...columns.flatMap((column) => attributeOf(column) ?? []),
    ...(sorted ? [sorted] : []),
  ]);
  return (
    <SelectField
      label={t('Order of products')}
      hint={t('By any attribute that is a column; up to 100,000 products found can be put in order.')}
      choices={[
        ['', t('as listed, best hits first')],
        ...[...names].flatMap((name) => [
          [name, t('{name}, smallest first', { name })] as const,
          [`${name}:desc`, t('{name}, largest first', { name })] as const,
        ]),
      ]}
      value={sort}
      onChange={onSort}
    />
  );
}

function ShownColumns({ onChange }: Pick<ColumnsShape, 'onChange'>) {
  const columns = useColumns();
  return (
    <fieldset>
      <legend className="label">{t('In addition to identifier and name')}</legend>
      <ol className="column-list">
        {columns.map((column, index) => (
          <li key={column}>
            <span className="cut">{nameColumn(column)}</span>
            <IconButton
              icon="up"
              label={t('Move {name} up', { name: nameColumn(column) })}
              disabled={index === 0}
              onClick={() =>
                onChange(columns.with(index - 1, column).with(index, columns[index - 1] ?? column))
              }
            />
            <IconButton
              icon="cross"
              label={t('Remove {name}', { name: nameColumn(column) })}
              onClick={() => onChange(columns.toSpliced(index, 1))}
            />
          </li>
        ))}
      </ol>
      {columns.length === 0 && <p className="soft small">{t('No other columns')}</p>}
    </fieldset>
  );
}

function OtherColumns({ onChange }: Pick<ColumnsShape, 'onChange'>) {
  const columns = useColumns();
  const attributes = useAttributes();
  const [text, setText] = useState('');
  const all = [...listOwn(), ...attributes.map(({ name }) => columnOf(name))];
  const others = all.filter(
    (column) => !columns.includes(column) && nameColumn(column).toLowerCase().includes(text.toLowerCase()),
  );
  const isFull = columns.length >= MOST_COLUMNS;
  return (
    <fieldset>
      <legend className="label">{t('Add a column')}</legend>
      <div className="stack">
        <TextField
          label={t('Attribute contains')}
          isQuiet
          placeholder={t('Attribute contains')}
          type="search"
          value={text}
          onChange={setText}
        />
        {isFull && (
          <p className="soft small">
            {t('No more than {count, number} columns fit.', { count: MOST_COLUMNS })}
          </p>
        )}
        <div className="row">
          {others.slice(0, SHOWN_COLUMNS).map((column) => (
            <Button key={column} icon="plus" disabled={isFull} onClick={() => onChange([...columns, column])}>
              {nameColumn(column)}
            </Button>
          ))}
        </div>
        {others.length > SHOWN_COLUMNS && (
          <p className="soft small">
            {t('These are the first {count, number}. Use the filter to find the others.', {
              count: SHOWN_COLUMNS,
            })}
          </p>
        )}
      </div>
    </fieldset>
  );
}

const storedColumns = createShared((projectId: number) => localStorage.getItem(columnsOf(projectId)) ?? '');

/** Stores the columns in this browser, for each project. */
export function storeColumns(projectId: number, columns: readonly Column[]): void {
  localStorage.setItem(columnsOf(projectId), writeColumns(columns));
  storedColumns.set(storedColumns.get());
}

/** The columns in the address, as in a saved view, or else the columns that the user chose last. */
export function useColumns(): readonly Column[] {
  const { query } = useRoute();
  const { id } = useProject();
  const stored = storedColumns.useRead((read) => read(id));
  const text = query.get('columns') ?? stored;
  return useMemo(() => readColumns(text), [text]);
}
