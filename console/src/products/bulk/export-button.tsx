import type { Relata, UploadProduct } from '@relata/client';
import { useRef, useState } from 'react';
import { presentLanguage, t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/forms/field.tsx';
import { saveFile, saveTable } from '../../parts/show.tsx';
import { separatorOf, toCsvLine } from '../../rules/csv.ts';
import { tell } from '../../state/done.ts';
import { useCalls } from '../../state/project.ts';
import { type ProductFilters, toListing, toQuestion } from '../finding/product-filters.ts';
import { useColumns } from '../grid/column-chooser.tsx';
import { attributeOf, type Column, nameColumn } from '../grid/columns.ts';
import { type ProductRow, toRow, toValues, type Values } from '../grid/product-rows.ts';

/** A file of more is no table any more: `relata pull` and the API have the whole catalog. */
const MOST = 1_000_000;

type Format = 'csv' | 'ndjson';

/** The products that are seen as a file: of the table, or whole. */
export function ExportButton({ filters }: { filters: ProductFilters }) {
  const {
    relata,
    project: { name },
    projectId,
  } = useCalls();
  const columns = useColumns();
  const running = useRef<AbortController>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [format, setFormat] = useState<Format>('csv');
  const [written, setWritten] = useState<number>();
  const close = () => {
    running.current?.abort();
    setWritten(undefined);
    setOpen(false);
  };
  const write = async () => {
    const controller = new AbortController();
    running.current = controller;
    const scope: ExportScope = { relata, projectId, filters, signal: controller.signal };
    const isTable = format === 'csv';
    const separator = separatorOf(presentLanguage());
    const pieces = isTable ? writeTable(scope, columns, separator) : writeProducts(scope);
    const file = await collect(pieces, setWritten);
    const title = `${name} ${new Date().toISOString().slice(0, 10)}`;
    if (isTable) saveTable(`${title}.csv`, file.pieces);
    else saveFile(`${title}.ndjson`, file.pieces, 'application/x-ndjson');
    tell.good(
      t('{count, plural, one {# product exported} other {# products exported}}', {
        count: file.count,
      }),
    );
  };
  // A user who closes the dialog knows that it ended.
  const start = () =>
    write().catch((reason: unknown) => {
      if (!running.current?.signal.aborted) throw reason;
    });
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Export')}</Button>
      <FormDialog
        title={t('Export')}
        action={t('Write the file')}
        isOpen={isOpen}
        onClose={close}
        onSubmit={start}
      >
        <SelectField
          label={t('Content')}
          hint={t('Everything that the filters find, up to {most, number} products.', { most: MOST })}
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
      </FormDialog>
    </>
  );
}

/** The browser keeps pieces out of the memory of the page. */
async function collect(pieces: AsyncIterable<Piece>, onWritten: (count: number) => void) {
  const file = { pieces: [] as Blob[], count: 0 };
  for await (const { text, count } of pieces) {
    file.pieces.push(new Blob([text]));
    file.count += count;
    onWritten(file.count);
    if (file.count >= MOST) break;
  }
  return file;
}

/** The most that the service gives at once, in a list and in a search. */
const LISTED = 1_000;
const FOUND = 100;
const NO_VALUES = toValues({ facts: [] });

/** Which products of which project. */
export interface ExportScope {
  readonly relata: Relata;
  readonly projectId: number;
  readonly filters: ProductFilters;
  readonly signal: AbortSignal;
}

/** @yields the rows of everything that the filters find, page by page, in the order of the table */
export async function* listRows(scope: ExportScope): AsyncGenerator<readonly ProductRow[]> {
  const { relata, projectId, filters, signal } = scope;
  const question = { ...toQuestion(filters), limit: FOUND };
  const listing = { ...toListing(filters), limit: LISTED, signal };
  const pages = readPages((cursor) =>
    filters.sort === ''
      ? relata.products.listTable(projectId, { ...listing, cursor })
      : relata.products.findManaged(projectId, { ...question, ...(cursor && { cursor }) }, { signal }),
  );
  for await (const items of pages) yield items.map(toRow);
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string | null | undefined;
}

async function* readPages<Item>(read: (cursor: string | undefined) => Promise<Page<Item>>) {
  for (let cursor: string | undefined, isLast = false; !isLast; ) {
    const page = await read(cursor);
    yield page.items;
    cursor = page.nextCursor ?? undefined;
    isLast = cursor === undefined;
  }
}

/** A piece of a file, and how many products it has. */
interface Piece {
  readonly text: string;
  readonly count: number;
}

/** @yields the table as it is seen: identifier, name and the columns, the values of attributes looked up page by page */
async function* writeTable(
  scope: ExportScope,
  columns: readonly Column[],
  separator: string,
): AsyncGenerator<Piece> {
  const { relata, projectId, signal } = scope;
  const hasValues = columns.some((column) => attributeOf(column) !== undefined);
  yield { text: toCsvLine(['identifier', 'name', ...columns.map(nameColumn)], separator), count: 0 };
  for await (const rows of listRows(scope)) {
    const identifiers = rows.map(({ identifier }) => identifier);
    const products =
      hasValues && rows.length > 0 ? await relata.products.lookUp(identifiers, { projectId, signal }) : [];
    const values = new Map(products.map((product) => [product.identifier, toValues(product)]));
    const lines = rows.map((row) =>
      toCsvLine(toCells(row, columns, values.get(row.identifier) ?? NO_VALUES), separator),
    );
    yield { text: lines.join(''), count: rows.length };
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

/** @yields whole products, a line each, as an upload takes them back */
async function* writeProducts({ relata, projectId, filters, signal }: ExportScope): AsyncGenerator<Piece> {
  const listing = { ...toListing(filters), limit: LISTED, signal };
  for await (const items of readPages((cursor) => relata.products.list(projectId, { ...listing, cursor }))) {
    const products = items.map(({ id: _, lastUpdateTs: __, ...product }): UploadProduct => product);
    const text = products.map((product) => `${JSON.stringify(product)}\n`).join('');
    yield { text, count: products.length };
  }
}
