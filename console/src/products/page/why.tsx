import type { Relation, RelationExplanation } from '@relata/client';
import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { presentLocale, t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { Explanation } from '../../parts/explanation.tsx';
import { ProductField } from '../../parts/forms/suggest-field.tsx';
import { Answer, Card, ErrorNote, Loading, Page } from '../../parts/page.tsx';
import { ProductChip } from '../../parts/show.tsx';
import { listMissing, type Pair } from '../../rules/verdicts.ts';
import { useRelations } from '../../state/catalog.ts';
import { handleSubmit } from '../../state/forms.ts';
import { useCalls } from '../../state/rights.ts';
import { goTo, linkWith, projectLink, useRoute } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';
import { useProduct } from './around.ts';

/** Explains any two products in every relation. Both are in the address, so that answers can be shared. */
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
        <Card title={t('Result of each relation')}>
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
  // The typed products stay until the address has another pair.
  const [typed, setTyped] = useState({ chosen: JSON.stringify(chosen), ...chosen });
  const { source, target } = typed.chosen === JSON.stringify(chosen) ? typed : chosen;
  const change = (part: Partial<Pair>) =>
    setTyped({ chosen: JSON.stringify(chosen), source, target, ...part });
  const ask = (pair: Pair) => goTo(linkWith(projectLink('why'), { ...pair }));
  const pair = { source: source.trim(), target: target.trim() };
  const isWhole = pair.source !== '' && pair.target !== '';
  return (
    <form className="stack" onSubmit={handleSubmit(() => ask(pair))}>
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

/** Explains this product and another one in every relation: what relates them, or what is missing. */
export function PairCard({ identifier }: { identifier: string }) {
  const [other, setOther] = useState('');
  const [pair, setPair] = useState<Pair>();
  const isThere = other.trim() !== '';
  return (
    <Card title={t('Why, or why not?')}>
      <p className="soft">{t('Choose another product to see what relates the two, and what is missing.')}</p>
      <form
        className="stack"
        onSubmit={handleSubmit(() => setPair({ source: identifier, target: other.trim() }))}
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

/** The maximum number of relations to check. Each check is a call. */
const MOST = 50;

/** The verdict of each relation on two products, with relations that hold, or nearly hold, first. */
export function PairVerdicts({ pair }: { pair: Pair }) {
  const relations = useRelations();
  return <Answer of={relations}>{(list) => <Explained relations={list} pair={pair} />}</Answer>;
}

interface Verdict {
  readonly relation: Relation;
  readonly explanation: RelationExplanation;
  /** How many conditions do not hold. */
  readonly missing: number;
}

function Explained({ relations, pair }: { relations: readonly Relation[]; pair: Pair }) {
  const { list, error, isPending } = useVerdicts(relations, pair);
  if (relations.length === 0) return <p className="soft">{t('This project has no relations yet.')}</p>;
  if (error) return <ErrorNote error={error} />;
  if (isPending) return <Loading />;
  const related = list.filter(({ explanation }) => explanation.related).length;
  return (
    <div className="stack" aria-live="polite">
      <p className={related > 0 ? 'note good' : 'note warn'}>
        <strong>
          {t(
            '{related, plural, =0 {None} other {#}} of {count, plural, one {# relation} other {# relations}} leads from {source} to {target}',
            { related, count: list.length, source: pair.source, target: pair.target },
          )}
        </strong>
      </p>
      {relations.length > list.length && (
        <p className="soft small">
          {t(
            '{count, plural, one {# relation} other {# relations}} not checked: still being built, or more than {most}.',
            { count: relations.length - list.length, most: MOST },
          )}
        </p>
      )}
      {list.map((verdict, index) => (
        <VerdictDetails key={verdict.relation.id} verdict={verdict} pair={pair} isOpen={index === 0} />
      ))}
    </div>
  );
}

/** @returns the verdicts once all are there, with relations that hold first, then the nearest ones */
function useVerdicts(relations: readonly Relation[], pair: Pair) {
  const { relata, projectId } = useCalls();
  const judged = relations.filter(({ state }) => state === 'ready').slice(0, MOST);
  const answers = useQueries({
    queries: judged.map(({ id }) => ({
      queryKey: ['related', projectId, 'explained', id, pair.source, pair.target, presentLocale()],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        relata.relations.explain(
          { projectId, relationId: id },
          { ...pair, locale: presentLocale() },
          { signal },
        ),
      retry: false,
      refetchOnWindowFocus: false,
    })),
  });
  const list = judged.flatMap((relation, index): Verdict[] => {
    const explanation = answers[index]?.data;
    if (explanation === undefined) return [];
    // A product that is excluded as a variant, or is not listed, fails for a reason that no condition shows.
    const missing = explanation.related ? 0 : Math.max(1, listMissing(explanation, pair).length);
    return [{ relation, explanation, missing }];
  });
  return {
    list: list.sort((left, right) => left.missing - right.missing),
    error: answers.find((answer) => answer.error !== null)?.error,
    isPending: answers.some((answer) => answer.isPending),
  };
}

interface VerdictShape {
  verdict: Verdict;
  pair: Pair;
  isOpen: boolean;
}

const VerdictDetails = ({ verdict: { relation, explanation, missing }, pair, isOpen }: VerdictShape) => (
  <details open={isOpen}>
    <summary>
      {relation.name}:{' '}
      {explanation.related
        ? t('related')
        : t('{count, plural, one {# condition} other {# conditions}} not met', { count: missing })}
    </summary>
    <Explanation explanation={explanation} pair={pair} />
  </details>
);
