// runs: deep, postgres long, citus long
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import type { TaskDefinition } from '../../src/tasks/tasks.ts';
import { assertAnswerable, readMetricLabels } from '../support/prom-queries.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/test-service.ts';
import { createTestStore, embeddedOnly, testedStore } from '../support/test-store.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what others define.
type AnyBody = any;

const service = shareService();
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A service that the test stops itself. */
async function startStoppable(
  options: TestServiceOptions,
): Promise<{ running: TestService; stop(): Promise<void> }> {
  const stops = new Stops();
  const running = await startTestService(stops, options);
  return { running, stop: () => stops.stopAll() };
}

interface Ended {
  code: number | null;
  output: string;
}

/** The program as its owner starts it. */
function runProgram(t: TestContext, settings: Record<string, string>, command = 'serve') {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('RELATA_'));
  const child: ChildProcess = spawn(process.execPath, [MAIN, command], {
    env: { ...Object.fromEntries(inherited), RELATA_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  const ended = once(child, 'close').then(([code]): Ended => ({ code, output }));
  const wanted: { pattern: RegExp; resolve: (match: RegExpExecArray) => void }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      for (const { pattern, resolve } of wanted) {
        const match = pattern.exec(output);
        if (match !== null) resolve(match);
      }
    });
  }
  return {
    child,
    ended,
    waitFor: (pattern: RegExp) =>
      Promise.race([
        new Promise<RegExpExecArray>((resolve) => wanted.push({ pattern, resolve })),
        ended.then(({ code }) => assert.fail(`ended with ${code}: ${output}`)),
      ]),
  };
}

const sameOnEach = embeddedOnly('the program has its own data folder, whichever store the file has');

test(
  'each start logs an owner link until an owner exists, and a command makes one (§14.5)',
  sameOnEach,
  async (t) => {
    const dataDir = await makeFolder(t);
    const settings = {
      RELATA_DATA_DIR: dataDir,
      RELATA_ACCOUNT_KEY: 'a-key-of-at-least-thirty-two-characters',
    };
    const linkPattern = /"link":"(http:[^"]+)\/console\/#\/welcome\/([\w-]{43})"/;
    const serve = async () => {
      const program = runProgram(t, settings);
      const link = program.waitFor(linkPattern).catch(() => []);
      const [, address = ''] = await program.waitFor(/"address":"(http:[^"]+)"/);
      return { program, address, link };
    };
    const signUp = (address: string, token: string, email: string) =>
      fetch(`${address}/management/owner`, {
        method: 'POST',
        body: JSON.stringify({ token, email, name: 'Ada', password: 'long enough for Ada' }),
      });
    const silent = runProgram(t, { ...settings, RELATA_OWNER_LINK: 'false' });
    await silent.waitFor(/"relata serves"/);
    silent.child.kill('SIGTERM');
    assert.doesNotMatch((await silent.ended).output, /welcome/, 'it is switched off');

    const first = await serve();
    const [, base, unused = ''] = await first.link;
    assert.equal(base, first.address);
    first.program.child.kill('SIGTERM');
    await first.program.ended;

    const second = await serve();
    const [, , token = ''] = await second.link;
    assert.notEqual(token, unused);
    const made = runProgram(t, { ...settings, RELATA_PUBLIC_URL: 'https://relata.example' }, 'owner-link');
    const { code, output } = await made.ended;
    assert.equal(code, 0, output);
    const byCommand =
      /^https:\/\/relata\.example\/console\/#\/welcome\/([\w-]{43})$/m.exec(output)?.[1] ?? '';
    assert.equal((await signUp(second.address, byCommand, 'ada@shop.example')).status, 200);
    for (const ended of [token, unused, byCommand]) {
      assert.equal((await signUp(second.address, ended, 'eve@shop.example')).status, 400);
    }
    second.program.child.kill('SIGTERM');
    await second.program.ended;

    const third = await serve();
    third.program.child.kill('SIGTERM');
    assert.doesNotMatch((await third.program.ended).output, /welcome/, 'there is an owner now');
  },
);

