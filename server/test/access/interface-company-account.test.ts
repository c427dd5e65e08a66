// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Browser, PASSWORD } from '../support/browser.ts';
import { startCompanyProvider, visitProvider } from '../support/company-provider.ts';
import { addUser, isSignedIn, signUpOwner } from '../support/people.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

/** Signing in with a company account: docs/interface §5.7, with a real provider on loopback. */

const ORIGIN = 'http://relata.example';
const RETURN_URL = `${ORIGIN}/console/`;
const provider = await startCompanyProvider();
provider.register(RETURN_URL);
after(() => provider.close());

const rules = [
  { group: 'Relata admins', role: 'owner' },
  { group: 'Catalog team', role: 'editor' },
  { group: 'Everybody', role: 'viewer' },
  { group: 'Bike shop', role: 'editor', scope: { type: 'project-group', id: 1 } },
  { group: 'Bike shop', role: 'viewer', scope: { type: 'project', id: 4711 } },
  { group: 'Gone shop', role: 'viewer', scope: { type: 'project', id: 4711 } },
];
const service = shareService({
  settings: {
    RELATA_PUBLIC_URL: ORIGIN,
    RELATA_OIDC_ISSUER: provider.issuer,
    RELATA_OIDC_CLIENT_ID: provider.clientId,
    RELATA_OIDC_CLIENT_SECRET: provider.clientSecret,
    RELATA_OIDC_NAME: 'Example Inc.',
    RELATA_OIDC_ROLES: JSON.stringify(rules),
  },
});

/** A browser with one cookie for a sign-in attempt and one for the session, like real ones. */
class CompanyBrowser extends Browser {
  attempt: string | undefined;
  override headers = { origin: ORIGIN };

  constructor() {
    super(service().address);
  }

  async start(): Promise<string> {
    const answer = await this.call('POST', '/management/session/company-account/start');
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.match(
      this.setCookie ?? '',
      /^relata_sign_in=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=600$/,
    );
    this.attempt = this.cookie;
    this.cookie = undefined;
    return answer.body.url;
  }

  finish(query: string, { attempt = this.attempt, ...headers }: Record<string, string | undefined> = {}) {
    const cookie = [attempt, this.cookie].filter((cookiePart) => cookiePart !== undefined).join('; ');
    const sent = { cookie, ...headers } as Record<string, string>;
    return this.call('POST', '/management/session/company-account', { body: { query }, headers: sent });
  }

  /** Follows the sign-in from the button to the console. */
  async signIn(subject: string) {
    provider.signInAs(subject);
    return this.finish(await visitProvider(await this.start(), RETURN_URL));
  }
}

let people = 0;
function employ(...groups: string[]) {
  people += 1;
  const subject = `person-${people}`;
  const email = `${subject}@Company.example`;
  provider.people.set(subject, { email, name: `Person ${people}`, groups });
  return { subject, email: email.toLowerCase() };
}

const moveTo = (subject: string, ...groups: string[]) => {
  const person = provider.people.get(subject);
  assert.ok(person !== undefined);
  provider.people.set(subject, { ...person, groups });
};

test('the first sign-in with a company account creates a user with the role of its groups (§5.7 rules 3 and 5)', async () => {
  const { subject, email } = employ('Everybody', 'Catalog team', 'Others');
  const browser = new CompanyBrowser();
  const ways = await browser.succeed('GET', '/management/session/ways');
  assert.deepEqual(ways, { companyAccount: { name: 'Example Inc.' } });
  const answer = await browser.signIn(subject);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { id, ...user } = answer.body.user;
  assert.deepEqual(user, {
    email,
    name: 'Person 1',
    role: 'editor',
    roles: [],
    signsInWith: 'company-account',
  });
  const cookies = answer.headers.getSetCookie();
  assert.match(
    cookies[0] ?? '',
    /^relata_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
  );
  assert.match(cookies[1] ?? '', /^relata_sign_in=; .*Max-Age=0$/, 'a sign-in attempt works once');
  assert.equal(await isSignedIn(browser), 200);
  const made = await browser.call('POST', '/management/project-groups', { body: { name: 'By an editor' } });
  assert.equal(made.status, 201);
  assert.equal((await browser.call('GET', '/management/users')).status, 403);
  const log = await service().call('GET', `/management/audit-log?actor=user:${id}&action=user`);
  assert.deepEqual(log.body.items[0].details, { email, role: 'editor', by: 'company account' });
});

