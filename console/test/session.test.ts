// runs: long, slow
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { findBarriers, makeExamplePipeline, makeExampleProject, startConsole } from './harness.ts';
import { enterAsOwner, enterInvited, fill } from './people.ts';
import { listViews, showView } from './views.ts';

const PROVIDER = join(import.meta.dirname, '../../server/test/support/company-provider-process.ts');

test('the first owner signs up by a link and invites an editor, and both sign in and out (§5.6, §14.5, §14.6)', async (t) => {
  const console = await startConsole(t);
  const { service } = console;
  const { page: owner, password } = await enterAsOwner(console);
  await owner.reload();
  await owner.getByRole('button', { name: 'Your menu' }).waitFor();

  await owner.getByRole('link', { name: 'Account' }).click();
  await owner.getByRole('button', { name: 'Invite a user' }).click();
  await fill(owner, { 'E-mail': 'ben@shop.example' });
  await owner.getByRole('button', { name: 'Create the link' }).click();
  const invitation =
    (await owner.getByLabel('The link of the invitation', { exact: true }).textContent()) ?? '';
  assert.deepEqual(await findBarriers(owner), []);

  const editor = await enterInvited(console, invitation, 'Ben');
  await editor.getByRole('link', { name: 'Create the first project' }).click();
  await fill(editor, { Name: 'Shop DE' });
  await editor.getByRole('button', { name: 'Create the project' }).click();
  await editor.getByText('For developers').click();
  await editor.getByRole('button', { name: 'Create a key and use it in' }).click();
  await editor.getByText('shown only now').waitFor();
  await editor.getByRole('button', { name: 'Load example products' }).click();
  await editor.getByText('The example products are loaded').first().waitFor();
  await editor.getByText('What needs attention').waitFor();
  assert.equal((await service.relata.tasks.list({ projectId: 1 })).tasks[0]?.origin, 'CONSOLE');

  await owner.reload();
  await owner.getByLabel('Role of Ben').selectOption('viewer');
  await editor.waitForTimeout(1_200);
  await editor.reload();
  await editor.getByRole('link', { name: 'Products' }).first().waitFor();
  await editor.getByRole('link', { name: 'Relations' }).click();
  await editor.getByRole('link', { name: 'Bits for this drill' }).waitFor();
  const offered = await editor.getByRole('link', { name: 'New relation' }).count();
  assert.equal(offered, 0, 'a viewer sees no action that would be refused');

  const group = await service.relata.projects.createGroup('Elsewhere');
  await service.relata.projects.create({ name: 'Shop FR', projectGroupId: group.id, locale: 'fr-FR' });
  await owner.reload();
  await owner.getByLabel('Role of Ben').selectOption('none');
  await owner.getByLabel('Add a project group or project').selectOption('Shop DE (project)');
  assert.deepEqual(await findBarriers(owner), []);
  await owner.getByRole('button', { name: 'Save the roles' }).click();
  await owner.getByText('editor in Shop DE (project)').waitFor();
  await editor.reload();
  await editor.getByRole('link', { name: 'New relation' }).first().waitFor();
  await editor.getByRole('link', { name: 'Projects' }).click();
  await editor.getByRole('link', { name: 'Shop DE' }).first().waitFor();
  assert.equal(await editor.getByText('Shop FR').count(), 0, 'a project without a role of the user');
  assert.equal(await editor.getByRole('button', { name: 'New project' }).count(), 0);

  await editor.getByRole('button', { name: 'Your menu' }).click();
  await editor.getByRole('menuitem', { name: 'Sign out' }).click();
  await editor.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  await fill(editor, { 'E-mail': 'ben@shop.example', Password: 'wrong' });
  await editor.getByRole('button', { name: 'Sign in', exact: true }).click();
  await editor.getByRole('alert').waitFor();
  await fill(editor, { Password: password });
  await editor.getByRole('button', { name: 'Sign in', exact: true }).click();
  await editor.getByRole('link', { name: 'Account' }).waitFor();
});

