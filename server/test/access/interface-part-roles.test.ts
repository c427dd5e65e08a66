// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser, PASSWORD } from '../support/browser.ts';
import { nextEmail, signUpOwner, tokenOf } from '../support/people.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

/** Roles for parts of an account: docs/interface §5.6 rule 14 and §14.6 rule 8, over HTTP. */

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

/** Two projects of a group that the user edits, one of a group that they view, one alone, one out of reach. */
async function addPartUser(owner: Awaited<ReturnType<typeof signUpOwner>>) {
  const make = async (name: string, groupId?: number) => {
    const projectGroupId =
      groupId ?? (await owner.browser.succeed('POST', '/management/project-groups', { name })).id;
    const given = { name, projectGroupId, locale: 'de-DE' };
    const { id } = await owner.browser.succeed('POST', '/management/projects', given);
    return { id: id as number, group: projectGroupId as number };
  };
  const mine = await make('mine');
  const [also, seen, alone, other] = [
    await make('also mine', mine.group),
    ...[await make('seen'), await make('alone'), await make('other')],
  ] as const;
  const roles = [
    { scope: { type: 'project-group', id: mine.group }, role: 'editor' },
    { scope: { type: 'project-group', id: seen?.group }, role: 'viewer' },
    { scope: { type: 'project', id: alone?.id }, role: 'editor' },
  ];
  const email = nextEmail();
  const invited = { email, role: 'none', roles };
  const { link, ...invitation } = await owner.browser.succeed('POST', '/management/invitations', invited);
  assert.deepEqual(invitation.roles, roles);
  const browser = new Browser(owner.browser.address);
  const given = { token: tokenOf(link), name: 'Part', password: PASSWORD };
  const { user } = await browser.succeed('POST', '/management/invitations/accept', given);
  assert.deepEqual([user.role, user.roles], ['none', roles]);
  assert.ok(seen && alone && other);
  return { browser, id: user.id as number, roles, mine, also, seen, alone, other };
}

const idsOf = ({ items }: { items: { id: number }[] }) => items.map(({ id }) => id);

test('a user with roles for some projects sees only these and changes what each role allows (§5.6 rule 14)', async () => {
  const owner = await signUpOwner(service());
  const { browser, id, mine, also, seen, alone, other } = await addPartUser(owner);
  const reached = [mine.id, also.id, seen.id, alone.id];
  assert.deepEqual(idsOf(await browser.succeed('GET', '/management/projects')), reached);
  assert.deepEqual(idsOf({ items: (await browser.succeed('GET', '/projects')).data.projects }), reached);
  const groups = await browser.succeed('GET', '/management/project-groups');
  assert.deepEqual(idsOf(groups), [mine.group, seen.group]);
  const load = (project: number) =>
    browser.call('POST', `/products?projectId=${project}`, { body: [{ identifier: 'A', name: 'A' }] });
  const start = (project: number) =>
    browser.call('POST', `/management/projects/${project}/pipelines`, { body: {} });
  for (const { id: project } of [mine, also, alone]) {
    assert.equal((await load(project)).status, 200);
    assert.equal((await start(project)).status, 400);
  }
  assertRefused(await load(seen.id), 403, 'Your role does not allow this');
  assertRefused(await start(seen.id), 403, 'Your role does not allow this');
  assert.match(
    (await load(seen.id)).body.details[0],
    /takes the role editor, yours in project \d+ is viewer/,
  );
  for (const path of ['/tasks', '/search/products'])
    assert.equal((await browser.call('GET', `${path}?projectId=${seen.id}`)).status, 200);
  assert.equal((await load(other.id)).status, 401);
  assert.equal((await start(other.id)).status, 404);
  for (const path of ['/tasks', '/management/statistics', '/management/audit-log'])
    assert.equal((await browser.call('GET', `${path}?projectId=${other.id}`)).status, 401, path);
  assert.equal((await browser.call('GET', '/tasks')).status, 400, 'more than one project is in the scope');

  const rename = async (project: number) =>
    (await browser.call('PATCH', `/management/projects/${project}`, { body: { tags: ['x'] } })).status;
  assert.deepEqual([await rename(mine.id), await rename(seen.id), await rename(other.id)], [200, 404, 404]);
  assert.equal(await rename(alone.id), 401, 'as a key of the project');
  const create = async (projectGroupId: number) => {
    const body = { name: 'new', projectGroupId, locale: 'de-DE' };
    return (await browser.call('POST', '/management/projects', { body })).status;
  };
  assert.deepEqual(
    [await create(mine.group), await create(seen.group), await create(alone.group)],
    [201, 401, 401],
  );
  assert.equal(
    (await browser.call('POST', '/management/project-groups', { body: { name: 'x' } })).status,
    401,
  );

  const makeKey = (scope: object) =>
    browser.call('POST', '/management/api-keys', { body: { name: 'part', scope } });
  for (const scope of [
    { type: 'account' },
    { type: 'project', id: seen.id },
    { type: 'project', id: other.id },
  ])
    assert.equal((await makeKey(scope)).status, scope.type === 'account' ? 403 : 401);
  assert.equal((await makeKey({ type: 'project-group', id: mine.group })).status, 201);
  const keys = await browser.succeed('GET', '/management/api-keys');
  assert.ok(keys.items.length > 0 && keys.items.every(({ scope }: AnyBody) => scope.id === mine.group));
  const endpoint = {
    url: 'https://x.example/',
    events: ['task.finished'],
    scope: { type: 'project', id: seen.id },
  };
  assert.equal((await browser.call('POST', '/management/webhook-endpoints', { body: endpoint })).status, 401);
  for (const { projectId, subject } of (await browser.succeed('GET', '/management/audit-log')).items)
    assert.ok(reached.includes(projectId) || subject.projectGroupId !== undefined || projectId > other.id);
  assert.equal((await browser.call('GET', '/management/users')).status, 403);
  assert.equal((await browser.call('GET', '/metrics')).status, 403);

  // A viewer of everything who edits one project.
  const roles = [{ scope: { type: 'project', id: other.id }, role: 'editor' }];
  await owner.browser.succeed('PATCH', `/management/users/${id}`, { role: 'viewer', roles });
  assert.equal((await load(other.id)).status, 200);
  assert.equal((await load(mine.id)).status, 403);
  assert.equal((await browser.call('GET', `/tasks?projectId=${service().projectId}`)).status, 200);
});

