import type { ApiKey, KeptRequest } from '@relata/client';
import { keepPreviousData } from '@tanstack/react-query';
import { useState } from 'react';
import { rich, t } from '../languages/text.ts';
import { Menu } from '../parts/button.tsx';
import { CountField, OwnNameField, SelectField, useBinding } from '../parts/forms/field.tsx';
import { Answer, Card, Details, Dialog, FormDialog, ListPage, Note } from '../parts/page.tsx';
import { OnceShown, RotateDialog, reaches, Scope, ScopeField, toScope } from '../parts/secrets.tsx';
import { Ago, Code, type Column, Pairs, Table, useMore } from '../parts/show.tsx';
import { listSteps, spread, sum } from '../rules/axis.ts';
import { toCurl } from '../rules/curl.ts';
import { formatCount, formatDuration, formatMoment, formatSize } from '../rules/format.ts';
import { nameAccess } from '../rules/roles.ts';
import { useAllKeys, useAnswer, useOfProject } from '../state/answers.ts';
import { reread, rereading } from '../state/queries.ts';
import { useCalls, useProject, useRights } from '../state/rights.ts';
import { useFilters } from '../state/route.ts';
import { useRelata } from '../state/session.tsx';

/** The keys that reach this project: its own, those of its group and of the account. */
export function ApiAccess() {
  const project = useProject();
  const { canChange } = useRights();
  const [isCreating, setCreating] = useState(false);
  const [shown, setShown] = useState<ShownKey>();
  const keys = useAllKeys((all) => all.filter(({ scope }) => reaches(scope, project)));
  const columns = useKeyColumns(setShown);
  return (
    <ListPage
      title={t('API access')}
      about={t('Keys for shops, connectors and programs. A value is shown once, when the key is created.')}
      icon="key"
      list={keys}
      empty={t('No key can access this project')}
      hint={t('Create one for each shop or program, so that you can rotate or delete it separately.')}
      create={[t('New key'), () => setCreating(true)]}
      above={
        shown && (
          <OnceShown
            title={t('The value of “{name}”', { name: shown.name })}
            about={t('It is shown only now. Store it where the program reads its secrets.')}
            label={t('Value of the key')}
            value={shown.key}
            lost={t('The key was created, but its value was lost in transfer. Delete it and create another.')}
            onDone={() => setShown(undefined)}
          />
        )
      }
      columns={columns}
    >
      {canChange && <RecentRequests />}
      <NewKey isOpen={isCreating} onClose={() => setCreating(false)} onMade={setShown} />
    </ListPage>
  );
}

function useKeyColumns(onRotated: (shown: ShownKey) => void): readonly Column<ApiKey>[] {
  const { canChange, canManageAccountKeys } = useRights();
  const canTouch = ({ scope }: ApiKey) => (scope.type === 'account' ? canManageAccountKeys : canChange);
  return [
    [
      t('Key'),
      (key) => (
        <>
          {key.name}
          <div className="mono soft small nowrap">{key.firstCharacters}…</div>
        </>
      ),
    ],
    [t('Reaches'), (key) => <Scope scope={key.scope} />],
    [t('Access'), (key) => nameAccess(key.page ? 'page' : key.access)],
    [t('Last used'), (key) => <LastUse apiKey={key} />],
    [t('Requests'), (key) => <KeyTraffic keyId={key.id} name={key.name} />, 'wide-only'],
    [
      t('Limit'),
      (key) =>
        key.rateLimit
          ? t('{count} a minute', { count: formatCount(key.rateLimit.requestsPerMinute) })
          : t('none'),
      'wide-only soft nowrap',
    ],
    [t('Ends'), (key) => (key.expiresAt ? <Ago instant={key.expiresAt} /> : t('never')), 'wide-only soft'],
    [
      <span className="hidden">{t('Available actions')}</span>,
      (key) => canTouch(key) && <KeyMenu apiKey={key} onRotated={onRotated} />,
      'actions',
    ],
  ];
}

const LastUse = ({ apiKey: { lastUsedAt, usedInUrlAt } }: { apiKey: ApiKey }) => (
  <>
    <Ago instant={lastUsedAt} />
    {/* Keys in addresses end up in logs of proxies and browsers. */}
    {usedInUrlAt !== null && (
      <div>
        <span className="badge warn" title={t('Send the key in the header: Authorization: Bearer …')}>
          {rich('as ?apiKey= {when}', { when: <Ago instant={usedInUrlAt} /> })}
        </span>
      </div>
    )}
  </>
);

