// runs: test, postgres deep
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { makeTestStore } from '../../test/support/test-store.ts';
import { createAnswerOnce } from '../http/answers/answers.ts';
import { createServer } from '../http/server/server.ts';
import type { KeyCaller, Scope } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { projectRoutes } from './project-routes.ts';
import { asWriter, commandAuthor, createProjects, type NewProject, type Projects } from './projects.ts';

const DAY_MS = 24 * 3_600_000;
const refused = 'You are not allowed to access the requested resource';

/** The fields that any answer can have. */
interface AnswerBody {
  id: number;
  message: string;
  details: string[];
  data?: { projects: { id: number }[] };
  items: { id: number; deletedAt?: number; action?: string; actor?: unknown; subject?: { name: string } }[];
  nextCursor: string | null;
}

/** Starts a room with two accounts. The first has three groups, with two projects, one and none. */
async function startRoom(context: TestContext) {
  const store = await makeTestStore();
  const storage = await store.open();
  const { database } = storage;
  const clock = { time: 1_767_225_600_000, now: () => clock.time };
  const projects = createProjects({ database, clock });
  const callers = new Map<string, KeyCaller>();
  const server = createServer(
    { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 },
    {
      findCaller({ value }) {
        const caller = callers.get(value);
        if (caller === undefined) throw new ServiceError('scope_refused');
        return caller;
      },
      findUser: () => assert.fail('no user is signed in'),
      countRequest: async () => undefined,
      chooseProject: projects.chooseProject,
      choosePathProject: projects.choosePathProject,
    },
  );
  projectRoutes({ projects, answerOnce: createAnswerOnce(database, clock) })(server);
  const manages = { config: { guard: 'management', access: 'manage' } } as const;
  const planted = '/management/projects/:id/planted';
  server.get(planted, manages, async ({ project }) => ({ ...project }));
  server.post(planted, { ...manages, schema: { body: { type: 'object' } } }, async () => ({}));
  await server.listen({ port: 0, host: '127.0.0.1' });
  context.after(async () => {
    await server.close();
    await storage.close();
    await store.remove();
  });
  const { port } = server.server.address() as AddressInfo;

  /** Adds a caller in place of a key, because keys belong to access. */
  function addCaller(keyName: string, accountId: number, scope: Scope): void {
    callers.set(keyName, { accountId, keyId: callers.size + 1, keyName, scope, access: 'manage' });
  }

  /** `account#1` calls with the key `account` and the Idempotency-Key 1. */
  async function call(keyName: string, line: string, body?: unknown) {
    const [by = '', idempotencyKey] = keyName.split('#');
    const [method = 'GET', path = '/'] = line.split(' ');
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${by}`,
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as AnswerBody };
  }

  const filled = await fill(projects);
  addCaller('account', filled.account, { type: 'account' });
  addCaller('group', filled.account, { type: 'project-group', id: filled.tools });
  addCaller('emptyGroup', filled.account, { type: 'project-group', id: filled.empty });
  addCaller('project', filled.account, { type: 'project', id: filled.drills });
  addCaller('stranger', filled.other, { type: 'account' });
  const callerOf = (name: string) => callers.get(name) ?? assert.fail(`no caller ${name}`);
  callers.set('reader', { ...callerOf('account'), access: 'read' });
  return { ...filled, database, clock, projects, call, callerOf };
}

async function fill(projects: Projects) {
  const account = await projects.createAccount('Main');
  const otherAccount = await projects.createAccount('Other');
  const author = commandAuthor(account.id, 'test');
  const tools = await projects.createGroup(asWriter(author), { name: 'Tools' });
  const garden = await projects.createGroup(asWriter(author), { name: 'Garden' });
  const empty = await projects.createGroup(asWriter(author), { name: 'Empty' });
  const create = async (name: string, projectGroupId: number, more: Partial<NewProject> = {}) =>
    (await projects.createProject(asWriter(author), { name, projectGroupId, locale: 'de-DE', ...more })).id;
  return {
    account: account.id,
    other: otherAccount.id,
    tools: tools.id,
    garden: garden.id,
    empty: empty.id,
    drills: await create('Drills', tools.id, { tags: ['b2b'] }),
    saws: await create('Saws', tools.id, { locale: 'fr-CH' }),
    hoses: await create('Hoses', garden.id),
  };
}

const ids = (body: { items: { id: number }[] }) => body.items.map(({ id }) => id);

const SETTINGS = {
  maxDeletePercent: 100,
  keptCommits: 1,
  keptDays: null,
  brandAttribute: 'Brand',
  priceAttribute: 'Price',
  onInvalid: 'refuse',
};

test('GET /projects answers exactly the fields of §2.1, ordered by id', async (context) => {
  const room = await startRoom(context);
  const { status, body } = await room.call('group', 'GET /projects');
  assert.equal(status, 200);
  assert.deepEqual(body, {
    status: 'success',
    data: {
      projects: [
        {
          id: room.drills,
          name: 'Drills',
          'project-group-id': room.tools,
          'project-group-name': 'Tools',
          locale: 'de-DE',
          language: 'de',
          country: 'DE',
          tags: ['b2b'],
        },
        {
          id: room.saws,
          name: 'Saws',
          'project-group-id': room.tools,
          'project-group-name': 'Tools',
          locale: 'fr-CH',
          language: 'fr',
          country: 'CH',
          tags: [],
        },
      ],
    },
  });
});

test('GET /projects lists the projects that the key reaches, or the requested project (§4.1)', async (context) => {
  const room = await startRoom(context);
  const cases = [
    { key: 'account', query: '', ids: [room.drills, room.saws, room.hoses] },
    { key: 'reader', query: '', ids: [room.drills, room.saws, room.hoses] },
    { key: 'group', query: '', ids: [room.drills, room.saws] },
    { key: 'emptyGroup', query: '', ids: [] },
    { key: 'project', query: '', ids: [room.drills] },
    { key: 'stranger', query: '', ids: [] },
    { key: 'account', query: `?projectId=${room.saws}`, ids: [room.saws] },
    { key: 'project', query: `?projectId=${room.drills}&sessionId=1`, ids: [room.drills] },
    { key: 'project', query: `?projectId=${room.saws}`, refusal: 401 },
    { key: 'stranger', query: `?projectId=${room.saws}`, refusal: 401 },
    { key: 'account', query: '?projectId=999', refusal: 401 },
    { key: 'account', query: '?projectId=many', refusal: 400 },
    { key: 'account', query: '?projectId=0', refusal: 401 },
    { key: 'account', query: '?projectId=99999999999999999999', refusal: 400 },
    { key: 'account', query: '?projectId=-99999999999999999999', refusal: 400 },
  ];
  for (const { key, query, ids: expectedIds, refusal } of cases) {
    const { status, body } = await room.call(key, `GET /projects${query}`);
    assert.equal(status, refusal ?? 200, `${key} ${query}`);
    if (refusal === 401) assert.equal(body.message, refused);
    const listedIds = body.data?.projects.map(({ id }) => id);
    assert.deepEqual(listedIds, expectedIds, `${key} ${query}`);
  }
});

test('a route below a project checks the reach of the caller even if its handler does not (§7.2 rule 1)', async (context) => {
  const room = await startRoom(context);
  await room.projects.deleteProject(
    asWriter(room.callerOf('account')),
    { id: room.saws },
    { confirm: 'Saws' },
  );
  const cases = [
    { key: 'account', id: room.drills, status: 200 },
    { key: 'group', id: room.drills, status: 200 },
    { key: 'project', id: room.drills, status: 200 },
    { key: 'project', id: room.hoses, status: 404 },
    { key: 'emptyGroup', id: room.drills, status: 404 },
    { key: 'stranger', id: room.drills, status: 404 },
    { key: 'account', id: room.saws, status: 404 },
    { key: 'account', id: 999, status: 404 },
    { key: 'account', id: 'many', status: 400 },
    { key: 'account', id: '99999999999999999999', status: 400 },
    { key: 'reader', id: room.hoses, status: 401 },
    { key: 'unknown', id: room.hoses, status: 401 },
  ];
  for (const { key, id, status } of cases) {
    const answer = await room.call(key, `POST /management/projects/${id}/planted`, '{');
    const description = `${key} ${id} ${JSON.stringify(answer.body)}`;
    // The body is not an object. Only a caller that reaches the project gets this refusal.
    assert.equal(answer.status, status === 200 ? 400 : status, description);
    const planted = await room.call(key, `GET /management/projects/${id}/planted`);
    assert.equal(planted.status, status, description);
    if (status === 200) assert.deepEqual(planted.body, { id, name: 'Drills', accountId: room.account });
  }
});

test('a call without a path finds its project by projectId or by the scope of the key (§4.10)', async (context) => {
  const room = await startRoom(context);
  await room.projects.deleteProject(
    asWriter(room.callerOf('account')),
    { id: room.saws },
    { confirm: 'Saws' },
  );
  const cases = [
    { key: 'account', id: room.drills, finds: room.drills },
    { key: 'account', id: undefined, refusal: 'project_required' },
    { key: 'group', id: undefined, finds: room.drills },
    { key: 'emptyGroup', id: undefined, refusal: 'project_required' },
    { key: 'project', id: undefined, finds: room.drills },
    { key: 'project', id: room.hoses, refusal: 'scope_refused' },
    { key: 'account', id: room.saws, refusal: 'scope_refused' },
    { key: 'account', id: 999, refusal: 'scope_refused' },
    { key: 'stranger', id: room.drills, refusal: 'scope_refused' },
  ];
  for (const { key, id, finds, refusal } of cases) {
    const choosing = Promise.try(room.projects.chooseProject, room.callerOf(key), id);
    if (refusal !== undefined) await assert.rejects(choosing, { code: refusal }, `${key} ${id}`);
    else assert.equal((await choosing).id, finds, `${key} ${id}`);
  }
});

test('the room returns the account of a project after its first request', async (context) => {
  const { projects, callerOf, account, drills, hoses } = await startRoom(context);
  assert.deepEqual([drills, hoses].map(projects.accountOf), [-drills, -hoses]);
  await projects.chooseProject(callerOf('account'), drills);
  await projects.choosePathProject(callerOf('account'), hoses);
  assert.deepEqual([drills, hoses].map(projects.accountOf), [account, account]);
});

test('a deleted project is refused immediately by the process that deleted it, by others within a second (§4.10)', async (context) => {
  const room = await startRoom(context);
  const choose = async () => room.projects.chooseProject(room.callerOf('account'), room.drills);
  assert.deepEqual(await choose(), { id: room.drills, name: 'Drills', accountId: room.account });
  const otherProcess = createProjects({ database: room.database, clock: room.clock });
  const [drills, deletion] = [{ id: room.drills }, { confirm: 'Drills' }];
  await otherProcess.deleteProject(asWriter(room.callerOf('account')), drills, deletion);
  room.clock.time += 999;
  await choose();
  room.clock.time += 1;
  await assert.rejects(choose(), { code: 'scope_refused' });
  await room.projects.restoreProject(asWriter(room.callerOf('account')), { id: room.drills });
  await choose();
  await room.projects.deleteProject(asWriter(room.callerOf('account')), drills, deletion);
  await assert.rejects(choose(), { code: 'scope_refused' });
});

test('a project group is created, read, renamed, listed and deleted when empty (§14.2)', async (context) => {
  const room = await startRoom(context);
  const created = await room.call('account', 'POST /management/project-groups', { name: 'Paint' });
  assert.equal(created.status, 201);
  assert.deepEqual(created.body, { id: created.body.id, name: 'Paint', createdAt: room.clock.time });
  const path = `/management/project-groups/${created.body.id}`;
  const renamed = await room.call('account', `PATCH ${path}`, { name: 'Paints' });
  assert.deepEqual(renamed.body, { ...created.body, name: 'Paints' });
  assert.deepEqual((await room.call('account', `GET ${path}`)).body, renamed.body);
  assert.equal((await room.call('account', `DELETE ${path}`)).status, 200);
  assert.equal((await room.call('account', `GET ${path}`)).status, 404);

  const full = await room.call('account', `DELETE /management/project-groups/${room.garden}`);
  assert.equal(full.status, 409);
  await room.projects.deleteProject(
    asWriter(room.callerOf('account')),
    { id: room.hoses },
    { confirm: 'Hoses' },
  );
  const restorable = await room.call('account', `DELETE /management/project-groups/${room.garden}`);
  assert.equal(restorable.status, 409);
  assert.match(restorable.body.details[0] ?? '', /Hoses: deleted, can be restored/);
});

test('each management route accepts only the keys whose scope and access allow it (§14.1)', async (context) => {
  const room = await startRoom(context);
  const newProject = { name: 'New', projectGroupId: room.tools, locale: 'de-DE' };
  const group = '/management/project-groups';
  const project = '/management/projects';
  const cases: [key: string, line: string, body: unknown, status: number][] = [
    ['reader', `GET ${group}`, undefined, 401],
    ['unknown', `GET ${group}`, undefined, 401],
    ['account', `GET ${group}`, undefined, 200],
    ['group', `GET ${group}/${room.tools}`, undefined, 200],
    ['group', `GET ${group}/${room.garden}`, undefined, 404],
    ['group', `POST ${group}`, { name: 'X' }, 401],
    ['group', `PATCH ${group}/${room.tools}`, { name: 'Tools' }, 200],
    ['group', `PATCH ${group}/${room.garden}`, { name: 'X' }, 404],
    ['stranger', `GET ${group}/${room.tools}`, undefined, 404],
    ['stranger', `DELETE ${group}/${room.empty}`, undefined, 404],
    ['project', `GET ${group}`, undefined, 401],
    ['project', `GET ${group}/${room.tools}`, undefined, 401],
    ['account', `GET ${project}/${room.hoses}`, undefined, 200],
    ['account', `GET ${project}/999`, undefined, 404],
    ['account', `GET ${project}/none`, undefined, 400],
    ['group', `GET ${project}/${room.hoses}`, undefined, 404],
    ['group', `POST ${project}`, newProject, 201],
    ['group', `POST ${project}`, { ...newProject, projectGroupId: room.garden }, 401],
    ['account', `POST ${project}`, { ...newProject, projectGroupId: 999 }, 401],
    ['stranger', `POST ${project}`, newProject, 401],
    ['group', `PATCH ${project}/${room.saws}`, { projectGroupId: room.garden }, 401],
    ['group', `DELETE ${project}/${room.hoses}?confirm=Hoses`, undefined, 404],
    ['project', `GET ${project}/${room.drills}`, undefined, 200],
    ['project', `GET ${project}/${room.saws}`, undefined, 404],
    ['project', `POST ${project}`, newProject, 401],
    ['project', `PATCH ${project}/${room.drills}`, { name: 'X' }, 401],
    ['project', `DELETE ${project}/${room.drills}?confirm=Drills`, undefined, 401],
    ['project', `POST ${project}/${room.drills}/restore`, undefined, 401],
  ];
  for (const [key, line, body, status] of cases) {
    const answer = await room.call(key, line, body);
    assert.equal(answer.status, status, `${key} ${line}: ${JSON.stringify(answer.body)}`);
    if (status === 401) assert.equal(answer.body.message, refused);
  }
});

test('a project is created with the default settings and changed field by field (§14.2 rule 3)', async (context) => {
  const room = await startRoom(context);
  const given = { name: 'Screws', projectGroupId: room.tools, locale: 'en-GB' };
  const created = await room.call('account', 'POST /management/projects', given);
  assert.equal(created.status, 201);
  const { id } = created.body;
  assert.deepEqual(created.body, { id, ...given, tags: [], settings: SETTINGS, createdAt: room.clock.time });
  assert.deepEqual(await room.projects.recallSettings(id), SETTINGS);
  const change = { name: 'Bolts', projectGroupId: room.garden, tags: ['b2c'], settings: { keptCommits: 3 } };
  const changed = await room.call('account', `PATCH /management/projects/${id}`, change);
  const settings = { ...SETTINGS, keptCommits: 3 };
  assert.deepEqual(changed.body, { ...created.body, ...change, settings });
  assert.deepEqual((await room.call('account', `GET /management/projects/${id}`)).body, changed.body);
  assert.deepEqual(await room.projects.getSettings(id), settings);
  assert.deepEqual(await room.projects.recallSettings(id), settings, 'a change clears the cached settings');
});

test('an invalid project or group is refused with details (§14.2)', async (context) => {
  const room = await startRoom(context);
  const good = { name: 'Good', projectGroupId: room.tools, locale: 'de-DE' };
  const bodies: unknown[] = [
    undefined,
    {},
    { ...good, name: '' },
    { ...good, name: 'x'.repeat(256) },
    { ...good, name: 'a\u0000b' },
    { ...good, locale: 'de' },
    { ...good, locale: 'DE-de' },
    { ...good, locale: 'de_DE' },
    { ...good, projectGroupId: String(room.tools) },
    { ...good, tags: 'b2b' },
    { ...good, unknown: 1 },
    { ...good, settings: { unknown: 1 } },
    { ...good, settings: { maxDeletePercent: 101 } },
    { ...good, settings: { keptCommits: 1.5 } },
    { ...good, settings: { keptCommits: 31 } },
    { ...good, settings: { keptDays: 0 } },
    { ...good, settings: { brandAttribute: '' } },
  ];
  for (const body of bodies) {
    const { status, body: answer } = await room.call('account', 'POST /management/projects', body);
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(answer.message, 'Your body params are not valid');
    assert.ok(answer.details.length > 0);
  }
  for (const body of [{}, { name: '' }, { name: 'x', more: 1 }]) {
    assert.equal((await room.call('account', 'POST /management/project-groups', body)).status, 400);
  }
  const longest = await room.call('account', 'POST /management/projects', { ...good, name: 'x'.repeat(255) });
  assert.equal(longest.status, 201);
});

test('a project is deleted only with its exact name and can be restored for 30 days (§14.2 rule 4)', async (context) => {
  const room = await startRoom(context);
  const path = `/management/projects/${room.drills}`;
  for (const query of ['', '?confirm=', '?confirm=drills']) {
    const { status, body } = await room.call('account', `DELETE ${path}${query}`);
    assert.equal(status, 400);
    assert.match(body.message, /confirm/);
  }
  assert.equal((await room.call('account', `POST ${path}/restore`)).status, 404);
  const deleted = await room.call('account', `DELETE ${path}?confirm=Drills`);
  assert.deepEqual(deleted, { status: 200, body: { status: 'success' } });
  assert.equal((await room.call('account', `GET ${path}`)).status, 404);
  assert.equal((await room.call('account', `DELETE ${path}?confirm=Drills`)).status, 404);
  assert.deepEqual(ids((await room.call('account', 'GET /management/projects')).body), [
    room.saws,
    room.hoses,
  ]);
  const list = await room.call('account', 'GET /management/projects?deleted=true');
  assert.deepEqual(ids(list.body), [room.drills]);
  assert.equal(list.body.items[0]?.deletedAt, room.clock.time);

  room.clock.time += 30 * DAY_MS - 1;
  assert.equal((await room.call('stranger', `POST ${path}/restore`)).status, 404);
  const restored = await room.call('account', `POST ${path}/restore`);
  assert.equal(restored.status, 200);
  assert.deepEqual((await room.call('account', `GET ${path}`)).body, restored.body);
  assert.equal('deletedAt' in restored.body, false);

  await room.call('account', `DELETE ${path}?confirm=Drills`);
  room.clock.time += 30 * DAY_MS;
  assert.equal((await room.call('account', `POST ${path}/restore`)).status, 404);
  assert.deepEqual(ids((await room.call('account', 'GET /management/projects?deleted=true')).body), []);
});

test('a purge removes only projects deleted 30 days ago, and their group can then be deleted (§10.5)', async (context) => {
  const room = await startRoom(context);
  const account = room.callerOf('account');
  const purged: number[] = [];
  const removedParts: unknown[] = [];
  room.projects.onRemoval(async (_tx, scope) => void removedParts.push(scope));
  const purge = () => room.projects.purgeDeleted(async (id) => void purged.push(id));
  await room.projects.deleteProject(asWriter(account), { id: room.hoses }, { confirm: 'Hoses' });
  room.clock.time += 30 * DAY_MS - 1;
  await room.projects.deleteProject(asWriter(account), { id: room.saws }, { confirm: 'Saws' });
  await purge();
  assert.deepEqual(purged, []);
  room.clock.time += 1;
  await assert.rejects(
    room.projects.purgeDeleted(async () => assert.fail('the file is busy')),
    /the file is busy/,
  );
  await purge();
  await purge();
  assert.deepEqual(purged, [room.hoses]);
  await assert.rejects(room.projects.getSettings(room.hoses), { code: 'not_found' });
  await assert.rejects(room.projects.recallSettings(room.hoses), { code: 'not_found' });
  await room.projects.deleteGroup(asWriter(account), { id: room.garden });
  assert.deepEqual(removedParts, [
    { type: 'project', id: room.hoses },
    { type: 'project-group', id: room.garden },
  ]);
  await room.projects.restoreProject(asWriter(account), { id: room.saws });
});

test('lists have pages of 1 to 1000, and nextCursor is null on the last page (§4 rule 3)', async (context) => {
  const room = await startRoom(context);
  for (const path of ['/management/projects', '/management/project-groups']) {
    const first = await room.call('account', `GET ${path}?limit=2`);
    assert.equal(first.body.items.length, 2);
    const second = await room.call('account', `GET ${path}?limit=2&cursor=${first.body.nextCursor}`);
    assert.equal(second.body.items.length, 1);
    assert.equal(second.body.nextCursor, null);
    const all = await room.call('account', `GET ${path}?limit=3`);
    assert.deepEqual([...first.body.items, ...second.body.items], all.body.items);
    assert.equal(all.body.nextCursor, null);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'cursor=x', 'cursor=-1']) {
      assert.equal((await room.call('account', `GET ${path}?${query}`)).status, 400, query);
    }
  }
});

test('the audit log lists changes with their actors, newest first (§14.4)', async (context) => {
  const room = await startRoom(context);
  const path = `/management/projects/${room.drills}`;
  await room.call('group', `PATCH ${path}`, { name: 'Drilling', settings: { keptCommits: 2 } });
  room.clock.time += 1;
  await room.call('account', `DELETE ${path}?confirm=Drilling`);
  const { status, body } = await room.call('account', 'GET /management/audit-log?limit=2');
  assert.equal(status, 200);
  const latest = body.items[0]?.id ?? 0;
  const subject = { type: 'project', id: room.drills, name: 'Drilling', projectGroupId: room.tools };
  const settings = SETTINGS;
  assert.deepEqual(body.items, [
    {
      id: latest,
      at: room.clock.time,
      actor: { type: 'key', id: 1, name: 'account' },
      projectId: room.drills,
      action: 'project.deleted',
      subject,
      details: {},
    },
    {
      id: latest - 1,
      at: room.clock.time - 1,
      actor: { type: 'key', id: 2, name: 'group' },
      projectId: room.drills,
      action: 'project.changed',
      subject,
      details: {
        name: { from: 'Drills', to: 'Drilling' },
        settings: { from: settings, to: { ...settings, keptCommits: 2 } },
      },
    },
  ]);
  const next = await room.call('account', `GET /management/audit-log?limit=1000&cursor=${body.nextCursor}`);
  assert.deepEqual(
    next.body.items.map(({ action }) => action),
    [
      ...['project.created', 'project.created', 'project.created'],
      ...['project-group.created', 'project-group.created', 'project-group.created'],
      'account.created',
    ],
  );
  assert.deepEqual(next.body.items.at(-1)?.actor, {
    type: 'command',
    id: null,
    name: 'relata account create',
  });
});

test('a key reads the audit log of the projects and groups that it reaches, also of a deleted project (§14.1)', async (context) => {
  const room = await startRoom(context);
  await room.projects.deleteProject(
    asWriter(room.callerOf('account')),
    { id: room.hoses },
    { confirm: 'Hoses' },
  );
  const read = async (key: string, query = '') => room.call(key, `GET /management/audit-log${query}`);
  const subjects = async (key: string, query = '') =>
    (await read(key, query)).body.items.map(({ subject }) => subject?.name);
  assert.deepEqual(await subjects('group'), ['Saws', 'Drills', 'Tools']);
  assert.deepEqual(await subjects('project'), ['Drills']);
  assert.deepEqual(await subjects('stranger'), ['Other']);
  assert.deepEqual(await subjects('account', `?projectId=${room.hoses}`), ['Hoses', 'Hoses']);
  for (const [key, projectId] of [
    ['group', room.hoses],
    ['stranger', room.drills],
    ['account', 999],
  ] as const) {
    const { status, body } = await read(key, `?projectId=${projectId}`);
    assert.deepEqual([status, body.message], [401, refused]);
  }
});

test('a change and its entry in the audit log are written in one transaction (§14.4)', async (context) => {
  const room = await startRoom(context);
  const account = room.callerOf('account');
  const fail = async () => assert.fail('the answer could not be stored');
  await assert.rejects(
    room.projects.createGroup({ ...asWriter(account), beside: fail }, { name: 'Lost' }),
    /could not be stored/,
  );
  await assert.rejects(
    room.projects.deleteProject(
      { ...asWriter(account), beside: fail },
      { id: room.saws },
      { confirm: 'Saws' },
    ),
    /could not be stored/,
  );
  const log = await room.projects.listChanges(account, {});
  assert.equal(
    log.items.some(({ subject, action }) => subject.name === 'Lost' || action === 'project.deleted'),
    false,
  );
  assert.equal((await room.projects.listGroups(account, {})).items.length, 3);
  await room.projects.recordChange({
    author: account,
    action: 'ontology.replaced',
    subject: { type: 'ontology' },
  });
  assert.equal(
    (await room.projects.listChanges(account, { limit: 1 })).items[0]?.action,
    'ontology.replaced',
  );
});

test('account names are unique, and an account sees nothing of another account (§10.2 rule 3)', async (context) => {
  const room = await startRoom(context);
  await assert.rejects(room.projects.createAccount('Other'), /already/);
  assert.deepEqual(await room.projects.findAccounts(), [
    { id: room.account, name: 'Main' },
    { id: room.other, name: 'Other' },
  ]);
  for (const path of ['/management/projects', '/management/project-groups']) {
    assert.deepEqual((await room.call('stranger', `GET ${path}`)).body, { items: [], nextCursor: null });
  }
});

test('a write that is repeated with its Idempotency-Key happens once (§7.5)', async (context) => {
  const room = await startRoom(context);
  const created = await room.call('account#1', 'POST /management/project-groups', { name: 'Once' });
  assert.deepEqual(
    await room.call('account#1', 'POST /management/project-groups', { name: 'Once' }),
    created,
  );
  assert.equal((await room.call('account', 'GET /management/project-groups')).body.items.length, 4);
  const path = `/management/project-groups/${created.body.id}`;
  const deleted = await room.call('account#2', `DELETE ${path}`);
  assert.equal(deleted.status, 200);
  assert.deepEqual(await room.call('account#2', `DELETE ${path}`), deleted);
  const otherDeletion = await room.call('account#2', `DELETE /management/project-groups/${room.empty}`);
  assert.equal(otherDeletion.status, 422, 'another path is another request');
});
