import type { ProductSearchLine, TableProduct } from '@relata/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote } from '../../parts/page.tsx';
import { Meter } from '../../parts/show.tsx';
import { readPath } from '../../rules/category-path.ts';
import { formatCount } from '../../rules/format.ts';
import { useProject } from '../../state/project.ts';
import { useRelata } from '../../state/session.tsx';
import { ProductGrid } from '../grid/product-grid.tsx';
import { type ProductRow, toRow } from '../grid/product-rows.ts';
import { type ProductFilters, readAttribute } from './product-filters.ts';

/** So many hits are enough to see that the filter is too wide; then the search waits to be sent on. */
const MOST_HITS = 1_000;
/** Pictures a second: hits arrive by the thousand. */
const DRAW_MS = 150;
/** While somebody types, no search is worth beginning. */
const REST_MS = 300;

interface Scan {
  readonly rows: readonly ProductRow[];
  readonly scanned: number;
  readonly of: number;
  readonly state: 'running' | 'ended' | 'stopped';
  /** Where a search with enough hits goes on. */
  readonly next: string | undefined;
}

const BEGIN: Scan = { rows: [], scanned: 0, of: 0, state: 'running', next: undefined };

/** By name or attribute there is no index: the service reads the catalog, and hits appear as it finds them. */
export function ProductScan({ filters }: { filters: ProductFilters }) {
  const { scan, error, stop, goOn } = useScan(filters);
  const getRow = useCallback((index: number) => scan.rows[index], [scan.rows]);
  const isRunning = scan.state === 'running';
  return (
    <>
      <div className="card-body">
        <div className="row spread" role="status">
          <span>
            {t('{found} found, {scanned} of {all} looked at', {
              found: formatCount(scan.rows.length),
              scanned: formatCount(scan.scanned),
              all: formatCount(scan.of),
            })}
            {scan.state === 'stopped' && (scan.next ? t(', more may follow') : t(', stopped'))}
          </span>
          {isRunning && <Button onClick={stop}>{t('Stop')}</Button>}
          {scan.next && !isRunning && <Button onClick={goOn}>{t('Continue the search')}</Button>}
        </div>
        <Meter share={scan.of > 0 ? scan.scanned / scan.of : 0} label={t('Scanned')} />
        <ErrorNote error={error} />
      </div>
      <ProductGrid label={t('Products found')} count={scan.rows.length} getRow={getRow} onNearEnd={nothing} />
    </>
  );
}

const nothing = () => undefined;

function useScan({ prefix, category, name, attribute }: ProductFilters) {
  const relata = useRelata();
  const { id } = useProject();
  const [scan, setScan] = useState(BEGIN);
  const [error, setError] = useState<unknown>();
  // What the search goes on from; the beginning at first.
  const [before, setBefore] = useState(BEGIN);
  const running = useRef<AbortController>(undefined);

  useEffect(() => {
    const controller = new AbortController();
    running.current = controller;
    const found = createFound(before);
    const draw = (state: Scan['state']) => setScan(found.read(state));
    draw('running');
    const drawing = setInterval(() => draw('running'), DRAW_MS);
    const lines = relata.products.searchTable(id, {
      identifierPrefix: prefix || undefined,
      category: readPath(category),
      name: name || undefined,
      attribute: readAttribute(attribute),
      limit: MOST_HITS,
      cursor: before.next,
      signal: controller.signal,
    });
    const begin = setTimeout(
      () => {
        found
          .collect(lines)
          .then(draw, (reason: unknown) => {
            draw('stopped');
            if (!controller.signal.aborted) setError(reason);
          })
          .finally(() => clearInterval(drawing));
      },
      before === BEGIN ? REST_MS : 0,
    );
    return () => {
      clearTimeout(begin);
      clearInterval(drawing);
      controller.abort();
    };
  }, [relata, id, prefix, category, name, attribute, before]);

  return { scan, error, stop: () => running.current?.abort(), goOn: () => setBefore(scan) };
}

/** The hits so far, behind those of an earlier part of the same search. */
function createFound(before: Scan) {
  const rows = before.rows.slice();
  let { scanned, of } = before;
  let next: string | undefined;
  const note = (line: { scanned: number; of: number; nextCursor?: string | null }) => {
    scanned = before.scanned + line.scanned;
    of = before.scanned + line.of;
    next = line.nextCursor ?? undefined;
  };
  return {
    read: (state: Scan['state']): Scan => ({ rows: rows.slice(), scanned, of, state, next }),
    /** @returns how it ended: at the end of the catalog, or with enough hits */
    async collect(lines: AsyncIterable<ProductSearchLine<TableProduct>>): Promise<Scan['state']> {
      for await (const line of lines) {
        if ('product' in line) rows.push(toRow(line.product));
        else note(line);
      }
      return next === undefined ? 'ended' : 'stopped';
    },
  };
}