test('a role for a project takes effect immediately, requires an existing project and is removed with it (§14.6 rule 8)', async () => {
  const owner = await signUpOwner(service());
  const { browser, id, roles, mine, seen, alone } = await addPartUser(owner);
  const change = (body: object) => owner.browser.call('PATCH', `/management/users/${id}`, { body });
  const tell = async (body: object) => (await change(body)).body.details?.[0];
  const [first] = roles;
  assert.match(await tell({ role: 'none', roles: [] }), /^\/roles must have an entry/);
  assert.match(
    await tell({ roles: [first, first] }),
    /^\/roles\/1\/scope must not repeat project-group \d+$/,
  );
  assert.match(await tell({ role: 'owner', roles }), /^\/roles must be empty/);
  for (const type of ['project', 'project-group']) {
    const unknown = { scope: { type, id: 4711 }, role: 'viewer' };
    assert.match(await tell({ roles: [unknown] }), new RegExp(`^/roles/0/scope ${type} 4711 does not exist`));
  }
  assertRefused(await change({ roles: [{ ...first, role: 'owner' }] }), 400);
  assertRefused(await change({ roles: [{ scope: { type: 'account' }, role: 'viewer' }] }), 400);
  assertRefused(await change({ roles: Array.from({ length: 101 }, () => first) }), 400);

  await owner.browser.succeed('PATCH', `/management/users/${id}`, { roles: roles.slice(0, 1) });
  assert.equal((await browser.call('GET', `/tasks?projectId=${seen.id}`)).status, 401);
  assert.equal((await browser.call('GET', `/tasks?projectId=${mine.id}`)).status, 200);
  assert.equal((await browser.call('GET', `/tasks?projectId=${alone.id}`)).status, 401);

  const { id: empty } = await owner.browser.succeed('POST', '/management/project-groups', { name: 'empty' });
  const ofEmpty = [{ scope: { type: 'project-group', id: empty }, role: 'viewer' }];
  await owner.browser.succeed('PATCH', `/management/users/${id}`, { roles: ofEmpty });
  await owner.browser.succeed('DELETE', `/management/project-groups/${empty}`);
  const { user } = await browser.succeed('GET', '/management/session');
  assert.deepEqual([user.role, user.roles], ['none', []]);
  assert.deepEqual((await browser.succeed('GET', '/management/projects')).items, []);
  const promoted = await change({ role: 'owner' });
  assert.deepEqual([promoted.body.role, promoted.body.roles], ['owner', []]);
});
