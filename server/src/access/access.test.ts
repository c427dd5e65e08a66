// runs: test, postgres deep
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { mock, type TestContext, test } from 'node:test';
import { makeTestStore } from '../../test/support/test-store.ts';
import { createAnswerOnce } from '../http/answers/answers.ts';
import { createServer } from '../http/server/server.ts';
import type { Scope } from '../kernel/caller.ts';
import { asWriter, commandAuthor, createProjects } from '../projects/projects.ts';
import { createAccess } from './access.ts';
import { apiKeyRoutes } from './keys/api-key-routes.ts';
import type { NewKey } from './keys/keys.ts';

const unknownBrowser = { userAgent: undefined, sessionValue: undefined };
const FIRST_KEY = 'a-first-key-that-is-long-enough-to-use';
const refused = 'You are not allowed to access the requested resource';

/** The fields of all answers. */
interface AnswerBody {
  id: number;
  name: string;
  key?: string;
  message: string;
  details?: string[];
  lastUsedAt: number | null;
  usedInUrlAt: number | null;
  expiresAt: number | null;
  rateLimit: unknown;
  items: { id: number; name: string; actor?: { name: string }; action?: string; lastUsedAt: number | null }[];
  nextCursor: string | null;
}

interface Call {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A service with account Main, its first key, and two groups with two projects and one. */
async function startRoom(context: TestContext) {
  const store = await makeTestStore();
  const storage = await store.open();
  const { database, postgres } = storage;
  const clock = { time: 1_767_225_600_000, now: () => clock.time };
  const logged: string[] = [];
  const projects = createProjects({ database, clock });
  const access = createAccess({ database, postgres, clock, projects });
  const server = createServer(
    {
      logLevel: 'debug',
      logTo: { write: (line) => void logged.push(line) },
      trustedProxies: [],
      corsOrigins: [],
      bodyBudgetMib: 16,
    },
    {
      findCaller: access.findCaller,
      findUser: access.findUser,
      countRequest: access.countRequest,
      chooseProject: projects.chooseProject,
      choosePathProject: projects.choosePathProject,
    },
  );
  apiKeyRoutes({ access, projects, answerOnce: createAnswerOnce(database, clock) })(server);
  await server.listen({ port: 0, host: '127.0.0.1' });
  context.after(async () => {
    await server.close();
    await access.close();
    await storage.close();
    await store.remove();
  });
  const { port } = server.server.address() as AddressInfo;

  async function call(line: string, { key, headers = {}, body }: Call = {}) {
    const [method = 'GET', path = '/'] = line.split(' ');
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as AnswerBody,
    };
  }

  await access.createFirstAccount(FIRST_KEY);
  const author = commandAuthor(1, 'test');
  const tools = (await projects.createGroup(asWriter(author), { name: 'Tools' })).id;
  const garden = (await projects.createGroup(asWriter(author), { name: 'Garden' })).id;
  const create = async (name: string, projectGroupId: number) =>
    (await projects.createProject(asWriter(author), { name, projectGroupId, locale: 'de-DE' })).id;
  const ids = { tools, garden, drills: await create('Drills', tools), hoses: await create('Hoses', garden) };
  const make = async (scope: Scope, more: Partial<NewKey> = {}) =>
    access.createKey(asWriter(author), { name: `${scope.type} key`, scope, ...more });
  return { ...ids, store, database, clock, logged, projects, access, author, call, make };
}

const check = 'GET /project/check-credentials';

