import type { Attribute, ExtractedValue, ProductPage } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../../languages/text.ts';
import { Button, CopyButton, LinkButton } from '../../parts/button.tsx';
import { useUnsaved } from '../../parts/forms/draft.tsx';
import { type Row, Rows, TextField } from '../../parts/forms/field.tsx';
import { SuggestField } from '../../parts/forms/suggest-field.tsx';
import { Answer, Card, FormDialog, Page } from '../../parts/page.tsx';
import {
  ChangeKind,
  describeAuthor,
  describeReach,
  nameCommit,
  ProductDifference,
} from '../../parts/product-difference.tsx';
import { Ago, OutLink, Pairs, Tags, Thumb } from '../../parts/show.tsx';
import { writeSet } from '../../rules/fit.ts';
import { describeValue, formatMoment, formatType, nameTask, readingOf, safeUrl } from '../../rules/format.ts';
import { useOfProject } from '../../state/answers.ts';
import { deleteProducts, makeIdempotencyKey, useAttributes } from '../../state/catalog.ts';
import { tell } from '../../state/notices.ts';
import { reread } from '../../state/queries.ts';
import { useCalls, useRights } from '../../state/rights.ts';
import { goFromHere, linkWith, projectLink, useRoute } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';
import { useProduct } from './around.ts';
import {
  cleanEntries,
  type Entry,
  listChangedKeys,
  mergeEntries,
  readEntries,
  toPartial,
} from './attribute-edits.ts';
import { RelatedCard, RelatedGraph } from './related-graph.tsx';
import { PairCard } from './why.tsx';

/** One product: as sent, as answered, and with its related products. */
export function ProductView() {
  const { parts } = useRoute();
  const { canChange } = useRights();
  const identifier = parts[3] ?? '';
  const page = useProduct(identifier);
  return (
    <Page
      title={page.data?.product.name ?? identifier}
      under={[[t('Products'), projectLink('products')]]}
      about={
        <span className="row">
          <span className="mono">{identifier}</span>
          <CopyButton text={identifier} label={t('Copy the identifier')} />
        </span>
      }
      actions={
        page.data && (
          <>
            <LinkButton
              icon="fit"
              href={linkWith(projectLink('fit'), { items: writeSet([{ identifier, quantity: 1 }]) })}
            >
              {t('Does it fit?')}
            </LinkButton>
            {canChange && (
              <>
                <ProductEdit key={identifier} page={page.data} />
                <DeleteProduct identifier={identifier} />
              </>
            )}
          </>
        )
      }
    >
      <Answer of={page}>
        {(page) => (
          <>
            <RelatedGraph identifier={identifier} />
            <Top page={page} />
            <RelatedCard key={`related ${identifier}`} identifier={identifier} />
            <ProductFacts page={page} />
            <PairCard key={identifier} identifier={identifier} />
            <ProductCommits identifier={identifier} />
          </>
        )}
      </Answer>
    </Page>
  );
}

function Top({ page: { product, upload, lastChange } }: { page: ProductPage }) {
  const image = safeUrl(findMainImage(product.images));
  const [hasFailed, setFailed] = useState(false);
  return (
    <div className={image && !hasFailed ? 'product-top pictured' : 'product-top'}>
      {image && !hasFailed && (
        <div className="picture">
          <img
            src={image}
            alt={product.name}
            decoding="async"
            referrerPolicy="no-referrer"
            onError={() => setFailed(true)}
          />
        </div>
      )}
      <Card>
        <Pairs
          pairs={[
            product.groupId !== product.identifier && [t('Group'), product.groupId, 'mono'],
            product.categories.length > 0 && [
              t('Categories'),
              product.categories.map(({ path, categoryId }) => (
                <div key={categoryId}>{path.join(' › ')}</div>
              )),
            ],
            Boolean(product.link) && [t('Link'), <OutLink key="link" url={product.link} />, 'cut'],
            product.images.length > 0 && [
              t('Pictures'),
              <ul key="pictures" className="row">
                {product.images.map(({ url, type }) => (
                  <li key={type + url}>
                    <PictureLink url={url} type={type} />
                  </li>
                ))}
              </ul>,
            ],
            upload.settings !== undefined && [t('Settings'), JSON.stringify(upload.settings), 'mono small'],
            [
              t('Last changed'),
              <LastChange key="change" instant={product.lastUpdateTs} task={lastChange.task} />,
            ],
            [t('Product id'), product.id, 'mono soft'],
          ]}
        />
      </Card>
    </div>
  );
}

function PictureLink({ url, type }: ProductPage['product']['images'][number]) {
  const safe = safeUrl(url);
  const words = <span className="tag">{type}</span>;
  if (safe === undefined)
    return (
      <>
        {words} {url}
      </>
    );
  return (
    <a className="picture-link" href={safe} title={url} target="_blank" rel="noreferrer noopener">
      <Thumb url={url} />
      {words}
    </a>
  );
}

