import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createChannelProject, sold } from '../support/channel-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const service = shareService();
const createProject = () => createChannelProject(service());
const GOOGLE = { name: 'Google', format: { type: 'google-merchant' } };
const listPieces = async ({ id }: { id: number }) =>
  (await service().store.listBodies()).filter((name) => name.startsWith(`channel-${id}-`));

test('a build that shrank or lacks too much fails, and what is published stays (§15.3 rules 5, 6)', async () => {
  const project = await createProject();
  const products = Array.from({ length: 10 }, (_, at) => sold(`P${at}`));
  await project.load(...products);
  const channel = await project.create({ ...GOOGLE, maxDeletePercent: 20, maxLeftOutPercent: 25 });
  await project.build(channel);
  const before = await (await project.fetch(channel.url)).text();
  await project.load(...products.slice(0, 7));
  const shrunk = await project.build(channel);
  assert.deepEqual([shrunk.taskStatus, shrunk.error.code], ['FAILED', 'channel_shrunk']);
  assert.match(shrunk.error.message, /^The build has 7 rows and the published one 10/);
  await project.load(...products.slice(0, 5), ...[5, 6, 7, 8, 9].map((at) => sold(`P${at}`, { Price: '' })));
  const lacking = await project.build(channel);
  assert.equal(lacking.error.code, 'channel_rows_left_out');
  assert.deepEqual([lacking.counts.rows, lacking.counts.leftOut], [5, 5]);
  assert.deepEqual(
    (await project.report(lacking)).map(({ identifier, field }: AnyBody) => [identifier, field]),
    [5, 6, 7, 8, 9].map((at) => [`P${at}`, 'price']),
  );
  assert.equal(await (await project.fetch(channel.url)).text(), before, 'what is published stays');
  assert.equal((await listPieces(channel)).length, 1, 'a failed build leaves nothing behind');
  const { body } = await project.manage('PUT', `/${channel.id}`, {
    body: { ...GOOGLE, maxDeletePercent: 100, filter: { identifiers: ['P0'] } },
  });
  assert.equal((await project.build(body)).taskStatus, 'FINISHED');
  assert.equal((await project.read(channel)).published.rows, 1);
});

test('three former snapshots are kept and older ones removed (§15.3 rule 7)', async () => {
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

test('a change of the catalog builds, once for each version and never too often (§15.4)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  const trigger = { type: 'change', minSecondsBetween: 1 };
  const channel = await project.create({ ...GOOGLE, trigger });
  const rest = await project.create({ ...GOOGLE, trigger: { type: 'change', minSecondsBetween: 3_600 } });
  const untilRows = async (rows: number) => {
    for (;;) {
      if ((await project.read(channel)).published?.rows === rows) return;
      await delay(50);
    }
  };
  await untilRows(1);
  await project.update(sold('A2'));
  await untilRows(2);
  await delay(2_500);
  const started = (await project.manage('GET', `/${channel.id}/builds`)).body.items;
  assert.deepEqual(
    started.map(({ startedBy }: AnyBody) => startedBy),
    ['change', 'change'],
    'without a change nothing is built',
  );
  assert.equal((await project.read(rest)).published.rows, 1, 'its time has not come');
});

test('a schedule is planned as that of a pipeline, and builds when it is due (§15.4)', async () => {
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

test('only one build of a channel goes on, and its definition stays while it is published (§15.3)', async () => {
  const project = await createProject();
  await project.load(...Array.from({ length: 2_000 }, (_, at) => sold(`P${at}`)));
  const slow = { name: { expression: '$join([1..200].$string($), name)' } };
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
