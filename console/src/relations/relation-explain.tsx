import type { RelationExplanation } from '@relata/client';
import { type FormEvent, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Explanation } from '../parts/explanation.tsx';
import { ProductField } from '../parts/forms/product-field.tsx';
import { Card, ErrorNote } from '../parts/page.tsx';
import type { Pair } from '../rules/verdicts.ts';
import { useProject } from '../state/project.ts';
import { linkTo, linkWith } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** Why one product is a result of another, or is not. */
export function RelationExplain({ relationId }: { relationId: number }) {
  const relata = useRelata();
  const project = useProject();
  const [pair, setPair] = useState<Pair>({ source: '', target: '' });
  const [found, setFound] = useState<{ explanation: RelationExplanation; pair: Pair }>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const explain = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const asked = { source: pair.source.trim(), target: pair.target.trim() };
    setBusy(true);
    setError(undefined);
    await relata.relations.explain({ projectId: project.id, relationId }, asked).then(
      (explanation) => setFound({ explanation, pair: asked }),
      (reason: unknown) => {
        setFound(undefined);
        setError(reason);
      },
    );
    setBusy(false);
  };
  return (
    <Card title={t('Why, or why not?')}>
      <form className="stack" onSubmit={(event) => void explain(event)}>
        <div className="fields">
          <ProductField
            label={t('Requested product')}
            value={pair.source}
            onChange={(source) => setPair({ ...pair, source })}
          />
          <ProductField
            label={t('Result')}
            value={pair.target}
            onChange={(target) => setPair({ ...pair, target })}
          />
        </div>
        <div className="row">
          <Button type="submit" busy={isBusy} disabled={pair.source === '' || pair.target === ''}>
            {t('Explain')}
          </Button>
        </div>
      </form>
      <ErrorNote error={error} />
      {found && (
        <>
          <Explanation found={found.explanation} pair={found.pair} />
          <a href={linkWith(linkTo('projects', project.id, 'why'), { ...found.pair })}>
            {t('The same in every relation')}
          </a>
        </>
      )}
    </Card>
  );
}
