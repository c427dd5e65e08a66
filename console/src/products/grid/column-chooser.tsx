import { useMemo, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { SelectField, TextField } from '../../parts/forms/field.tsx';
import { Dialog } from '../../parts/page.tsx';
import { useAttributes } from '../../state/catalog.ts';
import { columnsOf } from '../../state/language.ts';
import { useRoute } from '../../state/route.ts';
import { useProject } from '../../state/service.tsx';
import { createShared } from '../../state/shared.ts';
import {
  attributeOf,
  type Column,
  columnOf,
  listOwn,
  MOST_COLUMNS,
  nameColumn,
  readColumns,
  writeColumns,
} from './columns.ts';

/** So many can be looked through; more are found by the filter. */
const SHOWN = 16;

interface Shape {
  sort: string;
  onSort(sort: string): void;
  onChange(columns: readonly Column[]): void;
}

/** What the table shows of each product, in which order the columns and the products stand. */
export function ColumnChooser(props: Shape) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Columns')}</Button>
      <Dialog title={t('Columns and order')} isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="stack wide">
          <OrderField {...props} />
          <Shown onChange={props.onChange} />
          <Others onChange={props.onChange} />
        </div>
      </Dialog>
    </>
  );
}

function OrderField({ sort, onSort }: Shape) {
  const columns = useColumns();
  const sorted = sort.replace(/:desc$/, '');
  const names = new Set([
    ...columns.flatMap((column) => attributeOf(column) ?? []),
    ...(sorted ? [sorted] : []),
  ]);
  return (
    <SelectField
      label={t('Order of products')}
      hint={t('By any attribute that is a column; up to 100,000 products found can be put in order.')}
      choices={[
        ['', t('as listed, best hits first')],
        ...[...names].flatMap((name) => [
          [name, t('{name}, smallest first', { name })] as const,
          [`${name}:desc`, t('{name}, largest first', { name })] as const,
        ]),
      ]}
      value={sort}
      onChange={onSort}
    />
  );
}

function Shown({ onChange }: Pick<Shape, 'onChange'>) {
  const columns = useColumns();
  return (
    <fieldset>
      <legend className="label">{t('Beside identifier and name')}</legend>
      <ol className="column-list">
        {columns.map((column, at) => (
          <li key={column}>
            <span className="cut">{nameColumn(column)}</span>
            <IconButton
              icon="up"
              label={t('Move {name} up', { name: nameColumn(column) })}
              disabled={at === 0}
              onClick={() => onChange(columns.with(at - 1, column).with(at, columns[at - 1] ?? column))}
            />
            <IconButton
              icon="cross"
              label={t('Remove {name}', { name: nameColumn(column) })}
              onClick={() => onChange(columns.toSpliced(at, 1))}
            />
          </li>
        ))}
      </ol>
      {columns.length === 0 && <p className="soft small">{t('No other columns')}</p>}
    </fieldset>
  );
}

function Others({ onChange }: Pick<Shape, 'onChange'>) {
  const columns = useColumns();
  const attributes = useAttributes();
  const [text, setText] = useState('');
  const all = [...listOwn(), ...attributes.map(({ name }) => columnOf(name))];
  const others = all.filter(
    (column) => !columns.includes(column) && nameColumn(column).toLowerCase().includes(text.toLowerCase()),
  );
  const isFull = columns.length >= MOST_COLUMNS;
  return (
    <fieldset>
      <legend className="label">{t('Add a column')}</legend>
      <div className="stack">
        <TextField
          label={t('Attribute contains')}
          isQuiet
          placeholder={t('Attribute contains')}
          type="search"
          value={text}
          onChange={setText}
        />
        {isFull && (
          <p className="soft small">
            {t('{count, number} columns are as many as fit.', { count: MOST_COLUMNS })}
          </p>
        )}
        <div className="row">
          {others.slice(0, SHOWN).map((column) => (
            <Button key={column} icon="plus" disabled={isFull} onClick={() => onChange([...columns, column])}>
              {nameColumn(column)}
            </Button>
          ))}
        </div>
        {others.length > SHOWN && (
          <p className="soft small">
            {t('The first {count, number}; the filter finds the others.', { count: SHOWN })}
          </p>
        )}
      </div>
    </fieldset>
  );
}

const kept = createShared((projectId: number) => localStorage.getItem(columnsOf(projectId)) ?? '');

/** Kept by this browser, for each project. */
export function storeColumns(projectId: number, columns: readonly Column[]): void {
  localStorage.setItem(columnsOf(projectId), writeColumns(columns));
  kept.set(kept.get());
}

/** Those of the address, as a saved view has them, or those that were chosen last. */
export function useColumns(): readonly Column[] {
  const { query } = useRoute();
  const { id } = useProject();
  const stored = kept.useRead((read) => read(id));
  const text = query.get('columns') ?? stored;
  return useMemo(() => readColumns(text), [text]);
}