test('live answers as soon as the process runs, and ready only while requests are served (§10.3)', async (t) => {
  const config = readConfig({
    RELATA_DATA_DIR: await makeFolder(t),
    RELATA_PORT: '0',
    RELATA_LOG_LEVEL: 'silent',
  });
  const app = await createApp({ config });
  const ask = async (path: string) => (await app.server.inject(path)).statusCode;
  assert.deepEqual([await ask('/health/live'), await ask('/health/ready')], [200, 503]);
  const address = await app.start();
  assert.deepEqual([await ask('/health/live'), await ask('/health/ready')], [200, 200]);
  const ready = await fetch(`${address}/health/ready`);
  assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ok' }]);
  await app.stop();
  await assert.rejects(fetch(`${address}/health/ready`));
});

const OPEN_PATHS = ['/health/live', '/health/ready', '/openapi.json', '/docs', '/docs/api'];
for (const path of OPEN_PATHS) {
  test(`${path} needs no key (§10.3)`, async () => {
    assert.equal((await service().call('GET', path, { key: null })).status, 200);
    assert.equal((await service().call('GET', path, { key: 'wrong' })).status, 200);
  });
}

const SERVED: Readonly<Record<string, readonly string[]>> = {
  '/projects': ['get'],
  '/project/check-credentials': ['get'],
  '/product-service/products-by-sku': ['get', 'post'],
  '/product-service/product-by-sku': ['get'],
  '/products': ['post', 'delete'],
  '/products/batch/initiate': ['post'],
  '/products/batch/upload': ['post'],
  '/products/batch/preview': ['post'],
  '/products/batch/start': ['post'],
  '/products/batch/restore': ['post'],
  '/tasks': ['get'],
  '/tasks/{id}': ['get'],
  '/tasks/{id}/log': ['get'],
  '/tasks/{id}/report': ['get'],
  '/tasks/{id}/events': ['get'],
  '/tasks/{id}/cancel': ['post'],
  '/management/project-groups': ['get', 'post'],
  '/management/project-groups/{id}': ['get', 'patch', 'delete'],
  '/management/projects': ['get', 'post'],
  '/management/projects/{id}': ['get', 'patch', 'delete'],
  '/management/projects/{id}/restore': ['post'],
  '/management/projects/{id}/ontology': ['get', 'put'],
  '/management/projects/{id}/products': ['get'],
  '/management/projects/{id}/products/{identifier}': ['get'],
  '/management/projects/{id}/categories': ['get'],
  '/management/api-keys': ['get', 'post'],
  '/management/api-keys/{id}': ['get', 'patch', 'delete'],
  '/management/api-keys/{id}/rotate': ['post'],
  '/management/session': ['get', 'post', 'delete'],
  '/management/sessions': ['delete'],
  '/management/session/password': ['post'],
  '/management/owner': ['post'],
  '/management/users': ['get'],
  '/management/users/{id}': ['patch', 'delete'],
  '/management/invitations': ['get', 'post'],
  '/management/invitations/{id}': ['delete'],
  '/management/invitations/accept': ['post'],
  '/management/audit-log': ['get'],
  '/health/live': ['get'],
  '/health/ready': ['get'],
  '/metrics': ['get'],
};

test('/openapi.json describes every call of the interface, and its references resolve (§10.3)', async () => {
  const { headers, body } = await service().call('GET', '/openapi.json', { key: null });
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(body.openapi, '3.1.0');
  assert.ok(body.info.title.length > 0 && body.info.version.length > 0);
  for (const [path, methods] of Object.entries(SERVED)) {
    for (const method of methods) assert.ok(body.paths[path]?.[method], `${method} ${path}`);
  }
  const operations = Object.entries<Record<string, OpenApiOperation>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (const { path, method, operation } of operations) {
    assert.ok(operation.summary, `${method} ${path} has a summary`);
    assert.ok(Object.keys(operation.responses).length > 0, `${method} ${path} has responses`);
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const declared = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
    assert.deepEqual(declared.map(({ name }) => name).sort(), named.sort(), `${method} ${path}`);
  }
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
  for (const path of references) {
    const steps = path.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const target = steps.reduce<unknown>((part, step) => Reflect.get(Object(part), step), body);
    assert.notEqual(target, undefined, path);
  }
});