test('groups set the roles for project groups and projects again at each sign-in (§5.7 rule 5)', async () => {
  const { subject } = employ('Bike shop', 'Others');
  const browser = new CompanyBrowser();
  const roles = [{ scope: { type: 'project-group', id: 1 }, role: 'editor' }];
  const { user } = (await browser.signIn(subject)).body;
  assert.deepEqual([user.role, user.roles], ['none', roles], 'groups that do not exist are ignored');
  const { items } = await browser.succeed('GET', '/management/projects');
  assert.ok(
    items.length > 0 && items.every((entry: { projectGroupId: number }) => entry.projectGroupId === 1),
  );
  assert.equal(
    (await browser.call('POST', '/management/project-groups', { body: { name: 'x' } })).status,
    401,
  );
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const change = { body: { roles: [] } };
  const changed = await owner.browser.call('PATCH', `/management/users/${user.id}`, change);
  assertRefused(
    changed,
    409,
    'The groups of the company account determine the role of this user: change the groups at the sign-in provider',
  );
  moveTo(subject, 'Bike shop', 'Everybody');
  const both = (await new CompanyBrowser().signIn(subject)).body.user;
  assert.deepEqual([both.role, both.roles], ['viewer', roles]);
  moveTo(subject, 'Everybody');
  assert.deepEqual((await new CompanyBrowser().signIn(subject)).body.user.roles, []);
  moveTo(subject, 'Gone shop');
  const refused = await new CompanyBrowser().signIn(subject);
  assertRefused(refused, 403, 'Your company account has no role in this service');
});

test('a sign-in uses a code with PKCE, state and nonce, and contacts only the provider (§5.7 rule 3)', async () => {
  const url = new URL(await new CompanyBrowser().start());
  assert.equal(url.origin, provider.issuer);
  const wanted = ['response_type', 'client_id', 'redirect_uri', 'scope', 'code_challenge_method'] as const;
  assert.deepEqual(
    wanted.map((name) => url.searchParams.get(name)),
    ['code', 'relata', RETURN_URL, 'openid email profile', 'S256'],
  );
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.match(url.searchParams.get(name) ?? '', /^[\w-]{43}$/, name);
});

test('each sign-in derives the role from the groups again, and an account without a role is refused (§5.7 rules 5 and 6)', async () => {
  const { subject } = employ('Relata admins');
  const first = new CompanyBrowser();
  assert.equal((await first.signIn(subject)).body.user.role, 'owner');
  const { id } = (await first.succeed('GET', '/management/session')).user;
  moveTo(subject, 'Everybody');
  assert.equal(
    (await first.succeed('GET', '/management/session')).user.role,
    'owner',
    'until the next sign-in',
  );
  const second = new CompanyBrowser();
  assert.deepEqual((await second.signIn(subject)).body.user, {
    id,
    email: `${subject}@company.example`,
    name: `Person ${people}`,
    role: 'viewer',
    roles: [],
    signsInWith: 'company-account',
  });
  assert.equal((await first.succeed('GET', '/management/session')).user.role, 'viewer', 'in all sessions');
  moveTo(subject, 'Others');
  const refused = await new CompanyBrowser().signIn(subject);
  assertRefused(refused, 403, 'Your company account has no role in this service');
  assert.match(refused.body.details[0], /ask an owner/);
  assert.deepEqual([await isSignedIn(first), await isSignedIn(second)], [401, 401], 'their sessions end');
  const stranger = employ('Others');
  assertRefused(await new CompanyBrowser().signIn(stranger.subject), 403);
  const users = (await service().call('GET', '/management/users?limit=1000')).body.items;
  assert.ok(!users.some(({ email }: { email: string }) => email === stranger.email), 'no user was created');
});

