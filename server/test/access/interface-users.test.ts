// runs: test, slow (not on postgres: the rights of users; access.test.ts runs on both stores)
import assert from 'node:assert/strict';
import { argon2Sync, createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { ownerLinkUrl } from '../../src/access/users/users.ts';
import { asWriter, commandAuthor } from '../../src/projects/projects.ts';
import { Browser, PASSWORD } from '../support/browser.ts';
import { addUser, isSignedIn, nextEmail, signIn, signUpOwner, tokenOf } from '../support/people.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService, TestClock } from '../support/test-service.ts';

/** Users, sessions and invitations: docs/interface §5.6, §14.5 and §14.6, over HTTP. */

const service = shareService();
const HOUR_MS = 3_600_000;

test('an owner link creates an owner and signs them in (§5.6 rule 3, §14.5)', async (t) => {
  const running = await startTestService(t);
  assert.equal(await running.app.access.hasOwner(), false);
  const { browser, answer } = await signUpOwner(running, { email: 'Ada@Shop.example' });
  assert.deepEqual(answer.user, {
    id: answer.user.id,
    email: 'ada@shop.example',
    name: 'Ada',
    role: 'owner',
    roles: [],
    signsInWith: 'password',
  });
  assert.equal(answer.account.name, 'Main');
  assert.equal(await running.app.access.hasOwner(), true);
  const again = await browser.call('GET', '/management/session');
  assert.equal(again.status, 200);
  assert.deepEqual(again.body, answer, 'the CSRF token is the same after a reload');
});

test('an owner link works once, expires after an hour, and ends all other links of its account when used (§14.5)', async (t) => {
  const clock = new TestClock();
  const running = await startTestService(t, { clock });
  const [account] = await running.app.projects.findAccounts();
  const make = () => running.app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const use = (token: string) =>
    new Browser(running.address).call('POST', '/management/owner', {
      body: { token, email: nextEmail(), name: 'Ada', password: PASSWORD },
    });
  const old = await make();
  clock.pass(HOUR_MS);
  assertRefused(await use(old), 400, /^The link is not valid/);
  const [first, second] = [await make(), await make()];
  assert.equal((await use(first)).status, 200);
  for (const token of [first, second, 'unknown'])
    assertRefused(await use(token), 400, /^The link is not valid/);
});

test('if several owner links are used at the same time, only one of them creates an owner (§14.5)', async (t) => {
  const running = await startTestService(t);
  const [account] = await running.app.projects.findAccounts();
  const token = await running.app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      new Browser(running.address).call('POST', '/management/owner', {
        body: { token, email: nextEmail(), name: 'Ada', password: PASSWORD },
      }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 400).length, 4);
});

test('an owner link lets an owner who lost the password set a new one (§14.5 rule 4)', async () => {
  const owner = await signUpOwner(service());
  const editor = await addUser(owner, 'editor');
  const back = await signUpOwner(service(), { email: editor.email.toUpperCase() });
  assert.equal(back.id, editor.id);
  assert.equal(back.answer.user.role, 'owner');
  assert.equal(await isSignedIn(editor.browser), 401, 'all sessions have ended');
});

test('a user signs in with the address in upper or lower case, and signs out (§5.6)', async () => {
  const owner = await signUpOwner(service());
  const { browser, answer } = await signIn(service(), `  ${owner.email.toUpperCase()} `);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(await isSignedIn(browser), 200);
  const value = browser.cookie;
  assert.deepEqual(await browser.succeed('DELETE', '/management/session'), { status: 'success' });
  assert.match(browser.setCookie ?? '', /^relata_session=; .*Max-Age=0$/);
  browser.cookie = value;
  assertRefused(await browser.call('GET', '/management/session'), 401, 'You are not signed in');
  assert.equal(await isSignedIn(owner.browser), 200, 'other browsers stay signed in');
});

test('signing out everywhere ends all sessions of the user and of no other user (§5.6)', async () => {
  const owner = await signUpOwner(service());
  const other = await addUser(owner, 'viewer');
  const { browser } = await signIn(service(), owner.email);
  await browser.succeed('DELETE', '/management/sessions');
  assert.deepEqual(
    [await isSignedIn(browser), await isSignedIn(owner.browser), await isSignedIn(other.browser)],
    [401, 401, 200],
  );
});

test('the cookie is HttpOnly and SameSite=Strict, and with https also Secure and named __Host- (§5.6 rule 5)', async (t) => {
  const owner = await signUpOwner(service());
  assert.match(
    owner.browser.setCookie ?? '',
    /^relata_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
  );
  const behindProxy = await startTestService(t, {
    settings: { RELATA_PUBLIC_URL: 'https://relata.example/' },
  });
  const browser = new Browser(behindProxy.address);
  browser.headers = { origin: 'https://relata.example' };
  const token = await behindProxy.app.access.makeOwnerLink(1, 'test');
  const body = { token, email: 'ada@shop.example', name: 'Ada', password: PASSWORD };
  await browser.succeed('POST', '/management/owner', body);
  assert.match(
    browser.setCookie ?? '',
    /^__Host-relata_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=604800$/,
  );
  assert.equal(await isSignedIn(browser), 200);
  browser.cookie = browser.cookie?.replace('__Host-', '');
  assert.equal(await isSignedIn(browser), 401, 'a cookie that a neighbouring site could have set is ignored');
});

