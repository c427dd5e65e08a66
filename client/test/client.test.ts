// runs: test
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createRelata,
  type PushOptions,
  type PushState,
  RelataError,
  TaskError,
  type UploadProduct,
} from '@relata/client';
import { startService } from './service.ts';

const drills: UploadProduct[] = ['A1', 'A2', 'A3'].map((identifier) => ({
  identifier,
  name: `Cordless drill ${identifier}`,
  categories: [{ path: ['Tools', 'Drills'] }],
  attributes: [
    { key: 'Chuck', value: 'SDS-plus' },
    { key: 'Length', value: '12.5 in' },
  ],
}));
const bits: UploadProduct[] = ['B1', 'B2'].map((identifier) => ({
  identifier,
  name: `Bit ${identifier}`,
  categories: [{ path: ['Tools', 'Bits'] }],
  attributes: [{ key: 'Shank', value: 'SDS-plus' }],
}));

/** One service for all tests. Each test has its own project. */
const { url, key, stop } = await startService();
after(stop);

async function start() {
  const relata = createRelata({ url, key });
  const group = await relata.projects.createGroup('Shop');
  const project = await relata.projects.create({
    name: 'Shop DE',
    projectGroupId: group.id,
    locale: 'de-DE',
  });
  return { relata, projectId: project.id, groupId: group.id };
}

test('groups, projects and keys are created, changed and deleted (§14.2)', async () => {
  const { relata, projectId, groupId } = await start();
  assert.equal((await relata.projects.change(projectId, { tags: ['b2b'] })).tags[0], 'b2b');
  assert.equal((await relata.projects.renameGroup(groupId, 'Shops')).name, 'Shops');
  assert.equal((await relata.projects.getGroup(groupId)).name, 'Shops');
  assert.equal((await relata.projects.listGroups()).items.length, 1);
  assert.deepEqual(
    (await relata.projects.reached()).map(({ id }) => id),
    [projectId],
  );
  assert.equal((await relata.projects.checkCredentials(projectId)).status, 'success');

  const made = await relata.apiKeys.create({
    name: 'Connector',
    scope: { type: 'project', id: projectId },
    access: 'read',
  });
  const reader = createRelata({ url, key: made.key ?? '' });
  assert.equal((await reader.projects.reached())[0]?.id, projectId);
  await assert.rejects(reader.projects.list(), { name: 'RelataError', status: 401 });
  assert.equal((await relata.apiKeys.change(made.id, { name: 'Reader' })).name, 'Reader');
  assert.equal((await relata.apiKeys.get(made.id)).name, 'Reader');
  const rotated = await relata.apiKeys.rotate(made.id, 60);
  assert.notEqual(rotated.key, made.key);
  await relata.apiKeys.delete(made.id);
  assert.equal(
    (await relata.apiKeys.list()).items.some(({ id }) => id === made.id),
    false,
  );

  await relata.projects.delete(projectId, 'Shop DE');
  assert.equal((await relata.projects.list({ deleted: true })).items.length, 1);
  assert.equal((await relata.projects.restore(projectId)).id, projectId);
  await assert.rejects(relata.projects.deleteGroup(groupId), { status: 409 });
  const { items } = await relata.projects.auditLog({ projectId });
  assert.equal(items[0]?.action, 'project.restored');
});

test('a full update sends batches, shows its preview, and commits after confirmation (§4.4)', async () => {
  const { relata, projectId } = await start();
  const sent: number[] = [];
  const first = await relata.products.fullUpdate([...drills, ...bits], {
    projectId,
    onBatch: (count) => sent.push(count),
  });
  assert.equal(first.task?.taskStatus, 'FINISHED');
  assert.deepEqual(sent, [5]);

  async function* oneByOne() {
    for (const product of drills) yield product;
  }
  const second = await relata.products.fullUpdate(oneByOne(), {
    projectId,
    confirm: ({ deleted }) => deleted.count === 0,
  });
  assert.equal(second.task, undefined, 'two products would be deleted');
  assert.equal((await relata.products.list(projectId)).items.length, 5);

  const { data } = await relata.products.start({
    projectId,
    fullUpdateId: second.fullUpdateId,
    allowDeletes: 2,
  });
  await relata.tasks.wait(data.task.id);
  const restoring = await relata.products.restore({ projectId });
  await relata.tasks.wait(restoring.task.id);
  assert.equal((await relata.products.list(projectId)).items.length, 5);
});

