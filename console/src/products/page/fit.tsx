import type { FitAnswer, Product } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { presentLocale, rich, t } from '../../languages/text.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { ProductField } from '../../parts/forms/suggest-field.tsx';
import { Answer, Card, Empty, Page } from '../../parts/page.tsx';
import { ProductChip, Thumb } from '../../parts/show.tsx';
import {
  describeTotal,
  describeVerdict,
  describeWord,
  type FitReason,
  listReasons,
  MOST_ITEMS,
  readSet,
  replaceIn,
  type SetItem,
  writeSet,
} from '../../rules/fit.ts';
import { useOfProject } from '../../state/answers.ts';
import { linkWith, projectLink, useFilters } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';

const ALTERNATIVES = 3;

/**
 * Judges by the rules whether products fit together. The products are part of the address, so that a link
 * shares the verdict.
 */
export function FitView() {
  const [{ items }, , step] = useFilters(['items']);
  const set = readSet(items);
  const change = (next: readonly SetItem[]) => step({ items: writeSet(next) });
  return (
    <Page
      title={t('Does it fit?')}
      under={[[t('Products'), projectLink('products')]]}
      about={t('Choose products to see whether they can be used together, and why.')}
    >
      <FitCards set={set} change={change} />
    </Page>
  );
}

interface Shape {
  readonly set: readonly SetItem[];
  change(set: readonly SetItem[]): void;
}

function useFit(
  set: readonly SetItem[],
  { alternatives = 0, isOn }: { alternatives?: number; isOn: boolean },
) {
  return useOfProject(
    ['related', 'fit', writeSet(set), alternatives, presentLocale()],
    ({ relata, ...asking }) =>
      relata.relations.fit({ items: [...set], alternatives, locale: presentLocale() }, asking),
    { enabled: isOn, ...(alternatives === 0 && { placeholderData: keepPreviousData }) },
  );
}

function FitCards({ set, change }: Shape) {
  const answer = useFit(set, { isOn: set.length > 0 });
  // Finding alternatives takes longer than judging.
  const mayReplace = answer.data?.verdict === 'does_not_fit' && !answer.isPlaceholderData;
  const alternatives = useFit(set, { alternatives: ALTERNATIVES, isOn: mayReplace });
  const products = useProducts(set);
  if (set.length === 0) {
    return (
      <Card>
        <AddProduct set={set} change={change} />
        <Empty icon="fit" title={t('No products are chosen yet')}>
          <p>{t('Add a product by its name, then add the products to use with it.')}</p>
        </Empty>
      </Card>
    );
  }
  return (
    <>
      {answer.data && <VerdictNote answer={answer.data} />}
      <Card title={t('Products')}>
        <ul className="fit-set">
          {set.map((item) => (
            <SetProduct
              key={item.identifier}
              item={item}
              product={products.get(item.identifier)}
              set={set}
              change={change}
            />
          ))}
        </ul>
        <AddProduct set={set} change={change} />
      </Card>
      {mayReplace && (
        <Answer of={alternatives}>
          {(answer) => <Alternatives answer={answer} products={products} set={set} change={change} />}
        </Answer>
      )}
      <Answer of={answer}>
        {(answer) => (
          <>
            <Judged answer={answer} products={products} />
            <Unjudged answer={answer} products={products} />
          </>
        )}
      </Answer>
    </>
  );
}

type Products = ReadonlyMap<string, Product>;

/** The existing products of the set, by identifier. */
function useProducts(set: readonly SetItem[]): Products {
  const identifiers = set.map(({ identifier }) => identifier);
  const { data = [] } = useOfProject(
    ['products', 'looked-up', identifiers],
    ({ relata, ...asking }) => relata.products.lookUp(identifiers, asking),
    { enabled: identifiers.length > 0, placeholderData: keepPreviousData },
  );
  return new Map(data.map((product) => [product.identifier, product]));
}

function VerdictNote({ answer: { verdict } }: { answer: FitAnswer }) {
  const [look, words, why] = describeVerdict(verdict);
  return (
    <div className={`note ${look} fit-verdict`} aria-live="polite">
      <strong>{words}</strong>
      <span>{why}</span>
    </div>
  );
}

function AddProduct({ set, change }: Shape) {
  const [text, setText] = useState('');
  const add = (identifier: string) => {
    setText('');
    change(readSet(writeSet([...set, { identifier, quantity: 1 }])));
  };
  if (set.length >= MOST_ITEMS) return null;
  return <ProductField label={t('Add a product')} value={text} onChange={setText} onPick={add} />;
}

function SetProduct({ item, product, set, change }: Shape & { item: SetItem; product: Product | undefined }) {
  const { identifier, quantity } = item;
  const name = product?.name ?? identifier;
  return (
    <li>
      {product ? (
        <ProductChip product={{ identifier, name, thumbnail: findMainImage(product.images) ?? '' }} />
      ) : (
        <ProductChip isPlanned product={{ identifier, name: t('not in the catalog') }} />
      )}
      <label className="row small">
        <span className="hidden">{t('Quantity of {name}', { name })}</span>
        <span aria-hidden="true">×</span>
        <input
          className="input"
          type="number"
          min={1}
          step={1}
          value={quantity}
          onChange={({ target }) => {
            const next = Math.max(1, Math.round(Number(target.value)) || 1);
            change(set.map((member) => (member === item ? { identifier, quantity: next } : member)));
          }}
        />
      </label>
      <IconButton
        icon="cross"
        label={t('Remove {identifier}', { identifier })}
        onClick={() => change(set.filter((member) => member !== item))}
      />
    </li>
  );
}

