// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import {
  byUrl,
  createPipelineProject,
  FETCH_HERE,
  type PipelineProject,
  startSource,
  type TestSource,
} from '../support/pipelines/pipeline-project.ts';
import { startProcess } from '../support/service-process.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import type { Answer, CallOptions } from '../support/test-service.ts';
import { createTestStore, testedStore } from '../support/test-store.ts';

const service = shareService({ settings: FETCH_HERE });

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const MISSING = 'Missing authorization header';
const WRONG = 'Wrong authentication credentials';
const HOUR_S = 3_600;

interface Webhook {
  readonly project: PipelineProject;
  readonly pipeline: AnyBody;
  readonly source: TestSource;
  /** The path of the webhook's URL. */
  readonly path: string;
  call(options?: CallOptions & { method?: string; path?: string }): Promise<Answer<AnyBody>>;
  /** Backdates the last accepted call. */
  age(seconds: number): Promise<void>;
}

async function createWebhook(trigger: object = {}): Promise<Webhook> {
  const project = await createPipelineProject(service());
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: { type: 'webhook', ...trigger } }));
  const { pathname } = new URL(pipeline.trigger.url);
  return {
    project,
    pipeline,
    source,
    path: pathname,
    call: ({ method = 'POST', path = pathname, ...options } = {}) => service().call(method, path, options),
    age: (seconds) =>
      service().store.change(
        `update pipeline set triggered_at = triggered_at - ${seconds * 1_000} where id = ${pipeline.id}`,
      ),
  };
}

async function createKey(scope: object, more: object = {}): Promise<{ id: number; key: string }> {
  const body = { name: 'Test', scope, ...more };
  const answer = await service().call('POST', '/management/api-keys', { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

async function createStranger(): Promise<string> {
  const account = await service().app.projects.createAccount(`Another ${performance.now()}`);
  const author = {
    accountId: account.id,
    scope: { type: 'account' },
    access: 'manage',
    command: 't',
  } as const;
  return (
    await service().app.access.createKey({ author, place: author }, { name: 'x', scope: { type: 'account' } })
  ).value;
}

async function countRuns({ project, pipeline }: Webhook): Promise<number> {
  return (await project.manage('GET', `/${pipeline.id}/runs`)).body.items.length;
}

test('the URL is complete: host and port of the service and an id for this pipeline only (§4.9 rule 2, §13.3 rule 3)', async () => {
  const { pipeline, path } = await createWebhook();
  assert.match(pipeline.trigger.id, /^[A-Za-z0-9_-]{24,}$/);
  assert.equal(path, `/etl-triggers/webhook/${pipeline.trigger.id}`);
  assert.equal(new URL(pipeline.trigger.url).port, new URL(service().address).port);
  // fetch cannot send another Host.
  const answer = await new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(service().address);
    const headers = { host: 'evil.example', authorization: `Bearer ${service().key}` };
    const options = {
      hostname,
      port,
      headers,
      path: `/management/projects/${pipeline.projectId ?? 1}/pipelines`,
    };
    httpRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
  assert.doesNotMatch(answer, /evil/);
});

test('a call starts the pipeline and answers 200 with the exact text and the task (§4.9 rule 5)', async () => {
  const webhook = await createWebhook();
  const { status, headers, body } = await webhook.call();
  const { task, ...rest } = body;
  assert.deepEqual([status, rest], [200, { status: 'success', message: 'Pipeline triggered' }]);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.deepEqual(
    [task.origin, task.name, task.taskStatus, task.projectId],
    ['PIPELINE', 'Fetched', 'RUNNING', webhook.project.projectId],
  );
  assert.equal((await service().ended(task.id)).taskStatus, 'FINISHED');
  assert.deepEqual(await webhook.project.list(), ['A1', 'B4']);
  assert.equal((await webhook.project.read(webhook.pipeline)).lastRun.startedBy, 'webhook');
});

test('a call ignores its body, content type and parameters (§4.9 rule 4)', async () => {
  const webhook = await createWebhook({ minSecondsBetween: 0 });
  const calls: CallOptions[] = [
    { body: '{"broken":' },
    { body: 'x'.repeat(3 * 1024 * 1024) },
    { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { body: 'x', headers: { 'content-type': ';;;' } },
    { body: 'not gzip', headers: { 'content-encoding': 'gzip' } },
    { body: 'x', headers: { 'content-encoding': 'br' } },
    { body: [] },
  ];
  const path = `${webhook.path}?projectId=no&limit=-1&x=%FF`;
  const release = webhook.source.hold();
  for (const [index, options] of calls.entries()) {
    const { status, body } = await webhook.call({ ...options, path });
    // The first call starts a run, and the other calls find it running.
    assert.equal(
      status,
      index === 0 ? 200 : 429,
      `${JSON.stringify(options).slice(0, 100)}: ${JSON.stringify(body)}`,
    );
  }
  release();
});

test('an unknown id, an altered URL or another method is 404 for every caller (§4.9 rules 8 and 9)', async () => {
  const webhook = await createWebhook();
  const { path } = webhook;
  const last = path.at(-1);
  const altered = [
    `${path.slice(0, -1)}${last === 'A' ? 'B' : 'A'}`,
    path.slice(0, -1),
    `${path}x`,
    `${path}/`,
    `${path}/run`,
    path.replace('webhook', 'Webhook'),
    path.replace('/etl-triggers', '//etl-triggers'),
    '/etl-triggers/webhook/',
    '/etl-triggers/webhook',
    '/etl-triggers',
    '/etl-triggers/webhook/%00',
    `/etl-triggers/webhook/${'x'.repeat(5_000)}`,
    "/etl-triggers/webhook/' or 1=1 --",
  ];
  for (const key of [service().key, null, 'wrong']) {
    for (const alteredPath of altered)
      assertRefused(await webhook.call({ path: alteredPath, key }), 404, 'Not Found');
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const refused = await webhook.call({ method, key });
      assertRefused(refused, 404, 'Not Found');
      assert.equal(refused.headers.get('allow'), null);
    }
  }
  assert.equal((await fetch(`${service().address}${path}`, { method: 'HEAD' })).status, 404);
  assert.equal(await countRuns(webhook), 0);
});

test('a pipeline whose trigger is not a webhook is 404 before credentials are checked (§13.3 rule 5)', async () => {
  const webhook = await createWebhook();
  const { project, pipeline } = webhook;
  for (const trigger of [{ type: 'manual' }, { type: 'schedule', cron: '0 3 * * *', timeZone: 'UTC' }]) {
    await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, trigger } });
    for (const key of [service().key, null, 'wrong'])
      assertRefused(await webhook.call({ key }), 404, 'Not Found');
  }
  await project.manage('PUT', `/${pipeline.id}`, { body: pipeline });
  assert.equal((await webhook.call()).status, 200);
});

