import type { Attribute, ProductPage } from '@relata/client';
import { useState } from 'react';
import { t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { FormDialog } from '../../parts/dialog.tsx';
import { useUnsaved } from '../../parts/forms/draft.tsx';
import { type Row, Rows, TextField } from '../../parts/forms/field.tsx';
import { SuggestField } from '../../parts/forms/suggest-field.tsx';
import { ProductDifference } from '../../parts/product-difference.tsx';
import { formatType } from '../../rules/format.ts';
import { useAttributes } from '../../state/catalog.ts';
import { reread, tell } from '../../state/done.ts';
import { useCalls } from '../../state/project.ts';
import {
  cleanEntries,
  type Entry,
  listChangedKeys,
  mergeEntries,
  readEntries,
  toPartial,
} from './attribute-edits.ts';

/** Changes attributes of a product, and nothing else of it: a partial update. */
export function ProductEdit({ page }: { page: ProductPage }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('Edit attributes …')}</Button>
      {isOpen && <EditDialog page={page} onClose={() => setOpen(false)} />}
    </>
  );
}

function EditDialog({ page, onClose }: { page: ProductPage; onClose(): void }) {
  const { identifier } = page.product;
  // The draft stays with what it was made from, while the page may be read anew behind it.
  const [base, setBase] = useState(() => readEntries(page.upload));
  const [entries, setEntries] = useState<readonly Entry[]>(base);
  const [theirs, setTheirs] = useState<readonly string[]>([]);
  const draft = cleanEntries(entries, base);
  const isChanged = listChangedKeys(base, draft).length > 0;
  const unsaved = useUnsaved(isChanged);
  const send = useSend(identifier);
  const save = async () => {
    const now = await send.read();
    const { merged, conflicts } = mergeEntries({ base, draft, now });
    if (conflicts.length > 0) {
      setTheirs(conflicts);
      setBase(now);
      setEntries(merged);
      throw new Error(
        t(
          'Nothing is sent yet: this product was changed meanwhile. Compare the values below, then send again.',
        ),
      );
    }
    await send.write(now, merged);
    unsaved.current = false;
  };
  return (
    <FormDialog
      title={t('Attributes of {identifier}', { identifier })}
      action={t('Send')}
      isWide
      canSubmit={isChanged}
      isUnsaved={isChanged}
      onClose={onClose}
      onSubmit={save}
    >
      <AttributeRows base={base} entries={entries} onChange={setEntries} />
      {isChanged && (
        <section className="stack" aria-live="polite" aria-label={t('Effect of sending')}>
          <h3>{t('Effect of sending')}</h3>
          {theirs.length > 0 && (
            <p className="note warn">
              {t('Changed meanwhile: {names}. "Before" is what is stored now.', {
                names: theirs.join(', '),
              })}
            </p>
          )}
          <ProductDifference
            change={{ before: withEntries(page, base), after: withEntries(page, draft), changedSince: false }}
          />
        </section>
      )}
    </FormDialog>
  );
}

const withEntries = ({ upload }: ProductPage, entries: readonly Entry[]) => ({
  ...upload,
  attributes: entries.map(({ userGroups = [], ...entry }) => ({ ...entry, userGroups: [...userGroups] })),
});

/** @returns what reads the product as it is now, and what sends the change, waits for it and tells of it */
function useSend(identifier: string) {
  const { relata, projectId } = useCalls();
  return {
    read: async () => readEntries((await relata.products.open(projectId, identifier)).upload),
    write: async (now: readonly Entry[], merged: readonly Entry[]) => {
      const { task } = await relata.products.change([toPartial(identifier, now, merged)], { projectId });
      await relata.tasks.wait(task.id);
      const keys = ['product', 'products', 'related'];
      await reread(...keys);
      tell.good(t('{identifier} is changed', { identifier }));
    },
  };
}

function AttributeRows({
  base,
  entries,
  onChange,
}: {
  base: readonly Entry[];
  entries: readonly Entry[];
  onChange(entries: readonly Entry[]): void;
}) {
  const attributes = useAttributes();
  return (
    <Rows
      values={entries}
      removing={t('Remove this value')}
      kinds={{ [t('Add a value')]: { key: '', value: '', isNew: true } }}
      onChange={onChange}
    >
      {(row) => (
        <AttributeRow
          row={row}
          attributes={attributes}
          isTouched={base.every(({ key, value }) => key !== row.value.key || value !== row.value.value)}
        />
      )}
    </Rows>
  );
}

function AttributeRow({
  row: { value: entry, change, remove },
  attributes,
  isTouched,
}: {
  row: Row<Entry>;
  attributes: readonly Attribute[];
  isTouched: boolean;
}) {
  const { key, value, userGroups = [], isNew } = entry;
  const attribute = attributes.find(({ name, synonyms = [] }) => name === key || synonyms.includes(key));
  return (
    <div className="filter-row named-value">
      {isNew ? (
        <SuggestField
          label={t('Attribute')}
          isQuiet
          placeholder={t('Attribute')}
          choices={attributes.map(({ name }) => name)}
          value={key}
          onChange={(next) => change({ ...entry, key: next })}
        />
      ) : (
        <span className="field-name">
          {key}
          {userGroups.map((group) => (
            <span key={group} className="tag">
              {group}
            </span>
          ))}
        </span>
      )}
      <TextField
        label={t('Value of {key}', { key })}
        isQuiet
        hint={isTouched && attribute && describeForm(attribute)}
        value={value}
        onChange={(text) => change({ ...entry, value: text })}
      />
      {remove}
    </div>
  );
}

/** As the ontology reads it; text is read in any form. */
function describeForm({ type, unitName }: Attribute): string | undefined {
  if (type === 'TEXT_ATTRIBUTE' || type === 'UNTYPED_ATTRIBUTE') return undefined;
  if (type === 'BOOLEAN_ATTRIBUTE') return t('true or false');
  return unitName ? t('a number, one space and {unit}', { unit: unitName }) : formatType(type);
}
