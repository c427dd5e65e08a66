// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createChannelProject, FITS, sold } from '../support/channels/channel-project.ts';
import { endLeases } from '../support/killed-process.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService } from '../support/test-service.ts';
import { createTestStore } from '../support/test-store.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** The number of kills during a build. RELATA_TEST_KILLS sets another number. */
const KILLS = Number(process.env.RELATA_TEST_KILLS ?? 1);
const KILLED_PRODUCTS = 4_000;

const service = shareService();
const createProject = () => createChannelProject(service());
/** The store refuses the log line of a published build. */
const EMBEDDED_REFUSAL = `create trigger refuse_line before insert on task_log when new.line like 'published%'
  begin select raise(abort, 'refused'); end`;
const POSTGRES_REFUSAL = `create function refuse_line() returns trigger language plpgsql as
    'begin raise exception ''refused''; end';
  create trigger refuse_line before insert on task_log for each row when (new.line like 'published%')
    execute function refuse_line()`;
const GOOGLE = { name: 'Google', format: { type: 'google-merchant' } };
const listPieces = async ({ id }: { id: number }) =>
  (await service().store.listBodies()).filter((name) => name.startsWith(`channel-${id}-`));

test('a build with too few rows or too many left-out products fails, and the published files stay (§16.3 rules 5 and 6)', async () => {
  const project = await createProject();
  const products = Array.from({ length: 10 }, (_, index) => sold(`P${index}`));
  await project.load(...products);
  const channel = await project.create({ ...GOOGLE, maxDeletePercent: 20, maxLeftOutPercent: 25 });
  await project.build(channel);
  const before = await (await project.fetch(channel.url)).text();
  await project.load(...products.slice(0, 7));
  const shrunk = await project.build(channel);
  assert.deepEqual([shrunk.taskStatus, shrunk.error.code], ['FAILED', 'channel_shrunk']);
  assert.match(shrunk.error.message, /^The build has 7 rows, too few compared with the 10 published ones/);
  await project.load(
    ...products.slice(0, 5),
    ...[5, 6, 7, 8, 9].map((index) => sold(`P${index}`, { Price: '' })),
  );
  const lacking = await project.build(channel);
  assert.equal(lacking.error.code, 'channel_rows_left_out');
  assert.deepEqual([lacking.counts.rows, lacking.counts.leftOut], [5, 5]);
  assert.deepEqual(
    (await project.report(lacking)).map(({ identifier, field }: AnyBody) => [identifier, field]),
    [5, 6, 7, 8, 9].map((index) => [`P${index}`, 'price']),
  );
  const { lastBuild } = await project.read(channel);
  assert.deepEqual([lastBuild.error.code, lastBuild.counts.leftOut], ['channel_rows_left_out', 5]);
  assert.equal(await (await project.fetch(channel.url)).text(), before, 'the published files stay');
  assert.equal((await listPieces(channel)).length, 1, 'a failed build leaves nothing behind');
  const { body } = await project.manage('PUT', `/${channel.id}`, {
    body: { ...GOOGLE, maxDeletePercent: 100, filter: { identifiers: ['P0'] } },
  });
  assert.equal((await project.build(body)).taskStatus, 'FINISHED');
  assert.equal((await project.read(channel)).published.rows, 1);
});

test('related products that the channel leaves out are counted but not named (§16.3 rule 10)', async () => {
  const project = await createProject();
  const part = (Kind: string, more: Record<string, string> = {}) => ({ Kind, System: 'SDS', ...more });
  await project.load(
    sold('B1', part('bit')),
    sold('A1', part('drill')),
    sold('B2', part('bit', { Brand: 'Other' })),
    sold('B3', part('bit', { Price: '' })),
    sold('B4', part('bit'), { settings: { includeUserGroups: ['staff'] } }),
    sold('B5', part('bit')),
  );
  await project.relate('bits', FITS);
  const definition = {
    ...GOOGLE,
    filter: { not: { attribute: 'Brand', operator: 'equals', value: 'Other' } },
    relations: [{ tag: 'bits', as: 'accessory' }],
  };
  const channel = await project.create(definition);
  const task = await project.build(channel);
  const text = await (await project.fetch(channel.url)).text();
  assert.match(text, /accessory:id:B1,accessory:id:B2,accessory:id:B5\n/);
  assert.doesNotMatch(text, /B[34]|^B2/m);
  assert.deepEqual([task.counts.related, task.counts.relatedLeftOut, task.counts.leftOut], [3, 2, 1]);
  const line = (await project.report(task)).find(({ code }) => code === 'related_absent');
  assert.equal(line.count, 2);
  assert.match(line.message, /^2 related products are not named, .*: B\d of A1$/);
  const { body } = await project.manage('POST', '/preview', { body: definition });
  const a1 = body.rows.find(({ identifier }: AnyBody) => identifier === 'A1');
  assert.deepEqual(a1.related, [{ as: 'accessory', identifiers: ['B1', 'B2', 'B5'] }]);
  assert.match(a1.problems[0].message, /not named, because they are not in the file: B3 B4$/);
});