test('the credential comes as Bearer, bare or in the URL, and the header counts (§5.1)', async (context) => {
  const room = await startRoom(context);
  const { value: key } = await room.make({ type: 'project', id: room.drills });
  const inUrl = `${check}?apiKey=${key}`;
  const cases: { line: string; authorization?: string; message?: string; deprecated?: true }[] = [
    { line: check, authorization: `Bearer ${key}` },
    { line: check, authorization: `bearer ${key}` },
    { line: check, authorization: key },
    { line: inUrl, deprecated: true },
    { line: inUrl, authorization: '', deprecated: true },
    { line: inUrl, authorization: 'Bearer', deprecated: true },
    { line: inUrl, authorization: 'Bearer rk_other', message: refused },
    { line: `${check}?apiKey=rk_other`, authorization: `Bearer ${key}` },
    { line: `${check}?apiKey=rk_other`, message: refused, deprecated: true },
    { line: check, message: 'No token set' },
    { line: check, authorization: '', message: 'No token set' },
    { line: check, authorization: 'Bearer ', message: 'No token set' },
    { line: `${check}?apiKey=`, message: 'No token set' },
  ];
  for (const { line, authorization, message, deprecated = false } of cases) {
    const answer = await room.call(line, authorization === undefined ? {} : { headers: { authorization } });
    const about = `${line} with ${authorization}`;
    assert.equal(answer.status, message === undefined ? 200 : 401, about);
    assert.equal(answer.body.message, message, about);
    assert.equal(answer.headers.has('deprecation'), deprecated, about);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
});

test('check-credentials answers success, or 401 for a project out of reach (§4.1 rule 3)', async (context) => {
  const room = await startRoom(context);
  const { value: key } = await room.make({ type: 'project', id: room.drills });
  const good = await room.call(`${check}?apiKey=${key}&projectId=${room.drills}`);
  assert.deepEqual([good.status, good.body], [200, { status: 'success' }]);
  for (const projectId of [room.hoses, 999]) {
    const { status, body } = await room.call(`${check}?projectId=${projectId}`, { key });
    assert.deepEqual([status, body.message], [401, refused]);
  }
  const several = await room.call(check, { key: FIRST_KEY });
  assert.deepEqual(
    [several.status, several.body],
    [200, { status: 'success' }],
    'the key alone is asked about',
  );
});

test('management takes the key from the header alone (§5.1 rule 5)', async (context) => {
  const room = await startRoom(context);
  const { status, body } = await room.call(`GET /management/api-keys?apiKey=${FIRST_KEY}`);
  assert.deepEqual([status, body.message], [401, 'No token set']);
  assert.equal((await room.call('GET /management/api-keys', { key: FIRST_KEY })).status, 200);
});

test('only a key with access manage calls the management API (§5.2 rule 2)', async (context) => {
  const room = await startRoom(context);
  for (const access of ['read', 'write'] as const) {
    const { value: key } = await room.make({ type: 'account' }, { access });
    const { status, body } = await room.call('GET /management/api-keys', { key });
    assert.deepEqual([status, body.message], [401, refused]);
  }
});

test('a key is created with what is known of it, and its value is shown once (§14.2 rule 6)', async (context) => {
  const room = await startRoom(context);
  const given = {
    name: 'Shop connector',
    scope: { type: 'project', id: room.drills },
    access: 'write',
    rateLimit: { requestsPerMinute: 600 },
    expiresAt: room.clock.time + 1000,
  };
  const { status, body } = await room.call('POST /management/api-keys', { key: FIRST_KEY, body: given });
  assert.equal(status, 201);
  const { key = '', ...known } = body;
  assert.match(key, /^rk_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(known, {
    id: known.id,
    ...given,
    firstCharacters: key.slice(0, 8),
    createdAt: room.clock.time,
    lastUsedAt: null,
    usedInUrlAt: null,
    createdBy: { type: 'key', id: 1, name: 'First key' },
  });
  const path = `GET /management/api-keys/${known.id}`;
  assert.deepEqual((await room.call(path, { key: FIRST_KEY })).body, known);
  const list = await room.call('GET /management/api-keys?limit=1&cursor=1', { key: FIRST_KEY });
  assert.deepEqual(list.body, { items: [known], nextCursor: null });

  const plain = { name: 'Plain', scope: { type: 'account' } };
  const { body: made } = await room.call('POST /management/api-keys', { key: FIRST_KEY, body: plain });
  const { access, rateLimit, expiresAt } = made as unknown as Record<string, unknown>;
  assert.deepEqual([access, rateLimit, expiresAt], ['manage', null, null]);
});

test('a bad key is refused with what is wrong (§14.2)', async (context) => {
  const room = await startRoom(context);
  const good = { name: 'Good', scope: { type: 'account' } };
  const bodies: unknown[] = [
    undefined,
    { name: 'No scope' },
    { ...good, name: '' },
    { ...good, name: 'x'.repeat(256) },
    { ...good, scope: { type: 'project' } },
    { ...good, scope: { type: 'account', id: 1 } },
    { ...good, scope: { type: 'project', id: '1' } },
    { ...good, scope: { type: 'world' } },
    { ...good, access: 'all' },
    { ...good, rateLimit: { requestsPerMinute: 0 } },
    { ...good, rateLimit: 5 },
    { ...good, expiresAt: '2027-01-01' },
    { ...good, expiresAt: room.clock.time },
    { ...good, key: 'chosen-by-the-caller' },
  ];
  for (const body of bodies) {
    const answer = await room.call('POST /management/api-keys', { key: FIRST_KEY, body });
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.message, 'Your body params are not valid');
  }
});

test('a key makes keys of its own scope or below (§5.2 rule 6)', async (context) => {
  const room = await startRoom(context);
  const stranger = await room.projects.createAccount('Other');
  const otherAuthor = commandAuthor(stranger.id, 'test');
  const account: Scope = { type: 'account' };
  const group = (id: number): Scope => ({ type: 'project-group', id });
  const project = (id: number): Scope => ({ type: 'project', id });
  const keys = {
    account: FIRST_KEY,
    group: (await room.make(group(room.tools))).value,
    project: (await room.make(project(room.drills))).value,
    other: (await room.access.createKey(asWriter(otherAuthor), { name: 'Other', scope: account })).value,
  };
  const cases: [key: keyof typeof keys, scope: Scope, status: number][] = [
    ['account', account, 201],
    ['account', group(room.garden), 201],
    ['account', project(room.hoses), 201],
    ['account', project(999), 401],
    ['account', group(999), 401],
    ['group', account, 401],
    ['group', group(room.tools), 201],
    ['group', group(room.garden), 401],
    ['group', project(room.drills), 201],
    ['group', project(room.hoses), 401],
    ['project', account, 401],
    ['project', group(room.tools), 401],
    ['project', project(room.drills), 201],
    ['project', project(room.hoses), 401],
    ['other', project(room.drills), 401],
    ['other', group(room.tools), 401],
  ];
  for (const [by, scope, wanted] of cases) {
    const { status, body } = await room.call('POST /management/api-keys', {
      key: keys[by],
      body: { name: 'Made', scope },
    });
    assert.equal(status, wanted, `${by} makes ${JSON.stringify(scope)}: ${JSON.stringify(body)}`);
    if (wanted === 401) assert.equal(body.message, refused);
  }
});

test('a key sees and changes the keys of its scope and below; any other is 404 (§7.2 rule 4)', async (context) => {
  const room = await startRoom(context);
  const group = await room.make({ type: 'project-group', id: room.tools });
  const drills = await room.make({ type: 'project', id: room.drills });
  const hoses = await room.make({ type: 'project', id: room.hoses });
  const seen = async (key: string) => {
    const { body } = await room.call('GET /management/api-keys', { key });
    return body.items.map(({ id }) => id);
  };
  assert.deepEqual(await seen(FIRST_KEY), [1, group.id, drills.id, hoses.id]);
  assert.deepEqual(await seen(group.value), [group.id, drills.id]);
  assert.deepEqual(await seen(drills.value), [drills.id]);
  for (const id of [1, hoses.id, 999]) {
    const path = `/management/api-keys/${id}`;
    for (const line of [`GET ${path}`, `PATCH ${path}`, `DELETE ${path}`, `POST ${path}/rotate`]) {
      const body = line.startsWith('PATCH') ? { name: 'Mine' } : undefined;
      assert.equal((await room.call(line, { key: group.value, body })).status, 404, line);
    }
  }
});

test('no key gives more access than its own (§5.2 rule 6)', async (context) => {
  const room = await startRoom(context);
  const scope = { type: 'account' } as const;
  const { id: keyId } = await room.make(scope, { access: 'write' });
  const author = { accountId: 1, keyId, keyName: 'Writer', scope, access: 'write' } as const;
  await assert.rejects(room.access.createKey(asWriter(author), { name: 'More', scope }), {
    code: 'key_beyond_own',
  });
  const made = await room.access.createKey(asWriter(author), { name: 'Same', scope, access: 'write' });
  const change = { access: 'manage' } as const;
  await assert.rejects(room.access.changeKey(asWriter(author), made, change), { code: 'key_beyond_own' });
  await assert.rejects(room.access.changeKey(asWriter(author), { id: 1 }, { name: 'Mine' }), {
    code: 'key_beyond_own',
  });
  await assert.rejects(room.access.deleteKey(asWriter(author), { id: 1 }), { code: 'key_beyond_own' });
  await assert.rejects(room.access.rotateKey(asWriter(author), { id: 1 }, { overlapSeconds: 0 }), {
    code: 'key_beyond_own',
  });
  assert.equal(
    (await room.access.changeKey(asWriter(author), { id: made.id }, { access: 'read' })).access,
    'read',
  );
});

test('a key with a rate limit or an end makes no user, who has neither (§14.6 rule 1)', async (context) => {
  const room = await startRoom(context);
  const scope = { type: 'account' } as const;
  const limits = [{ rateLimit: { requestsPerMinute: 60 } }, { expiresAt: room.clock.time + 86_400_000 }];
  const authorOf = ({ id: keyId }: { id: number }) =>
    ({ accountId: 1, keyId, keyName: 'Any', scope, access: 'manage' }) as const;
  const invitation = { email: 'new@shop.example', role: 'viewer' } as const;
  for (const limit of limits) {
    const author = authorOf(await room.make(scope, limit));
    await assert.rejects(room.access.invite(asWriter(author), invitation), { code: 'key_beyond_own' });
  }
  const { email } = await room.access.invite(asWriter(authorOf(await room.make(scope))), invitation);
  assert.equal(email, invitation.email);
});

test('an owner who lost the role meanwhile changes no user and no invitation (§14.6)', async (context) => {
  const { access } = await startRoom(context);
  const visitor = { address: '192.0.2.1', origin: 'http://localhost', ...unknownBrowser };
  const signUp = async (email: string) => {
    const token = await access.makeOwnerLink(1, 'test');
    const person = { token, email, name: 'Anna', password: 'a long pass-phrase 7' };
    return await access.createOwner(person, visitor);
  };
  const { caller: former } = await signUp('former@example.com');
  const { caller: present } = await signUp('present@example.com');
  const invited = await access.invite(asWriter(former), { email: 'guest@example.com', role: 'viewer' });
  await access.changeUser(asWriter(present), { id: former.userId }, { role: 'editor' });

  for (const id of [present.userId, 9_999]) {
    const changes = [
      access.changeUser(asWriter(former), { id }, { role: 'viewer' }),
      access.deleteUser(asWriter(former), { id }),
      access.removePasskeysOf(asWriter(former), { id }),
    ];
    await Promise.all(changes.map((change) => assert.rejects(change, { code: 'role_refused' })));
  }
  const guest = { email: 'other@example.com', role: 'owner' } as const;
  await assert.rejects(access.invite(asWriter(former), guest), { code: 'role_refused' });
  await assert.rejects(access.deleteInvitation(asWriter(former), { id: invited.id }), {
    code: 'role_refused',
  });
  assert.equal((await access.listUsers(present, {})).items.length, 2);
});

test('no key takes its own limits away, nor gives wider ones to another (§5.2 rule 6)', async (context) => {
  const room = await startRoom(context);
  const day = 86_400_000;
  const expiresAt = room.clock.time + day;
  const rateLimit = { requestsPerMinute: 60 };
  const scope = { type: 'account' } as const;
  const own = await room.make(scope, { rateLimit, expiresAt });
  const open = await room.make(scope);
  const within = await room.make(scope, { rateLimit, expiresAt });
  const path = '/management/api-keys';
  const name = 'New';
  const higher = { requestsPerMinute: 61 };
  const refusals: [string, object][] = [
    [`POST ${path}`, { name, scope }],
    [`POST ${path}`, { name, scope, rateLimit }],
    [`POST ${path}`, { name, scope, expiresAt }],
    [`POST ${path}`, { name, scope, rateLimit: higher, expiresAt }],
    [`POST ${path}`, { name, scope, rateLimit, expiresAt: expiresAt + 1 }],
    ...[own.id, within.id, open.id].flatMap((id): [string, object][] => [
      [`PATCH ${path}/${id}`, { rateLimit: higher }],
      [`PATCH ${path}/${id}`, { expiresAt: expiresAt + 1 }],
    ]),
    ...[own.id, within.id].flatMap((id): [string, object][] => [
      [`PATCH ${path}/${id}`, { rateLimit: null }],
      [`PATCH ${path}/${id}`, { expiresAt: null }],
    ]),
    [`POST ${path}/${open.id}/rotate`, {}],
  ];
  for (const [line, body] of refusals) {
    const answer = await room.call(line, { key: own.value, body });
    const said = `${line} ${JSON.stringify(body)}`;
    assert.deepEqual([answer.status, answer.body.message], [401, refused], said);
    assert.match(answer.body.details?.join() ?? '', /^\/(rateLimit|expiresAt): a key (with|that)/, said);
  }
  const taken: [string, object, number][] = [
    [`POST ${path}`, { name, scope, rateLimit, expiresAt }, 201],
    [
      `POST ${path}`,
      { name, scope, rateLimit: { requestsPerMinute: 1 }, expiresAt: expiresAt - day / 2 },
      201,
    ],
    [`PATCH ${path}/${open.id}`, { name: 'Renamed' }, 200],
    [`PATCH ${path}/${open.id}`, { rateLimit, expiresAt }, 200],
    [`POST ${path}/${open.id}/rotate`, {}, 200],
    [`POST ${path}/${own.id}/rotate`, { overlapSeconds: 60 }, 200],
  ];
  for (const [line, body, status] of taken) {
    const answer = await room.call(line, { key: own.value, body });
    assert.equal(answer.status, status, `${line} ${JSON.stringify(answer.body)}`);
    if (status === 201) assert.ok((answer.body.expiresAt ?? Number.POSITIVE_INFINITY) <= expiresAt);
  }
  const freed = await room.call(`PATCH ${path}/${own.id}`, { key: FIRST_KEY, body: { rateLimit: null } });
  assert.equal(freed.body.rateLimit, null, 'a key without limits may');
});

test('a deleted or expired key is refused at once, and before that it is not (§5.1 rule 8)', async (context) => {
  const room = await startRoom(context);
  const scope: Scope = { type: 'project', id: room.drills };
  const expiring = await room.make(scope, { expiresAt: room.clock.time + 500 });
  room.clock.time += 499;
  assert.equal((await room.call(check, { key: expiring.value })).status, 200);
  room.clock.time += 1;
  const late = await room.call(check, { key: expiring.value });
  assert.deepEqual([late.status, late.body.message], [401, refused]);

  const deleted = await room.make(scope);
  assert.equal((await room.call(check, { key: deleted.value })).status, 200);
  const path = `/management/api-keys/${deleted.id}`;
  const answer = await room.call(`DELETE ${path}`, { key: FIRST_KEY });
  assert.deepEqual([answer.status, answer.body], [200, { status: 'success' }]);
  assert.equal((await room.call(check, { key: deleted.value })).status, 401);
  assert.equal((await room.call(`GET ${path}`, { key: FIRST_KEY })).status, 404);
});

test('a change of a key holds at once here and within a second elsewhere (§5.2)', async (context) => {
  const room = await startRoom(context);
  const made = await room.make({ type: 'account' });
  const list = () => room.call('GET /management/api-keys', { key: made.value });
  const path = `PATCH /management/api-keys/${made.id}`;
  assert.equal((await list()).status, 200);
  const changed = await room.call(path, { key: FIRST_KEY, body: { access: 'read', name: 'Reader' } });
  assert.deepEqual([changed.status, changed.body.name], [200, 'Reader']);
  assert.equal((await list()).status, 401);
  await room.call(path, { key: FIRST_KEY, body: { access: 'manage', expiresAt: room.clock.time + 9000 } });
  assert.equal((await list()).status, 200);
  const open = await room.call(path, { key: FIRST_KEY, body: { expiresAt: null, rateLimit: null } });
  assert.deepEqual([open.body.expiresAt, open.body.rateLimit], [null, null]);

  const elsewhere = createAccess({
    database: room.database,
    clock: room.clock,
    projects: createProjects({ database: room.database, clock: room.clock }),
  });
  await elsewhere.deleteKey(asWriter(room.author), { id: made.id });
  room.clock.time += 1000;
  assert.equal((await list()).status, 401);
});

test('rotation gives a new value; the old one works for the overlap (§14.2 rule 7)', async (context) => {
  const room = await startRoom(context);
  const properties = { access: 'read', rateLimit: { requestsPerMinute: 50 } } as const;
  const old = await room.make({ type: 'project', id: room.drills }, properties);
  const rotate = (id: number, body?: unknown) =>
    room.call(`POST /management/api-keys/${id}/rotate`, { key: FIRST_KEY, body });
  const works = async (key = '') => (await room.call(check, { key })).status === 200;

  const second = await rotate(old.id, { overlapSeconds: 60 });
  assert.equal(second.status, 200);
  const { id, key, name, rateLimit, expiresAt } = second.body;
  assert.notEqual(id, old.id);
  assert.deepEqual(
    { name, rateLimit, expiresAt },
    { name: old.name, rateLimit: properties.rateLimit, expiresAt: null },
  );
  room.clock.time += 59_999;
  assert.deepEqual([await works(old.value), await works(key)], [true, true]);
  room.clock.time += 1;
  assert.deepEqual([await works(old.value), await works(key)], [false, true]);

  const third = await rotate(id);
  assert.deepEqual([await works(key), await works(third.body.key)], [false, true]);
  assert.equal((await rotate(id)).status, 400, 'a key has one successor');
  for (const overlapSeconds of [-1, 604_801, 1.5, '60']) {
    assert.equal((await rotate(third.body.id, { overlapSeconds })).status, 400);
  }
  assert.equal(await works(third.body.key), true);
});

test('rotation never makes a key last longer than it would have (§14.2 rule 7)', async (context) => {
  const room = await startRoom(context);
  const expiresAt = room.clock.time + 10_000;
  const old = await room.make({ type: 'account' }, { expiresAt });
  const made = await room.access.rotateKey(asWriter(room.author), { id: old.id }, { overlapSeconds: 60 });
  assert.equal(made.expiresAt, expiresAt);
  assert.equal((await room.access.getKey(room.author, old.id)).expiresAt, expiresAt);
  room.clock.time = expiresAt;
  await assert.rejects(room.access.rotateKey(asWriter(room.author), { id: made.id }, { overlapSeconds: 0 }), {
    code: 'request_invalid',
  });
});

test('a limited key has n requests in 60 s from its first, then 429 (§5.3)', async (context) => {
  const room = await startRoom(context);
  const scope: Scope = { type: 'project', id: room.drills };
  const limited = await room.make(scope, { rateLimit: { requestsPerMinute: 2 } });
  const free = await room.make(scope);
  mock.timers.enable({ apis: ['Date'], now: room.clock.time });
  context.after(() => mock.timers.reset());
  /** PostgreSQL uses its own clock, so stored times are moved back instead. */
  const pass = async (ms: number) => {
    mock.timers.tick(ms);
    if (room.store.kind === 'postgres')
      await room.store.change(`update rate_window set expire = expire - ${ms}`);
  };
  const call = async () => {
    const { status, headers, body } = await room.call(check, { key: limited.value });
    return [status, headers.get('ratelimit'), headers.get('retry-after'), body.message];
  };
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);
  await pass(20_000);
  assert.deepEqual(await call(), [200, '"key";r=0;t=40', null, undefined]);
  assert.deepEqual(await call(), [429, '"key";r=0;t=40', '40', 'Too Many Requests']);
  // A running clock may have used some of the last second.
  const rest = room.store.kind === 'postgres' ? 1_000 : 1;
  await pass(40_000 - rest);
  assert.deepEqual(await call(), [429, '"key";r=0;t=1', '1', 'Too Many Requests']);
  await pass(rest);
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);

  const { headers } = await room.call(check, { key: limited.value });
  assert.equal(headers.get('ratelimit-policy'), '"key";q=2;w=60');
  const { headers: freeHeaders } = await room.call(check, { key: free.value });
  assert.deepEqual([freeHeaders.get('ratelimit'), freeHeaders.get('ratelimit-policy')], [null, null]);

  const body = { rateLimit: { requestsPerMinute: 4 } };
  await room.call(`PATCH /management/api-keys/${limited.id}`, { key: FIRST_KEY, body });
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);
});

