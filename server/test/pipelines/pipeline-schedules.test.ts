// runs: deep (not on postgres: when pipelines run; pipeline-runs.test.ts stores runs)
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  byUrl,
  createPipelineProject,
  FETCH_HERE,
  type PipelineProject,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { startProcess } from '../support/service-process.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { createTestStore, type TestStore, testedStore } from '../support/test-store.ts';

/**
 * Pipelines with due schedules (docs/interface §13.3). A test makes a schedule due by setting its next time to the
 * past.
 */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const YEARLY = { type: 'schedule', cron: '0 0 1 1 *', timeZone: 'UTC' };
const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

const makeDue = (store: TestStore, { id }: { id: number }, secondsAgo = 1) =>
  store.change(`update pipeline set next_run_at = ${Date.now() - secondsAgo * 1_000} where id = ${id}`);

/** Usually two seconds. Threads of runs have a low priority, so a busy machine takes many times as long. */
const HOLDS_MS = 300_000;

async function untilHolds(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const start = performance.now(); !(await holds()); await delay(50))
    assert.ok(performance.now() - start < HOLDS_MS, `${what} was not true within ${HOLDS_MS} ms`);
}

const start = (t: TestContext, options: Parameters<typeof startTestService>[1] = {}) =>
  startTestService(t, { settings: FETCH_HERE, ...options });

const listRuns = async (
  project: Pick<PipelineProject, 'manage'>,
  { id }: { id: number },
): Promise<AnyBody[]> => (await project.manage('GET', `/${id}/runs`)).body.items;

async function untilRan(
  project: Pick<PipelineProject, 'manage'>,
  pipeline: { id: number },
  count: number,
): Promise<AnyBody[]> {
  const isDone = async () => {
    const runs = await listRuns(project, pipeline);
    return runs.length >= count && runs.every(({ task }) => task.finishTime !== null);
  };
  await untilHolds(`${count} runs`, isDone);
  return listRuns(project, pipeline);
}

/** The pipelines of an existing project. */
const reach = (service: TestService, projectId: number): Pick<PipelineProject, 'manage'> => ({
  manage: (method, path = '', options = {}) =>
    service.call(method, `/management/projects/${projectId}/pipelines${path}`, options),
});

/** Waits until the service has checked for due pipelines: it has started another pipeline, created for that purpose. */
async function untilLooked(service: TestService): Promise<void> {
  const project = await createPipelineProject(service);
  const probe = await project.create(byUrl((await startSource()).url, { trigger: YEARLY }));
  await makeDue(service.store, probe);
  await untilRan(project, probe, 1);
}

const says = ({ log }: TestService, text: string) => log.some((line) => line.includes(text));

test('a due schedule starts one run, and the next time is planned (§13.3)', async (t) => {
  const service = await start(t);
  const project = await createPipelineProject(service);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: YEARLY }));
  const other = await project.create(byUrl(source.url, { trigger: YEARLY }));
  await makeDue(service.store, pipeline);
  const [run, ...more] = await untilRan(project, pipeline, 1);
  assert.deepEqual(
    [run.startedBy, run.task.taskStatus, run.task.origin],
    ['schedule', 'FINISHED', 'PIPELINE'],
  );
  assert.deepEqual(more, []);
  assert.deepEqual(await project.list(), ['A1', 'B4']);
  const { nextRunAt } = await project.read(pipeline);
  assert.equal(new Date(nextRunAt).toISOString().slice(4), '-01-01T00:00:00.000Z');
  assert.ok(nextRunAt > Date.now());
  assert.deepEqual(await listRuns(project, other), [], 'pipelines that are not due do not run');
});

test('scheduled times that passed while the service was down start one run (§13.3)', async (t) => {
  const store = await createTestStore(t);
  const source = await startSource();
  const first = await start(t, { store });
  const before = await createPipelineProject(first);
  const pipeline = await before.create(byUrl(source.url, { trigger: YEARLY }));
  await first.stop();
  await makeDue(store, pipeline, 3 * 366 * 86_400);
  const second = await start(t, { store });
  const project = reach(second, before.projectId);
  const [run] = await untilRan(project, pipeline, 1);
  assert.equal(run.startedBy, 'schedule');
  await untilLooked(second);
  assert.equal((await listRuns(project, pipeline)).length, 1);
});

test('a scheduled time during a run is skipped, and the log names it (§13.3)', async (t) => {
  const service = await start(t);
  const project = await createPipelineProject(service);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: YEARLY }));
  const release = source.hold();
  await project.manage('POST', `/${pipeline.id}/run`);
  await makeDue(service.store, pipeline);
  await untilHolds('the note', async () => says(service, 'this run is skipped'));
  assert.ok((await project.read(pipeline)).nextRunAt > Date.now());
  release();
  const [run] = await untilRan(project, pipeline, 1);
  assert.equal(run.startedBy, 'manual');
  await untilLooked(service);
  assert.equal((await listRuns(project, pipeline)).length, 1);
});

test('the schedule of a deleted project is paused until the project is restored (§14.2 rule 9)', async (t) => {
  const service = await start(t);
  const project = await createPipelineProject(service);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: YEARLY }));
  const path = `/management/projects/${project.projectId}`;
  const { body } = await service.call('GET', path);
  await service.call('DELETE', `${path}?confirm=${encodeURIComponent(body.name)}`);
  await makeDue(service.store, pipeline);
  await untilLooked(service);
  assert.equal(source.requests.length, 0);
  await service.call('POST', `${path}/restore`);
  await untilRan(project, pipeline, 1);
});

test('a schedule that was changed or removed is no longer due (§13.3)', async (t) => {
  const service = await start(t);
  const project = await createPipelineProject(service);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: YEARLY }));
  await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, trigger: { type: 'manual' } } });
  assert.equal((await project.read(pipeline)).nextRunAt, undefined);
  const later = { ...YEARLY, cron: '0 0 1 2 *' };
  const { body } = await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, trigger: later } });
  assert.equal(new Date(body.nextRunAt).getUTCMonth(), 1);
  assert.deepEqual(await listRuns(project, pipeline), []);
});

test('of several processes exactly one starts a due run (§13.3)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const services = [await start(t, { store }), await start(t, { store })] as const;
  const project = await createPipelineProject(services[0]);
  const source = await startSource();
  const pipelines: AnyBody[] = [];
  for (let index = 0; index < 5; index += 1)
    pipelines.push(await project.create(byUrl(source.url, { trigger: YEARLY })));
  for (const pipeline of pipelines) await makeDue(store, pipeline);
  for (const pipeline of pipelines) await untilRan(project, pipeline, 1);
  for (const service of services) await untilLooked(service);
  for (const pipeline of pipelines) assert.equal((await listRuns(project, pipeline)).length, 1);
  for (const service of services) assert.ok(!says(service, 'this run is skipped'));
});

test('a process with the role api starts no scheduled run (§13.3)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const api = await start(t, { store, role: 'api' });
  const project = await createPipelineProject(api);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { trigger: YEARLY }));
  await makeDue(store, pipeline);
  await delay(2_500);
  assert.deepEqual(await listRuns(project, pipeline), []);
  await startProcess(store, FETCH_HERE, 'worker');
  await untilRan(project, pipeline, 1);
});
