import type { EventType, WebhookDelivery, WebhookEndpoint } from '@relata/client';
import { useMemo, useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button, Menu } from '../parts/button.tsx';
import { Meanwhile, mergeOver, useDraft } from '../parts/forms/draft.tsx';
import { TextField } from '../parts/forms/field.tsx';
import { Answer, Card, Dialog, Empty, FormDialog, ListPage, Page } from '../parts/page.tsx';
import { OnceShown, RotateDialog, reaches, Scope, ScopeField, toScope } from '../parts/secrets.tsx';
import { Ago, Code, Older, Pairs, Table } from '../parts/show.tsx';
import type { PartNames } from '../rules/changes.ts';
import { useAll, useAnswer, usePages } from '../state/answers.ts';
import { afterwards, tell } from '../state/notices.ts';
import { reread } from '../state/queries.ts';
import { useCalls, useProject, useRights } from '../state/rights.ts';
import { goFromHere, projectLink, useRoute } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

const LOOK_MS = 10_000;

/** The endpoints that receive events of this project: its own, those of its group and of the account. */
export function Events() {
  const project = useProject();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const endpoints = useAll('webhook-endpoints', ({ webhookEndpoints }, page) => webhookEndpoints.list(page), {
    select: (all) => all.filter(({ scope }) => reaches(scope, project)),
    refetchInterval: LOOK_MS,
  });
  return (
    <ListPage
      title={t('Events')}
      about={t(
        'Endpoints receive events as signed requests, in order. A request is repeated until the endpoint accepts it.',
      )}
      icon="events"
      list={endpoints}
      empty={t('No system receives events yet')}
      hint={t('Create an endpoint for each system that needs to know about changes.')}
      create={[t('New endpoint'), () => setCreating(true)]}
      above={<NewSecret secret={secret} onDone={() => setSecret(undefined)} />}
      columns={[
        [t('Endpoint'), (endpoint) => <a href={projectLink('events', endpoint.id)}>{endpoint.url}</a>],
        [t('Receives events of'), (endpoint) => <Scope scope={endpoint.scope} />],
        [t('Events'), (endpoint) => endpoint.events.join(', '), 'wide-only soft'],
        [t('State'), (endpoint) => <EndpointState endpoint={endpoint} />],
      ]}
    >
      <EndpointForm isOpen={isCreating} onClose={() => setCreating(false)} onMade={setSecret} />
    </ListPage>
  );
}

const ONE_LOOK_MS = 2_000;

/** One endpoint with its deliveries. */
export function EventEndpoint() {
  const { canChange } = useRights();
  const id = Number(useRoute().parts[3]);
  const [secret, setSecret] = useState<string>();
  const endpoint = useAnswer(
    ['webhook-endpoints', id],
    ({ relata, signal }) => relata.webhookEndpoints.get(id, { signal }),
    { refetchInterval: ONE_LOOK_MS },
  );
  return (
    <Page
      title={t('Endpoint')}
      under={[[t('Events'), projectLink('events')]]}
      actions={
        canChange &&
        endpoint.data && (
          <>
            <TestButton id={id} />
            <EndpointMenu endpoint={endpoint.data} onRotated={setSecret} />
          </>
        )
      }
    >
      <NewSecret secret={secret} onDone={() => setSecret(undefined)} />
      <Answer of={endpoint}>
        {(endpoint) => (
          <Card>
            <Pairs
              pairs={[
                [t('URL'), endpoint.url, 'mono break'],
                [t('State'), <EndpointState key="state" endpoint={endpoint} />],
                [t('Receives events of'), <Scope key="scope" scope={endpoint.scope} />],
                [t('Events'), endpoint.events.join(', ')],
                endpoint.overlapEndsAt !== null && [
                  t('Former secret'),
                  rich('signs until {when}', { when: <Ago instant={endpoint.overlapEndsAt} /> }),
                ],
              ]}
            />
          </Card>
        )}
      </Answer>
      <Deliveries id={id} />
    </Page>
  );
}

