import { useRef, useState } from 'react';
import { presentLanguage, t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/forms/field.tsx';
import { saveFile, saveTable } from '../../parts/save-file.ts';
import { useTell } from '../../parts/toasts.tsx';
import { separatorOf } from '../../rules/csv.ts';
import { useProject } from '../../state/project.ts';
import { useRelata } from '../../state/session.tsx';
import { type ProductFilters, wayOf } from '../finding/product-filters.ts';
import { useColumns } from '../grid/kept-columns.ts';
import { type Piece, type Wanted, writeProducts, writeTable } from './product-export.ts';

/** A file of more is no table any more: `relata pull` and the API have the whole catalog. */
const MOST = 1_000_000;

type Format = 'csv' | 'ndjson';

/** The products that are seen as a file: of the table, or whole. */
export function ExportButton({ filters }: { filters: ProductFilters }) {
  const relata = useRelata();
  const { id: projectId, name } = useProject();
  const columns = useColumns();
  const tell = useTell();
  const running = useRef<AbortController>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [format, setFormat] = useState<Format>('csv');
  const [written, setWritten] = useState<number>();
  const canBeWhole = wayOf(filters) !== 'search';
  const close = () => {
    running.current?.abort();
    setWritten(undefined);
    setOpen(false);
  };
  const write = async () => {
    const controller = new AbortController();
    running.current = controller;
    const wanted: Wanted = { relata, projectId, filters, signal: controller.signal };
    const isTable = format === 'csv' || !canBeWhole;
    const separator = separatorOf(presentLanguage());
    const pieces = isTable ? writeTable(wanted, columns, separator) : writeProducts(wanted);
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
  // Whoever closes the dialog knows that it ended.
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
            ...(canBeWhole
              ? [['ndjson', t('whole products, as an upload takes them (NDJSON)')] as const]
              : []),
          ]}
          value={canBeWhole ? format : 'csv'}
          onChange={({ target }) => setFormat(target.value as Format)}
        />
        {!canBeWhole && (
          <p className="soft small">
            {t('Whole products are exported from a list without words and facets.')}
          </p>
        )}
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