test('a user changes the password and ends all sessions (§5.6)', async (t) => {
  const { page, password } = await enterAsOwner(await startConsole(t));
  await page.getByRole('link', { name: 'Account' }).click();
  await fill(page, { 'Current password': password, 'New password': `${password} again` });
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByText('The password is changed').waitFor();
  // The user has a new session with a new CSRF token, so changes still work.
  await page.getByRole('button', { name: 'Invite a user' }).click();
  await fill(page, { 'E-mail': 'ben@shop.example' });
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByLabel('The link of the invitation', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  await fill(page, { 'E-mail': 'ada@shop.example', Password: `${password} again` });
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'Account' }).waitFor();
});

test('the account page lists the sessions and ends all other sessions (§5.6 rule 13)', async (t) => {
  const console = await startConsole(t);
  const { page, password } = await enterAsOwner(console);
  const elsewhere = await console.open();
  await fill(elsewhere, { 'E-mail': 'ada@shop.example', Password: password });
  await elsewhere.getByRole('button', { name: 'Sign in', exact: true }).click();
  await elsewhere.getByRole('link', { name: 'Account' }).waitFor();

  await page.getByRole('link', { name: 'Account' }).click();
  await page.getByText('this session').waitFor();
  await page.getByText('127.0.0.1').first().waitFor();
  assert.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: /^End the session of Chrome/ }).click();
  await page.getByRole('button', { name: 'End all other sessions' }).waitFor({ state: 'detached' });
  await elsewhere.getByRole('link', { name: 'Projects' }).click();
  await elsewhere.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
});

test('a passkey is added, required after the password, and removed by another owner (§5.8)', async (t) => {
  const console = await startConsole(t);
  const { page: owner, password } = await enterAsOwner(console);
  const { link = assert.fail('no link') } = await console.service.relata.users.invite(
    'cy@x.example',
    'viewer',
  );
  const page = await console.open();
  // Browsers do not create a passkey for an IP address.
  await page.goto(link.replace('127.0.0.1', 'localhost'));
  await fill(page, { Name: 'Cy', Password: password });
  await page.getByRole('button', { name: 'Accept the invitation' }).click();
  await page.getByRole('link', { name: 'Account' }).click();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await fill(page, { 'Name of the passkey': 'Stick' });
  assert.deepEqual(await findBarriers(page), []);
  const devices = await page.context().newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'usb', automaticPresenceSimulation: true },
  });
  await page.getByRole('button', { name: 'Create the passkey' }).click();
  await page.getByText('for localhost, never used').waitFor();
  const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
  assert.equal(credentials[0]?.rpId, 'localhost');

  const signIn = async () => {
    await page.getByRole('button', { name: 'Your menu' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await fill(page, { 'E-mail': 'cy@x.example', Password: password });
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  };
  await signIn();
  await page.getByRole('link', { name: 'Account' }).click();
  await page.getByText('for localhost').waitFor();
  assert.equal(await page.getByText('never used').count(), 0);

  await devices.send('WebAuthn.clearCredentials', { authenticatorId });
  await signIn();
  await page.getByRole('alert').getByText('No passkey was used').waitFor();
  await owner.getByRole('link', { name: 'Account' }).click();
  await owner.getByRole('button', { name: 'Remove the passkeys of Cy' }).click();
  await owner.getByRole('button', { name: 'Remove the passkeys of Cy' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'Account' }).waitFor();
});

