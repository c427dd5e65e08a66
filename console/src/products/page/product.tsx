import type { ExtractedValue, ProductPage } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../../languages/text.ts';
import { Button, CopyButton, LinkButton } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Answer, Card, Page } from '../../parts/page.tsx';
import {
  ChangeKind,
  nameCommit,
  ProductDifference,
  sayAuthor,
  sayReach,
} from '../../parts/product-difference.tsx';
import { Ago, OutLink, Pairs, Thumb } from '../../parts/show.tsx';
import { writeSet } from '../../rules/fit.ts';
import { formatMoment, formatType, nameTask, readingOf, safeUrl, sayValue } from '../../rules/format.ts';
import { deleteProducts, makeIdempotencyKey } from '../../state/delete-products.ts';
import { tell } from '../../state/done.ts';
import { useCalls, useOfProject } from '../../state/project.ts';
import { goFromHere, linkWith, projectLink, useRoute } from '../../state/route.ts';
import { useRights } from '../../state/session.tsx';
import { findMainImage } from '../grid/product-rows.ts';
import { useProduct } from './around.ts';
import { ProductEdit } from './product-edit.tsx';
import { RelatedCard } from './related-card.tsx';
import { RelatedGraph } from './related-graph.tsx';
import { PairCard } from './why.tsx';

/** One product: as it was sent, as it is answered, what goes with it. */
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
              href={linkWith(projectLink('fit'), {
                items: writeSet([{ identifier, quantity: 1 }]),
              })}
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
        {(found) => (
          <>
            <RelatedGraph identifier={identifier} />
            <Top page={found} />
            <RelatedCard key={`related ${identifier}`} identifier={identifier} />
            <ProductFacts page={found} />
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
            [t('Last changed'), <LastChange key="change" at={product.lastUpdateTs} task={lastChange.task} />],
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

function LastChange({ at, task }: { at: number; task: ProductPage['lastChange']['task'] }) {
  const when = { moment: formatMoment(at), ago: <Ago at={at} /> };
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
        <p>{t('Shops, search and relations no longer have it, at once. Undo brings it back.')}</p>
      </FormDialog>
    </>
  );
}

/** The kept commits that changed a product, each with what it was before and after. */
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
                  <ChangeKind kind={change.kind} /> {nameCommit(commit)} <Ago at={commit.at} />
                  {', '}
                  {sayAuthor(commit)}
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
              {items.length === 0 && t('No change that can be undone is about this product.')}{' '}
              {sayReach(reach)}
            </p>
          </div>
        )}
      </Answer>
    </Card>
  );
}

/** What was sent of a product, value by value, and what became of it; what made no fact comes first. */
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

function FactList({ list }: { list: readonly ExtractedValue[] }) {
  return (
    <dl className="facts">
      {list.map((one) => (
        <div key={`${one.key} ${one.value}`}>
          <dt>{one.key}</dt>
          <dd>
            <span title={one.value}>{sayValue(one)}</span>
            {one.userGroups?.map((group) => (
              <span key={group} className="tag">
                {group}
              </span>
            ))}
            <Became of={one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

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
