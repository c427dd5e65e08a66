import type { PipelineDefinition, PipelinePreview, PreviewCatalog, Task } from '@relata/client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FileDrop } from '../parts/first-products.tsx';
import { Card, ErrorNote, Loading, Note, Page, Renewed } from '../parts/page.tsx';
import { Figure, Meter, ProductChip, Table } from '../parts/show.tsx';
import { formatCount, formatPercent, formatTypeIn } from '../rules/format.ts';
import { useAct } from '../state/forms.ts';
import { describeFailure } from '../state/mistakes.ts';
import { tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls } from '../state/rights.ts';
import { droppedFile, goFromHere, projectLink } from '../state/route.ts';
import { EMPTY_PIPELINE, guessFormat } from './pipeline-draft.ts';
import { MappingCard } from './pipeline-mapping.tsx';
import { readFile, usePipelinePreview, Warnings } from './pipeline-preview.tsx';

/** Turns a file into the catalog: a preview first, then one button that imports it. */
export function Import() {
  const [handed] = useState(droppedFile.take);
  const [file, setFile] = useState(handed);
  return (
    <Page
      title={file === undefined ? t('Import a file') : file.name}
      about={t('Nothing is stored before you import the file.')}
    >
      <Card>
        <FileDrop
          label={file === undefined ? t('Drop a file here, or choose one') : t('Drop another file')}
          onFile={setFile}
        >
          <span className="soft small">{t('CSV, Excel, JSON, XML, BMEcat, or an export of a shop')}</span>
        </FileDrop>
      </Card>
      {file && <Looked key={`${file.name} ${file.size} ${file.lastModified}`} file={file} />}
    </Page>
  );
}

/**
 * @returns the definition of a pipeline for such a file. The preview has already shown rows that make no
 * product.
 */
const startDefinition = ({ name }: File): PipelineDefinition => ({
  ...EMPTY_PIPELINE,
  name: name.replace(/\.[^.]*$/, '') || name,
  format: { type: guessFormat(name) ?? EMPTY_PIPELINE.format.type } as PipelineDefinition['format'],
  mode: 'full',
  onRejectedRow: 'continue',
});

function Looked({ file }: { file: File }) {
  const [definition, setDefinition] = useState(() => startDefinition(file));
  const [error, setError] = useState<unknown>();
  const change = (changed: Partial<PipelineDefinition>) =>
    setDefinition((before) => ({ ...before, ...changed }));
  const tried = usePipelinePreview(definition, { pipelineId: undefined, hasCatalog: true, onChange: change });
  const { read } = tried;
  useEffect(() => {
    void readFile(file).then(read, setError);
  }, [file]);
  const { data, error: refused } = tried.preview;
  const isOther = useOtherFormat(definition, data?.suggestion.format?.type, change);
  // A preview in the wrong format is not worth showing.
  const isReadAnew = isOther || data?.suggestion.format?.type === definition.format.type;
  if (data === undefined || isReadAnew)
    return error || refused ? <ErrorNote error={error ?? refused} /> : <Loading />;
  return (
    <>
      <ErrorNote error={refused} />
      <Warnings warnings={data.warnings} />
      {data.catalog && (
        <Renewed isOld={tried.preview.isPlaceholderData}>
          <ImportCatalog catalog={data.catalog} rows={data.rows}>
            <ImportButton
              file={file}
              definition={definition}
              catalog={data.catalog}
              isSettled={!tried.preview.isFetching && !refused}
            />
          </ImportCatalog>
        </Renewed>
      )}
      <details open={data.catalog === undefined}>
        <summary>{t('What each column means')}</summary>
        <MappingCard draft={definition} onChange={change} preview={data} />
      </details>
    </>
  );
}