test('a cookie value set before the sign-in does not sign in afterwards (session fixation)', async () => {
  const owner = await signUpOwner(service());
  const browser = new Browser(service().address);
  const planted = `relata_session=${'A'.repeat(43)}`;
  browser.cookie = planted;
  await browser.succeed('POST', '/management/session', { email: owner.email, password: PASSWORD });
  assert.notEqual(browser.cookie, planted);
  const thief = new Browser(service().address);
  thief.cookie = planted;
  assert.equal(await isSignedIn(thief), 401);
});

test('signing in again ends the previous session of the browser (§5.6 rule 3)', async () => {
  const owner = await signUpOwner(service());
  const before = owner.browser.cookie;
  await owner.browser.succeed('POST', '/management/session', { email: owner.email, password: PASSWORD });
  const thief = new Browser(service().address);
  thief.cookie = before;
  assert.deepEqual([await isSignedIn(thief), await isSignedIn(owner.browser)], [401, 200]);
});

test('the session cookie is found among other cookies, and invented values are refused', async () => {
  const owner = await signUpOwner(service());
  const value = owner.browser.cookie ?? '';
  const ask = async (cookie: string) => {
    const browser = new Browser(service().address);
    browser.cookie = cookie;
    return isSignedIn(browser);
  };
  assert.equal(await ask(`a=1; ${value}; b=2`), 200);
  assert.equal(await ask(`x_${value}`), 401);
  assert.equal(await ask(`${value}x`), 401);
  assert.equal(await ask(`relata_session=`), 401);
  assert.equal(await ask(`relata_session=%00'"--`), 401);
  const hash = createHash('sha256')
    .update(value.split('=')[1] ?? '')
    .digest('hex');
  assert.equal(await ask(`relata_session=${hash}`), 401, 'the stored hash does not sign in');
});

test('a session expires 12 hours after its last use and 7 days after it began (§5.6 rule 6)', async (t) => {
  const clock = new TestClock();
  const running = await startTestService(t, { clock });
  const owner = await signUpOwner(running);
  const idle = await signIn(running, owner.email);
  for (let hours = 11; hours < 24 * 7; hours += 11) {
    clock.pass(11 * HOUR_MS);
    assert.equal(await isSignedIn(owner.browser), 200, `after ${hours} hours`);
    if (hours === 11) assert.equal(await isSignedIn(idle.browser), 200);
    if (hours === 33) assert.equal(await isSignedIn(idle.browser), 401, '22 hours without use');
    const { items } = await owner.browser.succeed('GET', '/management/sessions');
    assert.equal(items.length, hours < 33 ? 2 : 1, 'an ended session is not listed');
  }
  clock.pass(11 * HOUR_MS);
  assert.equal(await isSignedIn(owner.browser), 401, 'after 7 days');
  await running.app.access.dropEnded();
  const stored = await running.app.access.signIn(
    { email: owner.email, password: PASSWORD },
    { address: '127.0.0.1', origin: running.address, userAgent: undefined, sessionValue: undefined },
  );
  assert.ok('value' in stored && stored.value.length >= 43);
});

test('a change requires the CSRF token of its own session (§5.6 rule 7)', async () => {
  const owner = await signUpOwner(service());
  const { browser: other } = await signIn(service(), owner.email);
  const body = { name: 'Group' };
  for (const csrf of [null, '', 'wrong', other.csrfToken, `${owner.browser.csrfToken}x`]) {
    const answer = await owner.browser.call('POST', '/management/project-groups', { body, csrf });
    assertRefused(answer, 403, /X-CSRF-Token/);
  }
  for (const [method, path] of [
    ['DELETE', '/management/session'],
    ['DELETE', '/management/sessions'],
    ['POST', '/management/session/password'],
    ['POST', `/products?projectId=${service().projectId}`],
    ['POST', '/tasks/68c1f0a2b7d94e3f5a6b7c8d/cancel'],
    ['PATCH', `/management/users/${owner.id}`],
  ] as const) {
    const answer = await owner.browser.call(method, path, { body: {}, csrf: null });
    assertRefused(answer, 403, /X-CSRF-Token/);
  }
  assert.equal((await owner.browser.call('POST', '/management/project-groups', { body })).status, 201);
  assert.equal((await owner.browser.call('GET', '/management/projects', { csrf: null })).status, 200);
});

test('a page of another origin can neither use a session nor sign in (§5.6 rule 8)', async () => {
  const owner = await signUpOwner(service());
  const own = new URL(service().address);
  const foreign = [
    'https://evil.example',
    'null',
    `http://127.0.0.1:${Number(own.port) + 1}`,
    `http://127.0.0.1.evil.example:${own.port}`,
    `http://localhost:${own.port}`,
  ];
  for (const origin of foreign) {
    const headers = { origin };
    const read = await owner.browser.call('GET', '/management/session', { headers });
    assertRefused(read, 403, 'The request comes from another origin');
    const body = { email: owner.email, password: PASSWORD };
    const stranger = new Browser(service().address);
    const signedIn = await stranger.call('POST', '/management/session', { headers, body });
    assertRefused(signedIn, 403, 'The request comes from another origin');
    assert.equal(stranger.cookie, undefined);
    for (const path of ['/management/owner', '/management/invitations/accept'])
      assert.equal((await stranger.call('POST', path, { headers, body: {} })).status, 403);
  }
  const text = { origin: own.origin, 'content-type': 'text/plain' };
  assert.equal((await owner.browser.call('GET', '/management/session', { headers: text })).status, 200);
});