function TestButton({ id }: { id: number }) {
  const relata = useRelata();
  const send = async () => {
    await relata.webhookEndpoints.test(id);
    tell.good(t('A test event is sent'), t('The deliveries show the result.'));
  };
  return <Button onClick={() => afterwards(send(), 'deliveries')}>{t('Send a test event')}</Button>;
}

const listLooks = () =>
  ({
    pending: ['busy', t('waiting')],
    delivered: ['good', t('delivered')],
    failed: ['bad', t('failed')],
  }) as const;

function Deliveries({ id }: { id: number }) {
  const [shown, setShown] = useState<WebhookDelivery>();
  const deliveries = usePages(
    ['deliveries', id],
    ({ relata, cursor, signal }) => relata.webhookEndpoints.deliveries(id, { limit: 50, cursor, signal }),
    { refetchInterval: ONE_LOOK_MS },
  );
  return (
    <Answer of={deliveries}>
      {({ pages }) => {
        const list = pages.flatMap((page) => page.items);
        return (
          <Card title={t('Deliveries')} isBare>
            {list.length === 0 ? (
              <Empty icon="events" title={t('Nothing was sent yet')} />
            ) : (
              <DeliveryTable deliveries={list} onShow={setShown} />
            )}
            <Older of={deliveries} />
            <ShownDelivery endpointId={id} delivery={shown} onClose={() => setShown(undefined)} />
          </Card>
        );
      }}
    </Answer>
  );
}

interface DeliveryTableShape {
  deliveries: readonly WebhookDelivery[];
  onShow(delivery: WebhookDelivery): void;
}

const DeliveryTable = ({ deliveries, onShow }: DeliveryTableShape) => (
  <Table
    rows={deliveries}
    keyOf={(delivery) => delivery.id}
    columns={[
      [t('When'), (delivery) => <Ago instant={delivery.lastAttemptAt ?? delivery.createdAt} />, 'soft'],
      [
        t('Event'),
        (delivery) => (
          <>
            {delivery.type} {delivery.kind === 'replay' && <span className="soft small">{t('again')}</span>}
          </>
        ),
      ],
      [
        t('State'),
        (delivery) => (
          <span className={`badge ${listLooks()[delivery.status][0]}`}>
            {listLooks()[delivery.status][1]}
          </span>
        ),
      ],
      [t('Answer'), (delivery) => describeAnswer(delivery), 'soft'],
      [t('Attempts'), (delivery) => delivery.attempts, 'wide-only soft'],
      [
        t('Details'),
        (delivery) => (
          <Button look="quiet" onClick={() => onShow(delivery)}>
            {t('Show')}
          </Button>
        ),
        'actions',
      ],
    ]}
  />
);

function describeAnswer({ answer, error, durationMs }: WebhookDelivery): string {
  if (answer !== null)
    return t('{status} in {ms, number} ms', { status: answer.status, ms: durationMs ?? 0 });
  return error ?? '';
}

interface ShownDeliveryShape {
  endpointId: number;
  delivery: WebhookDelivery | undefined;
  onClose(): void;
}