test('three former snapshots are kept, and older ones are removed (§16.3 rule 7)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const channel = await project.create(GOOGLE);
  for (let build = 1; build <= 6; build += 1) {
    assert.equal((await project.build(channel)).taskStatus, 'FINISHED');
    assert.equal((await listPieces(channel)).length, Math.min(build, 4));
  }
  const { items } = (await project.manage('GET', `/${channel.id}/builds?limit=4`)).body;
  assert.equal(items.length, 4);
});

test('a change of the catalog starts one build per version, but not before `minSecondsBetween` has passed (§16.4)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const trigger = { type: 'change', minSecondsBetween: 1 };
  const channel = await project.create({ ...GOOGLE, trigger });
  const rest = await project.create({ ...GOOGLE, trigger: { type: 'change', minSecondsBetween: 3_600 } });
  const untilRows = async (of: { id: number }, rows: number) => {
    while ((await project.read(of)).published?.rows !== rows) await delay(50);
  };
  await untilRows(channel, 1);
  await untilRows(rest, 1);
  for (const [index, identifier] of ['A2', 'A3'].entries()) {
    await project.update(sold(identifier));
    await untilRows(channel, index + 2);
  }
  const started = (await project.manage('GET', `/${channel.id}/builds`)).body.items;
  assert.deepEqual(
    started.map(({ startedBy }: AnyBody) => startedBy),
    ['change', 'change', 'change'],
    'without a change nothing is built',
  );
  assert.equal((await project.read(rest)).published.rows, 1, 'it is not due yet');
});

test('a failure after a build was published does not affect the served files (§16.3 rule 5)', async (t) => {
  const failing = await startTestService(t);
  const project = await createChannelProject(failing);
  await project.load(sold('A1'));
  const channel = await project.create(GOOGLE);
  await failing.store.change(failing.store.kind === 'embedded' ? EMBEDDED_REFUSAL : POSTGRES_REFUSAL);
  assert.equal((await project.build(channel)).taskStatus, 'FAILED');
  const answer = await project.fetch(channel.url);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /^A1\t/m);
});

test("a channel's schedule works like a pipeline's and builds when it is due (§16.4)", async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const trigger = { type: 'schedule', cron: '30 5 * * *', timeZone: 'Europe/Berlin' };
  const channel = await project.create({ ...GOOGLE, trigger });
  assert.ok(channel.nextBuildAt > Date.now());
  await service().store.change(`update channel set next_build_at = 1 where id = ${channel.id}`);
  for (;;) {
    const { published, lastBuild, nextBuildAt } = await project.read(channel);
    if (published !== null) {
      assert.deepEqual([lastBuild.startedBy, nextBuildAt], ['schedule', channel.nextBuildAt]);
      return;
    }
    await delay(50);
  }
});

