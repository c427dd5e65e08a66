import type { Relata } from '@relata/client';
import { useQuery } from '@tanstack/react-query';
import { t } from '../../languages/text.ts';
import { Answer } from '../../parts/page.tsx';
import { ProductLinks } from '../../parts/product-link.tsx';
import { useProject } from '../../state/project.ts';
import { linkTo } from '../../state/route.ts';
import { useRelata } from '../../state/session.tsx';
import { MOST_CHOSEN } from '../grid/selection.ts';
import type { Bulk } from './bulk-dialog.tsx';

const EXAMPLES = 5;
/** Relations are asked for each of them. */
const MOST_ASKED = 20;

/** What happens to how many products, which they are, and what relations lose. */
export function BulkEffect({ act, identifiers }: Pick<Bulk, 'act'> & { identifiers: readonly string[] }) {
  const count = identifiers.length;
  if (count === 0) return <p>{t('The filters find no product.')}</p>;
  if (count > MOST_CHOSEN) {
    return (
      <p className="note warn">
        {t(
          'More than {most, number} products are found. So many are one commit, which can be undone: narrow the filters, or send a full update.',
          { most: MOST_CHOSEN },
        )}
      </p>
    );
  }
  return (
    <>
      <p>
        <strong>
          {act === 'delete'
            ? t('{count, plural, one {# product is deleted:} other {# products are deleted:}}', { count })
            : t('{count, plural, one {# product is read again:} other {# products are read again:}}', {
                count,
              })}
        </strong>{' '}
        <ProductLinks identifiers={identifiers.slice(0, EXAMPLES)} hasMore={false} />
        {count > EXAMPLES && ` ${t('and {count, number} more', { count: count - EXAMPLES })}`}
      </p>
      {act === 'delete' ? (
        <>
          <Losses identifiers={identifiers} />
          <p className="soft">
            {t(
              'They disappear from lookups, search and relations at once. Undo brings them back until the next commit.',
            )}
          </p>
        </>
      ) : (
        <p className="soft">
          {t(
            'Their values are read by the present ontology once more. Nothing that was sent changes; the report names each value that makes no fact.',
          )}
        </p>
      )}
    </>
  );
}

function Losses({ identifiers }: { identifiers: readonly string[] }) {
  const relata = useRelata();
  const { id } = useProject();
  const asked = identifiers.slice(0, MOST_ASKED);
  const losses = useQuery({
    queryKey: ['losses', id, asked],
    queryFn: ({ signal }) => countLosses(relata, id, { asked, signal }),
    gcTime: 0,
  });
  return (
    <Answer of={losses}>
      {(list) => (
        <div>
          {identifiers.length > asked.length && (
            <p>{t('Of the first {count, number} of them:', { count: asked.length })}</p>
          )}
          <ul className="bulleted">
            {list.map(({ relation, count }) => (
              <li key={relation.id}>
                <a href={linkTo('projects', id, 'relations', relation.id)}>{relation.name}</a>:{' '}
                {t(
                  '{count, plural, one {# is a result of other products} other {# are results of other products}}',
                  { count },
                )}
              </li>
            ))}
            {list.length === 0 && <li>{t('No relation has them as results.')}</li>}
          </ul>
        </div>
      )}
    </Answer>
  );
}

interface Asked {
  readonly asked: readonly string[];
  readonly signal: AbortSignal;
}

async function countLosses(relata: Relata, projectId: number, { asked, signal }: Asked) {
  const counts = new Map<number, { relation: { id: number; name: string }; count: number }>();
  for (const identifier of asked) {
    const { relations } = await relata.products.relationsOf(projectId, identifier, { limit: 1, signal });
    for (const { id, name, asTarget } of relations) {
      if (!asTarget?.results.length) continue;
      counts.set(id, { relation: { id, name }, count: (counts.get(id)?.count ?? 0) + 1 });
    }
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}
