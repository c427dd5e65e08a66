import type { Relata } from '@relata/client';
import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button, Menu } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { Answer } from '../../parts/page.tsx';
import { ProductLinks } from '../../parts/show.tsx';
import { deleteProducts, makeIdempotencyKey } from '../../state/delete-products.ts';
import { tell } from '../../state/done.ts';
import { useCalls, useOfProject } from '../../state/project.ts';
import { goFromHere, projectLink } from '../../state/route.ts';
import type { ProductFilters } from '../finding/product-filters.ts';
import { MOST_CHOSEN, useChosen, useSelection } from '../grid/product-grid.tsx';
import { type ExportScope, listRows } from './export-button.tsx';

/** What can be done with the products that are ticked, or with all that the filters find. */
export function BulkActions({ filters }: { filters: ProductFilters }) {
  const selection = useSelection();
  const count = useChosen().size;
  const [bulk, setBulk] = useState<Bulk>();
  const open = (act: Bulk['act'], isAll: boolean) => () => setBulk({ act, isAll });
  const chosen = [
    {
      words: t('Reprocess {count, plural, one {# chosen product} other {# chosen products}} …', { count }),
      onSelect: open('reprocess', false),
    },
    {
      words: t('Delete {count, plural, one {# chosen product} other {# chosen products}} …', { count }),
      isDanger: true,
      onSelect: open('delete', false),
    },
    { words: t('Choose none'), onSelect: () => selection?.clear() },
  ];
  return (
    <>
      <Menu
        label={t('Actions')}
        trigger={<Button>{count > 0 ? t('Actions ({count, number})', { count }) : t('Actions')}</Button>}
        entries={[
          ...(count > 0 ? chosen : []),
          { words: t('Reprocess all products found …'), onSelect: open('reprocess', true) },
          { words: t('Delete all products found …'), isDanger: true, onSelect: open('delete', true) },
        ]}
      />
      {bulk && <BulkDialog bulk={bulk} filters={filters} onClose={() => setBulk(undefined)} />}
    </>
  );
}

/** What is done, with everything that the filters find or with what is ticked. */
interface Bulk {
  readonly act: 'delete' | 'reprocess';
  readonly isAll: boolean;
}

interface Shape {
  bulk: Bulk;
  filters: ProductFilters;
  onClose(): void;
}

/** Says which products it will be before anything is done: exactly those are sent. */
function BulkDialog({ bulk, filters, onClose }: Shape) {
  const { act } = bulk;
  const found = useIdentifiers(bulk, filters);
  const start = useStart(bulk);
  const identifiers = found.data ?? [];
  const fits = identifiers.length > 0 && identifiers.length <= MOST_CHOSEN;
  return (
    <FormDialog
      title={act === 'delete' ? t('Delete products') : t('Reprocess products')}
      action={act === 'delete' ? t('Delete') : t('Reprocess')}
      isDanger={act === 'delete'}
      canSubmit={fits}
      onClose={onClose}
      onSubmit={() => start(identifiers)}
    >
      <Answer of={found}>{(list) => <BulkEffect act={act} identifiers={list} />}</Answer>
    </FormDialog>
  );
}

/** One more than may be: then there are too many. */
function useIdentifiers({ isAll }: Bulk, filters: ProductFilters) {
  const chosen = useChosen();
  return useOfProject(
    ['to-be-done', isAll, filters],
    (asking): Promise<readonly string[]> =>
      isAll ? collect({ ...asking, filters }) : Promise.resolve([...chosen]),
    // What is confirmed is what was found just now.
    { gcTime: 0, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false },
  );
}

async function collect(scope: ExportScope): Promise<readonly string[]> {
  const identifiers = new Set<string>();
  for await (const rows of listRows(scope)) {
    for (const { identifier } of rows) identifiers.add(identifier);
    if (identifiers.size > MOST_CHOSEN) break;
  }
  return [...identifiers];
}

/** @returns what sends the products, waits until it is done, and tells of it */
function useStart({ act }: Bulk) {
  const { relata, projectId } = useCalls();
  const selection = useSelection();
  const [idempotencyKey] = useState(makeIdempotencyKey);
  return async (identifiers: readonly string[]) => {
    const count = identifiers.length;
    const go = goFromHere();
    if (act === 'reprocess') {
      const { task } = await relata.products.change(
        identifiers.map((identifier) => ({ identifier })),
        { projectId, idempotencyKey },
      );
      setTimeout(() => go(projectLink('updates', task.id)));
      return;
    }
    const undo = await deleteProducts(identifiers, { relata, projectId, idempotencyKey });
    selection?.clear();
    tell.undoable(
      t('{count, plural, one {# product is deleted} other {# products are deleted}}', { count }),
      async () => {
        await undo();
        tell.good(t('{count, plural, one {# product is back} other {# products are back}}', { count }));
      },
    );
  };
}

const EXAMPLES = 5;
/** Relations are asked for each of them. */
const MOST_COUNTED = 20;

/** What happens to how many products, which they are, and what relations lose. */
function BulkEffect({ act, identifiers }: Pick<Bulk, 'act'> & { identifiers: readonly string[] }) {
  const count = identifiers.length;
  if (count === 0) return <p>{t('The filters find no product.')}</p>;
  if (count > MOST_CHOSEN) {
    return (
      <p className="note warn">
        {t(
          'More than {most, number} products are found, which is more than can be undone at once: narrow the filters, or send a full update.',
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
              'Shops, search and relations no longer have them, at once. Undo brings them back until the next full update or deletion.',
            )}
          </p>
        </>
      ) : (
        <p className="soft">
          {t(
            'Their values are read once more, by the attributes as they are now. Nothing that was sent changes; the report names each value that cannot be used.',
          )}
        </p>
      )}
    </>
  );
}

function Losses({ identifiers }: { identifiers: readonly string[] }) {
  const counted = identifiers.slice(0, MOST_COUNTED);
  const losses = useOfProject(
    ['losses', counted],
    ({ relata, projectId, signal }) => countLosses(relata, projectId, { counted, signal }),
    { gcTime: 0 },
  );
  return (
    <Answer of={losses}>
      {(list) => (
        <div>
          {identifiers.length > counted.length && (
            <p>{t('Of the first {count, number} of them:', { count: counted.length })}</p>
          )}
          <ul className="bulleted">
            {list.map(({ relation, count }) => (
              <li key={relation.id}>
                <a href={projectLink('relations', relation.id)}>{relation.name}</a>:{' '}
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

interface CountedProducts {
  readonly counted: readonly string[];
  readonly signal: AbortSignal;
}

async function countLosses(relata: Relata, projectId: number, { counted, signal }: CountedProducts) {
  const counts = new Map<number, { relation: { id: number; name: string }; count: number }>();
  for (const identifier of counted) {
    const { relations } = await relata.products.relationsOf(projectId, identifier, { limit: 1, signal });
    for (const { id, name, asTarget } of relations) {
      if (!asTarget?.results.length) continue;
      counts.set(id, { relation: { id, name }, count: (counts.get(id)?.count ?? 0) + 1 });
    }
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}