test('a channel runs one build at a time, and a change of its definition fails the running build (§16.3)', async () => {
  const project = await createProject();
  await project.load(...Array.from({ length: 2_000 }, (_, index) => sold(`P${index}`)));
  const slow = { name: { expression: '$join([1..200].$string($), name)' } };
  const preview = await project.manage('POST', '/preview', { body: { name: 'P', format: { type: 'csv' } } });
  assert.deepEqual(preview.body.looked, { products: 1_000, taken: 1_000, leftOut: 0 }, '§16.5 rule 3');
  const channel = await project.create({ name: 'Slow', format: { type: 'csv' }, mapping: slow });
  const { body } = await project.manage('POST', `/${channel.id}/build`);
  const again = await project.manage('POST', `/${channel.id}/build`);
  assertRefused(again, 429);
  assert.equal(again.body.reason, 'channel_building');
  assertRefused(await project.manage('DELETE', `/${channel.id}`), 409);
  await project.manage('PUT', `/${channel.id}`, { body: { name: 'Other', format: { type: 'csv' } } });
  const ended = await service().ended(body.task.id);
  assert.deepEqual([ended.taskStatus, ended.error?.code], ['FAILED', 'changed_meanwhile']);
  const cancelled = await project.manage('PUT', `/${channel.id}`, {
    body: { name: 'Slow', format: { type: 'csv' }, mapping: slow },
  });
  const next = (await project.manage('POST', `/${cancelled.body.id}/build`)).body.task;
  assert.equal((await service().call('POST', `/tasks/${next.id}/cancel`)).status, 200);
  assert.equal((await service().ended(next.id)).taskStatus, 'CANCELLED');
  assert.deepEqual(await listPieces(channel), []);
});

test('when a process is killed during a build, the published files stay and the build resumes (§16.3 rule 5)', async (t) => {
  const store = await createTestStore(t);
  let running = await startProcess(store);
  const { root, projectId } = await prepare(running);
  const url = new URL((await running.call('GET', root)).body.url).pathname;
  const read = async () => (await running.call('GET', url)).text.trimEnd().split('\n');
  await build(running, root);
  assert.equal((await read()).length, KILLED_PRODUCTS);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const products = [{ identifier: `N${kill}`, name: 'New' }];
    const added = await running.call('POST', `/products?projectId=${projectId}`, { body: { products } });
    await running.call('GET', `/tasks/${added.body.task.id}?wait=60`);
    const { task } = (await running.call('POST', `${root}/build`)).body;
    // Starting the thread takes half a second, and writing takes about as long.
    await delay(300 + kill * 200);
    await running.kill();
    await endLeases(store);
    // The output of a killed build stays for a day, because another process may be about to publish it.
    if (store.kind === 'postgres') await store.change('update payload set created_at = 0');
    running = await startProcess(store);
    const [first, ...others] = await read();
    assert.ok(first?.startsWith('{'), 'whole lines are served immediately');
    assert.ok([KILLED_PRODUCTS + kill - 2, KILLED_PRODUCTS + kill - 1].includes(others.length));
    const ended = await running.call('GET', `/tasks/${task.id}?wait=60`);
    assert.equal(ended.body.task.taskStatus, 'FINISHED', JSON.stringify(ended.body));
    assert.equal((await read()).length, KILLED_PRODUCTS + kill);
  }
  assert.equal((await store.listBodies()).length, Math.min(1 + KILLS, 4), 'only kept snapshots have files');
  assert.equal(await running.stop(), 0);
});

/** @returns a channel of a project with products, by its path */
async function prepare(running: ServiceProcess): Promise<{ root: string; projectId: number }> {
  const make = async (path: string, body: object) => (await running.call('POST', path, { body })).body;
  const group = await make('/management/project-groups', { name: 'Group' });
  const wanted = { name: 'Shop', projectGroupId: group.id, locale: 'de-DE' };
  const { id: projectId } = await make('/management/projects', wanted);
  const products = Array.from({ length: KILLED_PRODUCTS }, (_, index) => ({
    identifier: `P${index}`,
    name: `P ${index}`,
  }));
  const { task } = await make(`/products?projectId=${projectId}`, { products });
  await running.call('GET', `/tasks/${task.id}?wait=60`);
  const channels = `/management/projects/${projectId}/channels`;
  const { id } = await make(channels, { name: 'All', format: { type: 'ndjson' } });
  return { root: `${channels}/${id}`, projectId };
}

async function build(running: ServiceProcess, root: string): Promise<void> {
  const { task } = (await running.call('POST', `${root}/build`)).body;
  const ended = await running.call('GET', `/tasks/${task.id}?wait=60`);
  assert.equal(ended.body.task.taskStatus, 'FINISHED', JSON.stringify(ended.body));
}
