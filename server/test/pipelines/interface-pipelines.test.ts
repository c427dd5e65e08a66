// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  byUpload,
  byUrl,
  CSV,
  createPipelineProject,
  FETCH_HERE,
  MAPPING,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { TestClock } from '../support/test-service.ts';

const clock = new TestClock();
const PUBLIC = 'https://relata.example/base';
const service = shareService({ clock, settings: { ...FETCH_HERE, RELATA_PUBLIC_URL: `${PUBLIC}/` } });

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const createProject = () => createPipelineProject(service());
const HTTP = { type: 'http', url: 'https://erp.example/export.csv', headers: { 'X-Token': 'very-secret' } };
const FULL = {
  name: 'Nightly catalog',
  source: HTTP,
  format: { type: 'csv', delimiter: ';', encoding: 'windows-1252', headerRow: 2 },
  mapping: {
    identifier: 'sku',
    groupIdentifier: 'group',
    name: { columns: ['brand', 'title'], join: ' ' },
    images: ['image', { column: 'more', split: '|' }],
    categories: { from: 'category', separator: ' > ' },
    attributes: { Price: { column: 'price', number: { decimal: 'comma' }, unit: '€' }, '*': '*' },
    filter: { column: 'active', operator: 'equals', value: '1' },
  },
  mode: 'full',
  trigger: { type: 'webhook', minSecondsBetween: 60 },
  maxDeletePercent: 12.5,
  onRejectedRow: 0.05,
  minProducts: 10,
};

/** The fields of a pipeline that the service sets. */
const SET_BY_SERVICE = ['id', 'createdAt', 'updatedAt', 'nextRunAt', 'lastRun'];
const definitionOf = (pipeline: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(pipeline).filter(([name]) => !SET_BY_SERVICE.includes(name)));

test('a pipeline is created with its defaults and an id (§13.1)', async () => {
  const project = await createProject();
  const { status, body } = await project.manage('POST', '', { body: byUpload() });
  assert.equal(status, 201);
  const { id, ...rest } = body;
  assert.ok(Number.isInteger(id));
  assert.deepEqual(rest, {
    ...byUpload(),
    maxDeletePercent: 30,
    onRejectedRow: 'stop',
    minProducts: 1,
    createdAt: clock.now(),
    updatedAt: clock.now(),
    lastRun: null,
  });
  assert.deepEqual(await project.read(body), body);
});

test('every field of a definition is stored as sent, except for secrets (§13.1, §13.4 rule 1)', async () => {
  const project = await createProject();
  const created = await project.create(FULL);
  const { trigger, source, ...rest } = definitionOf(created) as AnyBody;
  const { trigger: _, source: __, ...sent } = FULL;
  assert.deepEqual(rest, sent);
  assert.deepEqual(source, { ...HTTP, headers: { 'X-Token': '***' } });
  assert.match(trigger.id, /^[A-Za-z0-9_-]{24,}$/);
  assert.deepEqual(trigger, {
    ...FULL.trigger,
    id: trigger.id,
    url: `${PUBLIC}/etl-triggers/webhook/${trigger.id}`,
  });
});

test('the time between two triggers of a webhook is an hour by default (§13.3 rule 3)', async () => {
  const project = await createProject();
  const { trigger } = await project.create({ ...FULL, trigger: { type: 'webhook' } });
  assert.equal(trigger.minSecondsBetween, 3_600);
  for (const minSecondsBetween of [0, 31_536_000])
    await project.create({ ...FULL, trigger: { type: 'webhook', minSecondsBetween } });
});