test('an interrupted push resumes with its state and sends no batch twice (§4.4, §7.5)', async () => {
  const { relata, projectId } = await start();
  const states: PushState[] = [];
  const push = (batches: AsyncIterable<UploadProduct[]>, options: Partial<PushOptions> = {}) =>
    relata.products.push(batches, {
      mode: 'full',
      projectId,
      onState: (state) => void states.push(state),
      ...options,
    });
  async function* brokenOff() {
    yield drills;
    throw new Error('the power failed');
  }
  async function* whole() {
    yield drills;
    yield bits;
  }
  await assert.rejects(push(brokenOff()), /the power failed/);
  const [, broken] = states;
  assert.equal(broken?.batches, 1);

  const { state, preview, task } = await push(whole(), { state: broken, confirm: () => true });
  assert.deepEqual([state.batches, state.fullUpdateId], [2, broken.fullUpdateId]);
  assert.equal(preview?.created.count, drills.length + bits.length);
  assert.equal(task?.taskStatus, 'FINISHED');

  const found = await push(whole(), { state: { ...state, tasks: [] } });
  assert.equal(found.task?.id, task.id, 'a commit whose answer was lost is found');

  let gone = 0;
  const anew = await push(whole(), { state: broken, onGone: () => (gone += 1) });
  assert.deepEqual([gone, anew.state.batches], [1, 2]);
  const changed = await push(whole(), { mode: 'incremental' });
  assert.equal(changed.state.tasks.length, 2);
});

test('a session is read and discarded by its id, and no other session is (§4.4 rules 30 and 31)', async () => {
  const { relata, projectId } = await start();
  const { fullUpdateId: mine } = await relata.products.initiate({ projectId });
  const { fullUpdateId: theirs } = await relata.products.initiate({ projectId });
  const refused = { status: 400, reason: 'full_update_other' };
  await assert.rejects(relata.products.openFullUpdate({ projectId, fullUpdateId: mine }), refused);
  await assert.rejects(relata.products.giveUpFullUpdate({ projectId, fullUpdateId: mine }), refused);
  const named = { projectId, fullUpdateId: theirs };
  assert.equal((await relata.products.openFullUpdate(named)).fullUpdateId, theirs);
  assert.equal((await relata.products.giveUpFullUpdate(named)).fullUpdateId, theirs);
});

test('10,000 products are one batch, and one more makes a second batch (§8)', async () => {
  const { relata, projectId } = await start();
  const sent: number[] = [];
  const products = Array.from({ length: 10_001 }, (_, at) => ({ identifier: `P${at}`, name: 'Product' }));
  await relata.products.fullUpdate(products, { projectId, onBatch: (count) => sent.push(count) });
  assert.deepEqual(sent, [10_000, 10_001]);
  let exported = 0;
  for await (const { identifier } of relata.products.export(projectId)) exported += identifier ? 1 : 0;
  assert.equal(exported, 10_001);
  const page = await relata.products.list(projectId, { limit: 1000 });
  assert.equal(page.items.length, 1000);
  assert.notEqual(page.nextCursor, null);
});

test('the categories of products are listed, all or below a path (§14.3)', async () => {
  const { relata, projectId } = await start();
  const path = ['Tools', 'Drills "18 V"'];
  await relata.products.fullUpdate([{ identifier: 'A1', name: 'Drill', categories: [{ path }] }], {
    projectId,
  });
  while (!(await relata.products.listCategories(projectId)).isComplete);
  const { items, nextCursor } = await relata.products.listCategories(projectId);
  assert.deepEqual([items, nextCursor], [[{ path: ['Tools'] }, { path }], null]);
  const below = await relata.products.listCategories(projectId, { under: ['Tools'], limit: 1 });
  assert.deepEqual(below, { items: [{ path }], nextCursor: null, isComplete: true });
});

test('products are replaced, changed, looked up and deleted (§4.2, §4.3, §4.6)', async () => {
  const { relata, projectId } = await start();
  await relata.products.fullUpdate(drills, { projectId });
  const options = { projectId };
  const changed = await relata.products.change([{ identifier: 'A1', attributes: { Length: '13' } }], options);
  const task = await relata.tasks.wait(changed.task.id);
  const report = [];
  for await (const line of relata.tasks.report(task.id)) report.push(line);
  assert.deepEqual([report[0]?.identifier, report[0]?.code], ['A1', 'unit_missing']);
  assert.ok((await relata.tasks.log(task.id)).length > 0);

  const { upload, notExtracted } = await relata.products.open(projectId, 'A1');
  assert.equal(upload.attributes?.find(({ key }) => key === 'Length')?.value, '13');
  assert.equal(notExtracted[0]?.code, 'unit_missing');
  const replaced = await relata.products.replace([{ identifier: 'A2', name: 'Another' }], options);
  await relata.tasks.wait(replaced.task.id);
  const found = await relata.products.lookUp(['A2', 'A1', 'none'], options);
  assert.deepEqual(
    found.map(({ identifier, name }) => [identifier, name]),
    [
      ['A2', 'Another'],
      ['A1', 'Cordless drill A1'],
    ],
  );
  assert.equal((await relata.products.lookUpOne('A2', options)).name, 'Another');
  await relata.tasks.wait((await relata.products.delete(['A3'], options)).task.id);
  await assert.rejects(relata.products.lookUpOne('A3', options), { status: 404 });
  assert.equal((await relata.tasks.list({ projectId, status: 'FINISHED' })).tasks.length >= 4, true);
});

