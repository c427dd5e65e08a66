import type { ApiKey } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/forms/field.tsx';
import { Card } from '../parts/page.tsx';
import { ScopeField, toScope } from '../parts/scope.tsx';
import { Code } from '../parts/show.tsx';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';

export interface ShownKey {
  readonly name: string;
  /** Missing in a repeated answer: the service keeps no value. */
  readonly key: string | undefined;
}

/** The value of a key, this once. */
export function NewValue({ shown, onDone }: { shown: ShownKey | undefined; onDone(): void }) {
  if (shown === undefined) return null;
  return (
    <Card
      title={t('The value of “{name}”', { name: shown.name })}
      actions={<Button onClick={onDone}>{t('I have saved it')}</Button>}
    >
      {shown.key === undefined ? (
        <p>{t('The key was created, but its value was lost in transfer. Delete it and create another.')}</p>
      ) : (
        <>
          <p className="soft">{t('It is shown only now. Store it where the program reads its secrets.')}</p>
          <Code text={shown.key} label={t('Value of the key')} />
        </>
      )}
    </Card>
  );
}

const listAccesses = () =>
  [
    ['read', t('read: projects, lookups, relations, reading tasks')],
    ['write', t('write: also updates and cancelling tasks')],
    ['manage', t('manage: everything its scope allows')],
  ] as const;

const DAY_MS = 86_400_000;

interface Form {
  readonly isOpen: boolean;
  onClose(): void;
  onMade(shown: ShownKey): void;
}

export function NewKey({ isOpen, onClose, onMade }: Form) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [draft, setDraft] = useState<Draft>({ scope: 'project', access: 'write', limit: '', days: '' });
  const submit = async () => {
    const { key } = await relata.apiKeys.create({ name, ...toProperties(draft, project) });
    onMade({ name, key });
    setName('');
    await queries.invalidateQueries({ queryKey: ['api-keys'] });
  };
  return (
    <FormDialog
      title={t('New API key')}
      isWide
      action={t('Create the key')}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      canSubmit={name.trim() !== ''}
    >
      <TextField
        label={t('Name')}
        value={name}
        maxLength={255}
        required
        placeholder={t('Shop connector')}
        hint={t('Who will use it')}
        onChange={(event) => setName(event.target.value)}
      />
      <KeyFields draft={draft} onChange={(changed) => setDraft({ ...draft, ...changed })} />
    </FormDialog>
  );
}

interface Draft {
  readonly scope: string;
  readonly access: string;
  readonly limit: string;
  readonly days: string;
}

function KeyFields({ draft, onChange }: { draft: Draft; onChange(changed: Partial<Draft>): void }) {
  return (
    <div className="fields">
      <ScopeField label={t('Reaches')} value={draft.scope} onChange={(scope) => onChange({ scope })} />
      <SelectField
        label={t('Access')}
        choices={listAccesses()}
        value={draft.access}
        onChange={(event) => onChange({ access: event.target.value })}
      />
      <TextField
        label={t('Requests a minute')}
        type="number"
        min={1}
        max={1_000_000}
        value={draft.limit}
        placeholder={t('no limit')}
        onChange={(event) => onChange({ limit: event.target.value })}
      />
      <TextField
        label={t('Ends after (days)')}
        type="number"
        min={1}
        max={36_500}
        value={draft.days}
        placeholder={t('never')}
        onChange={(event) => onChange({ days: event.target.value })}
      />
    </div>
  );
}

function toProperties(
  { scope, access, limit, days }: Draft,
  project: { id: number; projectGroupId: number },
) {
  return {
    scope: toScope(scope, project),
    access: access as ApiKey['access'],
    ...(limit !== '' && { rateLimit: { requestsPerMinute: Number(limit) } }),
    ...(days !== '' && { expiresAt: Date.now() + Number(days) * DAY_MS }),
  };
}
