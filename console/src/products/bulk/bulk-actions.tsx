import type { Relata, UploadProduct } from '@relata/client';
import { useRef, useState } from 'react';
import { presentLanguage, t } from '../../languages/text.ts';
import { Button, Menu } from '../../parts/button.tsx';
import { SelectField } from '../../parts/forms/field.tsx';
import { Answer, DialogButton, FormDialog } from '../../parts/page.tsx';
import { ProductLinks, saveFile, saveTable } from '../../parts/show.tsx';
import { separatorOf, toCsvLine } from '../../rules/csv.ts';
import { readPages, useOfProject } from '../../state/answers.ts';
import { deleteProducts, makeIdempotencyKey, readWhole } from '../../state/catalog.ts';
import { tell } from '../../state/notices.ts';
import { useCalls } from '../../state/rights.ts';
import { goFromHere, projectLink } from '../../state/route.ts';
import { type ProductFilters, toListing, toQuestion } from '../finding/product-filters.ts';
import { attributeOf, type Column, nameColumn } from '../grid/columns.ts';
import { MOST_CHOSEN, useChosen, useColumns, useSelection } from '../grid/product-grid.tsx';
import { type ProductRow, toRow, toValues, type Values } from '../grid/product-rows.ts';

/** Actions on the ticked products, or on all that the filters find. */
export function BulkActions({ filters }: { filters: ProductFilters }) {
  const selection = useSelection();
  const count = useChosen().size;
  const [bulk, setBulk] = useState<Bulk>();
  const open = (act: Bulk['act'], isAll: boolean) => () => setBulk({ act, isAll });
  const chosen = [
    {
      words: t('Reprocess {count, plural, one {# chosen product} other {# chosen products}} …', { count }),
      onSelect: open('reprocess', false),
    },
    {
      words: t('Delete {count, plural, one {# chosen product} other {# chosen products}} …', { count }),
      isDanger: true,
      onSelect: open('delete', false),
    },
    { words: t('Clear the selection'), onSelect: () => selection?.clear() },
  ];
  return (
    <>
      <Menu
        label={t('Actions')}
        trigger={<Button>{count > 0 ? t('Actions ({count, number})', { count }) : t('Actions')}</Button>}
        entries={[
          ...(count > 0 ? chosen : []),
          { words: t('Reprocess all products found …'), onSelect: open('reprocess', true) },
          { words: t('Delete all products found …'), isDanger: true, onSelect: open('delete', true) },
        ]}
      />
      {bulk && <BulkDialog bulk={bulk} filters={filters} onClose={() => setBulk(undefined)} />}
    </>
  );
}

interface Bulk {
  readonly act: 'delete' | 'reprocess';
  readonly isAll: boolean;
}

/** Shows the affected products before the action, and sends exactly these products. */
function BulkDialog({ bulk, filters, onClose }: { bulk: Bulk; filters: ProductFilters; onClose(): void }) {
  const { act, isAll } = bulk;
  const chosen = useChosen();
  const products = useOfProject(
    ['to-be-done', isAll, filters],
    async (asking) => (isAll ? collect({ ...asking, filters }) : [...chosen]),
    // Exactly the products found when the dialog opened are confirmed.
    { gcTime: 0, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false },
  );
  const start = useStart(bulk);
  const identifiers = products.data ?? [];
  const fits = identifiers.length > 0 && identifiers.length <= MOST_CHOSEN;
  return (
    <FormDialog
      title={act === 'delete' ? t('Delete products') : t('Reprocess products')}
      action={act === 'delete' ? t('Delete') : t('Reprocess')}
      isDanger={act === 'delete'}
      canSubmit={fits}
      onClose={onClose}
      onSubmit={() => start(identifiers)}
    >
      <Answer of={products}>{(list) => <BulkEffect act={act} identifiers={list} />}</Answer>
    </FormDialog>
  );
}

/** @returns the identifiers, with at least one too many if the limit is exceeded */
async function collect(scope: ExportScope): Promise<readonly string[]> {
  const identifiers = new Set<string>();
  for await (const rows of listRows(scope)) {
    for (const { identifier } of rows) identifiers.add(identifier);
    if (identifiers.size > MOST_CHOSEN) break;
  }
  return [...identifiers];
}

function useStart({ act }: Bulk) {
  const { relata, projectId } = useCalls();
  const selection = useSelection();
  const [idempotencyKey] = useState(makeIdempotencyKey);
  return async (identifiers: readonly string[]) => {
    const count = identifiers.length;
    const go = goFromHere();
    if (act === 'reprocess') {
      const { task } = await relata.products.change(
        identifiers.map((identifier) => ({ identifier })),
        { projectId, idempotencyKey },
      );
      setTimeout(() => go(projectLink('updates', task.id)));
      return;
    }
    const undo = await deleteProducts(identifiers, { relata, projectId, idempotencyKey });
    selection?.clear();
    tell.undoable(
      t('{count, plural, one {# product is deleted} other {# products are deleted}}', { count }),
      async () => {
        await undo();
        tell.good(t('{count, plural, one {# product is back} other {# products are back}}', { count }));
      },
    );
  };
}