test('with RELATA_PUBLIC_URL only that origin is accepted, whatever Host contains (§5.6 rule 8)', async (t) => {
  const settings = { RELATA_PUBLIC_URL: 'http://relata.example' };
  const running = await startTestService(t, { settings });
  const token = await running.app.access.makeOwnerLink(1, 'test');
  const body = { token, email: 'ada@shop.example', name: 'Ada', password: PASSWORD };
  const browser = new Browser(running.address);
  assertRefused(
    await browser.call('POST', '/management/owner', { body }),
    403,
    'The request comes from another origin',
  );
  browser.headers = { origin: 'http://relata.example' };
  await browser.succeed('POST', '/management/owner', body);
  const wish = { email: 'eve@shop.example', role: 'viewer' };
  const { link } = await browser.succeed('POST', '/management/invitations', wish);
  assert.ok(link.startsWith('http://relata.example/console/#/invitation/'), link);
  assert.equal(ownerLinkUrl('http://a', 'b'), 'http://a/console/#/welcome/b');
});

test('an unknown address and a wrong password get the same answer after the same time (§5.6 rule 10)', async (t) => {
  const running = await startTestService(t, { settings: { RELATA_TRUSTED_PROXIES: '127.0.0.1' } });
  const { email } = await signUpOwner(running);
  let addresses = 0;
  async function measure(address: string, password: string): Promise<number> {
    const browser = new Browser(running.address);
    addresses += 1;
    browser.headers = { 'x-forwarded-for': `10.0.0.${addresses}` };
    const start = performance.now();
    const body = { email: address, password };
    const answer = await browser.call('POST', '/management/session', { body });
    assertRefused(answer, 401, 'The e-mail address or the password is wrong');
    assert.equal(answer.headers.getSetCookie().length, 0);
    return performance.now() - start;
  }
  const knownAddressTimes: number[] = [];
  const unknown: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    knownAddressTimes.push(await measure(email, 'a wrong password'));
    unknown.push(await measure(`nobody.${round}@shop.example`, 'a wrong password'));
  }
  const median = (times: number[]) => times.sort((a, b) => a - b)[7] ?? 0;
  const [a, b] = [median(knownAddressTimes), median(unknown)];
  t.diagnostic(`known ${a.toFixed(1)} ms, unknown ${b.toFixed(1)} ms`);
  // Without hashing, an unknown address takes about 3 ms, and with hashing about 50 ms.
  assert.ok(b > a / 2 && a > b / 2, `known ${a} ms, unknown ${b} ms`);
});

test('after ten attempts in 15 minutes even the right password is refused (§5.6 rule 9)', async (t) => {
  const clock = new TestClock();
  const settings = { RELATA_TRUSTED_PROXIES: '127.0.0.1' };
  const running = await startTestService(t, { clock, settings });
  const { email } = await signUpOwner(running);
  const tryIt = async (password: string, from: string, who = email) => {
    const browser = new Browser(running.address);
    browser.headers = { 'x-forwarded-for': from };
    return browser.call('POST', '/management/session', { body: { email: who, password } });
  };
  for (let count = 0; count < 9; count += 1) assert.equal((await tryIt('wrong', '10.0.0.1')).status, 401);
  assert.equal((await tryIt(PASSWORD, '10.0.0.1')).status, 200, 'a right password clears the count');
  const atOnce = await inRounds(
    25,
    async (attempt) => (await tryIt('wrong', `10.0.0.1:${5000 + attempt}`)).status,
  );
  assert.equal(
    atOnce.filter((status) => status === 401).length,
    10,
    'also with simultaneous attempts and other ports',
  );
  const refused = await tryIt(PASSWORD, '10.0.0.1');
  assertRefused(refused, 429, 'Too many attempts with a password: try again later');
  assert.equal(refused.headers.get('retry-after'), '900');
  assert.equal((await tryIt(PASSWORD, '10.0.0.2')).status, 200, 'another network may continue');
  assert.equal((await tryIt('wrong', '10.0.0.1', 'nobody@shop.example')).status, 401);
  clock.pass(15 * 60_000);
  assert.equal((await tryIt(PASSWORD, '10.0.0.1')).status, 200);
  await running.app.access.dropEnded();
});

