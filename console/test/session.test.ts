import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBarriers, startConsole } from './harness.ts';
import type { Service } from './service.ts';

const PASSWORD = 'a long and quiet river';

/** @returns the link for the first owner, which the start wrote to its log */
async function readOwnerLink(service: Service): Promise<string> {
  const [link] = /http[^"]+#\/welcome\/[^"]+/.exec(await service.untilLogged('#/welcome/')) ?? [];
  assert.ok(link, 'the log has the link');
  return link;
}

async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
}

test('the first owner comes by the link, invites an editor, and everybody signs in and out (§5.6, §14.5, §14.6)', async (t) => {
  const { open, service } = await startConsole(t);
  const link = await readOwnerLink(service);
  const owner = await open(link.slice(link.indexOf('#')));
  await fill(owner, { 'E-mail': 'ada@shop.example', Name: 'Ada', Password: PASSWORD });
  await owner.getByRole('button', { name: 'Create the owner' }).click();
  await owner.getByRole('heading', { name: 'Overview' }).waitFor();
  await owner.reload();
  await owner.getByRole('heading', { name: 'Overview' }).waitFor();

  await owner.getByRole('link', { name: 'Account' }).click();
  await owner.getByRole('button', { name: 'Invite somebody' }).click();
  await fill(owner, { 'E-mail': 'ben@shop.example' });
  await owner.getByRole('button', { name: 'Make the link' }).click();
  const invitation =
    (await owner.getByLabel('The link of the invitation', { exact: true }).textContent()) ?? '';
  assert.deepEqual(await findBarriers(owner), []);

  const editor = await open(invitation.slice(invitation.indexOf('#')));
  await fill(editor, { Name: 'Ben', Password: PASSWORD });
  await editor.getByRole('button', { name: 'Accept the invitation' }).click();
  await editor.getByRole('link', { name: 'Create the first project' }).click();
  await fill(editor, { Name: 'Shop DE' });
  await editor.getByRole('button', { name: 'Create the project' }).click();
  await editor.getByRole('button', { name: 'Make a key and put it in' }).click();
  await editor.getByText('shown here this once').waitFor();
  await editor.getByRole('button', { name: 'Load example products' }).click();
  await editor.getByText('Latest tasks').waitFor();
  assert.equal((await service.relata.tasks.list({ projectId: 1 })).tasks[0]?.origin, 'CONSOLE');

  await owner.reload();
  await owner.getByLabel('Role of Ben').selectOption('viewer');
  await editor.waitForTimeout(1_200);
  await editor.reload();
  await editor.getByRole('link', { name: 'Products' }).first().waitFor();
  await editor.getByRole('link', { name: 'Relations' }).click();
  await editor.getByRole('link', { name: 'Bits for this drill' }).waitFor();
  const offered = await editor.getByRole('link', { name: 'New relation' }).count();
  assert.equal(offered, 0, 'a viewer is not offered what would be refused');

  await editor.getByRole('button', { name: 'Sign out' }).click();
  await editor.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  await fill(editor, { 'E-mail': 'ben@shop.example', Password: 'wrong' });
  await editor.getByRole('button', { name: 'Sign in', exact: true }).click();
  await editor.getByRole('alert').waitFor();
  await fill(editor, { Password: PASSWORD });
  await editor.getByRole('button', { name: 'Sign in', exact: true }).click();
  await editor.getByRole('link', { name: 'Account' }).waitFor();
});

test('a password is changed, and all sessions end at once (§5.6)', async (t) => {
  const { open, service } = await startConsole(t);
  const link = await readOwnerLink(service);
  const page = await open(link.slice(link.indexOf('#')));
  await fill(page, { 'E-mail': 'ada@shop.example', Name: 'Ada', Password: PASSWORD });
  await page.getByRole('button', { name: 'Create the owner' }).click();
  await page.getByRole('link', { name: 'Account' }).click();
  await fill(page, { 'Current password': PASSWORD, 'New password': `${PASSWORD} again` });
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByText('The password is changed').waitFor();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('heading', { name: 'Sign in to Relata' }).waitFor();
  await fill(page, { 'E-mail': 'ada@shop.example', Password: `${PASSWORD} again` });
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: 'Account' }).waitFor();
});
