import type { ProductRelation, RelationSide } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { rich } from '../languages/rich.tsx';
import { t } from '../languages/text.ts';
import { Answer, Card } from '../parts/page.tsx';
import { ProductChip } from '../parts/product-chip.tsx';
import { Reason } from '../parts/reason.tsx';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { RelatedGraph } from './related-graph.tsx';

/** For each relation and direction. */
const SHOWN_GROUPS = 12;

/** What a product leads to and what leads to it, with the reason. */
export function RelatedCard({ identifier }: { identifier: string }) {
  const project = useProject();
  const relata = useRelata();
  const related = useQuery({
    queryKey: ['related', project.id, identifier],
    queryFn: async ({ signal }) =>
      (await relata.products.relationsOf(project.id, identifier, { limit: SHOWN_GROUPS, signal })).relations,
  });
  return (
    <Card title={t('Related products')}>
      <Answer of={related}>{(relations) => <Related identifier={identifier} relations={relations} />}</Answer>
    </Card>
  );
}

interface Way {
  readonly relation: ProductRelation;
  readonly results: RelationSide['results'];
  readonly isBack: boolean;
}

function listWays(relations: readonly ProductRelation[]): Way[] {
  return relations
    .flatMap((relation) => [
      { relation, results: relation.asSource?.results ?? [], isBack: false },
      { relation, results: relation.asTarget?.results ?? [], isBack: true },
    ])
    .filter(({ results }) => results.length > 0);
}

function Related({ identifier, relations }: { identifier: string; relations: readonly ProductRelation[] }) {
  const project = useProject();
  const ways = listWays(relations);
  if (ways.length === 0) {
    return (
      <p className="soft">
        {rich('No relation has this product on either side. <link>Relations</link>', {
          link: (words) => <a href={linkTo('projects', project.id, 'relations')}>{words}</a>,
        })}
      </p>
    );
  }
  return (
    <>
      <RelatedGraph
        identifier={identifier}
        relations={ways.map(({ relation, results, isBack }) => ({
          name: isBack ? `← ${relation.name}` : relation.name,
          products: results.map((product) => product.identifier),
        }))}
      />
      {ways.map((way) => (
        <WayList key={`${way.relation.id} ${way.isBack}`} way={way} />
      ))}
    </>
  );
}

function WayList({ way: { relation, results, isBack } }: { way: Way }) {
  const project = useProject();
  return (
    <div className="stack">
      <h3 className="row">
        <a href={linkTo('projects', project.id, 'relations', relation.id)}>{relation.name}</a>
        <span className="tag">{isBack ? t('leads here') : t('leads to')}</span>
        {!relation.enabled && <span className="tag">{t('switched off')}</span>}
        <span className="soft small">{results.length}</span>
      </h3>
      <div className="products-strip">
        {results.map((product) => (
          <ProductChip key={product.identifier} product={product}>
            <Reason reason={product.explain} />
          </ProductChip>
        ))}
      </div>
    </div>
  );
}