test('when and how a key was used is known at once and written in one statement (§5.1 rule 3)', async (context) => {
  const room = await startRoom(context);
  const { id, value: key } = await room.make({ type: 'project', id: room.drills });
  const usedAt = async (access = room.access) => {
    const { lastUsedAt, usedInUrlAt } = await access.getKey(room.author, id);
    return [lastUsedAt, usedInUrlAt];
  };
  assert.deepEqual(await usedAt(), [null, null]);
  const firstAt = room.clock.time;
  await room.call(`${check}?apiKey=${key}`);
  room.clock.time += 5;
  await room.call(check, { key });
  assert.deepEqual(await usedAt(), [firstAt + 5, firstAt]);

  const { database, clock, projects } = room;
  const elsewhere = createAccess({ database, clock, projects });
  assert.deepEqual(await usedAt(elsewhere), [null, null]);
  await room.access.close();
  assert.deepEqual(await usedAt(elsewhere), [firstAt + 5, firstAt]);
  room.clock.time += 5;
  await room.call(check, { key });
  await room.access.close();
  assert.deepEqual(await usedAt(elsewhere), [firstAt + 10, firstAt]);
});

test('no value of a key is at rest in the store nor in the log (§5.1 rule 9, §5.2 rule 5)', async (context) => {
  const room = await startRoom(context);
  const body = { name: 'Shop', scope: { type: 'project', id: room.drills } };
  const made = await room.call('POST /management/api-keys', { key: FIRST_KEY, body });
  const rotated = await room.call(`POST /management/api-keys/${made.body.id}/rotate`, { key: FIRST_KEY });
  const values = [FIRST_KEY, made.body.key ?? '', rotated.body.key ?? ''];
  for (const value of values) await room.call(`${check}?apiKey=${value}&projectId=${room.drills}`);
  await room.access.close();

  const bytes = await room.store.readAll();
  assert.ok(bytes.includes('Shop'), 'the name is there, so the right bytes were read');
  const log = room.logged.join('');
  assert.match(log, /check-credentials/);
  for (const value of values) {
    assert.equal(value.length >= 32, true);
    assert.equal(bytes.includes(value), false);
    assert.equal(bytes.includes(value.slice(9)), false);
    assert.equal(log.includes(value), false);
  }
});

