import type { EventType, WebhookEndpoint } from '@relata/client';
import { useMemo, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Meanwhile, mergeOver, useDraft } from '../parts/forms/draft.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Menu } from '../parts/menu.tsx';
import { OnceShown, RotateDialog } from '../parts/once-shown.tsx';
import { ScopeField, toScope } from '../parts/scope.tsx';
import { Ago } from '../parts/show.tsx';
import type { PartNames } from '../rules/changes.ts';
import { reread, tell } from '../state/done.ts';
import { useCalls } from '../state/project.ts';
import { goFromHere, projectLink } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** Source: docs/interface.md §6.2. */
const listEvents = (): readonly (readonly [EventType, string])[] => [
  ['task.finished', t('a task finished')],
  ['task.failed', t('a task failed')],
  ['catalog.committed', t('the catalog was replaced by a full update')],
  ['catalog.commit_refused', t('a full update was refused for deleting too much')],
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
    <OnceShown
      title={t('The signing secret')}
      about={t('It is shown only now. The receiver checks with it that a request comes from here.')}
      label={t('Signing secret')}
      value={secret}
      onDone={onDone}
    />
  );
}

interface Form {
  /** Undefined: a new one. */
  readonly endpoint?: WebhookEndpoint;
  readonly isOpen: boolean;
  onClose(): void;
  onMade?(secret: string | undefined): void;
}

interface EndpointDraft {
  readonly url: string;
  readonly events: EventType[];
}

const toDraft = ({ url, events }: WebhookEndpoint): EndpointDraft => ({
  ...{ url, events: events as EventType[] },
});

const EMPTY: EndpointDraft = { url: '', events: ['products.changed'] };

const nameParts = (): PartNames<EndpointDraft> => ({ url: t('URL'), events: t('Events') });

export function EndpointForm({ endpoint, isOpen, onClose, onMade }: Form) {
  const { relata, project } = useCalls();
  const stored = useMemo(() => endpoint && { value: toDraft(endpoint), etag: undefined }, [endpoint]);
  const edited = useDraft<EndpointDraft>(stored, EMPTY, nameParts());
  const { draft, change } = edited;
  const [scope, setScope] = useState('project');
  const submit = async () => {
    if (endpoint === undefined) {
      const made = await relata.webhookEndpoints.create({ ...draft, scope: toScope(scope, project) });
      edited.adopt(EMPTY);
      onMade?.(made.secret);
    } else {
      const now = await relata.webhookEndpoints.get(endpoint.id);
      const merged = mergeOver(edited, toDraft(now), 'endpoint');
      await relata.webhookEndpoints.change(endpoint.id, merged);
      edited.adopt(merged);
    }
    await reread('webhook-endpoints');
  };
  return (
    <FormDialog
      title={endpoint === undefined ? t('New endpoint') : t('Change the endpoint')}
      isWide
      action={endpoint === undefined ? t('Create the endpoint') : t('Save')}
      isOpen={isOpen}
      onClose={onClose}
      onSubmit={submit}
      canSubmit={draft.url.trim() !== '' && draft.events.length > 0}
    >
      <Meanwhile what="endpoint" of={edited} />
      <TextField
        label={t('URL')}
        type="url"
        value={draft.url}
        maxLength={4096}
        required
        placeholder={'https://shop.example/events'}
        hint={t('A public address; it is sent a POST for each event')}
        onChange={(url) => change({ url })}
      />
      {endpoint === undefined && <ScopeField label={t('Gets events of')} value={scope} onChange={setScope} />}
      <EventChoices chosen={draft.events} onChange={(events) => change({ events })} />
    </FormDialog>
  );
}

function EventChoices({
  chosen,
  onChange,
}: {
  chosen: readonly EventType[];
  onChange(chosen: EventType[]): void;
}) {
  const toggle = (toggled: EventType, isOn: boolean) =>
    onChange(
      listEvents()
        .map(([type]) => type)
        .filter((type) => (type === toggled ? isOn : chosen.includes(type))),
    );
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

/** Whether an endpoint gets its events, and why not. */
export function EndpointState({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { enabled, switchedOff, failingSince } = endpoint;
  if (!enabled)
    return (
      <>
        <span className="badge bad">{t('off')}</span>{' '}
        {switchedOff && (
          <span className="soft small">
            {switchedOff.reason}, <Ago at={switchedOff.at} />
          </span>
        )}
      </>
    );
  if (failingSince === null) return <span className="badge good">{t('on')}</span>;
  return (
    <span className="badge warn">{rich('failing since {when}', { when: <Ago at={failingSince} /> })}</span>
  );
}

export function EndpointMenu({
  endpoint,
  onRotated,
}: {
  endpoint: WebhookEndpoint;
  onRotated(secret: string | undefined): void;
}) {
  const relata = useRelata();
  const [open, setOpen] = useState<'change' | 'rotate' | 'delete'>();
  const close = () => setOpen(undefined);
  const turn = () =>
    relata.webhookEndpoints
      .change(endpoint.id, { enabled: !endpoint.enabled })
      .then(() => reread('webhook-endpoints'), tell.bad);
  const rotate = async (overlap: number) => {
    onRotated((await relata.webhookEndpoints.rotateSecret(endpoint.id, overlap)).secret);
    await reread('webhook-endpoints');
  };
  const remove = async () => {
    const go = goFromHere();
    await relata.webhookEndpoints.delete(endpoint.id);
    go(projectLink('events'));
    await reread('webhook-endpoints');
  };
  return (
    <>
      <Menu
        label={t('What can be done with the endpoint')}
        entries={[
          { words: t('Change …'), onSelect: () => setOpen('change') },
          { words: endpoint.enabled ? t('Switch off') : t('Switch on'), onSelect: () => void turn() },
          { words: t('Rotate the secret …'), onSelect: () => setOpen('rotate') },
          { words: t('Delete …'), isDanger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      <EndpointForm endpoint={endpoint} isOpen={open === 'change'} onClose={close} />
      <RotateDialog
        title={t('Rotate the secret')}
        label={t('The former secret')}
        isOpen={open === 'rotate'}
        onClose={close}
        onRotate={rotate}
      />
      <FormDialog
        title={t('Delete the endpoint')}
        action={t('Delete the endpoint')}
        isDanger
        isOpen={open === 'delete'}
        onClose={close}
        onSubmit={remove}
      >
        <p>{t('Its deliveries are deleted too, also those that wait.')}</p>
      </FormDialog>
    </>
  );
}