function Alternatives({ answer, products, set, change }: Shape & { answer: FitAnswer; products: Products }) {
  const replaceable = answer.alternatives.filter((alternative) => alternative.products.length > 0);
  const without = answer.alternatives.filter((alternative) => alternative.products.length === 0);
  if (answer.alternatives.length === 0) return null;
  return (
    <Card title={t('Alternatives that fit')}>
      <div className="stack">
        {replaceable.map(({ insteadOf, products: others }) => (
          <div key={insteadOf} className="stack">
            <h3>{t('Instead of {name}', { name: products.get(insteadOf)?.name ?? insteadOf })}</h3>
            <ul className="products-strip">
              {others.map(({ identifier, name, image }) => (
                <li key={identifier} className="stack">
                  <ProductChip product={{ identifier, name, thumbnail: image }} />
                  <Button onClick={() => change(replaceIn(set, insteadOf, identifier))}>
                    {t('Use {identifier}', { identifier })}
                  </Button>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {without.map(({ insteadOf, reason }) => (
          <p key={insteadOf} className="soft small">
            {t('No alternative to {name}: {reason}', {
              name: products.get(insteadOf)?.name ?? insteadOf,
              reason: translateReason(reason),
            })}
          </p>
        ))}
      </div>
    </Card>
  );
}

/** The service's sentences in the reader's language. */
function translateReason(reason = ''): string {
  const textByReason: Readonly<Record<string, string>> = {
    'the product has no category to search for alternatives': t('it has no category'),
    'the catalog is too large to search for alternatives': t('the catalog is too large to search'),
    'the time limit ended the search before all products of its category were checked':
      t('the search took too long'),
    'no other product of its category fits everything else': t(
      'no other product of its category fits everything else',
    ),
  };
  return textByReason[reason] ?? reason;
}

const ORDER = ['does_not_fit', 'unknown', 'fits'];

function Judged({ answer: { pairs, totals }, products }: { answer: FitAnswer; products: Products }) {
  const judged = [
    ...pairs.map((pair) => ({ ...pair, reasons: listReasons(pair.match), others: [pair.target] })),
    ...totals.map((total) => ({
      ...total,
      reasons: [{ verdict: total.verdict, words: describeTotal(total) }],
      others: total.total.parts.map(({ identifier }) => identifier),
    })),
  ].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  if (judged.length === 0) return null;
  return (
    <Card title={t('Verdict of each rule')}>
      <ul className="fit-judged">
        {judged.map(({ relation, verdict, source, others, reasons, missing }) => (
          <li key={JSON.stringify([relation.id, source, others])}>
            <div className="row">
              <span className={`badge ${describeWord(verdict)[0]}`}>{describeWord(verdict)[1]}</span>
              <a href={projectLink('relations', relation.id)}>{relation.name}</a>
            </div>
            <div className="row">
              {[source, ...others].map((identifier) => (
                <span key={identifier} className="row small">
                  <Thumb url={findMainImage(products.get(identifier)?.images ?? [])} />
                  {products.get(identifier)?.name ?? identifier}
                </span>
              ))}
            </div>
            <Reasons list={reasons} />
            <Missing list={missing} products={products} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

const Reasons = ({ list }: { list: readonly FitReason[] }) => (
  <ul className="fit-reasons small">
    {list.map(({ words, verdict, inner }, index) => (
      <li key={index} className={verdict}>
        {words}
        <span className="hidden">: {describeWord(verdict)[1]}</span>
        {inner && <Reasons list={inner} />}
      </li>
    ))}
  </ul>
);

function Missing({ list, products }: { list: FitAnswer['pairs'][number]['missing']; products: Products }) {
  const ontology = projectLink('ontology');
  return list.map(({ identifier, attribute }) => (
    <p key={`${identifier} ${attribute}`} className="small">
      {rich('<link>{attribute}</link> of {name} is missing.', {
        attribute,
        name: products.get(identifier)?.name ?? identifier,
        link: linkWith(ontology, { contains: attribute }),
      })}
    </p>
  ));
}

const PAIRS = 50;

function Unjudged({ answer: { withoutRule }, products }: { answer: FitAnswer; products: Products }) {
  if (withoutRule.length === 0) return null;
  const nameOf = (identifier: string) => products.get(identifier)?.name ?? identifier;
  return (
    <details>
      <summary>
        {t('{count, plural, one {# pair} other {# pairs}} that no rule covers', {
          count: withoutRule.length,
        })}
      </summary>
      <ul className="small soft">
        {withoutRule.slice(0, PAIRS).map((pair) => (
          <li key={pair.join(' ')}>{pair.map(nameOf).join(' – ')}</li>
        ))}
      </ul>
    </details>
  );
}
