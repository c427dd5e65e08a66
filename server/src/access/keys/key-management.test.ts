// runs: test, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK, FIRST_KEY, REFUSED, startRoom } from '../../../test/support/access-room.ts';
import type { Scope } from '../../kernel/caller.ts';
import { asWriter, commandAuthor } from '../../projects/projects.ts';

test('the management API refuses a key with access read or write (§5.2 rule 2)', async (context) => {
  const room = await startRoom(context);
  for (const access of ['read', 'write'] as const) {
    const { value: key } = await room.make({ type: 'account' }, { access });
    const { status, body } = await room.call('GET /management/api-keys', { key });
    assert.deepEqual([status, body.message], [401, REFUSED]);
  }
});

test('creating a key answers its fields, and its value only once (§14.2 rule 6)', async (context) => {
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
  const { key = '', ...fields } = body;
  assert.match(key, /^rk_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(fields, {
    id: fields.id,
    ...given,
    firstCharacters: key.slice(0, 8),
    createdAt: room.clock.time,
    lastUsedAt: null,
    usedInUrlAt: null,
    createdBy: { type: 'key', id: 1, name: 'First key' },
  });
  const path = `GET /management/api-keys/${fields.id}`;
  assert.deepEqual((await room.call(path, { key: FIRST_KEY })).body, fields);
  const list = await room.call('GET /management/api-keys?limit=1&cursor=1', { key: FIRST_KEY });
  assert.deepEqual(list.body, { items: [fields], nextCursor: null });

  const plain = { name: 'Plain', scope: { type: 'account' } };
  const { body: createdKey } = await room.call('POST /management/api-keys', { key: FIRST_KEY, body: plain });
  const { access, rateLimit, expiresAt } = createdKey;
  assert.deepEqual([access, rateLimit, expiresAt], ['manage', null, null]);
});

test('an invalid key is refused with 400 (§14.2)', async (context) => {
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

test('a key creates keys only within its own scope (§5.2 rule 6)', async (context) => {
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
  for (const [by, scope, expectedStatus] of cases) {
    const { status, body } = await room.call('POST /management/api-keys', {
      key: keys[by],
      body: { name: 'Made', scope },
    });
    assert.equal(status, expectedStatus, `${by} makes ${JSON.stringify(scope)}: ${JSON.stringify(body)}`);
    if (expectedStatus === 401) assert.equal(body.message, REFUSED);
  }
});

test('a key reads and changes only keys within its own scope; others are 404 (§7.2 rule 4)', async (context) => {
  const room = await startRoom(context);
  const group = await room.make({ type: 'project-group', id: room.tools });
  const drills = await room.make({ type: 'project', id: room.drills });
  const hoses = await room.make({ type: 'project', id: room.hoses });
  const listIds = async (key: string) => {
    const { body } = await room.call('GET /management/api-keys', { key });
    return body.items.map(({ id }) => id);
  };
  assert.deepEqual(await listIds(FIRST_KEY), [1, group.id, drills.id, hoses.id]);
  assert.deepEqual(await listIds(group.value), [group.id, drills.id]);
  assert.deepEqual(await listIds(drills.value), [drills.id]);
  for (const id of [1, hoses.id, 999]) {
    const path = `/management/api-keys/${id}`;
    for (const line of [`GET ${path}`, `PATCH ${path}`, `DELETE ${path}`, `POST ${path}/rotate`]) {
      const body = line.startsWith('PATCH') ? { name: 'Mine' } : undefined;
      assert.equal((await room.call(line, { key: group.value, body })).status, 404, line);
    }
  }
});

test('a key cannot give more access than its own (§5.2 rule 6)', async (context) => {
  const room = await startRoom(context);
  const scope = { type: 'account' } as const;
  const { id: keyId } = await room.make(scope, { access: 'write' });
  const author = { accountId: 1, keyId, keyName: 'Writer', scope, access: 'write' } as const;
  await assert.rejects(room.access.createKey(asWriter(author), { name: 'More', scope }), {
    code: 'key_beyond_own',
  });
  const createdKey = await room.access.createKey(asWriter(author), { name: 'Same', scope, access: 'write' });
  const change = { access: 'manage' } as const;
  await assert.rejects(room.access.changeKey(asWriter(author), createdKey, change), {
    code: 'key_beyond_own',
  });
  await assert.rejects(room.access.changeKey(asWriter(author), { id: 1 }, { name: 'Mine' }), {
    code: 'key_beyond_own',
  });
  await assert.rejects(room.access.deleteKey(asWriter(author), { id: 1 }), { code: 'key_beyond_own' });
  await assert.rejects(room.access.rotateKey(asWriter(author), { id: 1 }, { overlapSeconds: 0 }), {
    code: 'key_beyond_own',
  });
  assert.equal(
    (await room.access.changeKey(asWriter(author), { id: createdKey.id }, { access: 'read' })).access,
    'read',
  );
});

test('a key cannot widen its own limits or give wider limits to another key (§5.2 rule 6)', async (context) => {
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
    const description = `${line} ${JSON.stringify(body)}`;
    assert.deepEqual([answer.status, answer.body.message], [401, REFUSED], description);
    assert.match(
      answer.body.details?.join() ?? '',
      /^\/(rateLimit|expiresAt): a key (with|that)/,
      description,
    );
  }
  const accepted: [string, object, number][] = [
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
  for (const [line, body, status] of accepted) {
    const answer = await room.call(line, { key: own.value, body });
    assert.equal(answer.status, status, `${line} ${JSON.stringify(answer.body)}`);
    if (status === 201) assert.ok((answer.body.expiresAt ?? Number.POSITIVE_INFINITY) <= expiresAt);
  }
  const freed = await room.call(`PATCH ${path}/${own.id}`, { key: FIRST_KEY, body: { rateLimit: null } });
  assert.equal(freed.body.rateLimit, null, 'a key without limits can remove limits');
});

test('a rotation creates a new value, and the old value works until the overlap ends (§14.2 rule 7)', async (context) => {
  const room = await startRoom(context);
  const properties = { access: 'read', rateLimit: { requestsPerMinute: 50 } } as const;
  const old = await room.make({ type: 'project', id: room.drills }, properties);
  const rotate = (id: number, body?: unknown) =>
    room.call(`POST /management/api-keys/${id}/rotate`, { key: FIRST_KEY, body });
  const works = async (key = '') => (await room.call(CHECK, { key })).status === 200;

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
  assert.equal((await rotate(id)).status, 400, 'a key is rotated only once');
  for (const overlapSeconds of [-1, 604_801, 1.5, '60']) {
    assert.equal((await rotate(third.body.id, { overlapSeconds })).status, 400);
  }
  assert.equal(await works(third.body.key), true);
});

test('a rotation never extends the expiry of a key (§14.2 rule 7)', async (context) => {
  const room = await startRoom(context);
  const expiresAt = room.clock.time + 10_000;
  const old = await room.make({ type: 'account' }, { expiresAt });
  const rotatedKey = await room.access.rotateKey(
    asWriter(room.author),
    { id: old.id },
    { overlapSeconds: 60 },
  );
  assert.equal(rotatedKey.expiresAt, expiresAt);
  assert.equal((await room.access.getKey(room.author, old.id)).expiresAt, expiresAt);
  room.clock.time = expiresAt;
  await assert.rejects(
    room.access.rotateKey(asWriter(room.author), { id: rotatedKey.id }, { overlapSeconds: 0 }),
    {
      code: 'request_invalid',
    },
  );
});

test('the audit log has every change of a key and never its value (§14.4)', async (context) => {
  const room = await startRoom(context);
  const caller = await room.access.findCaller({ value: FIRST_KEY, inUrl: false });
  const scope: Scope = { type: 'project', id: room.drills };
  const createdKey = await room.access.createKey(asWriter(caller), { name: 'Shop', scope });
  await room.access.changeKey(
    asWriter(caller),
    { id: createdKey.id },
    { rateLimit: { requestsPerMinute: 5 } },
  );
  const rotated = await room.access.rotateKey(
    asWriter(caller),
    { id: createdKey.id },
    { overlapSeconds: 60 },
  );
  await room.access.deleteKey(asWriter(caller), { id: rotated.id });
  const { items } = await room.projects.listChanges(caller, { projectId: room.drills, limit: 4 });
  const subject = { type: 'api-key', id: createdKey.id, name: 'Shop' };
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
  for (const { value } of [createdKey, rotated]) assert.equal(text.includes(value.slice(3)), false);
  assert.match(text, /"action":"api-key.created","subject":\{"type":"api-key","id":1,"name":"First key"\}/);
});

test('the keys of a group are deleted with it, and those of a project when it is purged (§14.2 rule 4)', async (context) => {
  const room = await startRoom(context);
  const ofGroup = await room.make({ type: 'project-group', id: room.garden });
  const ofProject = await room.make({ type: 'project', id: room.hoses });
  const find = async (value: string) => room.access.findCaller({ value, inUrl: false });
  await room.projects.deleteProject(asWriter(room.author), { id: room.hoses }, { confirm: 'Hoses' });
  assert.equal((await room.call(CHECK, { key: ofProject.value })).status, 401, 'its project is deleted');
  await room.projects.restoreProject(asWriter(room.author), { id: room.hoses });
  assert.equal((await room.call(CHECK, { key: ofProject.value })).status, 200);
  await room.projects.deleteProject(asWriter(room.author), { id: room.hoses }, { confirm: 'Hoses' });
  room.clock.time += 30 * 24 * 3_600_000;
  await room.projects.purgeDeleted(async () => {});
  await assert.rejects(find(ofProject.value), { code: 'scope_refused' });
  await find(ofGroup.value);
  await room.projects.deleteGroup(asWriter(room.author), { id: room.garden });
  await assert.rejects(find(ofGroup.value), { code: 'scope_refused' });
});

test('a repeated request creates one key, and only the first answer has its value (§7.5)', async (context) => {
  const room = await startRoom(context);
  const headers = { 'idempotency-key': 'first-try' };
  const body = { name: 'Once', scope: { type: 'account' } };
  const create = () => room.call('POST /management/api-keys', { key: FIRST_KEY, headers, body });
  const { key, ...fields } = (await create()).body;
  assert.match(key ?? '', /^rk_/);
  const again = await create();
  assert.deepEqual([again.status, again.body], [201, fields]);
  const { body: list } = await room.call('GET /management/api-keys', { key: FIRST_KEY });
  assert.equal(list.items.length, 2);
  const rotate = (id: number) =>
    room.call(`POST /management/api-keys/${id}/rotate`, { key: FIRST_KEY, headers });
  assert.equal((await rotate(fields.id)).status, 422, 'the same Idempotency-Key with another request');
});
