import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { FormDialog } from '../../parts/dialog.tsx';
import { Answer } from '../../parts/page.tsx';
import { useTell } from '../../parts/toasts.tsx';
import { deleteProducts } from '../../state/delete-products.ts';
import { makeIdempotencyKey } from '../../state/idempotency.ts';
import { useProject } from '../../state/project.ts';
import { goTo, linkTo } from '../../state/route.ts';
import { useRelata } from '../../state/session.tsx';
import type { ProductFilters } from '../finding/product-filters.ts';
import { MOST_CHOSEN, useChosen, useSelection } from '../grid/selection.ts';
import { BulkEffect } from './bulk-effect.tsx';
import { listRows, type Wanted } from './product-export.ts';

/** What is done, with everything that the filters find or with what is ticked. */
export interface Bulk {
  readonly act: 'delete' | 'reprocess';
  readonly isAll: boolean;
}

interface Shape {
  bulk: Bulk;
  filters: ProductFilters;
  onClose(): void;
  onDone(): void;
}

/** Says which products it will be before anything is done: exactly those are sent. */
export function BulkDialog({ bulk, filters, onClose, onDone }: Shape) {
  const { act } = bulk;
  const found = useIdentifiers(bulk, filters);
  const start = useStart(bulk, onDone);
  const identifiers = found.data ?? [];
  const fits = identifiers.length > 0 && identifiers.length <= MOST_CHOSEN;
  return (
    <FormDialog
      title={act === 'delete' ? t('Delete products') : t('Reprocess products')}
      action={act === 'delete' ? t('Delete') : t('Reprocess')}
      isDanger={act === 'delete'}
      isOpen
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
  const relata = useRelata();
  const { id: projectId } = useProject();
  const chosen = useChosen();
  return useQuery({
    queryKey: ['to-be-done', projectId, isAll, filters],
    queryFn: ({ signal }) =>
      isAll ? collect({ relata, projectId, filters, signal }) : Promise.resolve([...chosen]),
    // What is confirmed is what was found just now.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}

async function collect(wanted: Wanted): Promise<readonly string[]> {
  const identifiers = new Set<string>();
  for await (const rows of listRows(wanted)) {
    for (const { identifier } of rows) identifiers.add(identifier);
    if (identifiers.size > MOST_CHOSEN) break;
  }
  return [...identifiers];
}

/** @returns what sends the products, waits until it is done, and tells of it */
function useStart({ act }: Bulk, onDone: () => void) {
  const relata = useRelata();
  const { id: projectId } = useProject();
  const queries = useQueryClient();
  const selection = useSelection();
  const tell = useTell();
  const [idempotencyKey] = useState(makeIdempotencyKey);
  return async (identifiers: readonly string[]) => {
    const count = identifiers.length;
    if (act === 'reprocess') {
      const { task } = await relata.products.change(
        identifiers.map((identifier) => ({ identifier })),
        { projectId, idempotencyKey },
      );
      setTimeout(() => goTo(linkTo('projects', projectId, 'updates', task.id)));
      return;
    }
    const undo = await deleteProducts(identifiers, { relata, queries, projectId, idempotencyKey });
    selection?.clear();
    onDone();
    tell.undoable(
      t('{count, plural, one {# product is deleted} other {# products are deleted}}', { count }),
      async () => {
        await undo();
        onDone();
        tell.good(t('{count, plural, one {# product is back} other {# products are back}}', { count }));
      },
    );
  };
}