test('first starts that race make one account with one key (§10.2 rule 2)', async (context) => {
  const store = await makeTestStore();
  const clock = { now: () => 1_767_225_600_000 };
  const start = async () => {
    const storage = await store.open();
    const { database, postgres } = storage;
    const projects = createProjects({ database, clock });
    return { storage, projects, access: createAccess({ database, postgres, clock, projects }) };
  };
  const processes = [await start(), await start(), await start()];
  context.after(async () => {
    for (const { storage } of processes) await storage.close();
    await store.remove();
  });
  const [first] = processes;
  assert.ok(first !== undefined);
  assert.equal(await first.access.hasKeys(), false);
  const made = await Promise.all(processes.map(({ access }) => access.createFirstAccount()));
  const keys = made.filter((one) => one !== undefined);
  assert.equal(keys.length, 1);
  assert.equal(await first.access.hasKeys(), true);
  assert.deepEqual(await first.projects.findAccounts(), [{ id: 1, name: 'Main' }]);
  const caller = await first.access.findCaller({ value: keys[0]?.key ?? '', inUrl: false });
  assert.deepEqual(caller, {
    accountId: 1,
    keyId: 1,
    keyName: 'First key',
    scope: { type: 'account' },
    access: 'manage',
  });
  assert.equal(await first.access.createFirstAccount('a-key-that-comes-too-late-to-be-used'), undefined);
});

