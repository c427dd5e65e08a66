// runs: test, postgres deep
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { CHECK, FIRST_KEY, REFUSED, startRoom } from '../../test/support/access-room.ts';
import { makeTestStore } from '../../test/support/test-store.ts';
import { createAccess } from '../access/access.ts';
import type { Scope } from '../kernel/caller.ts';
import { asWriter, createProjects } from '../projects/projects.ts';

const unknownBrowser = { userAgent: undefined, sessionValue: undefined };

test('a key is accepted as Bearer, bare or in the URL, and the header takes precedence (§5.1)', async (context) => {
  const room = await startRoom(context);
  const { value: key } = await room.make({ type: 'project', id: room.drills });
  const inUrl = `${CHECK}?apiKey=${key}`;
  const cases: { line: string; authorization?: string; message?: string; deprecated?: true }[] = [
    { line: CHECK, authorization: `Bearer ${key}` },
    { line: CHECK, authorization: `bearer ${key}` },
    { line: CHECK, authorization: key },
    { line: inUrl, deprecated: true },
    { line: inUrl, authorization: '', deprecated: true },
    { line: inUrl, authorization: 'Bearer', deprecated: true },
    { line: inUrl, authorization: 'Bearer rk_other', message: REFUSED },
    { line: `${CHECK}?apiKey=rk_other`, authorization: `Bearer ${key}` },
    { line: `${CHECK}?apiKey=rk_other`, message: REFUSED, deprecated: true },
    { line: CHECK, message: 'No token set' },
    { line: CHECK, authorization: '', message: 'No token set' },
    { line: CHECK, authorization: 'Bearer ', message: 'No token set' },
    { line: `${CHECK}?apiKey=`, message: 'No token set' },
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

test('check-credentials answers 200, or 401 for a project out of reach (§4.1 rule 3)', async (context) => {
  const room = await startRoom(context);
  const { value: key } = await room.make({ type: 'project', id: room.drills });
  const good = await room.call(`${CHECK}?apiKey=${key}&projectId=${room.drills}`);
  assert.deepEqual([good.status, good.body], [200, { status: 'success' }]);
  for (const projectId of [room.hoses, 999]) {
    const { status, body } = await room.call(`${CHECK}?projectId=${projectId}`, { key });
    assert.deepEqual([status, body.message], [401, REFUSED]);
  }
  const several = await room.call(CHECK, { key: FIRST_KEY });
  assert.deepEqual(
    [several.status, several.body],
    [200, { status: 'success' }],
    'without a project only the key is checked',
  );
});

test('management routes accept a key only in the header (§5.1 rule 5)', async (context) => {
  const room = await startRoom(context);
  const { status, body } = await room.call(`GET /management/api-keys?apiKey=${FIRST_KEY}`);
  assert.deepEqual([status, body.message], [401, 'No token set']);
  assert.equal((await room.call('GET /management/api-keys', { key: FIRST_KEY })).status, 200);
});

test('a key with a rate limit or an expiry cannot invite a user (§14.6 rule 1)', async (context) => {
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

test('a user who has lost the role owner cannot change users or invitations (§14.6)', async (context) => {
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

test('a key is accepted until the instant of its expiry or deletion (§5.1 rule 8)', async (context) => {
  const room = await startRoom(context);
  const scope: Scope = { type: 'project', id: room.drills };
  const expiring = await room.make(scope, { expiresAt: room.clock.time + 500 });
  room.clock.time += 499;
  assert.equal((await room.call(CHECK, { key: expiring.value })).status, 200);
  room.clock.time += 1;
  const late = await room.call(CHECK, { key: expiring.value });
  assert.deepEqual([late.status, late.body.message], [401, REFUSED]);

  const deleted = await room.make(scope);
  assert.equal((await room.call(CHECK, { key: deleted.value })).status, 200);
  const path = `/management/api-keys/${deleted.id}`;
  const answer = await room.call(`DELETE ${path}`, { key: FIRST_KEY });
  assert.deepEqual([answer.status, answer.body], [200, { status: 'success' }]);
  assert.equal((await room.call(CHECK, { key: deleted.value })).status, 401);
  assert.equal((await room.call(`GET ${path}`, { key: FIRST_KEY })).status, 404);
});

test('a change of a key takes effect immediately in this process and within a second in others (§5.2)', async (context) => {
  const room = await startRoom(context);
  const createdKey = await room.make({ type: 'account' });
  const list = () => room.call('GET /management/api-keys', { key: createdKey.value });
  const path = `PATCH /management/api-keys/${createdKey.id}`;
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
  await elsewhere.deleteKey(asWriter(room.author), { id: createdKey.id });
  room.clock.time += 1000;
  assert.equal((await list()).status, 401);
});

test('a key with a limit of n gets 429 after n requests within 60 s of its first request (§5.3)', async (context) => {
  const room = await startRoom(context);
  const scope: Scope = { type: 'project', id: room.drills };
  const limited = await room.make(scope, { rateLimit: { requestsPerMinute: 2 } });
  const free = await room.make(scope);
  mock.timers.enable({ apis: ['Date'], now: room.clock.time });
  context.after(() => mock.timers.reset());
  /** PostgreSQL uses its own clock, so the test moves the stored times back instead. */
  const pass = async (ms: number) => {
    mock.timers.tick(ms);
    if (room.store.kind === 'postgres')
      await room.store.change(`update rate_window set expire = expire - ${ms}`);
  };
  const call = async () => {
    const { status, headers, body } = await room.call(CHECK, { key: limited.value });
    return [status, headers.get('ratelimit'), headers.get('retry-after'), body.message];
  };
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);
  await pass(20_000);
  assert.deepEqual(await call(), [200, '"key";r=0;t=40', null, undefined]);
  assert.deepEqual(await call(), [429, '"key";r=0;t=40', '40', 'Too Many Requests']);
  // A part of the last second may have passed on a running clock.
  const rest = room.store.kind === 'postgres' ? 1_000 : 1;
  await pass(40_000 - rest);
  assert.deepEqual(await call(), [429, '"key";r=0;t=1', '1', 'Too Many Requests']);
  await pass(rest);
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);

  const { headers } = await room.call(CHECK, { key: limited.value });
  assert.equal(headers.get('ratelimit-policy'), '"key";q=2;w=60');
  const { headers: freeHeaders } = await room.call(CHECK, { key: free.value });
  assert.deepEqual([freeHeaders.get('ratelimit'), freeHeaders.get('ratelimit-policy')], [null, null]);

  const body = { rateLimit: { requestsPerMinute: 4 } };
  await room.call(`PATCH /management/api-keys/${limited.id}`, { key: FIRST_KEY, body });
  assert.deepEqual(await call(), [200, '"key";r=1;t=60', null, undefined]);
});

test('the last use of a key is shown immediately, and stored when access closes (§5.1 rule 3)', async (context) => {
  const room = await startRoom(context);
  const { id, value: key } = await room.make({ type: 'project', id: room.drills });
  const usedAt = async (access = room.access) => {
    const { lastUsedAt, usedInUrlAt } = await access.getKey(room.author, id);
    return [lastUsedAt, usedInUrlAt];
  };
  assert.deepEqual(await usedAt(), [null, null]);
  const firstAt = room.clock.time;
  await room.call(`${CHECK}?apiKey=${key}`);
  room.clock.time += 5;
  await room.call(CHECK, { key });
  assert.deepEqual(await usedAt(), [firstAt + 5, firstAt]);

  const { database, clock, projects } = room;
  const elsewhere = createAccess({ database, clock, projects });
  assert.deepEqual(await usedAt(elsewhere), [null, null]);
  await room.access.close();
  assert.deepEqual(await usedAt(elsewhere), [firstAt + 5, firstAt]);
  room.clock.time += 5;
  await room.call(CHECK, { key });
  await room.access.close();
  assert.deepEqual(await usedAt(elsewhere), [firstAt + 10, firstAt]);
});

test('neither the store nor the log contains the value of a key (§5.1 rule 9, §5.2 rule 5)', async (context) => {
  const room = await startRoom(context);
  const body = { name: 'Shop', scope: { type: 'project', id: room.drills } };
  const created = await room.call('POST /management/api-keys', { key: FIRST_KEY, body });
  const rotated = await room.call(`POST /management/api-keys/${created.body.id}/rotate`, { key: FIRST_KEY });
  const values = [FIRST_KEY, created.body.key ?? '', rotated.body.key ?? ''];
  for (const value of values) await room.call(`${CHECK}?apiKey=${value}&projectId=${room.drills}`);
  await room.access.close();

  const bytes = await room.store.readAll();
  assert.ok(bytes.includes('Shop'), 'the bytes contain the name of the key, so they are those of the store');
  const log = room.logged.join('');
  assert.match(log, /check-credentials/);
  for (const value of values) {
    assert.equal(value.length >= 32, true);
    assert.equal(bytes.includes(value), false);
    assert.equal(bytes.includes(value.slice(9)), false);
    assert.equal(log.includes(value), false);
  }
});

test('processes that start at the same time create one account with one key (§10.2 rule 2)', async (context) => {
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
  const created = await Promise.all(processes.map(({ access }) => access.createFirstAccount()));
  const keys = created.filter((firstKey) => firstKey !== undefined);
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