test('a user signs in with a company account, and signing out also ends the session at the provider (§5.7)', async (t) => {
  const child = spawn(process.execPath, [PROVIDER], { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => child.kill());
  const [first] = await once(createInterface({ input: child.stdout }), 'line');
  const { issuer, clientId, clientSecret } = JSON.parse(first);
  const console = await startConsole(t, {
    RELATA_OIDC_ISSUER: issuer,
    RELATA_OIDC_CLIENT_ID: clientId,
    RELATA_OIDC_CLIENT_SECRET: clientSecret,
    RELATA_OIDC_NAME: 'Example Inc.',
    RELATA_OIDC_ROLES: '[{"group":"staff","role":"owner"}]',
  });
  const person = { email: 'cara@company.example', name: 'Cara', groups: ['staff'] };
  child.stdin.write(`${JSON.stringify({ returnUrl: `${console.service.url}/console/`, person })}\n`);
  const page = await console.open();
  await page.getByRole('button', { name: 'Sign in with Example Inc.' }).click();
  await page.getByRole('button', { name: 'Your menu' }).waitFor();
  assert.equal(page.url(), `${console.service.url}/console/`, 'the address keeps no part of the answer');
  await page.getByRole('link', { name: 'Account' }).click();
  await page.getByText('cara@company.example, company account').waitFor();
  assert.equal(await page.getByLabel('Current password').count(), 0);
  assert.deepEqual(await findBarriers(page), []);
  await page.getByRole('button', { name: 'Your menu' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${issuer}/**`);

  const denied = await console.open('?error=access_denied&state=made-up');
  await denied.getByRole('alert').getByText('This sign-in has ended').waitFor();
});

test('a user whose session has ended sees the sign-in (§5.6 rule 6)', async (t) => {
  const console = await startConsole(t);
  const { page } = await enterAsOwner(console);
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
});

/** How the labels of buttons that change something begin. */
const CHANGES =
  /^(New|Create|Save|Delete|Load|Build now|Make|Invite|Remove|Withdraw|Rotate|Undo|Restore|Commit|Cancel|Run|Add|Actions for)/;
/** Buttons for the viewer's own account. */
const OWN = ['Add a passkey'];
/** Removes a product from a question of fit, which is not stored. */
const ASKS = /^fit: Remove /;
/** Views with forms that show stored values. */
const HOLDS = ['attribute', 'settings', 'pipeline-edit', 'channel-edit'];
/** Views in which users with more access create or change something. */
const MADE = [
  ...['relation-new', 'project-new', 'api-key-new', 'endpoint-new', 'pipeline-new', 'channel-new'],
  'product-edit',
];

test('a viewer finds no button that changes something, not even by its address (§5.6 rule 2)', async (t) => {
  const console = await startConsole(t);
  const { relata } = console.service;
  await enterAsOwner(console);
  const id = await makeExampleProject(console.service);
  await makeExamplePipeline(console.service, id);
  const group = await relata.projects.createGroup('Old');
  const old = await relata.projects.create({ name: 'Old', projectGroupId: group.id, locale: 'de-DE' });
  await relata.projects.delete(old.id, 'Old');
  const { link = assert.fail('no link') } = await relata.users.invite('vi@shop.example', 'viewer');
  const page = await enterInvited(console, link, 'Vi');
  const seenButtons: string[] = [];
  let count = 0;
  for (const view of await listViews(relata, id)) {
    if (MADE.includes(view.name)) continue;
    await showView(page, view);
    const main = page.getByRole(view.name === 'attribute' ? 'dialog' : 'main');
    const typed = await main.locator('input:enabled:visible, textarea:enabled:visible').count();
    if (HOLDS.includes(view.name)) assert.equal(typed, 0, `${view.name} is read`);
    const offered = main.getByRole('button').or(main.getByRole('link'));
    const words = await offered.evaluateAll((all) =>
      all.map((element) => (element.getAttribute('aria-label') ?? element.textContent ?? '').trim()),
    );
    count += words.length;
    const names = words.filter((text) => CHANGES.test(text) && !OWN.includes(text));
    seenButtons.push(...names.map((text) => `${view.name}: ${text}`).filter((text) => !ASKS.test(text)));
  }
  assert.deepEqual(seenButtons, []);
  assert.ok(count > 50, `${count} buttons and links were looked at`);
  await page.goto(`${console.service.url}/console/#/projects/new`);
  await page.getByRole('heading', { name: 'Projects' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0, 'its address shows no action either');
  await page.goto(`${console.service.url}/console/#/projects/${id}/channels/new`);
  await page.getByText('would be left out').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Create' }).count(), 0, 'a channel is only previewed');
});