interface OpenApiOperation {
  summary?: string;
  parameters?: { in: string; name: string }[];
  responses: object;
}

test('/docs/api is a page that loads nothing from other origins (§10.3)', async () => {
  const { headers, body } = await service().call('GET', '/docs/api', { key: null });
  assert.match(headers.get('content-type') ?? '', /^text\/html/);
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval|https?:/);
  assert.doesNotMatch(body, /(?:src|href)="(?:https?:)?\/\//);
  assert.match(body, /\/products\/batch\/initiate/);
});

test('/ redirects a browser to a page and returns the paths of docs, OpenAPI and health check to a program (§10.3)', async () => {
  const { body, headers } = await service().call('GET', '/', { key: null });
  assert.equal(headers.get('vary'), 'Accept');
  for (const path of [body.docs, body.openapi, body.health])
    assert.equal((await service().call('GET', path, { key: null })).status, 200, path);
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const answer = await fetch(`${service().address}/`, { headers: { accept }, redirect: 'manual' });
  assert.equal(answer.status, 302);
  assert.match(answer.headers.get('location') ?? '', /^\/(?:console|docs)\/$/);
});

async function makeKey(scope: object, access = 'manage'): Promise<string> {
  const { status, body } = await service().call('POST', '/management/api-keys', {
    body: { name: 'k', scope, access },
  });
  assert.equal(status, 201);
  return body.key;
}

async function readMetric(name: string): Promise<number> {
  const { body } = await service().call('GET', '/metrics');
  const line = String(body)
    .split('\n')
    .find((line) => line.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}

test('/metrics accepts an account key of any access and no key of smaller scope (§10.3)', async () => {
  const { projectId } = await createCatalog(service());
  assertRefused(await service().call('GET', '/metrics', { key: null }), 401, 'No token set');
  const inUrl = await service().call('GET', `/metrics?apiKey=${service().key}`, { key: null });
  assert.deepEqual(
    [inUrl.status, inUrl.headers.has('deprecation')],
    [200, true],
    'as elsewhere (§5.1 rule 3)',
  );
  for (const access of ['read', 'write']) {
    const key = await makeKey({ type: 'account' }, access);
    assert.equal((await service().call('GET', '/metrics', { key })).status, 200, access);
  }
  const project = await service().call('GET', `/management/projects/${projectId}`);
  const refused = [
    await makeKey({ type: 'project', id: projectId }),
    await makeKey({ type: 'project-group', id: project.body.projectGroupId }),
  ];
  for (const key of refused) {
    assertRefused(
      await service().call('GET', '/metrics', { key }),
      401,
      'You are not allowed to access the requested resource',
    );
  }
  const { status, headers, body } = await service().call('GET', '/metrics');
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^text\/plain/);
  assert.match(body, /^relata_ready 1$/m);
  assert.match(body, /^# HELP relata_http_request_duration_seconds /m);
});

test('the metrics count tasks by kind and outcome, written products, and refused commits (§10.3)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 10 });
  const finished = 'relata_tasks_total{kind="catalog.commit",status="FINISHED"}';
  const guarded = 'relata_commits_refused_total{reason="delete_guard"}';
  const created = 'relata_products_written_total{change="created"}';
  await catalog.load({ identifier: 'A' }, { identifier: 'B' });
  const before = { finished: await readMetric(finished), created: await readMetric(created) };
  const refusedBefore = await readMetric(guarded);
  await catalog.load({ identifier: 'A' }, { identifier: 'B' }, { identifier: 'C' });
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', [{ identifier: 'A', name: 'A' }]);
  assertRefused(await catalog.post('/products/batch/start'), 400);
  assert.equal(await readMetric(finished), before.finished + 1);
  assert.equal(await readMetric(created), before.created + 1);
  assert.equal(await readMetric(guarded), refusedBefore + 1);
});