test('attempts from one network and attempts for one user are limited separately (§5.6 rule 9)', async (t) => {
  const settings = { RELATA_TRUSTED_PROXIES: '127.0.0.1' };
  const running = await startTestService(t, { settings });
  const { email } = await signUpOwner(running);
  const tryIt = async (from: string, who: string) => {
    const browser = new Browser(running.address);
    browser.headers = { 'x-forwarded-for': from };
    const body = { email: who, password: 'wrong' };
    return (await browser.call('POST', '/management/session', { body })).status;
  };
  // One /64 of IPv6 is one network; each of its addresses tries another user.
  const sprayed = await inRounds(105, (attempt) =>
    tryIt(
      attempt % 2 ? `2001:db8:1:2::${attempt}` : `[2001:db8:1:2::${attempt}]:${5000 + attempt}`,
      `user${attempt}@x.example`,
    ),
  );
  assert.equal(sprayed.filter((status) => status === 401).length, 100);
  assert.equal(sprayed.filter((status) => status === 429).length, 5);
  assert.equal(await tryIt('2001:db8:1:3::1', 'user1@x.example'), 401, 'the next network');
  const distributed = await inRounds(105, (attempt) => tryIt(`10.1.${attempt}.1`, email));
  assert.equal(distributed.filter((status) => status === 401).length, 100);
  assert.equal(distributed.filter((status) => status === 429).length, 5);
});

async function inRounds(count: number, ask: (index: number) => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  for (let start = 0; start < count; start += 15) {
    const round = Array.from({ length: Math.min(15, count - start) }, (_, position) => ask(start + position));
    statuses.push(...(await Promise.all(round)));
  }
  return statuses;
}

test('changing the password ends all sessions and begins a new one (§5.6)', async () => {
  const owner = await signUpOwner(service());
  const { browser: other } = await signIn(service(), owner.email);
  const { browser } = owner;
  const before = { cookie: browser.cookie, csrf: browser.csrfToken };
  const change = (current: string, next: string) =>
    browser.call('POST', '/management/session/password', { body: { current, new: next } });
  assertRefused(await change('not it', 'another Password 12'), 400, 'The current password is wrong');
  for (const weak of ['short', 'aaaaaaaaaaaaaaaa', owner.email.toUpperCase()]) {
    assertRefused(await change(PASSWORD, weak), 400, 'Your body params are not valid');
  }
  const changed = await change(PASSWORD, 'another Password 12');
  assert.equal(changed.status, 200);
  assert.notEqual(browser.csrfToken, before.csrf);
  assert.equal(await isSignedIn(browser), 200);
  assert.equal(await isSignedIn(other), 401);
  const thief = new Browser(service().address);
  thief.cookie = before.cookie;
  assert.equal(await isSignedIn(thief), 401, 'a copy of the old cookie does not work');
  assert.equal((await signIn(service(), owner.email)).answer.status, 401);
  assert.equal((await signIn(service(), owner.email, 'another Password 12')).answer.status, 200);
});

test('attempts to guess the current password through a session are limited as well (§5.6 rule 9)', async () => {
  const { browser } = await signUpOwner(service());
  const change = () =>
    browser.call('POST', '/management/session/password', {
      body: { current: 'guessed', new: 'another Password 12' },
    });
  for (let count = 0; count < 10; count += 1) assert.equal((await change()).status, 400);
  assert.equal((await change()).status, 429);
});

test('neither logs nor tables contain passwords, session values or tokens (§5.6 rules 4 and 5)', async () => {
  const owner = await signUpOwner(service());
  const viewer = await addUser(owner, 'viewer');
  await signIn(service(), owner.email, 'wrong but Secret 99');
  await owner.browser.call('POST', '/management/session/password', {
    body: { current: PASSWORD, new: 'short Secret' },
  });
  await owner.browser.call('POST', '/management/session', { body: { email: 1, password: PASSWORD } });
  const stored = await service().store.readAll();
  const log = service().log.join('\n');
  const value = owner.browser.cookie?.split('=')[1] ?? '';
  const secrets = [PASSWORD, 'wrong but Secret 99', 'short Secret', value, owner.token, viewer.token];
  for (const secret of [...secrets, owner.browser.csrfToken]) {
    assert.ok(secret.length > 10);
    assert.ok(!log.includes(secret), 'in the log');
    assert.ok(!stored.includes(secret), 'in the store');
  }
  assert.ok(stored.includes('$argon2id$v=19$m=19456,t=2,p=1$'));
});

test('hashing passwords does not delay other requests', async () => {
  const owner = await signUpOwner(service());
  const start = performance.now();
  const settings = { nonce: randomBytes(16), parallelism: 1, tagLength: 32, memory: 19_456, passes: 2 };
  argon2Sync('argon2id', { message: PASSWORD, ...settings });
  const single = performance.now() - start;
  let longest = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(service(), owner.email)));
  clearInterval(ticking);
  assert.ok(answers.every(({ answer }) => answer.status === 200));
  assert.ok(longest < 4 * single, `busy for ${longest} ms, where one hash takes ${single} ms`);
});

