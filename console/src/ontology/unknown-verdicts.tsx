import type { Filter, Relata, Relation } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Answer, Card } from '../parts/page.tsx';
import { EVERY_PRODUCT, listMatches, nameMatched, OWN_FIELDS } from '../rules/filters.ts';
import { useProject } from '../state/project.ts';
import { useRelations } from '../state/relations.ts';
import { linkTo, linkWith } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** An attribute that a constraint needs of the products of a side. */
interface Need {
  readonly filter: Filter;
  readonly attribute: string;
}

/** Each is a look through the catalog. */
const MOST = 40;
const SHOWN = 10;

/** Which missing values leave most verdicts unknown, counted when somebody asks. */
export function UnknownVerdicts() {
  const relations = useRelations();
  const needs = listNeeds(relations.data ?? []);
  const [isAsked, setAsked] = useState(false);
  if (needs.length === 0) return null;
  return (
    <Card title={t('What leaves verdicts unknown')}>
      {isAsked ? (
        <Counted needs={needs} />
      ) : (
        <div className="row">
          <p className="soft">{t('Products that a constraint is about and that lack a value it needs.')}</p>
          <Button onClick={() => setAsked(true)}>{t('Count missing values')}</Button>
        </div>
      )}
    </Card>
  );
}

function Counted({ needs }: { needs: readonly Need[] }) {
  const project = useProject();
  const relata = useRelata();
  const ontology = linkTo('projects', project.id, 'ontology');
  const counted = useQuery({
    queryKey: ['coverage', project.id, 'unknown', JSON.stringify(needs)],
    queryFn: ({ signal }) => countMissing(relata, { projectId: project.id, needs, signal }),
    refetchOnWindowFocus: false,
  });
  return (
    <Answer of={counted}>
      {(list) =>
        list.length === 0 ? (
          <p>{t('Nothing: every product has what the constraints need.')}</p>
        ) : (
          <ol>
            {list.slice(0, SHOWN).map(({ attribute, products }) => (
              <li key={attribute}>
                <a href={linkWith(ontology, { contains: attribute })}>{attribute}</a>
                {': '}
                {t('{count, plural, one {# product} other {# products}}', { count: products })}
              </li>
            ))}
          </ol>
        )
      }
    </Answer>
  );
}

function listNeeds(relations: readonly Relation[]): Need[] {
  const needs = relations
    .filter(({ constraint, kind, enabled }) => enabled !== false && (constraint || kind === 'total'))
    .flatMap(({ source = EVERY_PRODUCT, target = EVERY_PRODUCT, match, total, limit }) => [
      ...listMatches(match)
        .filter(({ missing }) => missing !== 'passes')
        .flatMap((one) => [
          { filter: source, attribute: nameMatched(one.source) },
          { filter: target, attribute: nameMatched(one.target) },
        ]),
      ...(total && total.missing !== 'passes' ? [{ filter: target, attribute: total.attribute }] : []),
      ...(limit ? [{ filter: source, attribute: limit.attribute }] : []),
    ])
    .filter(({ attribute }) => !OWN_FIELDS.includes(attribute));
  return [...new Map(needs.map((need) => [JSON.stringify(need), need])).values()].slice(0, MOST);
}

interface Question {
  readonly projectId: number;
  readonly needs: readonly Need[];
  readonly signal: AbortSignal;
}

/** A preview without sources counts its targets and searches nothing. @returns the most first */
async function countMissing(relata: Relata, { projectId, needs, signal }: Question) {
  const counts = new Map<string, number>();
  for (const { filter, attribute } of needs) {
    const lacks: Filter = { not: { attribute, operator: 'exists' } };
    const definition = { name: 'count', tag: 'count', source: { identifiers: [] } };
    const { target } = await relata.relations.preview(
      projectId,
      { ...definition, target: { all: [filter, lacks] } },
      { signal },
    );
    // Several constraints may be about the same products: the largest of their counts is sure.
    counts.set(attribute, Math.max(counts.get(attribute) ?? 0, target?.products ?? 0));
  }
  return [...counts]
    .map(([attribute, products]) => ({ attribute, products }))
    .filter(({ products }) => products > 0)
    .sort((a, b) => b.products - a.products);
}
