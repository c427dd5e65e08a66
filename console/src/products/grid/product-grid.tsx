import { createContext, type ReactNode, useCallback, useContext, useMemo } from 'react';
import { t } from '../../languages/text.ts';
import { Ago, Thumb } from '../../parts/show.tsx';
import { VirtualGrid } from '../../parts/virtual-grid.tsx';
import { useLookedUp } from '../../state/catalog.ts';
import { useLanguage } from '../../state/language.ts';
import { goTo, projectLink } from '../../state/route.ts';
import { useProject } from '../../state/service.tsx';
import { createShared } from '../../state/shared.ts';
import { useColumns } from './column-chooser.tsx';
import { attributeOf, type Column, nameColumn } from './columns.ts';
import { type ProductRow, toValues, type Values } from './product-rows.ts';

const WIDTHS: Readonly<Record<Column, string>> = {
  category: 'minmax(0, 1.6fr)',
  group: 'minmax(0, 0.9fr)',
  changed: '7rem',
};
const WIDE = 'minmax(0, 3.4fr)';
const NARROW = 'minmax(0, 2.4fr)';
/** As in tables.css: on a phone a name has two lines. */
const ROW_HEIGHTS = { wide: 44, narrow: 64 };

/** On a phone there is room for one more. */
const isWideOnly = (columns: readonly Column[], column: Column) =>
  column !== columns.find((one) => attributeOf(one) !== undefined);

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
    // What it says of an instant is in the language that was chosen then.
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

/** Those of attributes follow when the row is in sight. */
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
  if (column === 'changed') return { content: <Ago at={row.lastUpdateTs} />, look: 'soft' };
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

/** The values of a row in sight; nothing is read ahead, so that the length of the list does not count. */
export function useValues({ identifier, lastUpdateTs }: ProductRow, isEnabled: boolean): Values | undefined {
  const product = useLookedUp(identifier, { version: lastUpdateTs, isEnabled });
  return useMemo(() => (product === null ? NONE : product && toValues(product)), [product]);
}

/** So many are deleted by one commit, which can be undone (docs/interface.md §4.6). */
export const MOST_CHOSEN = 10_000;

/** The ticked products, by identifier, whether their rows are in sight or not. */
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

/** Undefined where nothing can be done with the products of a table. */
export const SelectionContext = createContext<Selection | undefined>(undefined);

export const useSelection = (): Selection | undefined => useContext(SelectionContext);

const useIsChosen = (identifier: string): boolean =>
  (useSelection() ?? NOTHING).useRead((chosen) => chosen.has(identifier));

export const useChosen = (): ReadonlySet<string> => (useSelection() ?? NOTHING).useRead((chosen) => chosen);