test('a session is accepted in place of a key, and its tasks have the origin CONSOLE (§5.1 rule 11, §2.4)', async () => {
  const { browser } = await signUpOwner(service());
  const projectId = await service().createProject('By session');
  const project = `projectId=${projectId}`;
  const { data } = await browser.succeed('GET', '/projects');
  assert.ok(data.projects.some(({ id }: { id: number }) => id === projectId));
  const products = { products: [{ identifier: 'A', name: 'A' }] };
  const updated = await browser.succeed('POST', `/products?${project}`, products);
  await browser.succeed('POST', `/products/batch/initiate?${project}`);
  const uploaded = await browser.succeed('POST', `/products/batch/upload?${project}`, products);
  const started = await browser.succeed('POST', `/products/batch/start?${project}`);
  await browser.succeed('GET', `/tasks/${started.data.task.id}?wait=60`);
  const removed = await browser.succeed('DELETE', `/products?${project}`, { identifiers: ['A'] });
  await browser.succeed('GET', `/tasks/${removed.task.id}?wait=60`);
  const restored = await browser.succeed('POST', `/products/batch/restore?${project}`);
  for (const { task } of [updated, uploaded, started.data, removed, restored]) {
    assert.equal(task.origin, 'CONSOLE', task.name);
  }
  const ontology = { mode: 'own', attributes: [{ name: 'Length', type: 'TEXT_ATTRIBUTE' }] };
  await browser.succeed('PUT', `/management/projects/${projectId}/ontology`, ontology);
  const relation = { name: 'All', tag: 'all', source: { all: [] }, target: { all: [] } };
  await browser.succeed('POST', `/management/projects/${projectId}/relations`, relation);
  const { tasks } = await browser.succeed('GET', `/tasks?${project}`);
  for (const wanted of ['re-extraction', 'relation build']) {
    assert.ok(
      tasks.some(({ name }: { name: string }) => name === wanted),
      wanted,
    );
  }
  assert.deepEqual([...new Set(tasks.map(({ origin }: { origin: string }) => origin))], ['CONSOLE']);
  const byKey = await service().call('POST', `/products?${project}`, { body: products });
  assert.equal(byKey.body.task.origin, 'LIVE-API');
});

test('a key in the request takes precedence over the session (§5.1 rule 11)', async () => {
  const { browser } = await signUpOwner(service());
  const authorization = `Bearer ${service().key}`;
  const body = { name: 'By key' };
  const made = await browser.call('POST', '/management/project-groups', {
    body,
    csrf: null,
    headers: { authorization, origin: 'https://evil.example' },
  });
  assert.equal(made.status, 201, 'no token is needed, because the page had to have the key');
  const wrong = await browser.call('GET', '/management/projects', { headers: { authorization: 'Bearer x' } });
  assertRefused(wrong, 401, 'You are not allowed to access the requested resource');
  const alone = await service().call('GET', '/management/session');
  assertRefused(alone, 401, 'You are not signed in');
  const none = await new Browser(service().address).call('GET', '/management/projects');
  assertRefused(none, 401, 'No token set');
});

