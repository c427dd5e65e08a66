// runs: deep, own (not on postgres: limits of sources, before anything is stored)
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { PIPELINES } from '../../src/pipelines/pipeline-definitions/pipeline-definitions.ts';
import type { Storage } from '../../src/storage/storage.ts';
import {
  byUpload,
  byUrl,
  CSV,
  createPipelineProject,
  FETCH_HERE,
  MAPPING,
  type PipelineProject,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

/** The load that the pipelines of one key can put on other callers. */

let storage: Storage;
const keepStorage = (real: Storage) => {
  storage = real;
  return real;
};
const service = shareService({ settings: FETCH_HERE, replace: { storage: keepStorage } });

/** Like the patterns of the attack: 16 ms and 1.6 MB each. */
const heavyPattern = (index: number) => `(\\pL|\\pN){${1_000 - index}}`;
const replacing = (...patterns: readonly string[]) => ({
  ...MAPPING,
  attributes: Object.fromEntries(
    patterns.map((from, index) => [
      `A${index}`,
      { column: 'Length', replace: [{ from, to: '', regex: true }] },
    ]),
  ),
});

test('patterns of a definition never block the serving thread, and a pattern that is too slow is named (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const mapping = replacing(...Array.from({ length: 400 }, (_, index) => heavyPattern(index)));
  const file = { name: 'feed.csv', base64: Buffer.from(CSV).toString('base64') };
  const wanted =
    /^\/mapping\/attributes\/A6\/replace\/0\/from: it takes 2,984 of the 20,000 steps .* repeat less/;
  for (const [path, body] of [
    ['', byUpload({ mapping })],
    ['/preview', { source: { type: 'upload' }, format: { type: 'csv' }, mapping, file }],
  ] as const) {
    // The processor time of this thread, which serves. The real time also depends on the load of the machine.
    const before = process.threadCpuUsage();
    const refused = await project.manage('POST', path, { body });
    const { user, system } = process.threadCpuUsage(before);
    assertRefused(refused, 400, 'Your body params are not valid');
    assert.match(refused.body.details[0], wanted);
    const busyMs = (user + system) / 1_000;
    assert.ok(
      busyMs < 1_000,
      `the serving thread was busy for ${busyMs.toFixed(0)} ms; compiling the patterns takes 5 s`,
    );
  }
});

test('every invalid pattern is reported with its path, and so is a mapping with too many patterns (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const filter = { any: [{ column: 'sku', operator: 'matches', value: '(?=x)' }] };
  const wrong = await project.manage('POST', '', {
    body: byUpload({ mapping: { ...replacing('\\d+', '('), filter } }),
  });
  assertRefused(wrong, 400);
  assert.deepEqual(
    wrong.body.details.map((line: string) => line.split(': ')[0]),
    ['/mapping/attributes/A1/replace/0/from', '/mapping/filter/any/0/value'],
  );
  const many = Array.from({ length: 501 }, (_, index) => `a${index}`);
  const tooMany = await project.manage('POST', '', { body: byUpload({ mapping: replacing(...many) }) });
  assert.match(tooMany.body.details[0], /^\/mapping\/attributes\/A500\/.*at most 500 different patterns/);

  const expressions = Object.fromEntries(
    Array.from({ length: 21 }, (_, number) => [
      `A${number}`,
      Array.from({ length: 100 }, (_, index) => ({ expression: `a${number}.b${index}` })),
    ]),
  );
  const columns = { A: { columns: Array.from({ length: 100 }, (_, index) => `c${index}`) } };
  const named = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`A${index}`, columns.A]));
  for (const [attributes, text] of [
    [expressions, /^\/mapping: a mapping has at most 2,000 different expressions/],
    [named, /^\/mapping: a mapping has at most 10,000 columns and replacements/],
  ] as const) {
    const refused = await project.manage('POST', '', {
      body: byUpload({ mapping: { ...MAPPING, attributes } }),
    });
    assertRefused(refused, 400);
    assert.match(refused.body.details[0], text);
  }
});

test('a stored definition with larger patterns is still read, and its run fails with the reason (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const created = await project.create(byUpload({ mapping: replacing('\\d+') }));
  const mapping = replacing(...Array.from({ length: 7 }, (_, index) => heavyPattern(index)));
  const key = { projectId: project.projectId, id: created.id };
  const { database } = storage;
  const stored = await PIPELINES.find(database.read, { id: key.projectId }, key.id);
  assert.ok(stored);
  const definition = { ...stored.definition, mapping };
  await database.write(key.projectId, (tx) => PIPELINES.update(tx, { ...stored, definition }));

  assert.deepEqual((await project.read(created)).mapping, mapping);
  const task = await project.done(await project.upload(created, CSV));
  assert.deepEqual([task.taskStatus, task.error.code], ['FAILED', 'mapping_unfit']);
  assert.match(JSON.stringify(task.error), /attributes\.A6: the pattern .* takes 2,984 of the 20,000 steps/);
});

