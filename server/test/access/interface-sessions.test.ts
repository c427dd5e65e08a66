// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Browser, PASSWORD } from '../support/browser.ts';
import { addUser, isSignedIn, signIn, signUpOwner } from '../support/people.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

/** Users list and end their own sessions: docs/interface §5.6 rule 13, over HTTP. */

const service = shareService();
const WEEK_MS = 7 * 24 * 3_600_000;

test('without a provider the sign-in page does not offer company accounts (§5.7 rule 1)', async () => {
  const browser = new Browser(service().address);
  assert.deepEqual(await browser.succeed('GET', '/management/session/ways'), { companyAccount: null });
  const absent = 'Sign-in with company accounts is not configured';
  const path = '/management/session/company-account';
  assertRefused(await browser.call('POST', `${path}/start`), 404, absent);
  assertRefused(await browser.call('POST', path, { body: { query: 'code=x&state=x' } }), 404, absent);
});

test('a user lists their own sessions and ends one or all of the others (§5.6 rule 13)', async () => {
  const owner = await signUpOwner(service());
  const stranger = await addUser(owner, 'viewer');
  const name = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const second = new Browser(service().address);
  second.headers = { 'user-agent': `${name} ${'x'.repeat(300)}` };
  await second.succeed('POST', '/management/session', { email: owner.email, password: PASSWORD });
  const third = (await signIn(service(), owner.email)).browser;

  const list = async (browser: Browser) => (await browser.succeed('GET', '/management/sessions')).items;
  const all = await list(owner.browser);
  assert.deepEqual(
    all.map(({ isCurrent }: { isCurrent: boolean }) => isCurrent),
    [true, false, false],
  );
  const [own, other] = all;
  assert.equal(other.address, '127.0.0.1');
  assert.equal(other.userAgent, `${name} ${'x'.repeat(300)}`.slice(0, 255));
  assert.equal(other.expiresAt - other.createdAt, WEEK_MS);
  assert.ok(other.usedAt >= other.createdAt);
  const page = await owner.browser.succeed('GET', '/management/sessions?limit=2');
  const rest = await owner.browser.succeed('GET', `/management/sessions?cursor=${page.nextCursor}`);
  assert.deepEqual([...page.items, ...rest.items], all);

  const end = (browser: Browser, id: number, options = {}) =>
    browser.call('DELETE', `/management/sessions/${id}`, options);
  assert.equal((await end(stranger.browser, other.id)).status, 404, 'a session of another user is not found');
  assertRefused(await end(owner.browser, other.id, { csrf: null }), 403, /X-CSRF-Token/);
  assert.equal((await end(owner.browser, other.id)).status, 200);
  assert.deepEqual([await isSignedIn(second), await isSignedIn(third)], [401, 200]);
  assert.equal((await end(owner.browser, other.id)).status, 404, 'it has ended already');

  await owner.browser.succeed('DELETE', '/management/sessions?others=true');
  assert.deepEqual(
    [await isSignedIn(third), await isSignedIn(owner.browser), await isSignedIn(stranger.browser)],
    [401, 200, 200],
  );
  assert.deepEqual(
    (await list(owner.browser)).map(({ id }: { id: number }) => id),
    [own.id],
  );
  const { items } = await owner.browser.succeed(
    'GET',
    `/management/audit-log?actor=user:${owner.id}&limit=2`,
  );
  assert.deepEqual(
    items.map(({ action, details }: { action: string; details: object }) => [action, details]),
    [
      ['user.other-sessions-ended', {}],
      ['user.session-ended', { session: other.id }],
    ],
  );
  assert.equal((await end(owner.browser, own.id)).status, 200);
  assert.match(owner.browser.setCookie ?? '', /^relata_session=; .*Max-Age=0$/);
});