test('each role allows exactly the calls of its table (§5.6 rule 2)', async () => {
  const owner = await signUpOwner(service());
  const editor = await addUser(owner, 'editor');
  const viewer = await addUser(owner, 'viewer');
  const projectId = await service().createProject('By role');
  const project = `projectId=${projectId}`;
  const scope = { type: 'project', id: projectId };
  const relation = { name: 'All', tag: 'all', source: { all: [] }, target: { all: [] } };
  const { body: ownersKey } = await service().call('POST', '/management/api-keys', {
    body: { name: 'of the account', scope: { type: 'account' } },
  });
  const cases: [string, string, unknown, owner: number, editor: number, viewer: number][] = [
    ['GET', '/management/projects', undefined, 200, 200, 200],
    ['GET', '/management/api-keys', undefined, 200, 200, 200],
    ['GET', '/management/audit-log', undefined, 200, 200, 200],
    ['GET', `/management/projects/${projectId}/ontology`, undefined, 200, 200, 200],
    ['GET', `/management/projects/${projectId}/categories`, undefined, 200, 200, 200],
    ['GET', `/tasks?${project}`, undefined, 200, 200, 200],
    ['POST', `/product-service/products-by-sku?${project}`, { identifiers: ['A'] }, 200, 200, 200],
    ['POST', `/management/projects/${projectId}/relations/preview`, relation, 200, 200, 200],
    ['POST', `/management/projects/${projectId}/relations`, relation, 201, 201, 403],
    ['POST', '/management/project-groups', { name: 'x' }, 201, 201, 403],
    ['POST', `/products?${project}`, { products: [{ identifier: 'A', name: 'A' }] }, 200, 200, 403],
    ['POST', `/products/batch/initiate?${project}`, undefined, 200, 200, 403],
    ['PATCH', `/management/projects/${projectId}`, { tags: [] }, 200, 200, 403],
    ['POST', '/management/api-keys', { name: 'k', scope }, 201, 201, 403],
    ['POST', '/management/api-keys', { name: 'k', scope: { type: 'account' } }, 201, 403, 403],
    ['PATCH', `/management/api-keys/${ownersKey.id}`, { name: 'mine' }, 200, 403, 403],
    ['POST', `/management/api-keys/${ownersKey.id}/rotate`, {}, 200, 403, 403],
    ['DELETE', `/management/api-keys/${ownersKey.id}`, undefined, 200, 403, 403],
    ['GET', '/management/users', undefined, 200, 403, 403],
    ['GET', '/management/invitations', undefined, 200, 403, 403],
    ['POST', '/management/invitations', { email: nextEmail(), role: 'owner' }, 201, 403, 403],
    ['PATCH', `/management/users/${editor.id}`, { role: 'editor' }, 200, 403, 403],
    ['DELETE', `/management/users/${owner.id}`, undefined, 0, 403, 403],
    ['GET', '/metrics', undefined, 200, 403, 403],
  ];
  for (const [method, path, body, ...expected] of cases) {
    // The owner comes last, because the deletions by an owner are final.
    for (const [index, who] of [editor, viewer, owner].entries()) {
      const wanted = expected[(index + 1) % 3];
      if (wanted === 0) continue;
      const answer = await who.browser.call(method, path, { ...(body !== undefined && { body }) });
      assert.equal(answer.status, wanted, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      if (wanted === 403) assert.equal(answer.body.message, 'Your role does not allow this');
    }
  }
});

test('a changed role takes effect immediately, and a deleted user is signed out immediately (§5.6 rule 6, §14.6)', async () => {
  const owner = await signUpOwner(service());
  const user = await addUser(owner, 'viewer');
  const write = async () =>
    (await user.browser.call('POST', '/management/project-groups', { body: { name: 'x' } })).status;
  assert.equal(await write(), 403);
  const changed = await owner.browser.succeed('PATCH', `/management/users/${user.id}`, { role: 'editor' });
  assert.equal(changed.role, 'editor');
  assert.equal(await write(), 201);
  assert.equal((await user.browser.succeed('GET', '/management/session')).user.role, 'editor');
  await owner.browser.succeed('PATCH', `/management/users/${user.id}`, { role: 'viewer', name: 'New name' });
  assert.equal(await write(), 403);
  await owner.browser.succeed('DELETE', `/management/users/${user.id}`);
  assert.equal(await isSignedIn(user.browser), 401);
  assert.equal((await signIn(service(), user.email)).answer.status, 401);
  assert.equal((await owner.browser.call('DELETE', `/management/users/${user.id}`)).status, 404);
});

test('the last owner of an account cannot be removed (§14.6 rule 3)', async (t) => {
  const running = await startTestService(t);
  const first = await signUpOwner(running);
  const demote = (browser: Browser, id: number) =>
    browser.call('PATCH', `/management/users/${id}`, { body: { role: 'viewer' } });
  assertRefused(
    await demote(first.browser, first.id),
    409,
    'An account needs an owner who signs in with a password',
  );
  const gone = await first.browser.call('DELETE', `/management/users/${first.id}`);
  assertRefused(gone, 409, 'An account needs an owner who signs in with a password');
  const second = await addUser(first, 'owner');
  const answers = await Promise.all([
    demote(first.browser, second.id),
    demote(second.browser, first.id),
    first.browser.call('DELETE', `/management/users/${first.id}`),
  ]);
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, 'of three simultaneous requests');
  const { items } = (await running.call('GET', '/management/users')).body;
  assert.equal(items.filter(({ role }: { role: string }) => role === 'owner').length, 1);
});

test('an invitation creates one user, with its address and role (§14.6 rule 4)', async () => {
  const owner = await signUpOwner(service());
  const email = nextEmail();
  const made = await owner.browser.call('POST', '/management/invitations', {
    body: { email, role: 'editor' },
  });
  assert.equal(made.status, 201);
  const { link, ...invitation } = made.body;
  assert.ok(link.startsWith(`${service().address}/console/#/invitation/`), link);
  assert.equal(invitation.email, email.toLowerCase());
  assert.deepEqual(invitation.createdBy, { type: 'user', id: owner.id, name: 'Ada' });
  assert.equal(invitation.expiresAt - invitation.createdAt, 7 * 24 * HOUR_MS);
  const { items } = await owner.browser.succeed('GET', '/management/invitations');
  assert.deepEqual(
    items.find(({ id }: { id: number }) => id === invitation.id),
    invitation,
    'the list has no link',
  );
  const accept = (body: object) =>
    new Browser(service().address).call('POST', '/management/invitations/accept', { body });
  const given = { token: tokenOf(link), name: 'Eve', password: PASSWORD };
  const check = (token: string) =>
    new Browser(service().address).call('POST', '/management/links/check', { body: { token } });
  const shown = await check(given.token);
  assert.deepEqual(
    [shown.body.type, shown.body.role, shown.body.email],
    ['invitation', 'editor', email.toLowerCase()],
  );
  assert.equal((await accept({ ...given, password: 'short' })).status, 400);
  assert.equal((await accept({ ...given, role: 'owner' })).status, 400, 'no user names their own role');
  const accepted = await accept(given);
  assert.equal(accepted.body.user.role, 'editor');
  assertRefused(await check(given.token), 400, /^The link is not valid/);
  assert.equal(accepted.body.user.email, email.toLowerCase());
  assertRefused(await accept(given), 400, /^The link is not valid/);
  const again = await owner.browser.call('POST', '/management/invitations', {
    body: { email, role: 'owner' },
  });
  assertRefused(again, 409, 'A user with this e-mail address already exists');
});

