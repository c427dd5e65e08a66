import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Service } from './service.ts';

/** The ways in which people sign in. */

interface Place {
  readonly service: Service;
  open(address: string): Promise<Page>;
}

export async function signInByKey(page: Page, key: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in with an API key' }).click();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('main').waitFor();
  await page.locator('.app-shell').waitFor();
}

const PASSWORD = 'a long and quiet river';

/** Narrows a list of products to identifiers with this prefix, by a suggestion of the search. */
export async function narrowByIdentifier(page: Page, text: string): Promise<void> {
  await page.getByLabel('Search', { exact: true }).fill(text);
  await page.getByRole('option', { name: /Identifier begins with/ }).click();
}

export async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
}

/**
 * Signs up as the first owner, Ada, with the link from the log of the start.
 * @returns her page and password
 */
export async function enterAsOwner({ open, service }: Place): Promise<{ page: Page; password: string }> {
  const [link] = /http[^"\s]+#\/welcome\/[^"\s]+/.exec(await service.untilLogged('#/welcome/')) ?? [];
  assert.ok(link, 'the log has the link');
  const page = await open(link.slice(link.indexOf('#')));
  await fill(page, { 'E-mail': 'ada@shop.example', Name: 'Ada', Password: PASSWORD });
  await page.getByRole('button', { name: 'Create the owner' }).click();
  await page.getByRole('button', { name: 'Your menu' }).waitFor();
  return { page, password: PASSWORD };
}

/**
 * Signs up with an invitation.
 * @returns the page of the new user
 */
export async function enterInvited({ open }: Pick<Place, 'open'>, link: string, name: string): Promise<Page> {
  const page = await open(link.slice(link.indexOf('#')));
  await fill(page, { Name: name, Password: PASSWORD });
  await page.getByRole('button', { name: 'Accept the invitation' }).click();
  await page.getByRole('button', { name: 'Your menu' }).waitFor();
  return page;
}