test('every change of a key is in the audit log, and never its value (§14.4)', async (context) => {
  const room = await startRoom(context);
  const caller = await room.access.findCaller({ value: FIRST_KEY, inUrl: false });
  const scope: Scope = { type: 'project', id: room.drills };
  const made = await room.access.createKey(asWriter(caller), { name: 'Shop', scope });
  await room.access.changeKey(asWriter(caller), { id: made.id }, { rateLimit: { requestsPerMinute: 5 } });
  const rotated = await room.access.rotateKey(asWriter(caller), { id: made.id }, { overlapSeconds: 60 });
  await room.access.deleteKey(asWriter(caller), { id: rotated.id });
  const { items } = await room.projects.listChanges(caller, { projectId: room.drills, limit: 4 });
  const subject = { type: 'api-key', id: made.id, name: 'Shop' };
  const untouched = { scope, access: 'manage', expiresAt: null, requestsPerMinute: null };
  assert.deepEqual(
    items.map(({ action, subject, details }) => ({ action, subject, details })),
    [
      { action: 'api-key.deleted', subject: { ...subject, id: rotated.id }, details: {} },
      {
        action: 'api-key.rotated',
        subject,
        details: { rotatedTo: rotated.id, oldValueEndsAt: room.clock.time + 60_000 },
      },
      { action: 'api-key.changed', subject, details: { requestsPerMinute: { from: null, to: 5 } } },
      { action: 'api-key.created', subject, details: untouched },
    ],
  );
  assert.ok(items.every(({ actor }) => actor.type === 'key' && actor.id === 1));
  const text = JSON.stringify((await room.projects.listChanges(caller, {})).items);
  for (const { value } of [made, rotated]) assert.equal(text.includes(value.slice(3)), false);
  assert.match(text, /"action":"api-key.created","subject":\{"type":"api-key","id":1,"name":"First key"\}/);
});

