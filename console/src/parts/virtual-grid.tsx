import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
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
export function VirtualGrid<Row>({
  label,
  template,
  columns,
  count,
  rowHeight,
  getRow,
  renderCells,
  onOpen,
  onMark,
  onNearEnd,
}: Grid<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const [active, setActive] = useState(-1);
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    useFlushSync: false,
  });
  const seen = rows.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= count - NEAR_ROWS) onNearEnd();
  }, [last, count, onNearEnd]);

  const open = useCallback(
    (index: number) => {
      const row = getRow(index);
      if (row !== undefined) onOpen(row);
    },
    [getRow, onOpen],
  );
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
    rows.scrollToIndex(next);
  };
  return (
    <div
      className="grid"
      role="presentation"
      ref={(element) => void element?.style.setProperty('--columns', template)}
    >
      <div className="grid-head" aria-hidden="true">
        {columns.map(({ words, isWideOnly }, at) => (
          <span key={`${at} ${words}`} className={isWideOnly ? 'wide-only' : undefined}>
            {words}
          </span>
        ))}
      </div>
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
          {seen.map(({ index, start }) => (
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
