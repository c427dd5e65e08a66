// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Authenticator } from '../support/authenticator.ts';
import { Browser, PASSWORD } from '../support/browser.ts';
import { signIn, signUpOwner } from '../support/people.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService, TestClock, type TestService } from '../support/test-service.ts';

/** Passkeys as second factor: docs/interface §5.8, over HTTP, with a simulated authenticator. */

const ORIGIN = 'http://relata.example';
const settings = { RELATA_PUBLIC_URL: ORIGIN };
const service = shareService({ settings });
const PATH = '/management/session/passkeys';
const ENDED = /^This sign-in has ended/;
const REFUSED = /^The passkey was not accepted/;

async function addPasskey(browser: Browser, name = 'Key ring') {
  const authenticator = new Authenticator(ORIGIN);
  const { challenge, rp } = await browser.succeed('POST', `${PATH}/start`);
  assert.equal(rp.id, 'relata.example');
  const body = { name, ...authenticator.make(challenge) };
  const { id } = await browser.succeed('POST', PATH, body);
  return { authenticator, id: id as number, body };
}

const newBrowser = (running: TestService) => {
  const browser = new Browser(running.address);
  browser.headers = { origin: ORIGIN };
  return browser;
};

/** @returns the challenge after the correct password */
async function begin(browser: Browser, email: string): Promise<string> {
  const { passkey } = await browser.succeed('POST', '/management/session', { email, password: PASSWORD });
  assert.ok(passkey !== undefined && browser.cookie === undefined, 'nobody is signed in yet');
  return passkey.challenge;
}

const finish = (browser: Browser, body: object) =>
  browser.call('POST', '/management/session/passkey', { body });

test('a sign-in requires the passkey after the password, and each passkey answer works once (§5.8)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const { authenticator, id, body } = await addPasskey(owner.browser);
  const { items } = await owner.browser.succeed('GET', PATH);
  assert.deepEqual([items[0].id, items[0].name, items[0].host], [id, 'Key ring', 'relata.example']);
  assert.ok(!JSON.stringify(items).includes(body.id));
  const browser = newBrowser(service());
  const challenge = await begin(browser, owner.email);
  const signature = authenticator.sign(challenge);
  const answer = await finish(browser, signature);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.user.id, owner.id);
  assert.equal((await browser.call('GET', '/management/session')).status, 200);
  assert.ok((await browser.succeed('GET', PATH)).items[0].usedAt > 0);
  assertRefused(await finish(newBrowser(service()), signature), 400, ENDED);
  const log = await browser.succeed('GET', `/management/audit-log?actor=user:${owner.id}`);
  const actions = log.items.map(({ action, details }: { action: string; details: { passkey?: string } }) =>
    `${action} ${details.passkey ?? ''}`.trim(),
  );
  assert.deepEqual(actions.slice(0, 2), ['user.signed-in Key ring', 'user.passkey-added Key ring']);
  await browser.succeed('DELETE', `${PATH}/${id}`);
  assert.equal((await browser.call('DELETE', `${PATH}/${id}`)).status, 404);
  assert.ok(
    (
      await newBrowser(service()).succeed('POST', '/management/session', {
        email: owner.email,
        password: PASSWORD,
      })
    ).csrfToken,
  );
});

test('a sign-in refuses a signature that is not from a passkey of this user for this attempt and this origin (§5.8)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const other = await signUpOwner(service(), { origin: ORIGIN });
  const { authenticator } = await addPasskey(owner.browser);
  const others = await addPasskey(other.browser);
  const browser = newBrowser(service());
  const attempt = () => begin(browser, owner.email);
  const stranger = Object.assign(new Authenticator(ORIGIN), { id: authenticator.id });
  const right = authenticator.sign(await attempt());
  const spoiled: ((challenge: string) => object)[] = [
    (challenge) => authenticator.sign(challenge, { origin: 'http://evil.example' }),
    (challenge) => authenticator.sign(challenge, { type: 'webauthn.create' }),
    (challenge) => authenticator.sign(challenge, { flags: 0 }),
    (challenge) => stranger.sign(challenge),
    (challenge) => others.authenticator.sign(challenge),
    (challenge) => ({ ...authenticator.sign(challenge), authenticatorData: right.authenticatorData }),
    (challenge) => ({ ...authenticator.sign(challenge), signature: 'AAAA' }),
  ];
  for (const spoil of spoiled) assertRefused(await finish(browser, spoil(await attempt())), 401, REFUSED);
  assertRefused(await finish(browser, { ...right, clientDataJSON: 'AAAA' }), 401, REFUSED);
  assertRefused(await finish(browser, authenticator.sign('made-up')), 400, ENDED);
  assertRefused(await finish(browser, { ...right, more: 1 }), 400);
  assertRefused(await finish(browser, { ...right, signature: 'A'.repeat(3_000) }), 400);
  authenticator.counter = 50;
  assert.equal((await finish(browser, authenticator.sign(await attempt()))).status, 200);
  browser.cookie = undefined;
  authenticator.counter = 49;
  const cloned = await finish(browser, authenticator.sign(await attempt()));
  assertRefused(cloned, 401, REFUSED);
  const foreign = await browser.call('POST', '/management/session/passkey', {
    body: right,
    headers: { origin: 'http://evil.example' },
  });
  assert.equal(foreign.status, 403);
});