function LastChange({ instant, task }: { instant: number; task: ProductPage['lastChange']['task'] }) {
  const when = { moment: formatMoment(instant), ago: <Ago instant={instant} /> };
  if (!task) return rich('{moment} ({ago})', when);
  const link = <a href={projectLink('updates', task.id)}>{nameTask(task.name)}</a>;
  return rich('{moment} ({ago}) by {task}', { ...when, task: link });
}

function DeleteProduct({ identifier }: { identifier: string }) {
  const { relata, projectId } = useCalls();
  const [idempotencyKey, setKey] = useState<string>();
  const remove = async () => {
    if (idempotencyKey === undefined) return;
    const deletion = { relata, projectId, idempotencyKey };
    const go = goFromHere();
    const undo = await deleteProducts([identifier], deletion);
    setTimeout(() => go(projectLink('products')));
    tell.undoable(t('{identifier} is deleted', { identifier }), async () => {
      await undo();
      tell.good(t('{identifier} is back', { identifier }));
    });
  };
  return (
    <>
      <Button look="danger" onClick={() => setKey(makeIdempotencyKey())}>
        {t('Delete …')}
      </Button>
      <FormDialog
        title={t('Delete {identifier}', { identifier })}
        action={t('Delete the product')}
        isDanger
        isOpen={idempotencyKey !== undefined}
        onClose={() => setKey(undefined)}
        onSubmit={remove}
      >
        <p>{t('Shops, search and relations lose it immediately. Undo brings it back.')}</p>
      </FormDialog>
    </>
  );
}

/** The undoable commits that changed a product, each with the product before and after. */
export function ProductCommits({ identifier }: { identifier: string }) {
  const commits = useOfProject(['commits', 'product', identifier], ({ relata, projectId, signal }) =>
    relata.commits.ofProduct(projectId, identifier, { signal }),
  );
  const updates = projectLink('updates');
  return (
    <Card title={t('History')}>
      <Answer of={commits}>
        {({ items, ...reach }) => (
          <div className="stack">
            {items.map(({ commit, ...change }) => (
              <details key={commit.id} className="change">
                <summary>
                  <ChangeKind kind={change.kind} /> {nameCommit(commit)} <Ago instant={commit.at} />
                  {', '}
                  {describeAuthor(commit)}
                </summary>
                <div className="stack">
                  <ProductDifference change={change} />
                  <a href={linkWith(updates, { commit: String(commit.id) })}>
                    {t('All products of this change')}
                  </a>
                </div>
              </details>
            ))}
            <p className="soft small">
              {items.length === 0 && t('No change that can be undone affects this product.')}{' '}
              {describeReach(reach)}
            </p>
          </div>
        )}
      </Answer>
    </Card>
  );
}

/** The values that were sent of a product and the resulting facts; values without a fact come first. */
export function ProductFacts({ page: { values } }: { page: ProductPage }) {
  if (values.length === 0) return null;
  const missing = values.filter(({ fact }) => fact === null);
  const extracted = values.filter(({ fact }) => fact !== null);
  return (
    <Card
      title={t('Attributes')}
      actions={
        missing.length > 0 && (
          <span className="badge warn">{t('{missing} not usable', { missing: missing.length })}</span>
        )
      }
    >
      {missing.length > 0 && <FactList list={missing} />}
      <FactList list={extracted} />
    </Card>
  );
}

const FactList = ({ list }: { list: readonly ExtractedValue[] }) => (
  <dl className="facts">
    {list.map((entry) => (
      <div key={`${entry.key} ${entry.value}`}>
        <dt>{entry.key}</dt>
        <dd>
          <span title={entry.value}>{describeValue(entry)}</span>
          <Tags list={entry.userGroups ?? []} />
          <Became of={entry} />
        </dd>
      </div>
    ))}
  </dl>
);

function Became({ of: { key, value, attribute, fact, message } }: { of: ExtractedValue }) {
  if (fact === null)
    return (
      <>
        <span className="badge warn">{t('not usable')}</span>
        <span className="small">{message ?? t('there is no attribute of this name')}</span>
      </>
    );
  const reading = readingOf(value, fact);
  return (
    <span className="soft tiny">
      {reading && `= ${reading} · `}
      {attribute !== key && `${t('as {attribute}', { attribute: attribute ?? '' })} · `}
      {formatType(fact.type)}
    </span>
  );
}

/** Changes only attributes of a product, by a partial update. */
export function ProductEdit({ page }: { page: ProductPage }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Edit attributes …')}</Button>
      {isOpen && <EditDialog page={page} onClose={() => setOpen(false)} />}
    </>
  );
}