test('the webhook of a deleted project is 404 (§14.2 rule 9)', async () => {
  const webhook = await createWebhook();
  const { projectId } = webhook.project;
  const { body } = await service().call('GET', `/management/projects/${projectId}`);
  await service().call(
    'DELETE',
    `/management/projects/${projectId}?confirm=${encodeURIComponent(body.name)}`,
  );
  assertRefused(await webhook.call(), 404);
  await service().call('POST', `/management/projects/${projectId}/restore`);
  assert.equal((await webhook.call()).status, 200);
});

test('without an Authorization header, with an empty one, or with ?apiKey= alone the answer is 401 with its text (§5.5 rule 2)', async () => {
  const webhook = await createWebhook();
  const inUrl = `${webhook.path}?apiKey=${service().key}`;
  assertRefused(await webhook.call({ key: null }), 401, MISSING);
  assertRefused(await webhook.call({ key: null, path: inUrl }), 401, MISSING);
  for (const authorization of ['', ' ', 'Bearer', 'Bearer ', 'bearer  '])
    assertRefused(await webhook.call({ key: null, path: inUrl, headers: { authorization } }), 401, MISSING);
  const missing = await webhook.call({ key: null, path: inUrl });
  assert.equal(missing.headers.get('deprecation'), null);
  assert.equal(await countRuns(webhook), 0);
});

test('an unknown, deleted or expired key, a smaller scope or another account is 401 with its text (§5.5 rule 3)', async () => {
  const webhook = await createWebhook();
  const { projectId } = webhook.project;
  const { body: project } = await service().call('GET', `/management/projects/${projectId}`);
  const deleted = await createKey({ type: 'account' });
  await service().call('DELETE', `/management/api-keys/${deleted.id}`);
  const expired = await createKey({ type: 'account' }, { expiresAt: Date.now() + 60_000 });
  // The key was not used before, so no process has cached it.
  await service().store.change(`update api_key set expires_at = 1 where id = ${expired.id}`);
  const keys = {
    unknown: 'wrong',
    deleted: deleted.key,
    expired: expired.key,
    project: (await createKey({ type: 'project', id: projectId })).key,
    group: (await createKey({ type: 'project-group', id: project.projectGroupId })).key,
    reading: (await createKey({ type: 'account' }, { access: 'read' })).key,
    stranger: await createStranger(),
  };
  for (const [what, key] of Object.entries(keys)) {
    const refused = await webhook.call({ key });
    assert.equal(refused.body.message, WRONG, what);
    assertRefused(refused, 401, WRONG);
  }
  assert.equal(await countRuns(webhook), 0);
});

