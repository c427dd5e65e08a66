import type { ProductSearchLine } from '@relata/client';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { ErrorNote } from '../parts/page.tsx';
import { Meter } from '../parts/show.tsx';
import { formatCount } from '../state/format.ts';
import { type ProductFilters, readAttribute, readPath } from '../state/product-filters.ts';
import { type ProductRow, toRow } from '../state/product-rows.ts';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';
import { ProductGrid } from './product-table.tsx';

/** So many hits are enough to see that the filter is too wide. */
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
}

const BEGIN: Scan = { rows: [], scanned: 0, of: 0, state: 'running' };

/** By name or attribute there is no index: the service reads the catalog, and hits appear as it finds them. */
export function ProductScan({ filters }: { filters: ProductFilters }) {
  const { scan, error, stop } = useScan(filters);
  const getRow = useCallback((index: number) => scan.rows[index], [scan.rows]);
  const isRunning = scan.state === 'running';
  return (
    <>
      <div className="card-body">
        <div className="row spread" role="status">
          <span>
            {formatCount(scan.rows.length)} found, {formatCount(scan.scanned)} of {formatCount(scan.of)}{' '}
            looked at
            {scan.state === 'stopped' && ', stopped'}
          </span>
          {isRunning && <Button onClick={stop}>Stop</Button>}
        </div>
        <Meter share={scan.of > 0 ? scan.scanned / scan.of : 0} label="Looked at" />
        <ErrorNote error={error} />
      </div>
      <ProductGrid label="Products found" count={scan.rows.length} getRow={getRow} onNearEnd={nothing} />
    </>
  );
}

const nothing = () => undefined;

function useScan({ prefix, category, name, attribute }: ProductFilters) {
  const relata = useRelata();
  const { id } = useProject();
  const [scan, setScan] = useState(BEGIN);
  const [error, setError] = useState<unknown>();
  const running = useRef<AbortController>(undefined);

  useEffect(() => {
    const controller = new AbortController();
    running.current = controller;
    const found: Found = { rows: [], scanned: 0, of: 0 };
    const draw = (state: Scan['state']) => setScan({ ...found, rows: found.rows.slice(), state });
    const drawing = setInterval(() => draw('running'), DRAW_MS);
    const lines = relata.products.search(id, {
      identifierPrefix: prefix || undefined,
      category: readPath(category),
      name: name || undefined,
      attribute: readAttribute(attribute),
      limit: MOST_HITS,
      signal: controller.signal,
    });
    const begin = setTimeout(() => {
      collect(lines, found)
        .then(draw, (reason: unknown) => {
          draw('stopped');
          if (!controller.signal.aborted) setError(reason);
        })
        .finally(() => clearInterval(drawing));
    }, REST_MS);
    return () => {
      clearTimeout(begin);
      clearInterval(drawing);
      controller.abort();
    };
  }, [relata, id, prefix, category, name, attribute]);

  return { scan, error, stop: () => running.current?.abort() };
}

interface Found {
  readonly rows: ProductRow[];
  scanned: number;
  of: number;
}

/** @returns how it ended: at the end of the catalog, or with enough hits */
async function collect(lines: AsyncIterable<ProductSearchLine>, found: Found): Promise<Scan['state']> {
  for await (const line of lines) {
    if ('product' in line) found.rows.push(toRow(line.product));
    else if ('scanned' in line) Object.assign(found, line);
    else return line.nextCursor === null ? 'ended' : 'stopped';
    if (found.rows.length >= MOST_HITS) return 'stopped';
  }
  return 'ended';
}
