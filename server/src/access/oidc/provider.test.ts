// runs: test
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../kernel/clock.ts';
import { readRoleRules } from '../../kernel/role-rules.ts';
import { createProvider, findRoles } from './oidc.ts';

const RETURN_URL = 'http://relata.example/console/';

const connect = (issuer: string) =>
  createProvider(
    {
      issuer,
      clientId: 'relata',
      clientSecret: 'a secret',
      name: 'Example',
      scopes: 'openid',
      groupsClaim: 'groups',
      roles: [],
    },
    systemClock,
  );

/** @returns the server's address */
async function answerWith(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const begin = (issuer: string) => connect(issuer).begin('attempt', RETURN_URL);

/** @returns the metadata of a provider with this issuer, changed by `other` */
const describe = (issuer: string, other: object = {}) =>
  JSON.stringify({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    ...other,
  });

test('a provider that is unreachable, redirects or answers endlessly is refused in bounded memory (§5.7 rule 10)', async (t) => {
  let requests = 0;
  const unreachable = await answerWith(t, (request) => request.socket.destroy());
  await assert.rejects(begin(unreachable), { code: 'provider_unavailable' });
  const elsewhere = await answerWith(t, (_, response) => {
    requests += 1;
    response.writeHead(302, { location: `${unreachable}/` }).end();
  });
  await assert.rejects(begin(elsewhere), { code: 'provider_refused' });
  assert.equal(requests, 1, 'the redirect is not followed');
  let sentBytes = 0;
  const endless = await answerWith(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(65_536))) sentBytes += 65_536;
      response.once('drain', more);
    };
    more();
  });
  await assert.rejects(begin(endless), { code: 'provider_unavailable' });
  assert.ok(sentBytes < 64 * 1024 * 1024, `${sentBytes} bytes were sent`);
});

test('the metadata of a provider is fetched once and must have its own issuer and https addresses (§5.7 rule 10)', async (t) => {
  let requests = 0;
  let changes: object = {};
  const issuer: string = await answerWith(t, (_, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(describe(issuer, changes));
  });
  const provider = connect(issuer);
  const urls = await Promise.all([1, 2, 3].map((number) => provider.begin(`attempt ${number}`, RETURN_URL)));
  assert.equal(requests, 1);
  assert.equal(new Set(urls).size, 3, 'each attempt has its own secrets');
  assert.equal(await provider.findSignOutUrl(RETURN_URL), undefined, 'the metadata has no sign-out address');
  for (const endpoint of ['http://provider.example/auth', 'javascript:alert(1)']) {
    changes = { authorization_endpoint: endpoint };
    await assert.rejects(begin(issuer), { code: 'provider_unavailable' }, endpoint);
  }
  changes = { issuer: 'https://other.example' };
  await assert.rejects(begin(issuer), { code: 'provider_refused' });
});

test('a user gets the highest role of their groups, and a star matches every user (§5.7 rule 5)', () => {
  const rules = readRoleRules(
    '[{"group":"a","role":"viewer"},{"group":"b","role":"owner"},{"group":"c","role":"editor"}]',
  );
  assert.ok(rules);
  const none = { role: 'none', roles: [] };
  assert.deepEqual(findRoles(rules, ['a', 'b', 'c']), { role: 'owner', roles: [] });
  assert.deepEqual(findRoles(rules, ['c', 'a', 'x']), { role: 'editor', roles: [] });
  assert.deepEqual(findRoles(rules, ['x', '*', 'A']), none);
  assert.equal(findRoles([...rules, { group: '*', role: 'viewer' }], []).role, 'viewer');
  const [shop, project] = [{ type: 'project-group', id: 2 } as const, { type: 'project', id: 2 } as const];
  const parts = readRoleRules(
    JSON.stringify([
      { group: 'a', role: 'editor', scope: shop },
      { group: '*', role: 'viewer', scope: shop },
      { group: 'a', role: 'viewer', scope: project },
    ]),
  );
  assert.deepEqual(findRoles(parts ?? [], ['a']), {
    role: 'none',
    roles: [
      { scope: shop, role: 'editor' },
      { scope: project, role: 'viewer' },
    ],
  });
  assert.deepEqual(findRoles(parts ?? [], []).roles, [{ scope: shop, role: 'viewer' }]);
  for (const bad of [
    '',
    '{}',
    '[]',
    '[null]',
    '[{"group":"a"}]',
    '[{"group":"","role":"owner"}]',
    '[{"group":"a","role":"admin"}]',
    '[{"group":"a","role":"owner","x":1}]',
    '[{"group":"a","role":"none"}]',
    '[{"group":"a","role":"owner","scope":{"type":"project","id":1}}]',
    '[{"group":"a","role":"editor","scope":{"type":"account"}}]',
    '[{"group":"a","role":"editor","scope":{"type":"project","id":0}}]',
    '[{"group":"a","role":"editor","scope":{"type":"project","id":1,"x":1}}]',
    '[{"group":"a","role":"editor","scope":null}]',
  ])
    assert.equal(readRoleRules(bad), undefined, bad);
});