function KeyMenu({ apiKey, onRotated }: { apiKey: ApiKey; onRotated(shown: ShownKey): void }) {
  const relata = useRelata();
  const [open, setOpen] = useState<'rotate' | 'delete'>();
  const rotate = async (overlap: number) => {
    const { key, name } = await relata.apiKeys.rotate(apiKey.id, overlap);
    onRotated({ key, name });
    await reread('api-keys');
  };
  const remove = () => rereading(relata.apiKeys.delete(apiKey.id), 'api-keys');
  return (
    <>
      <Menu
        label={t('Actions for {name}', { name: apiKey.name })}
        entries={[
          { words: t('Rotate …'), onSelect: () => setOpen('rotate') },
          { words: t('Delete …'), isDanger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      <RotateDialog
        title={t('Rotate {name}', { name: apiKey.name })}
        label={t('The old value')}
        isOpen={open === 'rotate'}
        onClose={() => setOpen(undefined)}
        onRotate={rotate}
      >
        <p>{t('Creates a new value with the same reach, access and limit.')}</p>
      </RotateDialog>
      <FormDialog
        title={t('Delete {name}', { name: apiKey.name })}
        action={t('Delete the key')}
        isDanger
        isOpen={open === 'delete'}
        onClose={() => setOpen(undefined)}
        onSubmit={remove}
      >
        <p>
          {rich('Requests with this key will be refused from now on. It was last used {when}.', {
            when: <Ago instant={apiKey.lastUsedAt} />,
          })}
        </p>
      </FormDialog>
    </>
  );
}

const WIDTH = 96;
const HEIGHT = 22;

function KeyTraffic({ keyId, name }: { keyId: number; name: string }) {
  const { data } = useAnswer(
    ['key-traffic', keyId],
    ({ relata, signal }) => relata.apiKeys.statistics(keyId, { signal }),
    { staleTime: 60_000 },
  );
  if (!data) return <span className="soft">–</span>;
  const steps = listSteps(data);
  const requests = spread(steps, data.requests, 'requests');
  const limited = spread(steps, data.requests, 'limited');
  const drawn = [['var(--accent)', requests] as const, ['var(--bad)', limited] as const];
  const words = t('{requests} in a day', { requests: formatCount(sum(requests)) });
  const top = Math.max(1, ...requests.map((value) => value ?? 0));
  const width = WIDTH / steps.length;
  const height = (value: number | undefined) => ((value ?? 0) / top) * HEIGHT;
  return (
    <span className="stack" style={{ gap: '0.125rem' }}>
      <svg
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={t('Requests of {name}: {words}', { name, words })}
      >
        <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} stroke="var(--line)" />
        {steps.map((step, index) => (
          <g key={step}>
            {drawn.map(([color, values]) => (
              <rect
                key={color}
                x={index * width}
                y={HEIGHT - height(values[index])}
                width={Math.max(1, width - 0.5)}
                height={height(values[index])}
                fill={color}
              />
            ))}
          </g>
        ))}
      </svg>
      <span className="soft small nowrap">
        {words}
        {sum(limited) > 0 && t(', {limited} over the limit', { limited: formatCount(sum(limited)) })}
      </span>
    </span>
  );
}

interface ShownKey {
  readonly name: string;
  /** Undefined in a repeated answer, because the service does not keep the value. */
  readonly key: string | undefined;
}

const DAY_MS = 86_400_000;

interface Draft {
  readonly scope: string;
  readonly access: ApiKey['access'] | 'page';
  readonly limit?: number | undefined;
  readonly days?: number | undefined;
}

interface Form {
  readonly isOpen: boolean;
  onClose(): void;
  onMade(shown: ShownKey): void;
}

function NewKey({ isOpen, onClose, onMade }: Form) {
  const { relata, project } = useCalls();
  const [name, setName] = useState('');
  const [draft, setDraft] = useState<Draft>({ scope: 'project', access: 'write' });
  const bind = useBinding(draft, (changed) => setDraft({ ...draft, ...changed }));
  const submit = async () => {
    const { scope, access, limit, days } = draft;
    const { key } = await relata.apiKeys.create({
      name,
      scope: toScope(scope, project),
      ...(access === 'page' ? { page: true } : { access }),
      ...(limit !== undefined && { rateLimit: { requestsPerMinute: limit } }),
      ...(days !== undefined && { expiresAt: Date.now() + days * DAY_MS }),
    });
    onMade({ name, key });
    setName('');
    await reread('api-keys');
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
      <OwnNameField
        value={name}
        placeholder={t('Shop connector')}
        hint={t('The shop or program that will use it')}
        onChange={setName}
      />
      <div className="fields">
        <ScopeField label={t('Reaches')} {...bind('scope')} />
        <SelectField
          label={t('Access')}
          choices={[
            ['page', t('page: related products and fit, for a page whose visitors can see the key')],
            ['read', t('read: projects, products, relations and tasks')],
            ['write', t('write: like read, and also updates and cancelling tasks')],
            ['manage', t('manage: everything that the key reaches')],
          ]}
          {...bind('access')}
        />
        <CountField
          label={t('Requests a minute')}
          max={1_000_000}
          placeholder={t('no limit')}
          {...bind('limit')}
        />
        <CountField label={t('Ends after (days)')} max={36_500} placeholder={t('never')} {...bind('days')} />
      </div>
    </FormDialog>
  );
}

const REREAD_MS = 10_000;
/** A table of a hundred requests would be longer than the rest of the page. */
const SHOWN = 15;

/** The latest failed or slow requests of the project. Selecting a request shows it as it was sent. */
export function RecentRequests() {
  const [{ requests: kind }, change] = useFilters(['requests']);
  const [open, setOpen] = useState<KeptRequest>();
  const recent = useOfProject(
    ['recent-requests', kind],
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
      <Answer of={recent}>
        {({ items, since, isWhole }) => (
          <>
            <RequestTable items={items} onOpen={setOpen} />
            <div className="grid-foot">{describeReach(since, isWhole)}</div>
          </>
        )}
      </Answer>
      <Dialog title={t('Request')} isWide isOpen={open !== undefined} onClose={() => setOpen(undefined)}>
        {open && <RequestDetails request={open} />}
      </Dialog>
    </Card>
  );
}

function describeReach(since: number, isWhole: boolean): string {
  const moment = formatMoment(since);
  if (isWhole)
    return t('The service has kept these requests in memory since it started, {moment}.', { moment });
  return t(
    'The process that sent this answer has kept these requests since {moment}. Other processes keep their own requests.',
    { moment },
  );
}

interface TableShape {
  items: readonly KeptRequest[];
  onOpen(request: KeptRequest): void;
}

function RequestTable({ items, onOpen }: TableShape) {
  const [shown, more] = useMore(items, SHOWN, (count) => t('Show all {count}', { count }));
  if (items.length === 0) return <p className="card-body soft">{t('No failed or slow requests.')}</p>;
  return (
    <Table
      isSmall
      rows={shown}
      keyOf={(request) => request.requestId}
      columns={[
        [t('When'), (request) => <Ago instant={request.at} />, 'soft nowrap'],
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
        [t('Duration'), (request) => formatDuration(request.ms), 'wide-only number nowrap'],
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
          [t('Duration'), formatDuration(ms)],
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
      <h3>{t('Send it again')}</h3>
      <p className="soft small">{describeCall(request)}</p>
      <Code label={t('The request as curl')} text={toCall(request)} />
    </div>
  );
}

function SentBody({ request: { body, bodyBytes, isBodyWhole } }: { request: KeptRequest }) {
  if (bodyBytes === 0 && body === null) return null;
  const size = formatSize(bodyBytes);
  return (
    <>
      <h3>{isBodyWhole ? t('Body that was sent') : t('Beginning of the body that was sent')}</h3>
      <p className="soft small">
        {body === null
          ? t('{size} that cannot be shown.', { size })
          : t('{size}; values that look like secrets are masked.', { size })}
      </p>
      {body !== null && <Code label={t('The body of the request')} text={body} />}
    </>
  );
}

/** Removes the key, because the reader sends the request again with another key. */
const withoutKey = (url: string) => url.replace(/([?&])apiKey=[^&]*&?/, '$1').replace(/[?&]$/, '');

function toCall({ method, url, body, bodyBytes, isBodyWhole }: KeptRequest): string {
  const sent = { method, url: withoutKey(url) };
  if (bodyBytes === 0) return toCurl(sent);
  return toCurl(isBodyWhole && body !== null ? { ...sent, body } : { ...sent, bodyFile: 'body' });
}

function describeCall({ body, bodyBytes, isBodyWhole }: KeptRequest): string {
  const key = t('Set RELATA_URL and RELATA_API_KEY; the key of the request is not kept.');
  if (body === null && bodyBytes > 0)
    return `${key} ${t('The body is not kept. Save it as a file with the name body.')}`;
  return bodyBytes === 0 || isBodyWhole
    ? key
    : `${key} ${t('Only the beginning of the body is kept. Save the whole body as a file with the name body.')}`;
}
