import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { ProductField } from '../../parts/forms/product-field.tsx';
import { Card } from '../../parts/page.tsx';
import type { Pair } from '../../rules/verdicts.ts';
import { PairVerdicts } from './pair-verdicts.tsx';

/** How this product and another one stand in every relation: what leads from one to the other, and what it lacks. */
export function PairCard({ identifier }: { identifier: string }) {
  const [other, setOther] = useState('');
  const [pair, setPair] = useState<Pair>();
  const isThere = other.trim() !== '';
  return (
    <Card title={t('Why, or why not?')}>
      <p className="soft">{t('Choose another product to see what relates the two, and what is missing.')}</p>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setPair({ source: identifier, target: other.trim() });
        }}
      >
        <ProductField label={t('Other product')} value={other} onChange={setOther} />
        <div className="row">
          <Button type="submit" disabled={!isThere}>
            {t('Does this product lead to it?')}
          </Button>
          <Button disabled={!isThere} onClick={() => setPair({ source: other.trim(), target: identifier })}>
            {t('Does it lead here?')}
          </Button>
        </div>
      </form>
      {pair && <PairVerdicts key={`${pair.source} ${pair.target}`} pair={pair} />}
    </Card>
  );
}