/** The queries of the dashboard and the alerts, each with the labels in the text next to it. */
function listQueries(): { query: string; shown: string[] }[] {
  const deploy = new URL('../../../deploy/', import.meta.url);
  const dashboard = JSON.parse(readFileSync(new URL('grafana/relata.json', deploy), 'utf8'));
  const alerts = parse(readFileSync(new URL('prometheus/alerts.yaml', deploy), 'utf8'));
  const shownIn = (text: string) =>
    [...text.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g)].map(([, label = '']) => label);
  return [
    ...dashboard.panels.flatMap(({ targets }: AnyBody) =>
      targets.map(({ expr, legendFormat }: AnyBody) => ({ query: expr, shown: shownIn(legendFormat) })),
    ),
    ...dashboard.templating.list
      .filter(({ type }: AnyBody) => type === 'query')
      .map(({ query }: AnyBody) => ({ query, shown: shownIn(query) })),
    ...alerts.groups.flatMap(({ rules }: AnyBody) =>
      rules.map(({ expr, annotations }: AnyBody) => ({ query: expr, shown: shownIn(annotations.summary) })),
    ),
  ];
}

/** Metrics that only the other store has. */
const ABSENT = {
  embedded: /relata_(database_connections|replica_lag_seconds)/,
  postgres: /relata_(data_dir_free_bytes|catalogs_damaged|catalogs_foreign|last_backup_timestamp_seconds)/,
};

test('the dashboard and the alerts query only existing metrics (§10.3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  const text = String((await service().call('GET', '/metrics')).body);
  // Only processes with replicas have this metric: postgres-replicas.test.ts.
  const metrics = readMetricLabels(`${text}\nrelata_replica_lag_seconds{replica="1"} 0`);
  const queries = listQueries();
  assert.ok(queries.length > 40);
  for (const { query, shown } of queries.filter((query) => !ABSENT[testedStore].test(query.query)))
    assertAnswerable(metrics, query, shown);
  for (const absent of queries.filter(({ query }) => ABSENT[testedStore].test(query)))
    assert.doesNotMatch(text, new RegExp(`^${ABSENT[testedStore].exec(absent.query)?.[0]}\\b`, 'm'));
  for (const wrong of [
    'relata_tasks',
    'relata_ready{kind="x"}',
    'sum by (kind) (relata_ready)',
    'relata_tasks_total{status="LOST"}',
  ]) {
    assert.throws(() => assertAnswerable(metrics, wrong, []), wrong);
  }
  assert.throws(() => assertAnswerable(metrics, 'relata_tasks_total', ['reason']));
});

test('each alert has a line of the runbook, and each line has an alert (docs/operating/monitoring.md, "Alerts")', () => {
  const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  const { groups } = parse(read('deploy/prometheus/alerts.yaml'));
  const alerts = groups.flatMap(({ rules }: AnyBody) => rules.map(({ alert }: AnyBody) => alert));
  const lines = [
    ...read('docs/operating/monitoring.md').matchAll(/^\| `(Relata\w+)` \|(.+)\|(.+)\|(.+)\|$/gm),
  ];
  assert.ok(lines.every(([, , ...cells]) => cells.every((cell) => cell.trim().length > 10)));
  assert.deepEqual(lines.map(([, alert]) => alert).sort(), [...alerts].sort());
});

