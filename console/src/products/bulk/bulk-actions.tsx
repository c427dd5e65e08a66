import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { Menu } from '../../parts/menu.tsx';
import type { ProductFilters } from '../finding/product-filters.ts';
import { useChosen, useSelection } from '../grid/selection.ts';
import { type Bulk, BulkDialog } from './bulk-dialog.tsx';

/** What can be done with the products that are ticked, or with all that the filters find. */
export function BulkActions({ filters, onDone }: { filters: ProductFilters; onDone(): void }) {
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
      {bulk && (
        <BulkDialog bulk={bulk} filters={filters} onClose={() => setBulk(undefined)} onDone={onDone} />
      )}
    </>
  );
}