/** Another account with its own project, for calls with `key`. */
async function createStranger() {
  const { projects, access } = service().app;
  const { id: accountId } = await projects.createAccount(`Stranger ${performance.now()}`);
  const scope = { type: 'account' } as const;
  const author = { accountId, scope, access: 'manage', command: 'test' } as const;
  const { value: key } = await access.createKey({ author, place: author }, { name: 'all', scope });
  const call = async (method: string, path: string, body?: object) => {
    const answer = await service().call(method, path, { key, body });
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const group = await call('POST', '/management/project-groups', { name: 'Shop' });
  const wanted = { name: 'Shop', projectGroupId: group.id, locale: 'de-DE' };
  const project = await call('POST', '/management/projects', wanted);
  const root = `/management/projects/${project.id}/pipelines`;
  return { create: (body: object) => call('POST', root, body), call, root };
}

const countProcesses = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
/** The processes of the store, before the first test. */
let ofStore = 0;
before(() => {
  ofStore = countProcesses();
});
/** Processes that check definitions; those of runs and previews belong to other threads. */
const countChecks = () => countProcesses() - ofStore;

async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + 60_000;
  while (!(await holds())) {
    assert.ok(performance.now() < until, 'it took too long');
    await delay(20);
  }
}

const calculated = (index: number) =>
  byUpload({ mapping: { ...MAPPING, name: { expression: `title & "${index}"` } } });

test('definitions with expressions are checked one at a time per account, and others wait or are refused (§13.8)', async () => {
  const [project, stranger] = [await createPipelineProject(service()), await createStranger()];
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, countChecks())), 20);
  const calls = Array.from({ length: 60 }, (_, index) =>
    project.manage('POST', '', { body: calculated(index) }),
  );
  await waitFor(() => countChecks() > 0);
  assert.ok((await stranger.create(calculated(0))).id > 0);
  const answers = await Promise.all(calls);
  clearInterval(watch);
  assert.ok(most <= 2, `${most} processes at a time`);
  const created = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status !== 201);
  assert.ok(created.length >= 21 && refused.length > 0, `${created.length} were created`);
  for (const answer of refused) {
    assertRefused(answer, 429, 'Too Many Requests');
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.match(
      answer.body.details[0],
      /this account may run .* at a time and queue 20; send fewer concurrent requests/,
    );
  }
});

/** @returns unawaited calls of the API, and a function to abort them */
function askAndLeave(path: string, bodies: readonly object[]) {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${service().key}`, 'content-type': 'application/json' };
  const calls = bodies.map((body) =>
    fetch(`${service().address}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).catch(() => undefined),
  );
  return {
    async leave() {
      leaving.abort();
      await Promise.all(calls);
    },
  };
}

test('a caller that disconnects before its definition is checked frees the slot and the process (§13.8)', async () => {
  const project = await createPipelineProject(service());
  // Three seconds for each pattern, and a minute for all.
  const slow = Array.from({ length: 20 }, (_, index) =>
    byUpload({ mapping: replacing(`(?:${'abc'.repeat(300)}){${1_000 - index}}`) }),
  );
  const path = `/management/projects/${project.projectId}/pipelines`;
  const { leave } = askAndLeave(path, slow);
  await waitFor(() => countChecks() > 0);
  await leave();
  const began = performance.now();
  await project.create(calculated(0));
  await waitFor(() => countChecks() === 0);
  assert.ok(performance.now() - began < 30_000, 'definitions of disconnected callers are not checked');
});

const previewOf = (url: string) => ({ source: { type: 'http', url }, format: { type: 'csv' } });

test('previews of one account use at most half of the slots, and a caller that disconnects frees its slot (§13.5)', async () => {
  const [project, stranger] = [await createPipelineProject(service()), await createStranger()];
  const [dripping, source] = [await startSource(), await startSource()];
  const release = dripping.hold();
  const path = `/management/projects/${project.projectId}/pipelines/preview`;
  const { leave } = askAndLeave(path, [previewOf(dripping.url), previewOf(dripping.url)]);
  await waitFor(() => dripping.requests.length === 2);
  const refused = await project.manage('POST', '/preview', { body: previewOf(source.url) });
  assertRefused(refused, 429, 'Too Many Requests');
  assert.match(refused.body.details[0], /^this account may run 2 such requests at a time; send fewer/);
  const shown = await stranger.call('POST', `${stranger.root}/preview`, previewOf(source.url));
  assert.equal(shown.rows.length, 2);
  await leave();
  const isShown = async () =>
    (await project.manage('POST', '/preview', { body: previewOf(source.url) })).status === 200;
  await waitFor(isShown);
  release();
});

test('runs of one account use at most four of the six slots of a process, and runs of one project three (§13.2)', async () => {
  const projects: PipelineProject[] = [];
  for (let index = 0; index < 3; index++) projects.push(await createPipelineProject(service()));
  const stranger = await createStranger();
  const [dripping, source] = [await startSource(), await startSource()];
  const release = dripping.hold();
  const held: { project: PipelineProject; task: Awaited<ReturnType<PipelineProject['manage']>> }[] = [];
  for (const project of projects) {
    for (let number = 0; number < 2; number++) {
      const pipeline = await project.create(byUrl(dripping.url));
      held.push({ project, task: await project.manage('POST', `/${pipeline.id}/run`) });
    }
  }
  await waitFor(() => dripping.requests.length === 4);
  const pipeline = await stranger.create(byUrl(source.url));
  const { task } = await stranger.call('POST', `${stranger.root}/${pipeline.id}/run`);
  const ended = await stranger.call('GET', `/tasks/${task.id}?wait=60`);
  assert.equal(ended.task.taskStatus, 'FINISHED', JSON.stringify(ended.task.error));
  assert.equal(dripping.requests.length, 4, 'two wait although two slots are free');
  release();
  for (const { project, task } of held) {
    const { taskStatus } = await project.done(task);
    assert.equal(taskStatus, 'FINISHED');
  }
  assert.equal(dripping.requests.length, 6);
});