test('each metric of the service is in docs/operating/monitoring.md and names no project and no key (§10.3)', async () => {
  const text = String((await service().call('GET', '/metrics')).body);
  const documented = readFileSync(new URL('../../../docs/operating/monitoring.md', import.meta.url), 'utf8');
  const names = [...text.matchAll(/^# HELP (relata_\w+)/gm)].map(([, name = '']) => name);
  for (const name of names.filter((name) => !/^relata_(process|nodejs)_/.test(name)))
    assert.match(documented, new RegExp(`^\\| \`${name}[{\`]`, 'm'));
  for (const [label, values] of [...readMetricLabels(text).values()].flatMap((labels) => [...labels]))
    assert.ok(!/project|key/.test(label) && values.size <= 200, label);
});

test('Prometheus accepts the alerts and every query of the dashboard', async (t) => {
  const folder = await makeFolder(t);
  // Replaces Grafana's variables as Grafana does.
  const rules = listQueries().flatMap(({ query }, index) =>
    query.startsWith('label_values')
      ? []
      : { record: `query:${index}`, expr: query.replaceAll('$__rate_interval', '5m') },
  );
  await writeFile(join(folder, 'queries.yaml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  const alerts = fileURLToPath(new URL('../../../deploy/prometheus/alerts.yaml', import.meta.url));
  const { error, status, stdout, stderr } = spawnSync(
    'promtool',
    ['check', 'rules', alerts, join(folder, 'queries.yaml')],
    { encoding: 'utf8' },
  );
  if (error) return t.skip('promtool is not installed');
  assert.equal(status, 0, stdout + stderr);
});

test('the log never contains the value of a key, however it was sent and whatever the answer was (§5.1 rule 9)', async () => {
  const { projectId } = await createCatalog(service());
  const made = await makeKey({ type: 'project', id: projectId });
  const unknown = 'unknown-key-unknown-key-unknown-key-0';
  const paths = [
    '/projects',
    '/projects?projectId=x',
    '/no-such-path',
    '/projects/%ZZ',
    `/product-service/products-by-sku?projectId=${projectId}&identifiers=[`,
    `/products?projectId=${projectId}`,
    `/tasks?projectId=${projectId}&limit=0`,
    '/management/projects',
    '/etl-triggers/webhook/1',
  ];
  for (const key of [service().key, made, unknown]) {
    for (const path of paths) {
      const inUrl = `${path}${path.includes('?') ? '&' : '?'}apiKey=${key}`;
      await service().call('GET', path, { key });
      await service().call('GET', path, { key: null, headers: { authorization: key } });
      await service().call('GET', inUrl, { key: null });
      await service().call('POST', inUrl, { key: null, body: '{"broken' });
    }
    await sendRaw(`GET /projects?apiKey=${key} HTTP/1.1\r\nHost: x\r\nbad header ${key}\r\n\r\n`);
    await sendRaw(`GET /${key}?apiKey=${key} HTTP/9.9\r\n\r\n`);
  }
  assert.ok(service().log.length > 50, 'there is a log');
  for (const key of [service().key, made, unknown]) {
    const lines = service().log.filter(
      (line) => line.includes(key) || line.includes(encodeURIComponent(key)),
    );
    assert.deepEqual(lines, []);
  }
});

/** Sends a request that Node's own client would not. */
async function isAccepted(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
}

async function sendRaw(text: string): Promise<string> {
  const { hostname, port } = new URL(service().address);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.end(text);
  await once(socket, 'close');
  return answer;
}

test('the audit log names who deleted products and who changed an ontology (§14.4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' }, { identifier: 'B' });
  const key = await makeKey({ type: 'project', id: catalog.projectId });
  const path = `/management/projects/${catalog.projectId}/ontology`;
  const begun = Date.now();
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A'], key }));
  const { body: ontology } = await service().call('GET', path);
  await service().call('PUT', path, { body: ontology });
  assert.equal(
    (await service().call('PUT', path, { body: { mode: 'own', attributes: [] }, key })).status,
    200,
  );
  const { status, body } = await service().call(
    'GET',
    `/management/audit-log?projectId=${catalog.projectId}`,
  );
  assert.equal(status, 200);
  const [changed, deleted, ...others] = body.items;
  assert.equal(changed.action, 'ontology.changed');
  assert.equal(deleted.action, 'products.deleted');
  assert.deepEqual(deleted.details, { count: 1, identifiers: ['A'] });
  for (const entry of [changed, deleted]) {
    assert.equal(entry.projectId, catalog.projectId);
    assert.ok(entry.at >= begun && entry.at <= Date.now());
    assert.equal(JSON.stringify(entry).includes(key), false);
  }
  assert.deepEqual(changed.actor, deleted.actor);
  assert.ok(
    others.every(({ action }: { action: string }) => action !== 'ontology.changed'),
    'a change without effect is not a change',
  );
});

test('a deleted project disappears for callers and returns with its catalog when it is restored (§14.2 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A', attributes: [{ key: 'Size', value: '1 in' }] }, { identifier: 'B' });
  const before = await catalog.find('A', 'B');
  const path = `/management/projects/${catalog.projectId}`;
  const { body: project } = await service().call('GET', path);
  const lookup = '/product-service/products-by-sku?identifiers=A';
  assertRefused(await service().call('DELETE', path), 400);
  assertRefused(await service().call('DELETE', `${path}?confirm=another`), 400);
  assert.equal((await catalog.call('GET', lookup)).status, 200);
  const deleted = await service().call('DELETE', `${path}?confirm=${encodeURIComponent(project.name)}`);
  assert.equal(deleted.status, 200);
  assertRefused(await catalog.call('GET', lookup), 401);
  assertRefused(await catalog.post('/products', [{ identifier: 'C', name: 'C' }]), 401);
  assert.equal((await service().call('POST', `${path}/restore`)).status, 200);
  assert.deepEqual(await catalog.find('A', 'B'), before);
  assert.equal((await catalog.update({ identifier: 'C', name: 'C' })).taskStatus, 'FINISHED');
});

