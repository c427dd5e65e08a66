import type { Relation } from '@relata/client';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { FirstProducts } from '../parts/first-products.tsx';
import { ProductField } from '../parts/forms/suggest-field.tsx';
import { Answer, Card, Loading, Page } from '../parts/page.tsx';
import { Figure } from '../parts/show.tsx';
import { RelatedCard, Walk } from '../products/page/related-graph.tsx';
import { formatCount, nameTask } from '../rules/format.ts';
import { useOfProject } from '../state/answers.ts';
import {
  readWhole,
  UNTIL_INDEXED,
  useAttributes,
  useCoverage,
  useRelations,
  useSuggestions,
  useTotal,
} from '../state/catalog.ts';
import { describeFailure } from '../state/mistakes.ts';
import { useProject } from '../state/rights.ts';
import { linkTo, linkWith, projectLink, useFilters } from '../state/route.ts';
import { useIsLate } from '../state/timing.ts';
import { useTasks } from '../updates/updates.tsx';

/** A project at a glance: its relations, its figures, open problems; or the first steps. */
export function ProjectStart() {
  const project = useProject();
  const first = useOfProject(
    ['products', 'any'],
    async ({ relata, projectId, signal }) =>
      (await relata.products.listTable(projectId, { limit: 1, signal })).items,
  );
  return (
    <Page title={project.name} crumbs={[[t('Projects'), linkTo('projects')]]}>
      <Answer of={first}>
        {([any]) =>
          any === undefined ? (
            <Card isBare>
              <FirstProducts />
            </Card>
          ) : (
            <>
              <Question any={any.identifier} />
              <Figures />
              <Attention />
            </>
          )
        }
      </Answer>
    </Page>
  );
}

/** How long the page waits for a fitting product before it shows any other product. */
const PATIENCE_MS = 300;
const EXAMPLES = 3;

const finds = ({ state, kind }: Relation) => state === 'ready' && kind !== 'links';

/** The main question of the service, asked about a product of the catalog, which is part of the address. */
function Question({ any }: { any: string }) {
  const [{ product }, , step] = useFilters(['product']);
  const { data: relations, isPending } = useRelations();
  const ready = relations?.filter(finds).slice(0, EXAMPLES) ?? [];
  const standing = useStanding(product === '' ? ready[0] : undefined);
  // While the catalog is being indexed, any product is suitable.
  const isLate = useIsLate(PATIENCE_MS);
  const isFinding = product === '' && (isPending || (standing.isFetching && !isLate));
  const identifier = product || standing.data || any;
  const here = projectLink();
  return (
    <>
      <section className="card start" aria-label={t('What goes with …?')}>
        <div className="start-ask">
          <h2>{t('What goes with …?')}</h2>
          <RelatedQuestion key={product} onAsk={(next) => step({ product: next })} />
          {ready.length > 0 && (
            <p className="row small">
              <span className="soft">{t('For example:')}</span>
              {ready.map((relation) => (
                <Example key={relation.id} relation={relation} onAsk={(next) => step({ product: next })} />
              ))}
            </p>
          )}
        </div>
        {isFinding ? (
          <Loading />
        ) : (
          <Walk way={[identifier]} linkOn={(next) => linkWith(here, { product: next })} />
        )}
      </section>
      {!isFinding && <RelatedCard key={identifier} identifier={identifier} shown={3} />}
    </>
  );
}

function RelatedQuestion({ onAsk }: { onAsk(identifier: string): void }) {
  const [text, setText] = useState('');
  return <ProductField label={t('Product')} value={text} onChange={setText} onPick={onAsk} />;
}

/** @returns the identifier of a product on a relation's first side, once the catalog is indexed */
const useStanding = (relation: Relation | undefined) =>
  useOfProject(
    ['products', 'standing', relation?.source],
    async ({ relata, projectId, signal }) => {
      const query = { filter: JSON.stringify(relation?.source), limit: 1 };
      const find = () => relata.products.findManaged(projectId, query, { signal });
      return (await readWhole(find)).items[0]?.identifier ?? null;
    },
    { enabled: relation !== undefined, staleTime: 60_000, ...UNTIL_INDEXED },
  );

function Example({ relation, onAsk }: { relation: Relation; onAsk(identifier: string): void }) {
  const { data } = useStanding(relation);
  if (!data) return null;
  return (
    <Button look="quiet" onClick={() => onAsk(data)}>
      {relation.name}
    </Button>
  );
}

/** If the user leaves the page before this time, the counts are not requested. */
const READ_MS = 1_500;

function Figures() {
  const { data: relations = [] } = useRelations();
  const attributes = useAttributes();
  const total = useTotal();
  // These counts take seconds in a large catalog. They are requested now, so that the next view has them.
  const isRead = useIsLate(READ_MS);
  useCoverage([], isRead);
  useSuggestions(false, isRead);
  const answering = relations.filter(({ state, enabled }) => state === 'ready' && enabled !== false).length;
  return (
    <dl className="figures">
      <Figure label={t('Products')} value={total === undefined ? '…' : formatCount(total)} />
      <Figure
        label={t('Active relations')}
        value={formatCount(answering)}
        more={t('of {count, number}', { count: relations.length })}
      />
      <Figure label={t('Attributes')} value={formatCount(attributes.length)} />
    </dl>
  );
}

const FAILED = 3;

function Attention() {
  const { data: relations = [] } = useRelations();
  const failed = useTasks('FAILED', FAILED).data?.pages[0]?.tasks ?? [];
  const broken = relations.filter(({ misconfigured }) => misconfigured);
  const items = [
    ...broken.map(
      ({ id, name, problem = '' }) => [projectLink('relations', id), name, problem ?? ''] as const,
    ),
    ...failed.map(
      ({ id, name, error }) =>
        [projectLink('updates', id), nameTask(name), describeFailure(error).message || t('failed')] as const,
    ),
  ];
  return (
    <Card
      title={t('What needs attention')}
      actions={
        <LinkButton look="quiet" href={projectLink('updates')}>
          {t('All updates')}
        </LinkButton>
      }
    >
      {items.length === 0 ? (
        <p className="soft">{t('Nothing. Every relation works, and no task has failed.')}</p>
      ) : (
        <ul className="stack">
          {items.map(([link, name, trouble]) => (
            <li key={link} className="note warn">
              <span>
                <a href={link}>{name}</a>: {trouble}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