const EXAMPLES = 5;
/** Related products are counted only for up to this many products, because each product needs a request. */
const MOST_COUNTED = 20;

function BulkEffect({ act, identifiers }: Pick<Bulk, 'act'> & { identifiers: readonly string[] }) {
  const count = identifiers.length;
  if (count === 0) return <p>{t('The filters find no product.')}</p>;
  if (count > MOST_CHOSEN) {
    return (
      <p className="note warn">
        {t(
          'The filters find more than {most, number} products, the most that can be undone in one step. Narrow the filters, or send a full update.',
          { most: MOST_CHOSEN },
        )}
      </p>
    );
  }
  return (
    <>
      <p>
        <strong>
          {act === 'delete'
            ? t('{count, plural, one {# product is deleted:} other {# products are deleted:}}', { count })
            : t('{count, plural, one {# product is read again:} other {# products are read again:}}', {
                count,
              })}
        </strong>{' '}
        <ProductLinks identifiers={identifiers.slice(0, EXAMPLES)} hasMore={false} />
        {count > EXAMPLES && ` ${t('and {count, number} more', { count: count - EXAMPLES })}`}
      </p>
      {act === 'delete' ? (
        <>
          <Losses identifiers={identifiers} />
          <p className="soft">
            {t(
              'Shops, search and relations lose them immediately. Undo brings them back until the next full update or deletion.',
            )}
          </p>
        </>
      ) : (
        <p className="soft">
          {t(
            'Their values are read again with the current attributes. The uploaded data does not change. The report names each value that cannot be used.',
          )}
        </p>
      )}
    </>
  );
}

function Losses({ identifiers }: { identifiers: readonly string[] }) {
  const counted = identifiers.slice(0, MOST_COUNTED);
  const losses = useOfProject(['losses', counted], (asking) => countLosses({ ...asking, counted }), {
    gcTime: 0,
  });
  return (
    <Answer of={losses}>
      {(list) => (
        <div>
          {identifiers.length > counted.length && (
            <p>{t('Of the first {count, number} of them:', { count: counted.length })}</p>
          )}
          <ul className="bulleted">
            {list.map(({ relation, count }) => (
              <li key={relation.id}>
                <a href={projectLink('relations', relation.id)}>{relation.name}</a>:{' '}
                {t(
                  '{count, plural, one {# is a result of other products} other {# are results of other products}}',
                  { count },
                )}
              </li>
            ))}
            {list.length === 0 && <li>{t('They are not results of any relation.')}</li>}
          </ul>
        </div>
      )}
    </Answer>
  );
}

type Counted = Omit<ExportScope, 'filters'> & { readonly counted: readonly string[] };