/** Switches once to the format that the content of the file suggests. @returns whether it is about to */
function useOtherFormat(
  { format }: PipelineDefinition,
  suggested: string | undefined,
  onChange: (changed: Partial<PipelineDefinition>) => void,
) {
  const [first] = useState(format.type);
  const isOther = suggested !== undefined && suggested !== format.type && format.type === first;
  useEffect(() => {
    if (isOther)
      onChange({ format: { type: suggested } as PipelineDefinition['format'], mapping: undefined });
  });
  return isOther;
}

interface ImportShape {
  file: File;
  definition: PipelineDefinition;
  catalog: PreviewCatalog;
  /** Whether the preview belongs to the current definition. */
  isSettled: boolean;
}

/** Creates a pipeline from the definition, uploads the file, and opens the products once they are there. */
export function ImportButton({ file, definition, catalog, isSettled }: ImportShape) {
  const { run, task, error, isBusy } = useImport(file, definition);
  const canImport = isSettled && catalog.products > 0;
  return (
    <div className="stack">
      <ErrorNote error={error} />
      {task && <Meter share={task.progress / 100} label={t('Imported')} />}
      <div className="row">
        <Button look="primary" busy={isBusy} disabled={!canImport} onClick={() => void run()}>
          {catalog.isWhole
            ? t('Import {count, plural, one {# product} other {# products}}', { count: catalog.products })
            : t('Import the file')}
        </Button>
        <span className="soft small">
          {t('The import is saved as a pipeline, so the next file takes one click.')}
        </span>
      </div>
    </div>
  );
}

function useImport(file: File, definition: PipelineDefinition) {
  const { relata, projectId } = useCalls();
  const createdId = useRef<number>(undefined);
  const [task, setTask] = useState<Task>();

  /** A second attempt changes the pipeline that the first attempt created. */
  async function store(): Promise<number> {
    if (createdId.current === undefined)
      createdId.current = (await relata.pipelines.create(projectId, definition)).id;
    else await relata.pipelines.put({ projectId, pipelineId: createdId.current }, definition);
    return createdId.current;
  }

  async function run() {
    const go = goFromHere();
    const ids = { projectId, pipelineId: await store() };
    const accepted = await relata.pipelines.upload(ids, file, { name: file.name });
    let latest = accepted;
    for await (const next of relata.tasks.follow(accepted.id)) {
      latest = next;
      setTask(next);
    }
    if (latest.taskStatus !== 'FINISHED')
      throw new Error(describeFailure(latest.error).message || t('The import did not finish.'));
    await reread();
    tell.good(
      t('The products are imported'),
      t('The import is saved as the pipeline “{name}”. Upload the next file there.', {
        name: definition.name,
      }),
    );
    go(projectLink('products'));
  }

  return { ...useAct(() => run().finally(() => setTask(undefined))), task };
}

const SHOWN_PRODUCTS = 8;
const SHOWN_VALUES = 3;

/** The resulting catalog: counts, first products, categories, attributes with types and units, and actions. */
export function ImportCatalog({
  catalog,
  rows,
  children,
}: { catalog: PreviewCatalog; children: ReactNode } & Pick<PipelinePreview, 'rows'>) {
  const { rejected, isWhole, categories, hasMoreCategories, attributes, hasMoreAttributes } = catalog;
  const atLeast = ({ length }: readonly unknown[], hasMore: boolean) =>
    `${formatCount(length)}${hasMore ? '+' : ''}`;
  const examples = rejected.examples
    .map(({ row, reason }) => t('Row {row}: {reason}.', { row, reason }))
    .join(' ');
  return (
    <>
      <dl className="figures">
        <Figure
          label={t('Products')}
          value={formatCount(catalog.products)}
          more={catalog.isWhole ? '' : t('so far')}
        />
        <Figure label={t('Categories')} value={atLeast(categories, hasMoreCategories)} />
        <Figure label={t('Attributes')} value={atLeast(attributes, hasMoreAttributes)} />
        <Figure label={t('Rows left out')} value={formatCount(rejected.count + catalog.filtered)} />
      </dl>
      {!isWhole && (
        <p className="note">
          {t(
            'These are the figures of the first {count, plural, one {# row} other {# rows}}. The import reads the whole file.',
            { count: catalog.rows },
          )}
        </p>
      )}
      {rejected.count > 0 && (
        <Note
          look="warn"
          lines={[
            t(
              '{count, plural, one {# row makes} other {# rows make}} no product and would be left out. {examples}',
              { count: rejected.count, examples },
            ),
          ]}
        />
      )}
      {children}
      <FirstProducts rows={rows} />
      <div className="columns">
        <Categories {...catalog} />
        <Attributes {...catalog} />
      </div>
    </>
  );
}

