import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { ProductField } from '../../parts/forms/product-field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { ProductChip } from '../../parts/product-chip.tsx';
import type { Pair } from '../../rules/verdicts.ts';
import { goTo, linkWith, projectLink, useRoute } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';
import { useProduct } from './around.ts';
import { PairVerdicts } from './pair-card.tsx';

/** How any two products stand in every relation. The two are in the address, so that an answer can be sent. */
export function WhyView() {
  const { query } = useRoute();
  const chosen = { source: query.get('source') ?? '', target: query.get('target') ?? '' };
  const isWhole = chosen.source !== '' && chosen.target !== '';
  return (
    <Page
      title={t('Why, or why not?')}
      under={[[t('Relations'), projectLink('relations')]]}
      about={t('Choose two products to see what relates them, and what is missing.')}
    >
      <Card>
        <PairForm chosen={chosen} />
      </Card>
      {isWhole && (
        <Card title={t('What each relation says')}>
          <div className="pair-chips">
            <Chip identifier={chosen.source} />
            <span className="soft" aria-hidden="true">
              →
            </span>
            <Chip identifier={chosen.target} />
          </div>
          <PairVerdicts key={`${chosen.source} ${chosen.target}`} pair={chosen} />
        </Card>
      )}
    </Page>
  );
}

function PairForm({ chosen }: { chosen: Pair }) {
  // What is typed holds until another pair stands in the address.
  const [typed, setTyped] = useState({ chosen: JSON.stringify(chosen), ...chosen });
  const { source, target } = typed.chosen === JSON.stringify(chosen) ? typed : chosen;
  const change = (part: Partial<Pair>) =>
    setTyped({ chosen: JSON.stringify(chosen), source, target, ...part });
  const ask = (pair: Pair) => goTo(linkWith(projectLink('why'), { ...pair }));
  const pair = { source: source.trim(), target: target.trim() };
  const isWhole = pair.source !== '' && pair.target !== '';
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        ask(pair);
      }}
    >
      <div className="fields">
        <ProductField
          label={t('From this product')}
          value={source}
          onChange={(value) => change({ source: value })}
        />
        <ProductField
          label={t('To this product')}
          value={target}
          onChange={(value) => change({ target: value })}
        />
      </div>
      <div className="row">
        <Button type="submit" look="primary" disabled={!isWhole}>
          {t('Explain')}
        </Button>
        <Button disabled={!isWhole} onClick={() => ask({ source: pair.target, target: pair.source })}>
          {t('The other way round')}
        </Button>
      </div>
    </form>
  );
}

function Chip({ identifier }: { identifier: string }) {
  const { data } = useProduct(identifier);
  if (data === undefined) return <span className="mono">{identifier}</span>;
  const { name, images } = data.product;
  return <ProductChip product={{ identifier, name, thumbnail: findMainImage(images) ?? '' }} />;
}