test('an account key with access write or manage starts the pipeline, with or without the word Bearer (§5.5 rule 1)', async () => {
  const webhook = await createWebhook({ minSecondsBetween: 0 });
  const release = webhook.source.hold();
  const statuses: number[] = [];
  for (const access of ['write', 'manage']) {
    const { key } = await createKey({ type: 'account' }, { access });
    for (const authorization of [`Bearer ${key}`, key])
      statuses.push((await webhook.call({ key: null, headers: { authorization } })).status);
  }
  assert.deepEqual(statuses, [200, 429, 429, 429], 'once it is running');
  release();
});

test('the rate limit of the key is checked before the window, and a refused call starts nothing (§4.9 rule 9, §5.3)', async () => {
  const webhook = await createWebhook();
  const { key } = await createKey({ type: 'account' }, { rateLimit: { requestsPerMinute: 2 } });
  const first = await webhook.call({ key });
  assert.equal(first.status, 200);
  assert.match(first.headers.get('ratelimit') ?? '', /r=1/);
  await service().ended(first.body.task.id);
  const window = await webhook.call({ key });
  assertRefused(window, 429, 'Too Many Requests');
  assert.ok(Number(window.headers.get('retry-after')) > 3_500, 'by the window of the pipeline');
  const rate = await webhook.call({ key });
  assertRefused(rate, 429, 'Too Many Requests');
  assert.ok(Number(rate.headers.get('retry-after')) <= 60, 'by the rate limit of the key');
  assertRefused(await webhook.call({ key, path: `${webhook.path}x` }), 404);
});

test('by default a second call within an hour is 429 with the remaining time of the window (§4.9 rules 7 and 10, §8)', async () => {
  const webhook = await createWebhook();
  const { body } = await webhook.call();
  await service().ended(body.task.id);
  const refused = await webhook.call();
  assertRefused(refused, 429, 'Too Many Requests');
  const rest = Number(refused.headers.get('retry-after'));
  assert.ok(rest > HOUR_S - 60 && rest <= HOUR_S, String(rest));
  await webhook.age(HOUR_S - 100);
  const later = Number((await webhook.call()).headers.get('retry-after'));
  assert.ok(later > 40 && later <= 100, String(later));
  await webhook.age(100);
  const again = await webhook.call();
  assert.equal(again.status, 200);
  await service().ended(again.body.task.id);
  assert.equal(await countRuns(webhook), 2);
});

test('the window begins at the last accepted trigger, even of a failed run, but not at manual runs or refused calls (§13.3 rule 4)', async () => {
  const webhook = await createWebhook();
  const { project, pipeline, source } = webhook;
  await project.run(pipeline);
  source.serve('<html>Sign in</html>');
  const { body } = await webhook.call();
  assert.equal((await service().ended(body.task.id)).taskStatus, 'FAILED');
  assertRefused(await webhook.call(), 429);
  source.serve('sku,title\nC7,Case\n');
  await webhook.age(HOUR_S - 100);
  assertRefused(await webhook.call(), 429);
  await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, maxDeletePercent: 100 } });
  await project.run(pipeline);
  await webhook.age(100);
  assert.equal((await webhook.call()).status, 200);
});

test('a call during a run is 429 with at least 30 seconds and does not count (§4.9 rules 7 and 10)', async () => {
  const webhook = await createWebhook({ minSecondsBetween: 5 });
  const { project, pipeline, source } = webhook;
  const release = source.hold();
  const { body: manual } = await project.manage('POST', `/${pipeline.id}/run`);
  const refused = await webhook.call();
  assertRefused(refused, 429, 'Too Many Requests');
  assert.equal(refused.headers.get('retry-after'), '30');
  release();
  await service().ended(manual.task.id);
  const accepted = await webhook.call();
  assert.equal(accepted.status, 200, 'the refused call was not counted');
  await service().ended(accepted.body.task.id);

  const long = await createWebhook();
  const releaseLong = long.source.hold();
  const { body } = await long.call();
  const inBoth = Number((await long.call()).headers.get('retry-after'));
  assert.ok(inBoth > HOUR_S - 60, 'the window is longer than the run');
  releaseLong();
  await service().ended(body.task.id);
});

