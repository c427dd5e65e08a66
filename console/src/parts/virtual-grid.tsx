import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';

/** The next page is requested this many rows before the end of those loaded. */
const NEAR_ROWS = 60;

interface Column {
  readonly words: string;
  readonly isWideOnly?: boolean;
}

interface Grid<Row> {
  label: string;
  /** The value of grid-template-columns. */
  template: string;
  columns: readonly Column[];
  count: number;
  /** In pixels, as in the styles. */
  rowHeight: number;
  getRow(index: number): Row | undefined;
  /** One cell for each column, in order; must not change between renders. */
  renderCells(row: Row): ReactNode;
  onOpen(row: Row): void;
  onMark?: ((row: Row) => void) | undefined;
  onNearEnd(): void;
}

/**
 * A table of any length: rows share one height, and only visible ones exist. Arrow keys move, Enter opens.
 */
export function VirtualGrid<Row>(grid: Grid<Row>) {
  const { label, template, columns, count, getRow, renderCells, onOpen } = grid;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVisibleRows(grid, scroller);
  const { active, onKeyDown } = useActiveRow(grid, scroller, rows.scrollToIndex);
  const open = useCallback(
    (index: number) => {
      const row = getRow(index);
      if (row !== undefined) onOpen(row);
    },
    [getRow, onOpen],
  );
  return (
    <div
      className="grid"
      role="presentation"
      ref={(element) => void element?.style.setProperty('--columns', template)}
    >
      <GridHead columns={columns} />
      <div
        ref={scroller}
        className="grid-scroll"
        role="grid"
        tabIndex={0}
        aria-label={label}
        aria-rowcount={count}
        aria-colcount={columns.length}
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div className="grid-body" role="rowgroup" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => (
            <GridRow
              key={index}
              id={`${id}-${index}`}
              index={index}
              start={start}
              isActive={index === active}
              row={getRow(index)}
              renderCells={renderCells as (row: unknown) => ReactNode}
              onOpen={open}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

type Scroller = RefObject<HTMLDivElement | null>;

/** Asks for the next page when the end of the loaded rows is near. */
function useVisibleRows<Row>({ count, rowHeight, onNearEnd }: Grid<Row>, scroller: Scroller) {
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    useFlushSync: false,
  });
  const last = rows.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= count - NEAR_ROWS) onNearEnd();
  }, [last, count, onNearEnd]);
  return rows;
}

/** @returns the row that the keys act on, and their handler */
function useActiveRow<Row>(
  { count, rowHeight, getRow, onOpen, onMark }: Grid<Row>,
  scroller: Scroller,
  scrollToRow: (index: number) => void,
) {
  const [active, setActive] = useState(-1);
  const onKeyDown = (event: KeyboardEvent) => {
    const act = findAct(event, { onOpen, onMark });
    const row = act && getRow(active);
    if (act && row !== undefined) {
      event.preventDefault();
      return act(row);
    }
    const page = Math.floor((scroller.current?.clientHeight ?? 400) / rowHeight) - 1;
    const next = moveActive(event.key, { active, page, count });
    if (next === undefined) return;
    event.preventDefault();
    setActive(next);
    scrollToRow(next);
  };
  return { active, onKeyDown };
}

const GridHead = ({ columns }: { columns: readonly Column[] }) => (
  <div className="grid-head" aria-hidden="true">
    {columns.map(({ words, isWideOnly }, index) => (
      <span key={`${index} ${words}`} className={isWideOnly ? 'wide-only' : undefined}>
        {words}
      </span>
    ))}
  </div>
);

interface GridRowShape {
  id: string;
  index: number;
  start: number;
  isActive: boolean;
  row: unknown;
  renderCells(row: unknown): ReactNode;
  onOpen(index: number): void;
}

/** Redrawn only when it changes, so that scrolling draws only the rows that appear. */
const GridRow = memo(function GridRow({
  id,
  index,
  start,
  isActive,
  row,
  renderCells,
  onOpen,
}: GridRowShape) {
  const open = (event: MouseEvent) => {
    // A link within the row opens by itself, also in another tab; a checkbox is ticked.
    if (!(event.target instanceof Element && event.target.closest('a, input'))) onOpen(index);
  };
  return (
    <div
      id={id}
      className="grid-row"
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isActive}
      style={{ transform: `translateY(${start}px)` }}
      onClick={open}
    >
      {row === undefined ? <span role="gridcell">…</span> : renderCells(row)}
    </div>
  );
});

type Acts<Row> = Pick<Grid<Row>, 'onOpen' | 'onMark'>;

/** @returns the action of a key on the active row; elements within a row handle their own keys */
function findAct<Row>({ key, target, currentTarget }: KeyboardEvent, acts: Acts<Row>) {
  if (key === 'Enter') return acts.onOpen;
  return key === ' ' && target === currentTarget ? acts.onMark : undefined;
}

function moveActive(
  key: string,
  { active, page, count }: { active: number; page: number; count: number },
): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  const next = steps[key];
  return next === undefined || count === 0 ? undefined : Math.min(Math.max(next, 0), count - 1);
}