test('a challenge expires after five minutes, at the sixth challenge, and when the password changes (§5.8)', async (t) => {
  const clock = new TestClock();
  const running = await startTestService(t, { clock, settings });
  const owner = await signUpOwner(running, { origin: ORIGIN });
  const { authenticator } = await addPasskey(owner.browser);
  const browser = newBrowser(running);
  const first = await begin(browser, owner.email);
  for (let index = 0; index < 5; index += 1) {
    clock.pass(1);
    await begin(browser, owner.email);
  }
  assertRefused(await finish(browser, authenticator.sign(first)), 400, ENDED);
  const late = await begin(browser, owner.email);
  clock.pass(5 * 60_000);
  assertRefused(await finish(browser, authenticator.sign(late)), 400, ENDED);
  const before = await begin(browser, owner.email);
  await owner.browser.succeed('POST', '/management/session/password', {
    current: PASSWORD,
    new: 'another Password 12',
  });
  assertRefused(await finish(browser, authenticator.sign(before)), 400, ENDED);
  await running.app.access.dropEnded();
});

test('only the user adds a passkey, with a challenge of that user, and at most ten (§5.8)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const other = await signUpOwner(service(), { origin: ORIGIN });
  const start = async (browser: Browser) => (await browser.succeed('POST', `${PATH}/start`)).challenge;
  const add = (browser: Browser, body: object, csrf?: null) =>
    browser.call('POST', PATH, { body: { name: 'x', ...body }, ...(csrf === null && { csrf }) });
  const made = async (spoil = {}) => new Authenticator(ORIGIN).make(await start(owner.browser), spoil);
  assertRefused(await add(other.browser, await made()), 400, ENDED);
  assertRefused(await add(owner.browser, await made({ origin: 'http://evil.example' })), 401, REFUSED);
  const certified = Buffer.from([0xa1, 0x63, 0x78, 0x35, 0x63, 0x80]);
  assertRefused(await add(owner.browser, await made({ statement: certified })), 401, REFUSED);
  assertRefused(await add(owner.browser, { ...(await made()), attestationObject: 'AAAA' }), 401, REFUSED);
  assert.equal((await add(owner.browser, await made(), null)).status, 403, 'without the CSRF token');
  const { body } = await addPasskey(owner.browser, 'one');
  assertRefused(await add(owner.browser, body), 400, ENDED);
  for (let index = 1; index < 10; index += 1) await addPasskey(owner.browser, `${index}`);
  const beyond = await owner.browser.call('POST', `${PATH}/start`);
  assertRefused(beyond, 400);
  assert.match(beyond.body.details[0], /at most 10 passkeys/);
  assert.equal((await service().call('GET', PATH)).status, 401, 'a key has no passkeys');
});

test('an owner can remove the passkeys of another user, and an owner link removes the passkeys of its owner (§5.8)', async () => {
  const owner = await signUpOwner(service(), { origin: ORIGIN });
  const other = await signUpOwner(service(), { origin: ORIGIN });
  await addPasskey(other.browser);
  const find = async () =>
    (await owner.browser.succeed('GET', '/management/users')).items.find(
      ({ id }: { id: number }) => id === other.id,
    );
  assert.equal((await find()).passkeys, 1);
  await owner.browser.succeed('DELETE', `/management/users/${other.id}/passkeys`);
  assert.equal((await find()).passkeys, 0);
  assert.equal((await owner.browser.call('DELETE', '/management/users/4711/passkeys')).status, 404);
  await addPasskey(other.browser);
  const back = await signUpOwner(service(), { origin: ORIGIN, email: other.email });
  assert.equal(back.id, other.id);
  assert.equal((await find()).passkeys, 0);
  await addPasskey(back.browser);
  await owner.browser.succeed('DELETE', `/management/users/${other.id}`);
  assert.equal((await signIn(service(), other.email)).answer.status, 403, 'from another origin');
});
