// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

let now = Date.UTC(2026, 0, 1);
const service = shareService({ clock: { now: () => now } });

const DAY_MS = 24 * 3_600_000;
const product = (identifier: string, name: string) => ({ identifier, name });
const pathOf = ({ projectId }: TestCatalog, rest = '') => `/management/projects/${projectId}${rest}`;

async function read(catalog: TestCatalog, rest: string) {
  const answer = await service().call('GET', pathOf(catalog, rest));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** The counts of each commit. */
const countsOf = (commits: readonly Record<string, unknown>[]) =>
  commits.map(({ kind, created, changed, deleted }) => [kind, created, changed, deleted]);

const remove = async (catalog: TestCatalog, ...identifiers: string[]) =>
  catalog.done(await catalog.call('DELETE', '/products', { body: identifiers }));

/** Two commits and a delete, with updates in between. */
async function makeHistory(): Promise<TestCatalog> {
  const catalog = await createCatalog(service(), { keptCommits: 5 });
  await catalog.load(product('A', 'one'), product('B', 'one'), product('C', 'one'));
  await catalog.update(product('A', 'between'));
  await catalog.load(product('A', 'two'), product('B', 'one'), product('C', 'two'), product('D', 'two'));
  await remove(catalog, 'B');
  await catalog.update(product('C', 'last'), product('D', 'last'));
  return catalog;
}

test('each commit and delete names its author and its changes (§14.8 rules 1 and 2)', async () => {
  const catalog = await makeHistory();
  const { items, ...reach } = await read(catalog, '/commits');
  assert.deepEqual(reach, { keptCommits: 5, keptDays: null });
  assert.deepEqual(countsOf(items), [
    ['delete', 0, 0, 1],
    ['commit', 1, 2, 0],
    ['commit', 3, 0, 0],
  ]);
  const tasks = await catalog.tasks();
  for (const { id, at, author, origin, taskId, catalogVersion } of items) {
    assert.equal(author.type, 'key');
    assert.ok(author.name !== '' && author.id > 0 && id > 0 && at === now && catalogVersion > 0);
    assert.equal(origin, 'LIVE-API');
    assert.ok(tasks.some((task) => task.id === taskId));
  }
});

test('a commit lists its products before and after, in pages (§14.8 rules 3 and 4)', async () => {
  const catalog = await makeHistory();
  const [deleted, second, first] = (await read(catalog, '/commits')).items;
  const shown = async (id: number, query = '') => {
    const { items, nextCursor } = await read(catalog, `/commits/${id}/products${query}`);
    assert.equal(nextCursor, null);
    return items.map((change: Record<string, { name: string } | null>) => [
      ...[change.identifier, change.kind, change.before?.name, change.after?.name, change.changedSince],
    ]);
  };
  assert.deepEqual(await shown(second.id), [
    ['A', 'changed', 'between', 'two', false],
    ['C', 'changed', 'one', 'last', true],
    ['D', 'created', undefined, 'last', true],
  ]);
  assert.deepEqual(await shown(first.id, '?kind=created'), [
    ['A', 'created', undefined, 'between', true],
    ['B', 'created', undefined, 'one', false],
    ['C', 'created', undefined, 'one', false],
  ]);
  assert.deepEqual(await shown(deleted.id), [['B', 'deleted', 'one', undefined, false]]);
  const identifiers: string[] = [];
  for (let cursor = ''; cursor !== null; ) {
    const page = await read(catalog, `/commits/${second.id}/products?limit=1${cursor}`);
    identifiers.push(...page.items.map((product: { identifier: string }) => product.identifier));
    cursor = page.nextCursor && `&cursor=${page.nextCursor}`;
  }
  assert.deepEqual(identifiers, ['A', 'C', 'D']);
  const answer = await service().call('GET', pathOf(catalog, `/commits/999999/products`));
  assertRefused(answer, 404);
  assert.match(String(answer.body.details), /999999 is not in the undo log/);
  const strange = await service().call('GET', pathOf(catalog, `/commits/${second.id}/products?cursor=x`));
  assertRefused(strange, 400);
});

test('a product lists its commits, even after its deletion (§14.8 rule 6)', async () => {
  const catalog = await makeHistory();
  const shown = async (identifier: string) =>
    (await read(catalog, `/products/${identifier}/commits`)).items.map(
      (change: Record<string, { name: string; kind: string } | null>) => [
        ...[change.commit?.kind, change.kind, change.before?.name, change.after?.name, change.changedSince],
      ],
    );
  assert.deepEqual(await shown('A'), [
    ['commit', 'changed', 'between', 'two', false],
    ['commit', 'created', undefined, 'between', true],
  ]);
  assert.deepEqual(await shown('B'), [
    ['delete', 'deleted', 'one', undefined, false],
    ['commit', 'created', undefined, 'one', false],
  ]);
  assert.deepEqual(await shown('unknown'), []);
});

test('a restore undoes all commits down to a given one, as its preview shows, and is in the audit log (§4.5 rules 7 and 9)', async () => {
  const catalog = await makeHistory();
  const [last, second] = (await read(catalog, '/commits')).items;
  const preview = await read(catalog, `/commits/${second.id}/restore-preview`);
  const expected = { created: 1, changed: 2, deleted: 1, changedSince: 2 };
  assert.deepEqual(preview, { commits: 2, last: last.id, ...expected });
  const answer = await catalog.post(`/products/batch/restore?commit=${second.id}&ifLast=${last.id}`);
  const task = await catalog.done(answer);
  assert.equal(task.taskStatus, 'FINISHED');
  const products = await catalog.find('A', 'B', 'C', 'D');
  assert.deepEqual(
    products.map(({ identifier, name }) => [identifier, name]),
    [
      ['A', 'between'],
      ['B', 'one'],
      ['C', 'one'],
    ],
  );
  assert.equal((await read(catalog, '/commits')).items.length, 1);
  const log = await service().call('GET', `/management/audit-log?projectId=${catalog.projectId}&limit=1`);
  const { action, details } = log.body.items[0];
  assert.deepEqual([action, details], ['products.restored', { commit: second.id, ifLast: last.id }]);
  assertRefused(
    await catalog.post(`/products/batch/restore?commit=${second.id}`),
    400,
    /no commit or delete/,
  );
});

test('a restore with ifLast never undoes a commit that was made in between (§4.5 rule 8)', async () => {
  const catalog = await makeHistory();
  const [last] = (await read(catalog, '/commits')).items;
  const release = await catalog.hold();
  const deleting = await catalog.call('DELETE', '/products', { body: ['A'] });
  const waiting = await catalog.post(`/products/batch/restore?commit=${last.id}&ifLast=${last.id}`);
  assert.equal(waiting.status, 200, 'the delete has not taken effect yet');
  await release();
  await catalog.done(deleting);
  const { taskStatus, error } = await catalog.done(waiting);
  assert.deepEqual([taskStatus, error.code], ['FAILED', 'changed_meanwhile']);
  assert.deepEqual(await catalog.list(), ['C', 'D']);
  const refused = await catalog.post(`/products/batch/restore?ifLast=${last.id}`);
  assertRefused(refused, 412);
  assert.match(String(refused.body.details), new RegExp(`ifLast is ${last.id}`));
});

test('keptDays sets for how long commits can be undone (§4.5 rule 5)', async () => {
  const catalog = await createCatalog(service(), { keptCommits: 5, keptDays: 2 });
  await catalog.load(product('A', 'one'));
  await catalog.load(product('A', 'two'), product('B', 'two'));
  now += 3 * DAY_MS;
  await remove(catalog, 'B');
  const { items, keptDays } = await read(catalog, '/commits');
  assert.deepEqual([countsOf(items), keptDays], [[['delete', 0, 0, 1]], 2]);
});