type ShownProduct = {
  readonly identifier: string;
  readonly name?: string;
  readonly images?: readonly { readonly url: string }[];
  readonly categories?: readonly { readonly path: readonly string[] }[];
  readonly attributes?: readonly { readonly key: string; readonly value: unknown }[];
};

function FirstProducts({ rows }: Pick<PipelinePreview, 'rows'>) {
  const read = rows
    .filter(({ problems = [] }) => problems.length === 0)
    .flatMap(({ product }) => (product === undefined ? [] : [product as ShownProduct]));
  // The last of several rows with the same identifier is the product.
  const products = [...new Map(read.map((product) => [product.identifier, product])).values()];
  return (
    <Card title={t('First products')}>
      <div className="products-strip">
        {products
          .slice(0, SHOWN_PRODUCTS)
          .map(({ identifier, name, images, categories, attributes = [] }, index) => (
            <ProductChip
              key={`${index} ${identifier}`}
              product={{ identifier, name, thumbnail: images?.[0]?.url }}
              isPlanned
            >
              <span className="soft small cut block">{categories?.[0]?.path.join(' › ')}</span>
              <span className="soft small cut block">
                {attributes
                  .slice(0, SHOWN_VALUES)
                  .map(({ key, value }) => `${key}: ${value}`)
                  .join(', ')}
              </span>
            </ProductChip>
          ))}
      </div>
    </Card>
  );
}

const Categories = ({ categories, hasMoreCategories, products }: PreviewCatalog) => (
  <Card title={t('Categories')} isBare>
    {categories.length === 0 ? (
      <p className="card-body soft">
        {t('The file has no categories. You can also group products by attributes.')}
      </p>
    ) : (
      <Table
        isSmall
        label={t('Categories')}
        isShort
        rows={categories}
        keyOf={({ path }) => path.join('\n')}
        columns={[
          ['', ({ path }) => path.join(' › '), 'break'],
          ['', ({ products: count }) => formatCount(count), 'number'],
          ['', ({ products: count }) => formatPercent(count / Math.max(1, products)), 'number soft'],
        ]}
      >
        {hasMoreCategories && (
          <p className="grid-foot">
            {t('The most frequent {count}.', { count: formatCount(categories.length) })}
          </p>
        )}
      </Table>
    )}
  </Card>
);

const Attributes = ({ attributes, hasMoreAttributes, products }: PreviewCatalog) => (
  <Card title={t('Attributes')} isBare>
    <Table
      isSmall
      label={t('Attributes')}
      isShort
      rows={attributes}
      keyOf={({ name }) => name}
      columns={[
        [t('Attribute'), ({ name }) => name, 'break'],
        [
          t('Type'),
          ({ type, unitName, reason }) => <span title={reason}>{formatTypeIn(type, unitName)}</span>,
        ],
        [t('Products'), ({ products: count }) => formatPercent(count / Math.max(1, products)), 'number'],
        [t('Values'), ({ examples }) => examples.join(' · '), 'soft break'],
      ]}
    >
      {hasMoreAttributes && (
        <p className="grid-foot">
          {t('The most frequent {count}.', { count: formatCount(attributes.length) })}
        </p>
      )}
    </Table>
  </Card>
);