const ofFolder = embeddedOnly('any number of processes serve one database');

test(
  'a second server on the same data directory is refused and does not disturb the first (§10.2 rule 5)',
  ofFolder,
  async (t) => {
    const config = readConfig({ RELATA_DATA_DIR: service().store.dataDir, RELATA_PORT: '0' });
    await assert.rejects(createApp({ config }), /data folder .* RELATA_DATA_DIR/);
    const other = runProgram(t, { RELATA_DATA_DIR: service().store.dataDir });
    const { code, output } = await other.ended;
    assert.equal(code, 1);
    assert.match(
      output,
      /^Another server uses the data folder .*\n$/,
      'a mistake of the owner is reported in one line',
    );
    assert.equal((await service().call('GET', '/projects')).status, 200);
  },
);

for (const { why, folderOf } of [
  { why: 'a file', folderOf: (folder: string) => join(folder, 'file') },
  { why: 'below a file', folderOf: (folder: string) => join(folder, 'file', 'data') },
  { why: 'where nothing can be made', folderOf: () => '/proc/nope/data' },
]) {
  test(
    `a start on a data folder that is ${why} ends with a line that names its setting (§10.1 rule 2)`,
    sameOnEach,
    async (t) => {
      const folder = await makeFolder(t);
      await writeFile(join(folder, 'file'), '');
      const dataDir = folderOf(folder);
      for (const command of ['serve', 'owner-link']) {
        const program = runProgram(t, { RELATA_DATA_DIR: dataDir }, command);
        const timer = setTimeout(() => program.child.kill('SIGKILL'), 20_000);
        const { code, output } = await program.ended;
        clearTimeout(timer);
        assert.equal(code, 1, `${command}: ${output}`);
        assert.match(output, /^The data folder .* RELATA_DATA_DIR\.\n$/);
        assert.ok(output.includes(dataDir), output);
      }
      assert.deepEqual(await readdir(folder), ['file']);
    },
  );
}

test(
  'a start with a port in use ends before it makes a first key, with a line that names the port (§10.1 rule 2)',
  sameOnEach,
  async (t) => {
    const dataDir = await makeFolder(t);
    const { host, hostname, port } = new URL(service().address);
    const settings = { RELATA_DATA_DIR: dataDir, RELATA_HOST: hostname, RELATA_PORT: port };
    const { code, output } = await runProgram(t, settings).ended;
    assert.equal(code, 1);
    assert.equal(output, `The address ${host} is taken: set RELATA_PORT, or stop what listens there.\n`);
    assert.ok(!(await readdir(dataDir)).includes('first-account-key'));
    const app = await createApp({ config: readConfig({ ...settings, RELATA_LOG_LEVEL: 'silent' }) });
    await assert.rejects(app.start(), /is taken: set RELATA_PORT/, 'also when it is taken in between');
    await app.stop();
  },
);