test('an invitation ends when it is replaced, withdrawn or expired, or when the user who made it is removed (§14.6)', async (t) => {
  const clock = new TestClock();
  const running = await startTestService(t, { clock });
  const owner = await signUpOwner(running);
  const invite = async (by: Browser, email: string) =>
    by.succeed('POST', '/management/invitations', { email, role: 'viewer' });
  const accept = async ({ link }: { link: string }) =>
    new Browser(running.address).call('POST', '/management/invitations/accept', {
      body: { token: tokenOf(link), name: 'Eve', password: PASSWORD },
    });
  const replaced = await invite(owner.browser, 'eve@x.example');
  const withdrawn = await invite(owner.browser, 'EVE@x.example');
  await owner.browser.succeed('DELETE', `/management/invitations/${withdrawn.id}`);
  assert.equal((await owner.browser.call('DELETE', `/management/invitations/${withdrawn.id}`)).status, 404);
  const second = await addUser(owner, 'owner');
  const [demoted, deleted] = [second, await addUser(owner, 'owner')];
  const byDemoted = await invite(demoted.browser, 'a@x.example');
  const byDeleted = await invite(deleted.browser, 'b@x.example');
  await owner.browser.succeed('PATCH', `/management/users/${demoted.id}`, { role: 'editor' });
  await owner.browser.succeed('DELETE', `/management/users/${deleted.id}`);
  const late = await invite(owner.browser, 'c@x.example');
  for (const ended of [replaced, withdrawn, byDemoted, byDeleted]) {
    assertRefused(await accept(ended), 400, /^The link is not valid/);
  }
  clock.pass(7 * 24 * HOUR_MS);
  assertRefused(await accept(late), 400, /^The link is not valid/);
  await running.app.access.dropEnded();
});

test('a repeated invitation is answered without its link (§7.5 rule 7)', async () => {
  const owner = await signUpOwner(service());
  const other = await signUpOwner(service());
  const body = { email: nextEmail(), role: 'viewer' };
  const headers = { 'idempotency-key': 'invite once' };
  const first = await owner.browser.call('POST', '/management/invitations', { body, headers });
  const second = await owner.browser.call('POST', '/management/invitations', { body, headers });
  const { link: _, ...withoutLink } = first.body;
  assert.deepEqual(second.body, withoutLink);
  const byOther = await other.browser.call('POST', '/management/invitations', { body, headers });
  assert.ok(byOther.body.link, 'the idempotency key belongs to the user');
});

test('account keys manage users, and keys of smaller scope do not (§14.6 rule 1)', async () => {
  const owner = await signUpOwner(service());
  const { body: users } = await service().call('GET', '/management/users');
  const user = users.items.find(({ id }: { id: number }) => id === owner.id);
  const fields = [
    'id',
    'email',
    'name',
    'role',
    'roles',
    'createdAt',
    'signedInAt',
    'signsInWith',
    'passkeys',
  ];
  assert.deepEqual(Object.keys(user), fields);
  const scopes = [
    { scope: { type: 'project', id: service().projectId } },
    { scope: { type: 'account' }, access: 'write' },
  ];
  for (const wanted of scopes) {
    const { body: key } = await service().call('POST', '/management/api-keys', {
      body: { name: 'k', ...wanted },
    });
    for (const path of ['/management/users', '/management/invitations']) {
      assert.equal((await service().call('GET', path, { key: key.key })).status, 401);
    }
    const body = { email: nextEmail(), role: 'owner' };
    const options = { key: key.key, body };
    assert.equal((await service().call('POST', '/management/invitations', options)).status, 401);
  }
});

test('users neither see nor reach anything of another account (§5.6 rule 1)', async (t) => {
  const running = await startTestService(t);
  const owner = await signUpOwner(running);
  const guest = await addUser(owner, 'editor', 'guest@x.example');
  const { app, projectId } = running;
  const account = await app.projects.createAccount('Other');
  const { value: otherKey } = await app.access.createKey(asWriter(commandAuthor(account.id, 'test')), {
    name: 'other',
    scope: { type: 'account' },
  });
  const other = new Browser(running.address);
  const token = await app.access.makeOwnerLink(account.id, 'test');
  const given = { token, name: 'Bob', password: PASSWORD };
  const stolen = await other.call('POST', '/management/owner', { body: { ...given, email: owner.email } });
  assertRefused(stolen, 409, 'A user with this e-mail address already exists');
  await other.succeed('POST', '/management/owner', { ...given, email: 'bob@other.example' });
  assert.deepEqual((await other.succeed('GET', '/management/projects')).items, []);
  assert.deepEqual((await other.succeed('GET', '/projects')).data.projects, []);
  const { items } = await other.succeed('GET', '/management/users');
  assert.deepEqual(
    items.map(({ email }: { email: string }) => email),
    ['bob@other.example'],
  );
  assert.equal((await other.call('GET', `/management/projects/${projectId}`)).status, 404);
  assert.equal((await other.call('GET', `/tasks?projectId=${projectId}`)).status, 401);
  for (const id of [owner.id, guest.id]) {
    const body = { role: 'viewer' };
    assert.equal((await other.call('PATCH', `/management/users/${id}`, { body })).status, 404);
    assert.equal((await other.call('DELETE', `/management/users/${id}`)).status, 404);
  }
  const { id } = await owner.browser.succeed('POST', '/management/invitations', {
    email: 'new@x.example',
    role: 'viewer',
  });
  assert.equal((await other.call('DELETE', `/management/invitations/${id}`)).status, 404);
  const audit = await other.succeed('GET', '/management/audit-log');
  assert.ok(!JSON.stringify(audit).includes('shop.example'));
  // An invitation reveals nothing about the other account. Accepting it reveals the account to the owner of the link.
  const { link } = await other.succeed('POST', '/management/invitations', {
    email: guest.email,
    role: 'viewer',
  });
  const accepted = await new Browser(running.address).call('POST', '/management/invitations/accept', {
    body: { token: tokenOf(link), name: 'Eve', password: PASSWORD },
  });
  assertRefused(accepted, 409, 'A user with this e-mail address already exists');
  assert.equal((await running.call('GET', '/management/users', { key: otherKey })).body.items.length, 1);
});