async function countLosses({ relata, projectId, counted, signal }: Counted) {
  const counts = new Map<number, { relation: { id: number; name: string }; count: number }>();
  for (const identifier of counted) {
    const { relations } = await relata.products.relationsOf(projectId, identifier, { limit: 1, signal });
    for (const { id, name, asTarget } of relations) {
      if (!asTarget?.results.length) continue;
      counts.set(id, { relation: { id, name }, count: (counts.get(id)?.count ?? 0) + 1 });
    }
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** A file with more rows is not a usable table. `relata pull` and the API deliver the whole catalog. */
const MOST = 1_000_000;

type Format = 'csv' | 'ndjson';

/** Exports the products shown as a file: the columns of the table, or whole products. */
export function ExportButton({ filters }: { filters: ProductFilters }) {
  const { relata, project, projectId } = useCalls();
  const columns = useColumns();
  const running = useRef<AbortController>(undefined);
  const [format, setFormat] = useState<Format>('csv');
  const [written, setWritten] = useState<number>();
  const close = () => {
    running.current?.abort();
    setWritten(undefined);
  };
  const write = async () => {
    const controller = new AbortController();
    running.current = controller;
    const scope: ExportScope = { relata, projectId, filters, signal: controller.signal };
    const isTable = format === 'csv';
    const pieces = isTable ? writeTable(scope, columns) : writeProducts(scope);
    const file = await collectPieces(pieces, setWritten);
    const title = `${project.name} ${new Date().toISOString().slice(0, 10)}`;
    if (isTable) saveTable(`${title}.csv`, file.pieces);
    else saveFile(`${title}.ndjson`, file.pieces, 'application/x-ndjson');
    tell.good(
      t('{count, plural, one {# product exported} other {# products exported}}', { count: file.count }),
    );
  };
  // Closing the dialog aborts the export, which is not an error.
  const start = () =>
    write().catch((reason: unknown) => {
      if (!running.current?.signal.aborted) throw reason;
    });
  return (
    <DialogButton
      words={t('Export')}
      title={t('Export')}
      action={t('Write the file')}
      onClose={close}
      onSubmit={start}
    >
      <SelectField
        label={t('Content')}
        hint={t('All products that the filters find, up to {most, number}.', { most: MOST })}
        choices={[
          ['csv', t('the table with its columns, as CSV')],
          ['ndjson', t('whole products, as an upload takes them (NDJSON)')],
        ]}
        value={format}
        onChange={(next) => setFormat(next as Format)}
      />
      <p className="soft" role="status">
        {written !== undefined &&
          t('{count, plural, one {# product written} other {# products written}}', { count: written })}
      </p>
    </DialogButton>
  );
}

/** Collects the file in pieces, which the browser keeps outside of the page's memory. */
async function collectPieces(pieces: AsyncIterable<Piece>, onWritten: (count: number) => void) {
  const file = { pieces: [] as Blob[], count: 0 };
  for await (const { text, count } of pieces) {
    file.pieces.push(new Blob([text]));
    file.count += count;
    onWritten(file.count);
    if (file.count >= MOST) break;
  }
  return file;
}

/** The largest pages of the service, for a list and for a search. */
const LISTED = 1_000;
const FOUND = 100;
const NO_VALUES = toValues({ facts: [] });

export interface ExportScope {
  readonly relata: Relata;
  readonly projectId: number;
  readonly filters: ProductFilters;
  readonly signal: AbortSignal;
}

/** @yields the rows of all products that the filters find, page by page, in the order of the table */
export async function* listRows(scope: ExportScope): AsyncGenerator<readonly ProductRow[]> {
  const { relata, projectId, filters, signal } = scope;
  const question = { ...toQuestion(filters), limit: FOUND };
  const listing = { ...toListing(filters), limit: LISTED, signal };
  const read = (cursor: string | undefined): Promise<RowPage> =>
    filters.sort === ''
      ? relata.products.listTable(projectId, { ...listing, cursor })
      : relata.products.findManaged(projectId, { ...question, ...(cursor && { cursor }) }, { signal });
  for await (const { items } of readPages((cursor) => readWhole(() => read(cursor)))) yield items.map(toRow);
}

interface RowPage {
  readonly items: readonly Parameters<typeof toRow>[0][];
  readonly nextCursor?: string | null | undefined;
  readonly partial?: boolean | undefined;
}

interface Piece {
  readonly text: string;
  readonly count: number;
}

/** @yields the table as shown: identifier, name and columns, with attribute values looked up by page */
async function* writeTable(scope: ExportScope, columns: readonly Column[]): AsyncGenerator<Piece> {
  const { relata, projectId, signal } = scope;
  const separator = separatorOf(presentLanguage());
  const hasValues = columns.some((column) => attributeOf(column) !== undefined);
  yield { text: toCsvLine(['identifier', 'name', ...columns.map(nameColumn)], separator), count: 0 };
  for await (const rows of listRows(scope)) {
    const identifiers = rows.map(({ identifier }) => identifier);
    const products =
      hasValues && rows.length > 0 ? await relata.products.lookUp(identifiers, { projectId, signal }) : [];
    const values = new Map(products.map((product) => [product.identifier, toValues(product)]));
    const cells = rows.map((row) => toCells(row, columns, values.get(row.identifier) ?? NO_VALUES));
    yield { text: cells.map((line) => toCsvLine(line, separator)).join(''), count: rows.length };
  }
}

function toCells(row: ProductRow, columns: readonly Column[], values: Values): unknown[] {
  const cells = columns.map((column) => {
    if (column === 'changed') return new Date(row.lastUpdateTs).toISOString();
    if (column === 'category') return row.category;
    return column === 'group' ? row.group : values[attributeOf(column) ?? ''];
  });
  return [row.identifier, row.name, ...cells];
}

/** @yields whole products, one per line, in the form that an upload accepts */
async function* writeProducts({ relata, projectId, filters, signal }: ExportScope): AsyncGenerator<Piece> {
  const listing = { ...toListing(filters), limit: LISTED, signal };
  const pages = readPages((cursor) => relata.products.list(projectId, { ...listing, cursor }));
  for await (const { items } of pages) {
    const products = items.map(({ id: _, lastUpdateTs: __, ...product }): UploadProduct => product);
    const text = products.map((product) => `${JSON.stringify(product)}\n`).join('');
    yield { text, count: products.length };
  }
}