function ShownDelivery({ endpointId, delivery, onClose }: ShownDeliveryShape) {
  const relata = useRelata();
  const { canChange } = useRights();
  if (delivery === undefined) return null;
  const { request, answer, error } = delivery;
  const replay = async () => {
    await relata.webhookEndpoints.replay(endpointId, delivery.id);
    tell.good(t('The event is sent again'), t('With the same webhook-id.'));
    onClose();
  };
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Dialog title={delivery.type} isOpen isWide onClose={onClose}>
      <div className="stack">
        <h3>{t('Request')}</h3>
        <Code text={[`POST ${request.url}`, ...headers, '', request.body].join('\n')} label={t('Request')} />
        <h3>{t('Answer')}</h3>
        {error && <p>{error}</p>}
        {answer && <Code text={[`${answer.status}`, answer.body].join('\n')} label={t('Answer')} />}
        {canChange && (
          <div className="dialog-foot">
            <Button look="primary" onClick={() => afterwards(replay(), 'deliveries')}>
              {t('Send again')}
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}

/** The types of events. Source: docs/interface §6.2. */
const listEvents = (): readonly (readonly [EventType, string])[] => [
  ['task.finished', t('a task finished')],
  ['task.failed', t('a task failed')],
  ['catalog.committed', t('the catalog was replaced by a full update')],
  ['catalog.commit_refused', t('a full update was refused for deleting too much')],
  ['products.changed', t('products changed, with their identifiers')],
  ['relation.changed', t('a relation changed')],
  ['relation.unhealthy', t('a relation has stopped working')],
  ['channel.published', t('a channel was published')],
  ['pipeline.failed', t('a run of a pipeline failed')],
];

export function NewSecret({ secret, onDone }: { secret: string | undefined; onDone(): void }) {
  if (secret === undefined) return null;
  return (
    <OnceShown
      title={t('The signing secret')}
      about={t('It is shown only now. The receiver uses it to check that a request comes from this service.')}
      label={t('Signing secret')}
      value={secret}
      onDone={onDone}
    />
  );
}

interface Form {
  /** Undefined for a new endpoint. */
  readonly endpoint?: WebhookEndpoint;
  readonly isOpen: boolean;
  onClose(): void;
  onMade?(secret: string | undefined): void;
}

interface EndpointDraft {
  readonly url: string;
  readonly events: EventType[];
}

const toDraft = ({ url, events }: WebhookEndpoint): EndpointDraft => ({ url, events: events as EventType[] });

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
      const created = await relata.webhookEndpoints.create({ ...draft, scope: toScope(scope, project) });
      edited.adopt(EMPTY);
      onMade?.(created.secret);
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
        hint={t('A public address that receives a POST for each event')}
        onChange={(url) => change({ url })}
      />
      {endpoint === undefined && (
        <ScopeField label={t('Receives events of')} value={scope} onChange={setScope} />
      )}
      <EventChoices chosen={draft.events} onChange={(events) => change({ events })} />
    </FormDialog>
  );
}

interface EventChoicesShape {
  chosen: readonly EventType[];
  onChange(chosen: EventType[]): void;
}

function EventChoices({ chosen, onChange }: EventChoicesShape) {
  const types = listEvents().map(([type]) => type);
  const toggle = (toggled: EventType, isOn: boolean) =>
    onChange(types.filter((type) => (type === toggled ? isOn : chosen.includes(type))));
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

export function EndpointState({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { enabled, switchedOff, failingSince } = endpoint;
  if (!enabled)
    return (
      <>
        <span className="badge bad">{t('off')}</span>{' '}
        {switchedOff && (
          <span className="soft small">
            {switchedOff.reason}, <Ago instant={switchedOff.at} />
          </span>
        )}
      </>
    );
  if (failingSince === null) return <span className="badge good">{t('on')}</span>;
  return (
    <span className="badge warn">
      {rich('failing since {when}', { when: <Ago instant={failingSince} /> })}
    </span>
  );
}

interface EndpointMenuShape {
  endpoint: WebhookEndpoint;
  onRotated(secret: string | undefined): void;
}

export function EndpointMenu({ endpoint, onRotated }: EndpointMenuShape) {
  const relata = useRelata();
  const [open, setOpen] = useState<'change' | 'rotate' | 'delete'>();
  const close = () => setOpen(undefined);
  const turn = () =>
    afterwards(
      relata.webhookEndpoints.change(endpoint.id, { enabled: !endpoint.enabled }),
      'webhook-endpoints',
    );
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
        label={t('Actions for the endpoint')}
        entries={[
          { words: t('Change …'), onSelect: () => setOpen('change') },
          { words: endpoint.enabled ? t('Switch off') : t('Switch on'), onSelect: turn },
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
        <p>{t('Its deliveries are deleted too, including those that are still waiting.')}</p>
      </FormDialog>
    </>
  );
}
