import type { ApiKey } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
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
    <Card title={`The value of “${shown.name}”`} actions={<Button onClick={onDone}>I have saved it</Button>}>
      {shown.key === undefined ? (
        <p>The key was created, but its value was lost in transfer. Delete it and create another.</p>
      ) : (
        <>
          <p className="soft">It is shown only now. Store it where the program reads its secrets.</p>
          <Code text={shown.key} label="Value of the key" />
        </>
      )}
    </Card>
  );
}

const ACCESSES = [
  ['read', 'read: projects, lookups, relations'],
  ['write', 'write: also updates and tasks'],
  ['manage', 'manage: everything its scope allows'],
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
      title="New API key"
      isWide
      action="Create the key"
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      canSubmit={name.trim() !== ''}
    >
      <TextField
        label="Name"
        value={name}
        maxLength={255}
        required
        placeholder="Shop connector"
        hint="Who will use it"
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
      <ScopeField label="Reaches" value={draft.scope} onChange={(scope) => onChange({ scope })} />
      <SelectField
        label="Access"
        choices={ACCESSES}
        value={draft.access}
        onChange={(event) => onChange({ access: event.target.value })}
      />
      <TextField
        label="Requests a minute"
        type="number"
        min={1}
        max={1_000_000}
        value={draft.limit}
        placeholder="no limit"
        onChange={(event) => onChange({ limit: event.target.value })}
      />
      <TextField
        label="Ends after (days)"
        type="number"
        min={1}
        max={36_500}
        value={draft.days}
        placeholder="never"
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
