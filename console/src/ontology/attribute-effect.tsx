import type { Attribute, AttributeEffect as EffectAnswer } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { t } from '../languages/text.ts';
import { ErrorNote, Loading } from '../parts/page.tsx';
import { Figure } from '../parts/show.tsx';
import { formatCount } from '../rules/format.ts';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { useSettled } from '../state/settled.ts';

const SHOWN = 5;

/** What a change would do to the facts, before it is saved. */
export function AttributeEffect({ before, after }: { before: Attribute; after: Attribute }) {
  const relata = useRelata();
  const project = useProject();
  const wanted = useSettled(JSON.stringify(after));
  const isChanged = wanted !== JSON.stringify(before);
  const effect = useQuery({
    queryKey: ['attribute-effect', project.id, wanted],
    queryFn: ({ signal }) => relata.ontology.preview(project.id, JSON.parse(wanted) as Attribute, { signal }),
    enabled: isChanged,
    staleTime: 30_000,
  });
  if (!isChanged) return null;
  if (effect.error) return <ErrorNote error={effect.error} />;
  if (!effect.data) return <Loading words={t('Counting the effect …')} />;
  return <Effect effect={effect.data} />;
}

export function Effect({ effect }: { effect: EffectAnswer }) {
  const { kept, gained, lost, sampled, sampledProducts } = effect;
  return (
    <div className="stack" aria-live="polite">
      <h3>
        {sampled
          ? t('Effect of saving (of {count, plural, one {# product} other {# products}} sampled)', {
              count: sampledProducts,
            })
          : t('Effect of saving')}
      </h3>
      <dl className="figures">
        <Figure label={t('Values that remain facts')} value={formatCount(kept)} />
        <Figure label={t('Become facts')} value={formatCount(gained.count)} />
        <Figure label={t('No longer facts')} value={formatCount(lost.count)} />
      </dl>
      <Examples title={t('Become facts')} list={gained.examples} />
      <Examples title={t('No longer facts')} list={lost.examples} />
    </div>
  );
}

function Examples({
  title,
  list,
}: {
  title: string;
  list: readonly { identifier: string; value: string }[];
}) {
  const project = useProject();
  if (list.length === 0) return null;
  return (
    <p className="small">
      <span className="soft">{title}: </span>
      {list.slice(0, SHOWN).map(({ identifier, value }, at) => (
        <span key={identifier + value}>
          {at > 0 && ', '}
          <span className="mono">{value}</span>{' '}
          <a href={linkTo('projects', project.id, 'products', identifier)}>{identifier}</a>
        </span>
      ))}
    </p>
  );
}
