import type { Relation } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { Answer, Card } from '../parts/page.tsx';
import { Thumb } from '../parts/show.tsx';
import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';
import { RelatedGraph } from './related-graph.tsx';

const SHOWN = 12;

/** What goes with a product, by all relations of the project. */
export function RelatedCard({ identifier }: { identifier: string }) {
  const project = useProject();
  const relata = useRelata();
  const related = useQuery({
    queryKey: ['related', project.id, identifier],
    queryFn: async ({ signal }) => {
      const relations = await relata.relations.list(project.id, { signal });
      const ready = relations.filter(({ state, enabled }) => state === 'ready' && enabled);
      if (ready.length === 0) return { relations, found: [] };
      const includeRelations = ready.map(({ id }) => ({ id, limit: SHOWN }));
      const { tags } = await relata.relations.relatedTo(identifier, {
        projectId: project.id,
        includeRelations,
        signal,
      });
      return { relations, found: tags.flatMap(({ relations: answers }) => answers) };
    },
  });
  return (
    <Card title="Related products">
      <Answer of={related}>
        {({ relations, found }) => {
          const filled = found.filter(({ searchResult }) => searchResult.length > 0);
          if (filled.length === 0) return <NothingRelated relations={relations} />;
          return (
            <>
              <RelatedGraph
                identifier={identifier}
                relations={filled.map(({ name, searchResult }) => ({
                  name,
                  products: searchResult.map((product) => product.identifier),
                }))}
              />
              {filled.map(({ id, name, matchType, searchResult }) => (
                <div key={id} className="stack">
                  <h3 className="row">
                    <a href={linkTo('projects', project.id, 'relations', id)}>{name}</a>
                    {matchType === 'SECOND_WAY' && <span className="tag">the other way</span>}
                    <span className="soft small">{searchResult.length}</span>
                  </h3>
                  <div className="products-strip">
                    {searchResult.map((product) => (
                      <a
                        key={product.identifier}
                        className="product-chip"
                        href={linkTo('projects', project.id, 'products', product.identifier)}
                      >
                        <Thumb url={product.image} />
                        <span>
                          <span className="cut" style={{ display: 'block' }}>
                            {product.name}
                          </span>
                          <span className="mono soft">{product.identifier}</span>
                        </span>
                      </a>
                    ))}
                  </div>
                </div>
              ))}
            </>
          );
        }}
      </Answer>
    </Card>
  );
}

function NothingRelated({ relations }: { relations: readonly Relation[] }) {
  const project = useProject();
  return (
    <p className="soft">
      {relations.length === 0
        ? 'This project has no relations yet. '
        : 'No relation leads from this product to another. '}
      <a href={linkTo('projects', project.id, 'relations')}>Relations</a>
    </p>
  );
}