test('the audit log names the user who made each change (§14.6 rule 7)', async (t) => {
  const running = await startTestService(t);
  const owner = await signUpOwner(running, { email: 'ada@shop.example' });
  const user = await addUser(owner, 'viewer', 'eve@shop.example');
  await owner.browser.succeed('PATCH', `/management/users/${user.id}`, { role: 'editor' });
  const { id } = await owner.browser.succeed('POST', '/management/invitations', {
    email: 'x@shop.example',
    role: 'viewer',
  });
  await owner.browser.succeed('DELETE', `/management/invitations/${id}`);
  await user.browser.succeed('POST', '/management/session/password', {
    current: PASSWORD,
    new: 'another Password 12',
  });
  await user.browser.succeed('DELETE', '/management/session');
  const { browser } = await signIn(running, user.email, 'another Password 12');
  await browser.succeed('DELETE', '/management/sessions');
  await owner.browser.succeed('DELETE', `/management/users/${user.id}`);
  await owner.browser.succeed('POST', '/management/project-groups', { name: 'Tools' });
  const scope = { type: 'account' };
  const key = await owner.browser.succeed('POST', '/management/api-keys', { name: 'Key', scope });
  assert.deepEqual(key.createdBy, { type: 'user', id: owner.id, name: 'Ada' });
  const { items } = await owner.browser.succeed('GET', '/management/audit-log');
  const lines = items
    .map(
      ({ action, actor }: { action: string; actor: { type: string; name: string } }) =>
        `${action} by ${actor.type} ${actor.name}`,
    )
    .reverse();
  assert.deepEqual(lines.slice(lines.indexOf('owner-link.created by command test')), [
    'owner-link.created by command test',
    'user.created by user Ada',
    'invitation.created by user Ada',
    'user.created by user Some viewer',
    'user.changed by user Ada',
    'invitation.created by user Ada',
    'invitation.deleted by user Ada',
    'user.password-changed by user Some viewer',
    'user.signed-out by user Some viewer',
    'user.signed-in by user Some viewer',
    'user.signed-out-everywhere by user Some viewer',
    'user.deleted by user Ada',
    'project-group.created by user Ada',
    'api-key.created by user Ada',
  ]);
  const changed = items.find(({ action }: { action: string }) => action === 'user.changed');
  assert.deepEqual(changed.details, { role: { from: 'viewer', to: 'editor' } });
  const text = JSON.stringify(items);
  assert.ok(!text.includes('argon2id') && !text.includes(PASSWORD));
});

test('the refusal of an invalid body names the field with the fault and does not quote its value (§7.4)', async () => {
  const browser = new Browser(service().address);
  const cases: [string, object, RegExp][] = [
    ['/management/session', { email: 'a@b' }, /password/],
    ['/management/session', { email: 'a@b\0', password: 'x' }, /\/email/],
    ['/management/session', { email: 'a@b', password: 'x', more: 1 }, /additional/],
    ['/management/session', { email: 'a@b', password: 'x'.repeat(257) }, /\/password .*256/],
    ['/management/owner', { token: 't', email: 'no address', name: 'A', password: PASSWORD }, /\/email/],
    ['/management/owner', { token: 't', email: 'a@b', name: '', password: PASSWORD }, /\/name/],
    [
      '/management/owner',
      { token: 't', email: 'a@b', name: 'A', password: 'elevenchars' },
      /\/password .*12/,
    ],
    ['/management/invitations/accept', { token: 't', name: 'A' }, /password/],
  ];
  for (const [path, body, problem] of cases) {
    const answer = await browser.call('POST', path, { body });
    assertRefused(answer, 400, 'Your body params are not valid');
    assert.match(answer.body.details.join(), problem);
    assert.ok(!JSON.stringify(answer.body).includes('elevenchars'));
  }
  const owner = await signUpOwner(service());
  const invite = { email: 'x@y.example', role: 'admin' };
  assert.equal((await owner.browser.call('POST', '/management/invitations', { body: invite })).status, 400);
  const { items, nextCursor } = await owner.browser.succeed('GET', '/management/users?limit=1');
  assert.equal(items.length, 1);
  assert.ok(nextCursor);
});
