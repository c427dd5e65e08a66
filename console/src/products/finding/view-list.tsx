import { type FormEvent, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button, CopyButton, IconButton } from '../../parts/button.tsx';
import { TextField } from '../../parts/forms/field.tsx';
import { Dialog } from '../../parts/page.tsx';
import { readViews, type SavedView, withoutView, withView } from '../../rules/saved-views.ts';
import { viewsOf } from '../../state/language.ts';
import { linkWith, projectLink } from '../../state/route.ts';
import { useProject } from '../../state/service.tsx';
import { useColumns } from '../grid/column-chooser.tsx';
import { writeColumns } from '../grid/columns.ts';
import type { ProductFilters } from './product-filters.ts';

/** Views by name, kept by this browser, and the link that shows the present one to others. */
export function ViewList({ filters }: { filters: ProductFilters }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Views')}</Button>
      <Dialog title={t('Saved views')} isOpen={isOpen} onClose={() => setOpen(false)}>
        <Views filters={filters} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Views({ filters, onClose }: { filters: ProductFilters; onClose(): void }) {
  const { id } = useProject();
  const columns = useColumns();
  const key = viewsOf(id);
  const [views, setViews] = useState(() => readViews(localStorage.getItem(key)));
  const [name, setName] = useState('');
  const list = projectLink('products');
  const link = linkWith(list, { ...filters, columns: writeColumns(columns) });
  // Another tab may have saved one since.
  const keep = (change: (stored: readonly SavedView[]) => readonly SavedView[]) => {
    const next = change(readViews(localStorage.getItem(key)));
    localStorage.setItem(key, JSON.stringify(next));
    setViews(next);
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    const view = { name: name.trim(), query: link.slice(list.length + 1) };
    keep((stored) => withView(stored, view));
    setName('');
  };
  return (
    <div className="stack wide">
      <form className="name-and-save" onSubmit={save}>
        <TextField label={t('Name of the present view')} value={name} maxLength={100} onChange={setName} />
        <Button type="submit" disabled={name.trim() === ''}>
          {t('Save')}
        </Button>
      </form>
      {views.length > 0 && (
        <ul className="column-list">
          {views.map((view) => (
            <li key={view.name}>
              <a className="cut" href={`${list}?${view.query}`} onClick={onClose}>
                {view.name}
              </a>
              <IconButton
                icon="cross"
                label={t('Remove {name}', { name: view.name })}
                onClick={() => keep((stored) => withoutView(stored, view.name))}
              />
            </li>
          ))}
        </ul>
      )}
      <p className="soft small">
        {t(
          'Views are kept in this browser. Their links carry filters, columns and order: everyone who opens one sees the same.',
        )}
      </p>
      <div className="row">
        <CopyButton
          text={location.href.split('#')[0] + link}
          label={t('Copy the link to this view')}
          words={t('Copy the link to this view')}
        />
      </div>
    </div>
  );
}
