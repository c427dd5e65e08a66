import type { EventType, WebhookEndpoint } from '@relata/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Card } from '../parts/page.tsx';
import { ScopeField, toScope } from '../parts/scope.tsx';
import { Code } from '../parts/show.tsx';
import { useProject } from '../state/project.ts';
import { useRelata } from '../state/session.tsx';

/** Source: docs/interface.md §6.2. */
const listEvents = (): readonly (readonly [EventType, string])[] => [
  ['task.finished', t('a task finished')],
  ['task.failed', t('a task failed')],
  ['catalog.committed', t('a full update took effect')],
  ['catalog.commit_refused', t('the delete guard refused a commit')],
  ['products.changed', t('products changed, with their identifiers')],
  ['relation.changed', t('a relation changed')],
  ['relation.unhealthy', t('a relation cannot work any more')],
  ['channel.published', t('a channel was published')],
  ['pipeline.failed', t('a run of a pipeline failed')],
];

/** The secret of an endpoint, this once. */
export function NewSecret({ secret, onDone }: { secret: string | undefined; onDone(): void }) {
  if (secret === undefined) return null;
  return (
    <Card title={t('The signing secret')} actions={<Button onClick={onDone}>{t('I have saved it')}</Button>}>
      <p className="soft">
        {t('It is shown only now. The receiver checks with it that a request comes from here.')}
      </p>
      <Code text={secret} label={t('Signing secret')} />
    </Card>
  );
}

interface Form {
  /** Undefined: a new one. */
  readonly endpoint?: WebhookEndpoint;
  readonly isOpen: boolean;
  onClose(): void;
  onMade?(secret: string | undefined): void;
}

export function EndpointForm({ endpoint, isOpen, onClose, onMade }: Form) {
  const relata = useRelata();
  const project = useProject();
  const queries = useQueryClient();
  const [url, setUrl] = useState(endpoint?.url ?? '');
  const [events, setEvents] = useState<readonly string[]>(endpoint?.events ?? ['products.changed']);
  const [scope, setScope] = useState('project');
  const submit = async () => {
    const sent = {
      url,
      events: listEvents()
        .map(([type]) => type)
        .filter((type) => events.includes(type)),
    };
    if (endpoint !== undefined) await relata.webhookEndpoints.change(endpoint.id, sent);
    else onMade?.((await relata.webhookEndpoints.create({ ...sent, scope: toScope(scope, project) })).secret);
    await queries.invalidateQueries({ queryKey: ['webhook-endpoints'] });
  };
  return (
    <FormDialog
      title={endpoint === undefined ? t('New endpoint') : t('Change the endpoint')}
      isWide
      action={endpoint === undefined ? t('Create the endpoint') : t('Save')}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      canSubmit={url.trim() !== '' && events.length > 0}
    >
      <TextField
        label={t('URL')}
        type="url"
        value={url}
        maxLength={4096}
        required
        placeholder={'https://shop.example/events'}
        hint={t('A public address; it is sent a POST for each event')}
        onChange={(event) => setUrl(event.target.value)}
      />
      {endpoint === undefined && <ScopeField label={t('Hears of')} value={scope} onChange={setScope} />}
      <EventChoices chosen={events} onChange={setEvents} />
    </FormDialog>
  );
}

function EventChoices({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange(chosen: readonly string[]): void;
}) {
  const toggle = (type: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, type] : chosen.filter((one) => one !== type));
  return (
    <fieldset className="stack">
      <legend className="label">{t('Events')}</legend>
      {listEvents().map(([type, words]) => (
        <label key={type} className="row">
          <input
            type="checkbox"
            checked={chosen.includes(type)}
            onChange={(event) => toggle(type, event.target.checked)}
          />
          <span>
            <span className="mono">{type}</span> <span className="soft small">{words}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
