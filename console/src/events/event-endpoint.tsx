import type { WebhookDelivery, WebhookEndpoint } from '@relata/client';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Scope } from '../parts/scope.tsx';
import { Ago, Code, Pairs } from '../parts/show.tsx';
import { Older, Table } from '../parts/table.tsx';
import { reread, tell } from '../state/done.ts';
import { useAsked, usePages } from '../state/project.ts';
import { projectLink, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { EndpointMenu, EndpointState, NewSecret } from './endpoint-form.tsx';

const LOOK_MS = 2_000;

/** One endpoint with what was sent to it. */
export function EventEndpoint() {
  const { canChange } = useRights();
  const id = Number(useRoute().parts[3]);
  const [secret, setSecret] = useState<string>();
  const endpoint = useAsked(
    ['webhook-endpoints', id],
    ({ relata, signal }) => relata.webhookEndpoints.get(id, { signal }),
    { refetchInterval: LOOK_MS },
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
      <Answer of={endpoint}>{(found) => <About endpoint={found} />}</Answer>
      <Deliveries id={id} />
    </Page>
  );
}

function About({ endpoint }: { endpoint: WebhookEndpoint }) {
  return (
    <Card>
      <Pairs
        pairs={[
          [t('URL'), endpoint.url, 'mono break'],
          [t('State'), <EndpointState key="state" endpoint={endpoint} />],
          [t('Gets events of'), <Scope key="scope" scope={endpoint.scope} />],
          [t('Events'), endpoint.events.join(', ')],
          endpoint.overlapEndsAt !== null && [
            t('Former secret'),
            rich('signs until {when}', { when: <Ago at={endpoint.overlapEndsAt} /> }),
          ],
        ]}
      />
    </Card>
  );
}

function TestButton({ id }: { id: number }) {
  const relata = useRelata();
  const send = async () => {
    await relata.webhookEndpoints.test(id);
    tell.good(t('A test event is sent'), t('The deliveries show what came of it.'));
    await reread('deliveries');
  };
  return <Button onClick={() => void send().catch(tell.bad)}>{t('Send a test event')}</Button>;
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
    { refetchInterval: LOOK_MS },
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

function DeliveryTable({
  deliveries,
  onShow,
}: {
  deliveries: readonly WebhookDelivery[];
  onShow(delivery: WebhookDelivery): void;
}) {
  return (
    <Table
      rows={deliveries}
      keyOf={(delivery) => delivery.id}
      columns={[
        [t('When'), (delivery) => <Ago at={delivery.lastAttemptAt ?? delivery.createdAt} />, 'soft'],
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
}

function describeAnswer({ answer, error, durationMs }: WebhookDelivery): string {
  if (answer !== null)
    return t('{status} in {ms, number} ms', { status: answer.status, ms: durationMs ?? 0 });
  return error ?? '';
}

function ShownDelivery({
  endpointId,
  delivery,
  onClose,
}: {
  endpointId: number;
  delivery: WebhookDelivery | undefined;
  onClose(): void;
}) {
  const relata = useRelata();
  const { canChange } = useRights();
  if (delivery === undefined) return null;
  const { request, answer, error } = delivery;
  const replay = async () => {
    await relata.webhookEndpoints.replay(endpointId, delivery.id);
    tell.good(t('The event is sent again'), t('With the same webhook-id.'));
    onClose();
    await reread('deliveries');
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
            <Button look="primary" onClick={() => void replay().catch(tell.bad)}>
              {t('Send again')}
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}
