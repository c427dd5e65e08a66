import type { KeptRequest } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { t } from '../languages/text.ts';
import { SelectField } from '../parts/forms/field.tsx';
import { Answer, Card, Details, Dialog, Note } from '../parts/page.tsx';
import { Ago, Code, Pairs, Table, useMore } from '../parts/show.tsx';
import { toCurl } from '../rules/curl.ts';
import { formatDuration, formatMoment, formatSize } from '../rules/format.ts';
import { useFilters } from '../state/route.ts';
import { useOfProject } from '../state/service.tsx';

const REREAD_MS = 10_000;
/** A table of a hundred would be longer than all else on the page. */
const SHOWN = 15;

/** The last requests of the project that failed or were slow; a choice shows one as it was sent. */
export function KeptRequests() {
  const [{ requests: kind }, change] = useFilters(['requests']);
  const [open, setOpen] = useState<KeptRequest>();
  const kept = useOfProject(
    ['kept-requests', kind],
    ({ relata, projectId, signal }) =>
      relata.projects.keptRequests(projectId, {
        ...((kind === 'failed' || kind === 'slow') && { kind }),
        signal,
      }),
    { refetchInterval: REREAD_MS, placeholderData: keepPreviousData },
  );
  return (
    <Card
      title={t('Failed and slow requests')}
      isBare
      actions={
        <SelectField
          label={t('Requests to show')}
          isQuiet
          choices={[
            ['', t('Failed and slow')],
            ['failed', t('Failed')],
            ['slow', t('Slow')],
          ]}
          value={kind}
          onChange={(requests) => change({ requests })}
        />
      }
    >
      <Answer of={kept}>
        {({ items, since, isWhole }) => (
          <>
            <RequestTable items={items} onOpen={setOpen} />
            <div className="grid-foot">{sayReach(since, isWhole)}</div>
          </>
        )}
      </Answer>
      <Dialog title={t('Request')} isWide isOpen={open !== undefined} onClose={() => setOpen(undefined)}>
        {open && <RequestDetails request={open} />}
      </Dialog>
    </Card>
  );
}

function sayReach(since: number, isWhole: boolean): string {
  const moment = formatMoment(since);
  if (isWhole) return t('Kept in memory since the start of the service, {moment}.', { moment });
  return t('Kept by the process that answered, since {moment}. Other processes have their own.', { moment });
}

interface TableShape {
  items: readonly KeptRequest[];
  onOpen(request: KeptRequest): void;
}

function RequestTable({ items, onOpen }: TableShape) {
  const [shown, more] = useMore(items, SHOWN, (count) => t('Show all {count}', { count }));
  if (items.length === 0) return <p className="card-body soft">{t('No request has failed or was slow.')}</p>;
  return (
    <Table
      isSmall
      rows={shown}
      keyOf={(request) => request.requestId}
      columns={[
        [t('When'), (request) => <Ago at={request.at} />, 'soft nowrap'],
        [
          t('Request'),
          (request) => (
            <>
              <button type="button" className="text-button mono break" onClick={() => onOpen(request)}>
                {request.method} {request.url.split('?')[0]}
              </button>
              <div className="soft">{request.reason ?? ''}</div>
            </>
          ),
        ],
        [t('Status'), (request) => <RequestStatus request={request} />],
        [t('Who'), (request) => request.by.name, 'wide-only'],
        [t('Took'), (request) => formatDuration(request.ms), 'wide-only number nowrap'],
      ]}
    >
      {more && <div className="grid-foot">{more}</div>}
    </Table>
  );
}

function RequestStatus({ request: { kind, status } }: { request: KeptRequest }) {
  if (kind === 'slow') return <span className="badge warn">{t('slow')}</span>;
  return <span className={`badge ${status >= 500 ? 'bad' : ''}`}>{status}</span>;
}

function RequestDetails({ request }: { request: KeptRequest }) {
  const { at, method, url, by, ms, status, reason, message, details, requestId } = request;
  return (
    <div className="stack">
      <Pairs
        pairs={[
          [t('Request'), `${method} ${url}`, 'mono break'],
          [t('When'), formatMoment(at)],
          [t('Who'), by.type === 'key' ? t('{name} (API key)', { name: by.name }) : by.name],
          [t('Took'), formatDuration(ms)],
          [t('Answer'), [status, reason].filter(Boolean).join(' ')],
          [t('Request id'), requestId, 'mono break'],
        ]}
      />
      {message && (
        <Note look="bad" title={message}>
          <Details list={details} />
        </Note>
      )}
      <SentBody request={request} />
      <h3>{t('Try it again')}</h3>
      <p className="soft small">{sayCall(request)}</p>
      <Code label={t('The request as curl')} text={toCall(request)} />
    </div>
  );
}

function SentBody({ request: { body, bodyBytes, isBodyWhole } }: { request: KeptRequest }) {
  if (bodyBytes === 0 && body === null) return null;
  const size = formatSize(bodyBytes);
  return (
    <>
      <h3>{isBodyWhole ? t('What was sent') : t('How what was sent begins')}</h3>
      <p className="soft small">
        {body === null
          ? t('{size} that cannot be shown.', { size })
          : t('{size}; values that look like secrets are masked.', { size })}
      </p>
      {body !== null && <Code label={t('The body of the request')} text={body} />}
    </>
  );
}

/** It is sent again with the reader's own key. */
const withoutKey = (url: string) => url.replace(/([?&])apiKey=[^&]*&?/, '$1').replace(/[?&]$/, '');

function toCall({ method, url, body, bodyBytes, isBodyWhole }: KeptRequest): string {
  const sent = { method, url: withoutKey(url) };
  if (bodyBytes === 0) return toCurl(sent);
  return toCurl(isBodyWhole && body !== null ? { ...sent, body } : { ...sent, bodyFile: 'body' });
}

function sayCall({ body, bodyBytes, isBodyWhole }: KeptRequest): string {
  const key = t('Set RELATA_URL and RELATA_API_KEY; the key of the request is not kept.');
  if (body === null && bodyBytes > 0) return `${key} ${t('The body is not kept: put it in the file body.')}`;
  return bodyBytes === 0 || isBodyWhole
    ? key
    : `${key} ${t('Only the beginning of the body is kept: put the whole one in the file body.')}`;
}