test('the keys of a group go with it, those of a project when it is purged (§14.2 rule 4)', async (context) => {
  const room = await startRoom(context);
  const ofGroup = await room.make({ type: 'project-group', id: room.garden });
  const ofProject = await room.make({ type: 'project', id: room.hoses });
  const find = async (value: string) => room.access.findCaller({ value, inUrl: false });
  await room.projects.deleteProject(asWriter(room.author), { id: room.hoses }, { confirm: 'Hoses' });
  assert.equal((await room.call(check, { key: ofProject.value })).status, 401, 'it reaches no project now');
  await room.projects.restoreProject(asWriter(room.author), { id: room.hoses });
  assert.equal((await room.call(check, { key: ofProject.value })).status, 200);
  await room.projects.deleteProject(asWriter(room.author), { id: room.hoses }, { confirm: 'Hoses' });
  room.clock.time += 30 * 24 * 3_600_000;
  await room.projects.purgeDeleted(async () => {});
  await assert.rejects(find(ofProject.value), { code: 'scope_refused' });
  await find(ofGroup.value);
  await room.projects.deleteGroup(asWriter(room.author), { id: room.garden });
  await assert.rejects(find(ofGroup.value), { code: 'scope_refused' });
});

test('a write of a key that is repeated is done once, and its value is not kept (§7.5)', async (context) => {
  const room = await startRoom(context);
  const headers = { 'idempotency-key': 'first-try' };
  const body = { name: 'Once', scope: { type: 'account' } };
  const create = () => room.call('POST /management/api-keys', { key: FIRST_KEY, headers, body });
  const { key, ...known } = (await create()).body;
  assert.match(key ?? '', /^rk_/);
  const again = await create();
  assert.deepEqual([again.status, again.body], [201, known]);
  const { body: list } = await room.call('GET /management/api-keys', { key: FIRST_KEY });
  assert.equal(list.items.length, 2);
  const rotate = (id: number) =>
    room.call(`POST /management/api-keys/${id}/rotate`, { key: FIRST_KEY, headers });
  assert.equal((await rotate(known.id)).status, 422, 'the same Idempotency-Key with another request');
});
