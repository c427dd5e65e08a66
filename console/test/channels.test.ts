// runs: long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Console, makeExampleProject, startConsole, untilBuilt } from './harness.ts';

const MAPPING = {
  id: { field: 'identifier' },
  title: { field: 'name' },
  description: { field: 'name' },
  link: { field: 'productUrl' },
  image_link: { constant: 'https://pictures.example/none.jpg' },
  availability: { constant: 'in_stock' },
  price: { attribute: 'Price' },
} as const;
const GOOGLE = { name: 'Google', format: { type: 'google-merchant' }, mapping: MAPPING } as const;

test('channels in the console (§16)', async (t) => {
  const given = await startConsole(t);
  await t.test(
    'a channel is created with the suggested mapping, built, read and deleted',
    makeAndBuild(given),
  );
  await t.test(
    'the editor shows what products lack while the user edits, and shows mistakes at their fields',
    edit(given),
  );
  await t.test(
    'a build is delivered to a server, and the console never shows the password (§16.8)',
    deliver(given),
  );
  await t.test('changes of a channel by two users are merged without losing any (§7.6)', conflict(given));
});

const makeAndBuild =
  ({ enter, service }: Console) =>
  async () => {
    const id = await makeExampleProject(service, 'Made');
    const page = await enter(`#/projects/${id}/channels`);
    await page.getByRole('link', { name: 'New channel' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('For programs');
    await page.getByLabel('Format', { exact: true }).selectOption('ndjson');
    await page.getByText('Of 33 products, 33 would be published').waitFor();
    assert.equal(await page.getByLabel('Value of Chuck').inputValue(), 'Chuck', 'the ontology suggests it');
    await page.getByRole('button', { name: 'Relation', exact: true }).click();
    await page.getByLabel('Relation', { exact: true }).selectOption('tag:accessories');
    await page.getByLabel('Published as').selectOption('accessory');
    await page.getByRole('term').filter({ hasText: 'Accessories' }).first().waitFor();
    await page.getByRole('button', { name: 'Create the channel' }).click();

    await page.getByText('Nothing is published yet').waitFor();
    await page.getByRole('button', { name: 'Build now' }).click();
    await page.getByText(/^33 rows, \d+ related$/).waitFor();
    await page.getByText('finished', { exact: true }).waitFor();
    const shown = page.getByLabel('The URL of the channel', { exact: true });
    const first = (await shown.textContent()) ?? '';
    const rows = (await (await fetch(first)).text()).trim().split('\n');
    assert.deepEqual([rows.length, 'accessory' in JSON.parse(rows[0] ?? '')], [33, true]);

    await page.getByRole('button', { name: 'New URL …' }).click();
    await page.getByRole('button', { name: 'Create a new URL' }).click();
    await page.getByRole('dialog', { name: 'Change the URL of the channel' }).waitFor({ state: 'detached' });
    const second = (await shown.textContent()) ?? '';
    assert.deepEqual([(await fetch(first)).status, (await fetch(second)).status], [404, 200]);

    await page.getByRole('button', { name: 'Delete …' }).click();
    await page.getByRole('button', { name: 'Delete the channel' }).click();
    await page.getByText('No channel yet').waitFor();
  };

const edit =
  ({ enter, service }: Console) =>
  async () => {
    const id = await makeExampleProject(service, 'Edited');
    const { mapping, ...rest } = GOOGLE;
    const { price: _, ...incomplete } = mapping;
    const channel = await service.relata.channels.create(id, { ...rest, mapping: incomplete });
    const page = await enter(`#/projects/${id}/channels/${channel.id}/edit`);
    const missing = page.getByRole('list', { name: 'What is missing' });
    await missing.getByText('33 products lack it: the mapping has no such field').waitFor();
    await page.getByLabel('Source of price').selectOption('attribute');
    const price = page.getByLabel('Value of price');
    await price.fill('Cost');
    await price.press('Tab');
    await page.getByRole('button', { name: 'Save' }).click();
    await price.and(page.locator('[aria-invalid="true"]')).waitFor();
    await page.getByText('the ontology has no attribute "Cost"').first().waitFor();
    await price.fill('Price');
    await price.press('Tab');
    await page.getByText('Of 33 products, 33 would be published').waitFor();
    await page.getByLabel('Builds start').selectOption('change');
    await page.getByLabel('Seconds between two builds').fill('3600');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Google', exact: true }).waitFor();
    await page.getByText('after changes, every 3,600 seconds at most').waitFor();
    const ids = { projectId: id, channelId: channel.id };
    const { value } = await service.relata.channels.get(ids);
    assert.deepEqual(value.mapping, MAPPING, 'the other parts have not changed');
    const isBuilt = async () => (await service.relata.channels.get(ids)).value.lastBuild?.finishTime;
    while (!(await isBuilt())) await page.waitForTimeout(200);

    const unpriced = [{ identifier: 'BIT-1-04', attributes: { Price: null } }];
    await service.relata.products.change(unpriced, { projectId: id });
    await untilBuilt(service.relata, id);
    await page.getByRole('button', { name: 'Build now' }).click();
    await page.getByText('1 product left out').waitFor();
    await page.getByRole('link', { name: 'Report of the last build' }).click();
    await page.getByRole('cell', { name: 'price', exact: true }).waitFor();
    await page.getByText('lacks price, which google-merchant requires').waitFor();
  };

const deliver =
  ({ enter, service }: Console) =>
  async () => {
    const id = await makeExampleProject(service, 'Delivered');
    const { id: channelId } = await service.relata.channels.create(id, GOOGLE);
    const page = await enter(`#/projects/${id}/channels/${channelId}/edit`);
    await page.getByRole('button', { name: 'A server, by SFTP' }).click();
    await page.getByLabel('Server', { exact: true }).fill('sftp.shop.example');
    await page.getByLabel('User', { exact: true }).fill('relata');
    await page.getByLabel('Password', { exact: true }).fill('a quiet river');
    await page.getByLabel('Host key').fill('none');
    const save = page.getByRole('button', { name: 'Save' });
    await save.click();
    await page.getByLabel('Host key').and(page.locator('[aria-invalid="true"]')).waitFor();
    await page.getByLabel('Host key').fill(`SHA256:${'A'.repeat(43)}`);
    await save.click();
    await page.getByText('relata@sftp.shop.example').waitFor();
    const { value } = await service.relata.channels.get({ projectId: id, channelId });
    const [server] = value.destinations;
    assert.ok(server?.type === 'sftp');
    assert.deepEqual([server.password, value.mapping], ['***', MAPPING]);
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Password', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '***');
    await page.getByRole('button', { name: 'Remove this destination' }).click();
    await save.click();
    await page.getByText('nowhere else').waitFor();
  };

const conflict =
  ({ enter, service }: Console) =>
  async () => {
    const id = await makeExampleProject(service, 'Changed twice');
    const { id: channelId } = await service.relata.channels.create(id, GOOGLE);
    const page = await enter(`#/projects/${id}/channels/${channelId}/edit`);
    await page.getByLabel('Maximum left out, in %').fill('7');
    const ids = { projectId: id, channelId };
    await service.relata.channels.put(ids, { ...GOOGLE, name: 'Renamed by somebody else' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The channel is saved').waitFor();
    const { value } = await service.relata.channels.get(ids);
    assert.deepEqual([value.name, value.maxLeftOutPercent], ['Renamed by somebody else', 7]);
  };