test('PUT accepts the answer of GET and changes nothing (§13.1, §7.6 rule 1)', async () => {
  const project = await createProject();
  const schedule = { type: 'schedule', cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
  for (const definition of [FULL, byUpload(), { ...FULL, trigger: schedule }]) {
    const created = await project.create(definition);
    clock.pass(1_000);
    const { status, body } = await project.manage('PUT', `/${created.id}`, { body: created });
    assert.deepEqual([status, body], [200, created]);
    assert.deepEqual(await project.read(created), body);
  }
});

test('a masked header keeps its value for the same origin and is never sent to another (§13.4 rule 1)', async () => {
  const project = await createProject();
  const source = await startSource();
  const headers = { 'X-Token': 'very-secret' };
  const created = await project.create(
    byUrl(source.url, { source: { type: 'http', url: source.url, headers } }),
  );
  const { body: renamed } = await project.manage('PUT', `/${created.id}`, {
    body: { ...created, name: 'Other' },
  });
  assert.deepEqual(renamed.source.headers, { 'X-Token': '***' });
  await project.run(created);
  assert.equal(source.requests.at(-1)?.headers['x-token'], 'very-secret');

  const moved = { ...created, source: { ...created.source, url: 'https://elsewhere.example/' } };
  for (const [method, path, body] of [
    ['PUT', `/${created.id}`, moved],
    ['POST', '', created],
    ['POST', '/preview', { source: moved.source, format: created.format, pipelineId: created.id }],
  ] as const) {
    const refused = await project.manage(method, path, { body });
    assertRefused(refused, 400, 'Your body params are not valid');
    assert.match(refused.body.details.join(), /\/source\/headers/);
  }
});

test('no answer, audit log or service log contains the value of a header (§13.4 rule 1, §14.4)', async () => {
  const project = await createProject();
  const secret = 'only-here-4711';
  const created = await project.create({ ...FULL, source: { ...HTTP, headers: { Cookie: secret } } });
  await project.manage('PUT', `/${created.id}`, {
    body: { ...created, source: { ...HTTP, headers: { Cookie: `${secret}-2` } } },
  });
  const answers = await Promise.all([
    project.manage('GET'),
    project.manage('GET', `/${created.id}`),
    service().call('GET', `/management/audit-log?projectId=${project.projectId}`),
  ]);
  assert.doesNotMatch(JSON.stringify([created, ...answers]), /only-here/);
  assert.doesNotMatch(service().log.join('\n'), /only-here/);
});

/** Definitions that cannot be stored, with patterns of the details. */
const REFUSED: readonly [object, ...RegExp[]][] = [
  [{ name: '' }, /^\/name /],
  [{ name: 'x'.repeat(256) }, /^\/name /],
  [{ unknown: 1 }, /unknown/],
  [{ mode: 'replace' }, /^\/mode .*full, incremental, partial, delete/],
  [{ source: { type: 'ftp' } }, /^\/source\/type must be one of: http, upload, directory, sftp, s3$/],
  [{ source: {} }, /^\/source tag "type" must be string: http, upload, directory, sftp, s3$/],
  [{ source: { type: 'http' } }, /^\/source .*url/],
  [{ source: { type: 'http', url: 'ftp://x.example' } }, /^\/source\/url: /],
  [{ source: { type: 'http', url: 'https://user:word@x.example' } }, /^\/source\/url: /],
  [{ source: { ...HTTP, headers: { Host: 'other' } } }, /^\/source\/headers: /],
  [{ source: { type: 'directory', pattern: '../*.csv' } }, /^\/source\/pattern: /],
  [{ source: { type: 'upload', url: 'x' } }, /^\/source .*url/],
  [{ format: { type: 'pdf' } }, /^\/format\/type must be one of: csv, tsv, .*, native$/],
  [{ format: { type: 'csv', delimiter: ';;' } }, /^\/format\/delimiter /],
  [{ format: { type: 'tsv', delimiter: ';' } }, /^\/format .*delimiter/],
  [{ mapping: undefined }, /^\/mapping: is needed for the format csv/],
  [{ format: { type: 'native' } }, /^\/mapping: must be left out/],
  [{ mapping: {} }, /^\/mapping .*identifier/],
  [{ mapping: { identifier: 'sku' } }, /^\/mapping: name is needed in mode full/],
  [{ mapping: { ...MAPPING, colour: 'x' } }, /^\/mapping .*colour/],
  [{ mapping: { ...MAPPING, name: { column: 'a', constant: 'b' } } }, /^\/mapping: /],
  [{ mapping: { ...MAPPING, filter: { column: 'a', operator: 'like' } } }, /^\/mapping: filter/],
  [
    { mapping: { ...MAPPING, name: { expression: '$sum(' }, attributes: { 'a/b': { expression: '((' } } } },
    /^\/mapping\/name\/expression: /,
    /^\/mapping\/attributes\/a~1b\/expression: /,
  ],
  [{ trigger: { type: 'cron' } }, /^\/trigger\/type must be one of: manual, schedule, webhook$/],
  [{ trigger: { type: 'schedule' } }, /^\/trigger .*cron/, /^\/trigger .*timeZone/],
  [{ trigger: { type: 'schedule', cron: '0 0 3 * * *', timeZone: 'UTC' } }, /^\/trigger\/cron: /],
  [
    { trigger: { type: 'schedule', cron: '0 25 * * *', timeZone: 'Berlin' } },
    /^\/trigger\/cron: /,
    /^\/trigger\/timeZone: /,
  ],
  [
    { trigger: { type: 'schedule', cron: '0 3 30 2 *', timeZone: 'UTC' } },
    /^\/trigger\/cron: must name a day that exists/,
  ],
  [{ trigger: { type: 'webhook', minSecondsBetween: -1 } }, /^\/trigger\/minSecondsBetween /],
  [{ trigger: { type: 'webhook', minSecondsBetween: 31_536_001 } }, /^\/trigger\/minSecondsBetween /],
  [{ trigger: { type: 'manual', cron: 'x' } }, /^\/trigger .*cron/],
  [{ maxDeletePercent: 101 }, /^\/maxDeletePercent /],
  [{ maxDeletePercent: -1 }, /^\/maxDeletePercent /],
  [{ onRejectedRow: 'skip' }, /^\/onRejectedRow /],
  [{ onRejectedRow: 1.1 }, /^\/onRejectedRow /],
  [{ minProducts: 0 }, /^\/minProducts /],
  [{ minProducts: 1.5 }, /^\/minProducts /],
  [
    { source: { type: 'http', url: 'x' }, trigger: { type: 'schedule', cron: 'x', timeZone: 'UTC' } },
    /^\/source\/url: /,
    /^\/trigger\/cron: /,
  ],
];

test('an invalid definition is refused, and every fault is reported with its path (§13.1, §7.4)', async () => {
  const project = await createProject();
  const base = { ...FULL, format: { type: 'csv' }, mapping: MAPPING };
  const stored = await project.create(base);
  for (const [fields, ...named] of REFUSED) {
    for (const [method, path] of [
      ['POST', ''],
      ['PUT', `/${stored.id}`],
    ] as const) {
      const refused = await project.manage(method, path, { body: { ...base, ...fields } });
      assertRefused(refused, 400, 'Your body params are not valid');
      const { details } = refused.body;
      for (const pattern of named)
        assert.ok(
          details.some((line: string) => pattern.test(line)),
          `${JSON.stringify(fields)} ${pattern}: ${JSON.stringify(details)}`,
        );
    }
  }
  assert.deepEqual((await project.manage('GET')).body.items, [stored]);
});

test('a fault in a mapping is reported once, with its path (§13.1 rule 12)', async () => {
  const project = await createProject();
  const base = { ...FULL, format: { type: 'csv' } };
  const mistakes: [object, RegExp][] = [
    [{ name: { colum: 'title' } }, /^\/mapping\/name must NOT have additional properties: colum$/],
    [{ name: 5 }, /^\/mapping\/name must be string,object$/],
    [
      { images: [{ column: 'a', type: 'HUGE' }] },
      /^\/mapping\/images\/0\/type must be equal to one of .*SMALL/,
    ],
    [{ categories: { from: 'a', sep: '>' } }, /^\/mapping\/categories must NOT have .*: sep$/],
    [{ categories: [{ separator: '>' }] }, /^\/mapping\/categories\/0 must have required property 'from'$/],
    [{ attributes: 'all' }, /^\/mapping\/attributes must match pattern/],
    [
      { attributes: { Price: { column: 'p', number: { decimal: 'dot' } } } },
      /^\/mapping\/attributes\/Price\/number\/decimal /,
    ],
    [{ keyValues: [{ colum: 'a', column: 'b' }] }, /^\/mapping\/keyValues\/0 must NOT have .*: colum$/],
  ];
  for (const [wrong, details] of mistakes) {
    const refused = await project.manage('POST', '', {
      body: { ...base, mapping: { ...MAPPING, ...wrong } },
    });
    assertRefused(refused, 400, 'Your body params are not valid');
    assert.equal(refused.body.details.length, 1, JSON.stringify(refused.body.details));
    assert.match(refused.body.details[0], details);
  }
});

test('a pipeline without a mode makes a full update, which creates the attributes (§13.1)', async () => {
  const project = await createProject();
  const { mode: _, ...modeless } = { ...FULL, format: { type: 'csv' }, mapping: MAPPING };
  assert.equal((await project.create(modeless)).mode, 'full');
});

test('a mapping is optional if the format has a default mapping (§13.1 rule 4)', async () => {
  const project = await createProject();
  for (const type of ['google-merchant', 'shopify-csv', 'bmecat', 'native']) {
    const { mapping } = await project.create(byUpload({ format: { type }, mapping: undefined }));
    assert.equal(mapping, undefined, type);
  }
  await project.create(byUpload({ mode: 'delete', mapping: { identifier: 'sku' } }));
  await project.create(byUpload({ mode: 'partial', mapping: { identifier: 'sku', attributes: '*' } }));
});

test('pipelines are listed by id, in pages (§13.1, §4 rule 3)', async () => {
  const project = await createProject();
  assert.deepEqual((await project.manage('GET')).body, { items: [], nextCursor: null });
  const made: AnyBody[] = [];
  for (let index = 0; index < 5; index += 1) made.push(await project.create(byUpload({ name: `P${index}` })));
  assert.deepEqual((await project.manage('GET')).body, { items: made, nextCursor: null });
  const { body: first } = await project.manage('GET', '?limit=3');
  assert.deepEqual(first.items, made.slice(0, 3));
  const { body: second } = await project.manage('GET', `?limit=3&cursor=${first.nextCursor}`);
  assert.deepEqual(second, { items: made.slice(3), nextCursor: null });
  assertRefused(await project.manage('GET', '?cursor=x'), 400);
  assertRefused(await project.manage('GET', '?limit=0'), 400);
});

test('deleting a pipeline also removes its webhook (§13.1, §14.2 rule 8)', async () => {
  const project = await createProject();
  const pipeline = await project.create(FULL);
  const deleted = await project.manage('DELETE', `/${pipeline.id}`);
  assert.deepEqual([deleted.status, deleted.body], [200, { status: 'success' }]);
  assertRefused(await project.manage('GET', `/${pipeline.id}`), 404);
  const webhook = await service().call('POST', `/etl-triggers/webhook/${pipeline.trigger.id}`);
  assertRefused(webhook, 404);
});

/** Every call about one pipeline, with an accepted body. */
const CALLS: readonly [string, string, unknown?][] = [
  ['GET', ''],
  ['PUT', '', byUpload()],
  ['POST', '/run'],
  ['POST', '/upload', CSV],
  ['POST', '/trigger-id'],
  ['GET', '/runs'],
  ['DELETE', ''],
];

async function createKey(scope: object, access = 'manage'): Promise<string> {
  const body = { name: 'Test', scope, access };
  const answer = await service().call('POST', '/management/api-keys', { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.key;
}

test('a pipeline that is unknown or belongs to another project is 404 in every call (§7.2 rule 4)', async () => {
  const [project, other] = [await createProject(), await createProject()];
  const { id } = await project.create(byUpload());
  for (const [method, path, body] of CALLS) {
    assertRefused(await other.manage(method, `/${id}${path}`, { body }), 404);
    assertRefused(await project.manage(method, `/4711${path}`, { body }), 404);
  }
  const foreign = { ...byUpload(), source: HTTP, pipelineId: id, mode: 'full' };
  const { name: _, trigger: __, ...tried } = foreign;
  assertRefused(await other.manage('POST', '/preview', { body: tried }), 404);
});

test('a key reaches only the pipelines within its scope (§14.1)', async () => {
  const [project, other] = [await createProject(), await createProject()];
  const { id } = await project.create(byUpload());
  const own = await createKey({ type: 'project', id: project.projectId });
  const foreign = await createKey({ type: 'project', id: other.projectId });
  const account = await service().app.projects.createAccount(`Another ${project.projectId}`);
  const author = {
    accountId: account.id,
    scope: { type: 'account' },
    access: 'manage',
    command: 'test',
  } as const;
  const stranger = await service().app.access.createKey(
    { author, place: author },
    { name: 'x', scope: { type: 'account' } },
  );
  assert.equal((await project.manage('GET', `/${id}`, { key: own })).status, 200);
  for (const key of [foreign, stranger.value]) {
    const { source, format } = byUpload();
    assertRefused(await project.manage('GET', '', { key }), 404);
    assertRefused(await project.manage('POST', '', { body: byUpload(), key }), 404);
    assertRefused(await project.manage('POST', '/preview', { body: { source, format }, key }), 404);
    for (const [method, path, body] of CALLS)
      assertRefused(await project.manage(method, `/${id}${path}`, { body, key }), 404);
  }
});

test('a run needs the access write, every other change needs manage, and the key must be in the header (§14.1 rules 2 and 4)', async () => {
  const project = await createProject();
  const { id } = await project.create(byUpload());
  const scope = { type: 'project', id: project.projectId };
  const [reads, writes] = [await createKey(scope, 'read'), await createKey(scope, 'write')];
  for (const [method, path, body] of CALLS) {
    const refuse = async (key: string | null) => project.manage(method, `/${id}${path}`, { body, key });
    assertRefused(await refuse(reads), 401, 'You are not allowed to access the requested resource');
    assertRefused(await refuse(null), 401, 'No token set');
    const isRun = path === '/run' || path === '/upload';
    if (!isRun)
      assertRefused(await refuse(writes), 401, 'You are not allowed to access the requested resource');
    const inUrl = `/${id}${path}?apiKey=${service().key}`;
    assertRefused(await project.manage(method, inUrl, { body, key: null }), 401, 'No token set');
  }
  await project.done(await project.upload({ id }, CSV, { key: writes }));
});

test('the audit log shows who changed a pipeline, with the definition before (§14.4)', async () => {
  const project = await createProject();
  const created = await project.create(FULL);
  await project.manage('PUT', `/${created.id}`, { body: { ...created, name: 'Other', minProducts: 11 } });
  await project.manage('POST', `/${created.id}/trigger-id`);
  await project.manage('DELETE', `/${created.id}`);
  const { body } = await service().call('GET', `/management/audit-log?projectId=${project.projectId}`);
  const entries = body.items.filter(({ action }: AnyBody) => action.startsWith('pipeline.'));
  const seen = entries.map(({ action, subject, actor }: AnyBody) => [action, subject, actor.type]).reverse();
  const subject = (name: string) => ({ type: 'pipeline', id: created.id, name });
  assert.deepEqual(seen, [
    ['pipeline.created', subject('Nightly catalog'), 'key'],
    ['pipeline.changed', subject('Other'), 'key'],
    ['pipeline.trigger-id', subject('Other'), 'key'],
    ['pipeline.deleted', subject('Other'), 'key'],
  ]);
  assert.deepEqual(entries.at(-2).details, {
    name: { from: 'Nightly catalog', to: 'Other' },
    minProducts: { from: 10, to: 11 },
  });
});

test('a call repeated under one Idempotency-Key gets the same answer and is done once (§7.5)', async () => {
  const project = await createProject();
  const headers = (key: string) => ({ headers: { 'idempotency-key': `${project.projectId} ${key}` } });
  const twice = async (...[method, path, options]: Parameters<typeof project.manage>) => {
    const first = await project.manage(method, path, options);
    const second = await project.manage(method, path, options);
    assert.ok(first.status < 300, JSON.stringify(first.body));
    assert.deepEqual([second.status, second.body], [first.status, first.body]);
    return first.body;
  };
  const { id, trigger } = await twice('POST', '', { body: FULL, ...headers('create') });
  assert.equal((await project.manage('GET')).body.items.length, 1);
  clock.pass(1_000);
  await twice('PUT', `/${id}`, { body: { ...FULL, name: 'Other' }, ...headers('put') });
  const { trigger: next } = await twice('POST', `/${id}/trigger-id`, headers('id'));
  assert.notEqual(next.id, trigger.id);
  await twice('DELETE', `/${id}`, headers('delete'));
  const { body } = await service().call('GET', `/management/audit-log?projectId=${project.projectId}`);
  const ours = body.items.filter(({ action }: AnyBody) => action.startsWith('pipeline.'));
  assert.equal(ours.length, 4);
});

test('a new webhook id ends the old one, and a change of the definition keeps the id (§13.3)', async () => {
  const project = await createProject();
  const created = await project.create(FULL);
  const { body: renewed } = await project.manage('POST', `/${created.id}/trigger-id`);
  assert.notEqual(renewed.trigger.id, created.trigger.id);
  assert.ok(renewed.trigger.url.endsWith(renewed.trigger.id));
  assertRefused(await service().call('POST', `/etl-triggers/webhook/${created.trigger.id}`), 404);
  const manual = await project.manage('PUT', `/${created.id}`, {
    body: { ...renewed, trigger: { type: 'manual' } },
  });
  assert.deepEqual(manual.body.trigger, { type: 'manual' });
  const { body: again } = await project.manage('PUT', `/${created.id}`, { body: renewed });
  assert.deepEqual(again.trigger, renewed.trigger);
});

test('a schedule shows its next due time, in its own time zone (§13.3 rule 2)', async () => {
  const project = await createProject();
  const trigger = { type: 'schedule', cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
  const created = await project.create({ ...FULL, trigger });
  const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' });
  assert.equal(local.format(created.nextRunAt), '03:00');
  assert.ok(created.nextRunAt > Date.now() && created.nextRunAt < Date.now() + 26 * 3_600_000);
  const put = async (changed: object) =>
    (await project.manage('PUT', `/${created.id}`, { body: changed })).body;
  assert.equal((await put({ ...created, name: 'Other' })).nextRunAt, created.nextRunAt);
  const later = { ...trigger, cron: '30 4 * * *' };
  assert.equal(local.format((await put({ ...created, trigger: later })).nextRunAt), '04:30');
  assert.equal((await put({ ...created, trigger: { type: 'manual' } })).nextRunAt, undefined);
});

test('a project has at most 1,000 pipelines (§8)', async () => {
  const project = await createProject();
  const { id } = await project.create(byUpload());
  const columns = 'project_id, definition, revision, trigger_id, created_at, updated_at';
  const numbers = Array.from({ length: 998 }, (_, index) => `(${index})`).join();
  await service().store.change(
    `insert into pipeline (${columns}) select project_id, definition, revision, trigger_id || n.column1, created_at, updated_at
     from pipeline, (values ${numbers}) n where id = ${id}`,
  );
  await project.create(byUpload());
  const refused = await project.manage('POST', '', { body: byUpload() });
  assertRefused(refused, 400);
  assert.match(refused.body.details.join(), /1,000/);
});