test('without a time between triggers the next call may follow immediately (§13.3 rule 3)', async () => {
  const webhook = await createWebhook({ minSecondsBetween: 0 });
  for (let round = 0; round < 3; round += 1) {
    const { status, body } = await webhook.call();
    assert.equal(status, 200, JSON.stringify(body));
    await service().ended(body.task.id);
  }
});

test('triggers at the same time start one run (§13.3 rule 6)', async () => {
  for (const minSecondsBetween of [0, HOUR_S]) {
    const webhook = await createWebhook({ minSecondsBetween });
    const release = webhook.source.hold();
    const answers = await Promise.all(Array.from({ length: 20 }, () => webhook.call()));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 429)]);
    release();
    await service().ended(answers.find(({ status }) => status === 200)?.body.task.id);
    assert.equal(await countRuns(webhook), 1);
  }
});

test('a call repeated under its Idempotency-Key gets the first answer, even within the window (§7.5)', async () => {
  const webhook = await createWebhook();
  const headers = { 'idempotency-key': `webhook ${webhook.pipeline.id}` };
  const first = await webhook.call({ headers });
  const second = await webhook.call({ headers, body: 'anything else' });
  assert.deepEqual([second.status, second.body], [200, first.body]);
  await service().ended(first.body.task.id);
  assert.equal(await countRuns(webhook), 1);
  const other = await createWebhook();
  assertRefused(await other.call({ headers }), 422);
});

test('an accepted call is in the audit log, and a refused one is not (§14.4)', async () => {
  const webhook = await createWebhook();
  await webhook.call();
  await webhook.call();
  const { body } = await service().call(
    'GET',
    `/management/audit-log?projectId=${webhook.project.projectId}`,
  );
  const runs = body.items.filter(({ action }: AnyBody) => action === 'pipeline.run');
  assert.equal(runs.length, 1);
  assert.deepEqual(runs[0].details, { startedBy: 'webhook' });
});

test('the log never contains the value of a key, however it was sent (§5.1 rule 9)', async () => {
  const webhook = await createWebhook();
  await webhook.call({ key: null, path: `${webhook.path}?apiKey=${service().key}` });
  await webhook.call({ key: 'a-wrong-key-4711' });
  const log = service().log.join('\n');
  assert.ok(!log.includes(service().key) && !log.includes('a-wrong-key-4711'));
});

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

test(
  'two processes called at the same time start one run, and both apply the window (§13.3 rule 6)',
  onlyShared,
  async (t) => {
    const store = await createTestStore(t);
    const source = await startSource();
    const settings = { ...FETCH_HERE, RELATA_PUBLIC_URL: 'https://relata.example' };
    const processes = await Promise.all([startProcess(store, settings), startProcess(store, settings)]);
    const [first, second] = processes;
    const group = await first.call('POST', '/management/project-groups', { body: { name: 'Group' } });
    const body = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
    const { body: project } = await first.call('POST', '/management/projects', { body });
    const path = `/management/projects/${project.id}/pipelines`;
    for (const minSecondsBetween of [0, HOUR_S]) {
      const trigger = { type: 'webhook', minSecondsBetween };
      const { body: pipeline } = await first.call('POST', path, { body: byUrl(source.url, { trigger }) });
      const release = source.hold();
      const { pathname } = new URL(pipeline.trigger.url);
      const calls = Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? first : second).call('POST', pathname),
      );
      const answers = await Promise.all(calls);
      const accepted = answers.filter(({ status }) => status === 200);
      assert.equal(accepted.length, 1, JSON.stringify(answers.map(({ status }) => status)));
      assert.equal(answers.filter(({ status }) => status === 429).length, 19);
      release();
      const [{ body: answer }] = accepted as [AnyBody];
      const { body: ended } = await second.call('GET', `/tasks/${answer.task.id}?wait=60`);
      assert.equal(ended.task.taskStatus, 'FINISHED', JSON.stringify(ended));
      const { body: runs } = await second.call('GET', `${path}/${pipeline.id}/runs`);
      assert.equal(runs.items.length, 1);
      if (minSecondsBetween > 0)
        for (const processe of processes) assert.equal((await processe.call('POST', pathname)).status, 429);
    }
  },
);
