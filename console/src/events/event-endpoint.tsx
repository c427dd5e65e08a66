import type { WebhookDelivery, WebhookEndpoint } from '@relata/client';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Answer, Card, Empty, Page } from '../parts/page.tsx';
import { Scope } from '../parts/scope.tsx';
import { Ago, Code } from '../parts/show.tsx';
import { useTell } from '../parts/toasts.tsx';
import { useProject } from '../state/project.ts';
import { linkTo, useRoute } from '../state/route.ts';
import { useRelata, useRights } from '../state/session.tsx';
import { NewSecret } from './endpoint-form.tsx';
import { EndpointMenu, EndpointState } from './endpoint-menu.tsx';

const LOOK_MS = 2_000;

/** One endpoint with what was sent to it. */
export function EventEndpoint() {
  const project = useProject();
  const relata = useRelata();
  const { canChange } = useRights();
  const id = Number(useRoute().parts[3]);
  const [secret, setSecret] = useState<string>();
  const endpoint = useQuery({
    queryKey: ['webhook-endpoints', id],
    queryFn: ({ signal }) => relata.webhookEndpoints.get(id, { signal }),
    refetchInterval: LOOK_MS,
  });
  return (
    <Page
      title="Endpoint"
      crumbs={[
        [project.name, linkTo('projects', project.id)],
        ['Events', linkTo('projects', project.id, 'events')],
      ]}
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
      <dl className="pairs">
        <dt>URL</dt>
        <dd className="mono break">{endpoint.url}</dd>
        <dt>State</dt>
        <dd>
          <EndpointState endpoint={endpoint} />
        </dd>
        <dt>Hears of</dt>
        <dd>
          <Scope scope={endpoint.scope} />
        </dd>
        <dt>Events</dt>
        <dd className="break">{endpoint.events.join(', ')}</dd>
        {endpoint.overlapEndsAt !== null && (
          <>
            <dt>Former secret</dt>
            <dd>
              signs until <Ago at={endpoint.overlapEndsAt} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function TestButton({ id }: { id: number }) {
  const relata = useRelata();
  const queries = useQueryClient();
  const tell = useTell();
  const send = async () => {
    await relata.webhookEndpoints.test(id);
    tell.good('A test event is sent', 'The deliveries show what came of it.');
    await queries.invalidateQueries({ queryKey: ['deliveries', id] });
  };
  return <Button onClick={() => void send().catch(tell.bad)}>Send a test event</Button>;
}

const LOOKS = {
  pending: ['busy', 'waiting'],
  delivered: ['good', 'delivered'],
  failed: ['bad', 'failed'],
} as const;

function Deliveries({ id }: { id: number }) {
  const relata = useRelata();
  const [shown, setShown] = useState<WebhookDelivery>();
  const deliveries = useInfiniteQuery({
    queryKey: ['deliveries', id],
    queryFn: ({ pageParam, signal }) =>
      relata.webhookEndpoints.deliveries(id, { limit: 50, signal, ...(pageParam && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: LOOK_MS,
  });
  return (
    <Answer of={deliveries}>
      {({ pages }) => {
        const list = pages.flatMap((page) => page.items);
        return (
          <Card title="Deliveries" isBare>
            {list.length === 0 ? (
              <Empty icon="events" title="Nothing was sent yet" />
            ) : (
              <DeliveryTable deliveries={list} onShow={setShown} />
            )}
            {deliveries.hasNextPage && (
              <div className="grid-foot">
                <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
                  Show older ones
                </Button>
              </div>
            )}
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
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th>When</th>
            <th>Event</th>
            <th>State</th>
            <th>Answer</th>
            <th className="wide-only">Attempts</th>
            <th>Details</th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td className="soft">
                <Ago at={delivery.lastAttemptAt ?? delivery.createdAt} />
              </td>
              <td>
                {delivery.type} {delivery.kind === 'replay' && <span className="soft small">again</span>}
              </td>
              <td>
                <span className={`badge ${LOOKS[delivery.status][0]}`}>{LOOKS[delivery.status][1]}</span>
              </td>
              <td className="soft">{describeAnswer(delivery)}</td>
              <td className="wide-only soft">{delivery.attempts}</td>
              <td className="actions">
                <Button look="quiet" onClick={() => onShow(delivery)}>
                  Show
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function describeAnswer({ answer, error, durationMs }: WebhookDelivery): string {
  if (answer !== null) return `${answer.status} in ${durationMs} ms`;
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
  const queries = useQueryClient();
  const tell = useTell();
  const { canChange } = useRights();
  if (delivery === undefined) return null;
  const { request, answer, error } = delivery;
  const replay = async () => {
    await relata.webhookEndpoints.replay(endpointId, delivery.id);
    tell.good('The event is sent again', 'With the same webhook-id.');
    onClose();
    await queries.invalidateQueries({ queryKey: ['deliveries', endpointId] });
  };
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Dialog title={delivery.type} isOpen isWide onClose={onClose}>
      <div className="stack">
        <h3>Request</h3>
        <Code text={[`POST ${request.url}`, ...headers, '', request.body].join('\n')} label="Request" />
        <h3>Answer</h3>
        {error && <p>{error}</p>}
        {answer && <Code text={[`${answer.status}`, answer.body].join('\n')} label="Answer" />}
        {canChange && (
          <div className="dialog-foot">
            <Button look="primary" onClick={() => void replay().catch(tell.bad)}>
              Send again
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}