test('an answer of the provider works once, and only in the browser that began the sign-in and from a page of the service (§5.7 rule 4)', async () => {
  const { subject } = employ('Everybody');
  provider.signInAs(subject);
  const browser = new CompanyBrowser();
  const query = await visitProvider(await browser.start(), RETURN_URL);
  const thief = new CompanyBrowser();
  await thief.start();
  const ended = 'This sign-in has ended or began in another window: begin it again in this window';
  assertRefused(await thief.finish(query), 400, ended);
  assertRefused(await new CompanyBrowser().finish(query), 400, ended);
  assertRefused(await browser.finish(query, { attempt: 'relata_sign_in=' }), 400, ended);
  assertRefused(await browser.finish('code=x&state=x'), 400, ended);
  const foreign = await browser.finish(query, { origin: 'https://evil.example' });
  assertRefused(foreign, 403, 'The request comes from another origin');
  const lured = await browser.call('POST', '/management/session/company-account/start', {
    headers: { origin: 'https://evil.example' },
  });
  assertRefused(lured, 403, 'The request comes from another origin');
  const state = new URLSearchParams(query).get('state') ?? '';
  const denied = await browser.finish(
    `error=access_denied&error_description=Not+today&state=${state}&iss=${provider.issuer}`,
  );
  assertRefused(denied, 401, 'The sign-in provider did not sign you in');
  assert.deepEqual(denied.body.details, ['Example Inc. answered: Not today']);
  const mixedUp = await browser.finish(query.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example'));
  assertRefused(mixedUp, 401, 'The sign-in provider did not sign you in');
  const planted = `relata_session=${'A'.repeat(43)}`;
  browser.cookie = planted;
  assert.equal((await browser.finish(query)).status, 200);
  assert.notEqual(browser.cookie, planted, 'session fixation');
  assertRefused(await browser.finish(query), 401, 'The sign-in provider did not sign you in');
});

test('an address that is not verified or belongs to a local user cannot sign in (§5.7 rule 7)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const local = await addUser(owner, 'viewer');
  provider.people.set('twin', { email: local.email, name: 'Twin', groups: ['Relata admins'] });
  const taken = await new CompanyBrowser().signIn('twin');
  assertRefused(taken, 409, 'A user with this e-mail address already exists');
  assert.equal(await isSignedIn(local.browser), 200);
  const groups = ['Everybody'];
  provider.people.set('claimed', { email: 'boss@company.example', name: 'C', groups, email_verified: false });
  const claimed = await new CompanyBrowser().signIn('claimed');
  assertRefused(claimed, 401, 'The sign-in provider did not sign you in');
  assert.match(claimed.body.details[0], /not verified/);
  provider.people.set('nameless', { email: '', name: '', groups });
  assertRefused(await new CompanyBrowser().signIn('nameless'), 401);
});

test('the last local owner cannot be removed, and only the groups set the role of a company account (§5.7 rules 6 and 8, §14.6 rule 3)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const { subject, email } = employ('Relata admins');
  const company = new CompanyBrowser();
  const { id } = (await company.signIn(subject)).body.user;
  const change = (userId: number, role: string) =>
    company.call('PATCH', `/management/users/${userId}`, { body: { role } });
  assertRefused(
    await change(id, 'viewer'),
    409,
    'The groups of the company account determine the role of this user: change the groups at the sign-in provider',
  );
  const { items } = await company.succeed('GET', '/management/users?limit=1000');
  const locals = items.filter(
    (user: { role: string; signsInWith: string }) => user.role === 'owner' && user.signsInWith === 'password',
  );
  for (const local of locals)
    if (local.id !== owner.id) assert.equal((await change(local.id, 'viewer')).status, 200);
  assertRefused(
    await change(owner.id, 'viewer'),
    409,
    'An account needs an owner who signs in with a password',
  );
  assertRefused(await company.call('DELETE', `/management/users/${owner.id}`), 409);
  const local = new Browser(service().address);
  local.headers = { origin: ORIGIN };
  for (const password of [PASSWORD, ' '])
    assertRefused(await local.call('POST', '/management/session', { body: { email, password } }), 401);
  const next = await company.call('POST', '/management/session/password', {
    body: { current: ' ', new: 'another Password 12' },
  });
  assertRefused(next, 400, 'The current password is wrong');
  await owner.browser.succeed('DELETE', `/management/users/${id}`);
  assert.equal(await isSignedIn(company), 401);
});

test('signing out returns the sign-out address of the provider, only for users of that provider (§5.7 rule 9)', async () => {
  const { subject } = employ('Everybody');
  const browser = new CompanyBrowser();
  await browser.signIn(subject);
  const { providerSignOutUrl, status } = await browser.succeed('DELETE', '/management/session');
  assert.equal(status, 'success');
  const url = new URL(providerSignOutUrl);
  assert.equal(url.origin, provider.issuer);
  assert.equal(url.searchParams.get('post_logout_redirect_uri'), RETURN_URL);
  assert.equal(url.searchParams.get('client_id'), 'relata');
  assert.equal((await fetch(url)).status, 200, 'the provider accepts it');
  assert.equal(await isSignedIn(browser), 401);
  const { browser: local } = await signUpOwner(service(), { origin: ORIGIN });
  assert.deepEqual(await local.succeed('DELETE', '/management/session'), { status: 'success' });
});

test('neither the log nor the store contains a secret of a sign-in (§5.7 rule 10)', async () => {
  const { subject } = employ('Everybody');
  provider.signInAs(subject);
  const browser = new CompanyBrowser();
  const query = await visitProvider(await browser.start(), RETURN_URL);
  await browser.finish(query);
  await browser.finish(query);
  const stored = await service().store.readAll();
  const log = service().log.join('\n');
  assert.match(log, /the sign-in provider refused a sign-in or failed/);
  const code = new URLSearchParams(query).get('code') ?? '';
  for (const secret of [provider.clientSecret, code, browser.attempt?.split('=')[1] ?? '']) {
    assert.ok(secret.length > 20);
    assert.ok(!log.includes(secret), 'in the log');
    assert.ok(!stored.includes(secret), 'in the store');
  }
});
