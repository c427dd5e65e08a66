import { useQuery } from '@tanstack/react-query';
import { t } from '../../languages/text.ts';
import { nameCommit, sayAuthor, sayReach } from '../../parts/commit-words.ts';
import { Answer, Card } from '../../parts/page.tsx';
import { ChangeKind, ProductDifference } from '../../parts/product-difference.tsx';
import { Ago } from '../../parts/show.tsx';
import { useProject } from '../../state/project.ts';
import { linkTo, linkWith } from '../../state/route.ts';
import { useRelata } from '../../state/session.tsx';

/** The kept commits that changed a product, each with what it was before and after. */
export function ProductCommits({ identifier }: { identifier: string }) {
  const relata = useRelata();
  const project = useProject();
  const commits = useQuery({
    queryKey: ['commits', project.id, 'product', identifier],
    queryFn: ({ signal }) => relata.commits.ofProduct(project.id, identifier, { signal }),
  });
  const updates = linkTo('projects', project.id, 'updates');
  return (
    <Card title={t('History')}>
      <Answer of={commits}>
        {({ items, ...reach }) => (
          <div className="stack">
            {items.map(({ commit, ...change }) => (
              <details key={commit.id} className="change">
                <summary>
                  <ChangeKind kind={change.kind} /> {nameCommit(commit)} <Ago at={commit.at} />
                  {', '}
                  {sayAuthor(commit)}
                </summary>
                <div className="stack">
                  <ProductDifference change={change} />
                  <a href={linkWith(updates, { commit: String(commit.id) })}>
                    {t('All products of this commit')}
                  </a>
                </div>
              </details>
            ))}
            <p className="soft small">
              {items.length === 0 && t('No kept commit changed this product.')} {sayReach(reach)}
            </p>
          </div>
        )}
      </Answer>
    </Card>
  );
}