function EditDialog({ page, onClose }: { page: ProductPage; onClose(): void }) {
  const { identifier } = page.product;
  // The draft keeps its base even if the page behind the dialog is reloaded.
  const [base, setBase] = useState(() => readEntries(page.upload));
  const [entries, setEntries] = useState<readonly Entry[]>(base);
  const [theirs, setTheirs] = useState<readonly string[]>([]);
  const draft = cleanEntries(entries, base);
  const isChanged = listChangedKeys(base, draft).length > 0;
  const unsaved = useUnsaved(isChanged);
  const send = useSend(identifier);
  const save = async () => {
    const now = await send.read();
    const { merged, conflicts } = mergeEntries({ base, draft, now });
    if (conflicts.length > 0) {
      setTheirs(conflicts);
      setBase(now);
      setEntries(merged);
      throw new Error(
        t(
          'Nothing was sent, because somebody else has changed this product in the meantime. Compare the values below, then send again.',
        ),
      );
    }
    await send.write(now, merged);
    unsaved.current = false;
  };
  return (
    <FormDialog
      title={t('Attributes of {identifier}', { identifier })}
      action={t('Send')}
      isWide
      canSubmit={isChanged}
      isUnsaved={isChanged}
      onClose={onClose}
      onSubmit={save}
    >
      <AttributeRows base={base} entries={entries} onChange={setEntries} />
      {isChanged && (
        <section className="stack" aria-live="polite" aria-label={t('Effect of sending')}>
          <h3>{t('Effect of sending')}</h3>
          {theirs.length > 0 && (
            <p className="note warn">
              {t('Changed in the meantime: {names}. "Before" shows the stored values.', {
                names: theirs.join(', '),
              })}
            </p>
          )}
          <ProductDifference
            change={{ before: withEntries(page, base), after: withEntries(page, draft), changedSince: false }}
          />
        </section>
      )}
    </FormDialog>
  );
}

const withEntries = ({ upload }: ProductPage, entries: readonly Entry[]) => ({
  ...upload,
  attributes: entries.map(({ userGroups = [], ...entry }) => ({ ...entry, userGroups: [...userGroups] })),
});

function useSend(identifier: string) {
  const { relata, projectId } = useCalls();
  return {
    read: async () => readEntries((await relata.products.open(projectId, identifier)).upload),
    write: async (now: readonly Entry[], merged: readonly Entry[]) => {
      const { task } = await relata.products.change([toPartial(identifier, now, merged)], { projectId });
      await relata.tasks.wait(task.id);
      const keys = ['product', 'products', 'related'];
      await reread(...keys);
      tell.good(t('{identifier} is changed', { identifier }));
    },
  };
}

interface AttributeRowsShape {
  base: readonly Entry[];
  entries: readonly Entry[];
  onChange(entries: readonly Entry[]): void;
}

function AttributeRows({ base, entries, onChange }: AttributeRowsShape) {
  const attributes = useAttributes();
  return (
    <Rows
      values={entries}
      removing={t('Remove this value')}
      kinds={{ [t('Add a value')]: { key: '', value: '', isNew: true } }}
      onChange={onChange}
    >
      {(row) => (
        <AttributeRow
          row={row}
          attributes={attributes}
          isTouched={base.every(({ key, value }) => key !== row.value.key || value !== row.value.value)}
        />
      )}
    </Rows>
  );
}

interface AttributeRowShape {
  row: Row<Entry>;
  attributes: readonly Attribute[];
  isTouched: boolean;
}

function AttributeRow({ row: { value: entry, change, remove }, attributes, isTouched }: AttributeRowShape) {
  const { key, value, userGroups = [], isNew } = entry;
  const attribute = attributes.find(({ name, synonyms = [] }) => name === key || synonyms.includes(key));
  return (
    <div className="filter-row named-value">
      {isNew ? (
        <SuggestField
          label={t('Attribute')}
          isQuiet
          placeholder={t('Attribute')}
          choices={attributes.map(({ name }) => name)}
          value={key}
          onChange={(next) => change({ ...entry, key: next })}
        />
      ) : (
        <span className="field-name">
          {key}
          <Tags list={userGroups} />
        </span>
      )}
      <TextField
        label={t('Value of {key}', { key })}
        isQuiet
        hint={isTouched && attribute && describeForm(attribute)}
        value={value}
        onChange={(text) => change({ ...entry, value: text })}
      />
      {remove}
    </div>
  );
}

/** The form that the ontology expects; text is accepted in any form. */
function describeForm({ type, unitName }: Attribute): string | undefined {
  if (type === 'TEXT_ATTRIBUTE' || type === 'UNTYPED_ATTRIBUTE') return undefined;
  if (type === 'BOOLEAN_ATTRIBUTE') return t('true or false');
  return unitName ? t('a number, one space and {unit}', { unit: unitName }) : formatType(type);
}