test('relations are created, previewed, answered and explained (§4.8, §12)', async () => {
  const { relata, projectId } = await start();
  await relata.products.fullUpdate([...drills, ...bits], { projectId });
  const definition = {
    name: 'Bits for this drill',
    tag: 'accessories',
    source: { category: ['Tools', 'Drills'] },
    target: { category: ['Tools', 'Bits'] },
    match: [{ target: 'Shank', operator: 'equals' as const, source: 'Chuck' }],
  };
  assert.equal((await relata.relations.preview(projectId, definition)).share, 1);
  const made = await relata.relations.create(projectId, definition);
  for (const { id } of (await relata.tasks.list({ projectId })).tasks) await relata.tasks.wait(id);
  const place = { projectId, relationId: made.id };
  assert.equal((await relata.relations.list(projectId))[0]?.state, 'ready');

  const includeTags = [{ tag: 'accessories', limitPerRelation: 5 }];
  const { tags } = await relata.relations.relatedTo('A1', { projectId, includeTags });
  assert.deepEqual(
    tags[0]?.relations[0]?.searchResult.map(({ identifier }) => identifier),
    ['B1', 'B2'],
  );
  const many = await relata.relations.relatedToMany(['A1', 'A2'], {
    projectId,
    includeRelations: [{ id: made.id }],
    explain: true,
  });
  assert.deepEqual(Object.keys(many), ['A1', 'A2']);
  const pair = { source: 'A1', target: 'B1' };
  assert.equal((await relata.relations.explain(place, pair)).related, true);
  assert.equal((await relata.relations.health(projectId, made.id)).withResults, 3);

  const { value } = await relata.relations.get(projectId, made.id);
  await relata.relations.put(place, { ...value, constraint: true });
  const { verdict, pairs } = await relata.relations.fit(
    { items: [{ identifier: 'A1' }, { identifier: 'B1', quantity: 2 }] },
    { projectId },
  );
  assert.deepEqual([verdict, pairs[0]?.match[0]?.sourceValues], ['fits', pairs[0]?.match[0]?.targetValues]);
  assert.equal((await relata.relations.put(place, { ...value, name: 'Bits' })).name, 'Bits');
  const { relations } = await relata.relations.export(projectId);
  assert.equal(relations.length, 1);
  await relata.relations.import(projectId, []);
  assert.equal((await relata.relations.list(projectId)).length, 0);
});

test('the ontology is read and written (§11.1)', async () => {
  const { relata, projectId } = await start();
  await relata.products.fullUpdate(drills, { projectId });
  const { value } = await relata.ontology.get(projectId);
  assert.equal(value.attributes.find(({ name }) => name === 'Length')?.unitName, 'in');
  const written = await relata.ontology.put(projectId, { ...value, mode: 'own' });
  assert.equal(written.mode, 'own');
});

test('a task is followed by its events until it has ended (§4.7)', async () => {
  const { relata, projectId } = await start();
  const { task } = await relata.products.replace(drills, { projectId });
  const seen = [];
  for await (const { taskStatus } of relata.tasks.follow(task.id)) seen.push(taskStatus);
  assert.equal(seen.at(-1), 'FINISHED');
  await assert.rejects(relata.tasks.cancel(task.id), { status: 409 });
});

test('a refusal carries its status, its details and the faults of each product (§7)', async () => {
  const { relata, projectId } = await start();
  const wrong = [{ identifier: 'A1', name: 5 }] as object[] as UploadProduct[];
  await assert.rejects(relata.products.replace(wrong, { projectId }), (error) => {
    assert.ok(error instanceof RelataError);
    assert.equal(error.status, 400);
    assert.equal(error.message, 'Your body params are not valid');
    assert.equal(error.validation[0]?.product?.identifier, 'A1');
    assert.match(error.requestId ?? '', /-/);
    return true;
  });
  await assert.rejects(relata.products.lookUpOne('none', { projectId }), {
    status: 404,
    message: 'Not Found',
  });
});

test('a commit that the delete guard stops leads to a TaskError or a refusal (§4.4)', async () => {
  const { relata, projectId } = await start();
  await relata.products.fullUpdate([...drills, ...bits], { projectId });
  await relata.projects.change(projectId, { settings: { maxDeletePercent: 10 } });
  await assert.rejects(
    relata.products.fullUpdate(drills, { projectId }),
    (error) => error instanceof RelataError || error instanceof TaskError,
  );
});

test('the client reads health and metrics of the service (§10.3)', async () => {
  const { relata } = await start();
  assert.equal((await relata.installation.live()).status, 'ok');
  assert.equal((await relata.installation.ready()).status, 'ok');
  assert.match(await relata.installation.metrics(), /# HELP/);
  const document = (await relata.installation.openApi()) as { info: { title: string } };
  assert.equal(document.info.title, 'Relata');
});