/** A task that ends only when it is handed back. */
const blocker: TaskDefinition<object> = {
  kind: 'test.blocker',
  name: 'blocker',
  increment: 'STEP_BASED',
  acceptedAs: 'RUNNING',
  isOrdered: true,
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

test('a stop finishes requests in progress, and accepted work resumes at the next start (§10.4)', async (t) => {
  const store = await createTestStore(t);
  const first = await startStoppable({ store });
  const { app, call, address, key, projectId } = first.running;
  await first.running.loadCatalog([{ identifier: 'A' }, { identifier: 'B' }]);
  app.tasks.define([blocker]);
  await app.tasks.accept(blocker, { project: { id: projectId, name: 'blocked' }, payload: {} });
  const update = await call('POST', '/products', { body: [{ identifier: 'A', name: 'new' }] });
  const remove = await call('DELETE', '/products', { body: ['B'] });
  await call('POST', '/products/batch/initiate');
  const upload = await call('POST', '/products/batch/upload', {
    body: [{ identifier: 'U', name: 'uploaded' }],
  });

  const inFlight = request(`${address}/products?projectId=${projectId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  inFlight.write('[{"identifier":"LATE",');
  const taskPath = `/tasks/${update.body.task.id}`;
  const waiting = call('GET', `${taskPath}?wait=60`);
  // Requests sent before this one are in progress when it is answered.
  await call('GET', `${taskPath}?wait=1`);
  const begun = performance.now();
  const stopped = first.stop();
  assert.equal((await waiting).body.task.taskStatus, 'RUNNING', 'a waiting request is answered');
  while (await isAccepted(`${address}/health/live`));
  inFlight.end('"name":"late"}]');
  const [answer] = await once(inFlight, 'response');
  let text = '';
  for await (const chunk of answer) text += chunk;
  assert.equal(answer.statusCode, 200, text);
  await stopped;
  assert.ok(performance.now() - begun < 30_000, 'the stop does not wait for waiting requests');

  const second = await startStoppable({ store });
  t.after(() => second.stop());
  const { ended, lookUp, call: callAgain } = second.running;
  // With several processes, a task of an unknown kind stays in the queue, because another process may run it.
  second.running.app.tasks.define([{ ...blocker, run: async () => {} }]);
  for (const { task } of [update.body, remove.body, JSON.parse(text)]) {
    assert.equal((await ended(task.id)).taskStatus, 'FINISHED', task.name);
  }
  const names = async () => (await lookUp(['A', 'B', 'LATE', 'U'])).map(({ name }) => name);
  assert.deepEqual(await names(), ['new', 'late']);
  const started = await callAgain('POST', '/products/batch/start');
  assert.equal(started.status, 200, 'the open full update is still open');
  assert.equal((await ended(started.body.data.task.id)).taskStatus, 'FINISHED');
  assert.equal((await ended(upload.body.task.id)).taskStatus, 'FINISHED');
  assert.deepEqual(await names(), ['uploaded']);
});

const SECRET = 'a-key-that-is-too-short';
const WRONG: readonly { why: string; settings: Record<string, string>; names: readonly string[] }[] = [
  {
    why: 'values that cannot be used',
    settings: {
      RELATA_PORT: '4810.5',
      RELATA_LOG_LEVEL: 'loud',
      RELATA_UPLOAD_MAX_MIB: '0',
      RELATA_ACCOUNT_KEY: SECRET,
    },
    names: ['RELATA_PORT', 'RELATA_LOG_LEVEL', 'RELATA_UPLOAD_MAX_MIB', 'RELATA_ACCOUNT_KEY'],
  },
  { why: 'an unknown name', settings: { RELATA_DATADIR: '/tmp' }, names: ['RELATA_DATADIR'] },
];
for (const { why, settings, names } of WRONG) {
  test(
    `${why} in the settings end the start with a message that names them (§10.1 rule 2)`,
    sameOnEach,
    async (t) => {
      const { code, output } = await runProgram(t, { RELATA_DATA_DIR: await makeFolder(t), ...settings })
        .ended;
      assert.equal(code, 1);
      for (const name of names) assert.match(output, new RegExp(`\\b${name}\\b`));
      assert.doesNotMatch(output, new RegExp(SECRET), 'a value can be secret');
      assert.doesNotMatch(output, /^\s+at /m, 'a mistake of the owner has no stack');
    },
  );
}

const keyFile = embeddedOnly('on one of several machines the file would not be found');

test(
  'the program writes a first key to a file, serves, and stops cleanly on SIGTERM (§10.2 rule 1, §10.4 rule 1)',
  keyFile,
  async (t) => {
    const dataDir = await makeFolder(t);
    const program = runProgram(t, { RELATA_DATA_DIR: dataDir, RELATA_TEST_ANYTHING: 'is not checked' });
    const [, address = ''] = await program.waitFor(/"address":"(http:[^"]+)"/);
    const path = join(dataDir, 'first-account-key');
    const key = (await readFile(path, 'utf8')).trim();
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const answer = await fetch(`${address}/projects`, { headers: { authorization: `Bearer ${key}` } });
    assert.deepEqual(await answer.json(), { status: 'success', data: { projects: [] } });
    program.child.kill('SIGTERM');
    const { code, output } = await program.ended;
    assert.equal(code, 0, output);
    assert.match(output, /first-account-key/);
    assert.equal(output.includes(key), false, 'the log has the path and not the key');
  },
);

test(
  'a second signal of any kind ends the process immediately (docs/operating/install.md, Stopping)',
  sameOnEach,
  async (t) => {
    const program = runProgram(t, { RELATA_DATA_DIR: await makeFolder(t) });
    const [, address = ''] = await program.waitFor(/"address":"(http:[^"]+)"[^\n]*"relata serves"/);
    // Its body never ends, so the service waits for it for half a minute.
    const slow = connect(Number(new URL(address).port), '127.0.0.1');
    t.after(() => slow.destroy());
    const head = ['POST /management/owner HTTP/1.1', 'host: a', 'content-type: application/json'];
    slow.write([...head, 'content-length: 99', 'expect: 100-continue', '', '{'].join('\r\n'));
    assert.match(String((await once(slow, 'data'))[0]), /100 Continue/);
    program.child.kill('SIGTERM');
    const isReady = () =>
      fetch(`${address}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    while (await isReady()) await delay(20);
    program.child.kill('SIGINT');
    // The program exits itself, because the kernel does not end the first process of a container on an unhandled
    // signal.
    assert.equal((await program.ended).code, 130);
  },
);

test('the log line of a request has the id of its answer, project, key and bytes (docs/operating/monitoring.md, "Logs")', async () => {
  const { projectId, key, call, log } = service();
  const path = '/product-service/products-by-sku';
  const refused = await call('POST', `${path}?projectId=${projectId}`, { body: { identifiers: 'A' } });
  assert.equal(refused.status, 400);
  const { requestId } = refused.body;
  const lines = log.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId);
  assert.deepEqual(
    lines.map(({ msg, project, bytes, key: id }) => ({ msg, project, bytes, id: typeof id })),
    [
      {
        msg: 'request answered',
        project: projectId,
        id: 'number',
        bytes: { received: 19, sent: Number(refused.headers.get('content-length')) },
      },
    ],
  );
  assert.ok(log.every((line) => !line.includes(key) && !line.includes('"reqId"')));
});

test(
  'a missing file of keys ends the start with a line that names its setting (docs/operating/settings.md, "Secrets")',
  sameOnEach,
  async (t) => {
    const folder = await makeFolder(t);
    const program = runProgram(t, { RELATA_DATA_DIR: folder, RELATA_SECRET_KEYS_FILE: join(folder, 'away') });
    const [line] = await program.waitFor(/RELATA_SECRET_KEYS_FILE: .*/);
    assert.match(line, /ENOENT.*away/);
    assert.equal((await program.ended).code, 1);
  },
);

test(
  'the log has a line for the beginning and the end of a stop (docs/operating/install.md, "Stopping")',
  sameOnEach,
  async (t) => {
    const program = runProgram(t, { RELATA_DATA_DIR: await makeFolder(t) });
    await program.waitFor(/relata serves/);
    program.child.kill('SIGTERM');
    await program.waitFor(/"signal":"SIGTERM"[^\n]*"relata stops/);
    await program.waitFor(/"relata has stopped"/);
    assert.equal((await program.ended).code, 0);
  },
);
