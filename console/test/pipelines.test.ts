// runs: long, slow
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { findBarriers, makeExampleProject, shareConsole, startConsole, untilBuilt } from './harness.ts';

const FEED = `sku;title;price;category
SAW-1;Jigsaw;129,00;Tools > Saws
SAW-2;;99,00;Tools > Saws
SAW-3;Hand saw;19,90;Tools > Saws
`;

const csv = (text: string) => ({ name: 'feed.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });

test('a pipeline is created from a CSV file with the suggested mapping, runs, and shows its history (§13)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/pipelines`);
  await page.getByRole('link', { name: 'New pipeline' }).first().click();
  await page.getByLabel('Name', { exact: true }).first().fill('Saws');
  await page.getByLabel('Sample file').setInputFiles(csv(FEED));

  await page.getByText('Suggested from the names').waitFor();
  const columnOf = (label: string) => page.getByRole('combobox', { name: label, exact: true }).inputValue();
  assert.deepEqual(await Promise.all(['Identifier', 'Name', 'Categories'].map(columnOf)), [
    'sku',
    'title',
    'category',
  ]);
  await page.getByText('3 rows, 2 products, 1 with problems').waitFor();
  await page.getByText('rejected', { exact: true }).waitFor();
  const product = page.getByLabel('The product of row 2');
  assert.match((await product.textContent()) ?? '', /Jigsaw.*129\.00/);

  await page.getByRole('combobox', { name: 'Name', exact: true }).selectOption('sku');
  await page.getByText('3 rows, 3 products, 0 with problems').waitFor();
  await page.getByRole('combobox', { name: 'Name', exact: true }).selectOption('title');
  await page.getByText('3 rows, 2 products, 1 with problems').waitFor();
  await page.getByLabel('Mode').selectOption('incremental');
  await page.getByLabel('Rows that make no product').selectOption('continue');
  await page.getByRole('button', { name: 'Create the pipeline' }).click();

  await page.getByRole('heading', { name: 'Saws', exact: true }).waitFor();
  await page.getByLabel('File to upload').setInputFiles(csv(FEED));
  await page.getByText('2 created, 1 rejected').waitFor();
  await page.getByText('finished', { exact: true }).waitFor();
  await untilBuilt(service.relata, id);
  assert.equal((await service.relata.products.list(id, { limit: 100 })).items.length, 35);

  const runs = page.locator('section', { has: page.getByRole('heading', { name: 'Runs' }) });
  await runs.getByRole('link').first().click();
  await page.getByText('row_rejected').waitFor();
  await page.getByRole('link', { name: 'Pipelines' }).first().click();
  await page.getByText('2 created, 1 rejected').waitFor();
});

const BIKES = `sku;title;category;Weight;image
${Array.from({ length: 30 }, (_, index) => `BIKE-${index};Bicycle ${index};Bicycles > ${index % 3 === 0 ? 'City' : 'Road'};${10 + index}.5 kg;\n`).join('')};no identifier;;;
`;

test('a file that is dropped on an empty project is previewed and becomes the catalog (§13.5 rule 9)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const group = await service.relata.projects.createGroup('Bicycles');
  const project = { name: 'Bicycles', projectGroupId: group.id, locale: 'en-GB' };
  const { id } = await service.relata.projects.create(project);
  const page = await enter(`#/projects/${id}`);
  const area = page.getByText('Drop a file with your products, or choose one');
  const dropped = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'bikes.csv', { type: 'text/csv' }));
    return transfer;
  }, BIKES);
  await area.dispatchEvent('drop', { dataTransfer: dropped });

  await page.getByRole('heading', { name: 'bikes.csv' }).waitFor();
  await page.getByText('1 row makes no product').waitFor();
  await page.getByText('BIKE-7', { exact: true }).waitFor();
  const attributes = page.getByRole('region', { name: 'Attributes' });
  assert.match((await attributes.textContent()) ?? '', /Weightnumber in kg100%10.5 kg/);
  const categories = page.getByRole('region', { name: 'Categories' });
  assert.match((await categories.textContent()) ?? '', /Bicycles › Road20.*Bicycles › City10/);
  assert.deepEqual(await findBarriers(page), []);
  assert.equal(
    (await service.relata.pipelines.list(id)).items.length,
    0,
    'nothing is stored before the button',
  );

  await page.getByRole('button', { name: 'Import 30 products' }).click();
  await page.getByText('The products are imported').waitFor();
  await page.getByRole('link', { name: /BIKE-0$/ }).waitFor();
  const { value } = await service.relata.ontology.get(id);
  assert.deepEqual(
    value.attributes.map(({ name, type, unitName }) => [name, type, unitName]),
    [['Weight', 'NUMERIC_ATTRIBUTE', 'kg']],
  );
});

test('the preview shows the reasons of a suggestion, warnings, and that a file may have another format (§13.5)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/pipelines/new`);
  const rows = [1, 2, 3].map((number) => `SAW-${number};Jigsaw ${number};99,00;`);
  await page.getByLabel('Sample file').setInputFiles(csv(`sku;Words of it;Price\n${rows.join('\n')}`));
  const reasons = page.getByRole('list', { name: 'Reasons for the suggestion' });
  await reasons
    .getByText('name from Words of it: it contains texts of several words. Please check')
    .waitFor();
  await page.getByRole('list', { name: 'Warnings' }).getByText('All 3 values of Price are').waitFor();

  await page
    .getByLabel('Sample file')
    .setInputFiles(csv('Handle,Title,Option1 Name,Option1 Value\na,A,Size,M\n'));
  await page.getByRole('button', { name: 'Read it as Shopify CSV' }).click();
  await page.getByText('groupIdentifier from Handle: the format gives this column this name').waitFor();
});

test('a pipeline of links fills a relation from a file of related products (§13.9)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const every = { source: { all: [] }, target: { all: [] } };
  await service.relata.relations.create(id, { ...every, kind: 'links', name: 'Set', tag: 'set' });
  const page = await enter(`#/projects/${id}/pipelines/new`);
  await page.getByLabel('Name', { exact: true }).first().fill('Sets');
  await page.getByLabel('Mode').selectOption('links');
  await page.getByRole('combobox', { name: 'Relation', exact: true }).selectOption('Set');
  const file = csv('sku,related_skus\nDRILL-1,"BIT-1,BIT-2"\n');
  await page.getByLabel('Sample file').setInputFiles(file);
  await page.getByText('1 row, 1 list, 0 with problems').waitFor();
  const columnOf = (label: string) => page.getByRole('combobox', { name: label, exact: true }).inputValue();
  const columns = await Promise.all(['Source: the product that lists others', 'Targets'].map(columnOf));
  assert.deepEqual(columns, ['sku', 'related_skus']);
  await page.getByRole('button', { name: 'Create the pipeline' }).click();
  await page.getByLabel('File to upload').setInputFiles(file);
  await page.getByText('2 created').waitFor();
});

test('a pipeline of a table fills the table from a file of value pairs (§13.9)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  await service.relata.relations.tables.create(id, { name: 'mounts', pairs: [['E', 'F']] });
  const page = await enter(`#/projects/${id}/pipelines/new`);
  await page.getByLabel('Name', { exact: true }).first().fill('Mounts');
  await page.getByLabel('Mode').selectOption('table');
  await page.getByRole('combobox', { name: 'Table', exact: true }).click();
  await page.getByRole('option', { name: 'mounts' }).click();
  const file = csv('camera,lens\nSony E,M42\n');
  await page.getByLabel('Sample file').setInputFiles(file);
  await page.getByText('1 row, 1 list, 0 with problems').waitFor();
  const columnOf = (label: string) => page.getByRole('combobox', { name: label, exact: true }).inputValue();
  // The counts are shown before the suggested columns.
  while ((await columnOf('Value of the target')) === '') await page.waitForTimeout(50);
  const columns = await Promise.all(['Value of the source', 'Value of the target'].map(columnOf));
  assert.deepEqual(columns, ['camera', 'lens']);
  await page.getByRole('button', { name: 'Create the pipeline' }).click();
  await page.getByLabel('File to upload').setInputFiles(file);
  await page.getByText('finished', { exact: true }).waitFor();
  const { value } = await service.relata.relations.tables.get(id, 'mounts');
  assert.deepEqual(value.pairs, [['Sony E', 'M42']]);
});

test('shows mistakes at their fields, and a pipeline is changed and deleted (§13.1)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const pipeline = await service.relata.pipelines.create(id, {
    name: 'Nightly',
    source: { type: 'http', url: 'https://erp.example/a.csv', headers: { 'X-Token': 'secret' } },
    format: { type: 'csv' },
    mapping: { identifier: 'sku', name: { column: 'title', trim: true }, attributes: '*' },
    mode: 'full',
    trigger: { type: 'manual' },
  });
  const page = await enter(`#/projects/${id}/pipelines/${pipeline.id}/edit`);
  assert.equal(await page.getByLabel('Value of X-Token').inputValue(), '***');
  await page.getByLabel('Runs start').selectOption('schedule');
  await page.getByLabel('Schedule (cron)').fill('61 3 * * *');
  await page.getByRole('button', { name: 'Save' }).click();
  const cron = page.getByLabel('Schedule (cron)');
  await cron.and(page.locator('[aria-invalid="true"]')).waitFor();
  await cron.fill('30 3 * * *');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Nightly', exact: true }).waitFor();
  await page.getByText('30 3 * * * (Europe/Berlin)').waitFor();
  const { value } = await service.relata.pipelines.get({ projectId: id, pipelineId: pipeline.id });
  assert.deepEqual(
    [value.mapping, value.source],
    [pipeline.mapping, pipeline.source],
    'the other parts have not changed',
  );

  await page.getByRole('button', { name: 'Delete …' }).click();
  await page.getByRole('button', { name: 'Delete the pipeline' }).click();
  await page.getByText('No pipeline yet').waitFor();
});

test('the URL of a webhook is shown and replaced by a new one (§13.3)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const page = await enter(`#/projects/${id}/pipelines/new`);
  await page.getByLabel('Name', { exact: true }).first().fill('Stock');
  await page.getByLabel('Source of the file').selectOption('http');
  await page.getByLabel('URL', { exact: true }).fill('https://erp.example/stock.csv');
  await page.getByText('The mapping as JSON').click();
  await page.getByRole('textbox', { name: 'Mapping' }).fill('{"identifier":"sku","attributes":"*"}');
  await page.getByLabel('Mode').selectOption('partial');
  await page.getByLabel('Runs start').selectOption('webhook');
  await page.getByLabel('Seconds between two calls').fill('60');
  await page.getByRole('button', { name: 'Create the pipeline' }).click();

  const shown = page.getByLabel('The URL of the webhook', { exact: true });
  const first = (await shown.textContent()) ?? '';
  assert.ok(first.startsWith(`${service.url}/etl-triggers/webhook/`), first);
  await page.getByRole('button', { name: 'New URL …' }).click();
  await page.getByRole('button', { name: 'Create a new URL' }).click();
  await page.getByRole('dialog', { name: 'Change the URL of the webhook' }).waitFor({ state: 'detached' });
  const second = (await shown.textContent()) ?? '';
  const call = async (url: string) =>
    (await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${service.key}` } })).status;
  assert.deepEqual([await call(first), await call(second)], [404, 200]);
  await page.getByText('by webhook', { exact: true }).waitFor();
});

test('a source is previewed over HTTP, and a run can read it again although it has not changed (§13.5)', async (t) => {
  const { enter, service } = await startConsole(t, { RELATA_FETCH_ALLOW: '127.0.0.1' });
  const id = await makeExampleProject(service);
  const source = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/csv', etag: '"one"' }).end(FEED),
  );
  await once(source.listen(0, '127.0.0.1'), 'listening');
  t.after(() => source.close());
  const page = await enter(`#/projects/${id}/pipelines/new`);
  await page.getByLabel('Name', { exact: true }).first().fill('Stock');
  await page.getByLabel('Source of the file').selectOption('http');
  const { port } = source.address() as AddressInfo;
  await page.getByLabel('URL', { exact: true }).fill(`http://127.0.0.1:${port}/stock.csv`);
  await page.getByRole('button', { name: 'Read the first rows' }).click();
  await page.getByText('3 rows, 2 products, 1 with problems').waitFor();
  await page.getByLabel('Quotes').selectOption('none');
  await page.getByLabel('Mode').selectOption('incremental');
  await page.getByLabel('Rows that make no product').selectOption('continue');
  await page.getByRole('button', { name: 'Create the pipeline' }).click();

  const run = page.getByRole('button', { name: 'Run now' });
  await run.click();
  await page.getByText('2 created, 1 rejected').waitFor();
  await run.click();
  await page.getByText('nothing new').waitFor();
  await page.getByRole('button', { name: 'Read it again' }).click();
  await page.getByText('2 unchanged, 1 rejected').waitFor();
  const [{ id: pipelineId } = { id: 0 }] = (await service.relata.pipelines.list(id)).items;
  const { value } = await service.relata.pipelines.get({ projectId: id, pipelineId });
  assert.equal('quote' in value.format && value.format.quote, '', 'the empty quote option is stored');
});

test('merges changes of a pipeline by two users, and shows both values of a conflict (§7.6)', async (t) => {
  const { enter, service } = await shareConsole(t);
  const id = await makeExampleProject(service);
  const definition = {
    name: 'Nightly',
    source: { type: 'upload' as const },
    format: { type: 'csv' as const },
    mapping: { identifier: 'sku', attributes: '*' as const },
    mode: 'partial' as const,
    trigger: { type: 'manual' as const },
  };
  const { id: pipelineId } = await service.relata.pipelines.create(id, definition);
  const page = await enter(`#/projects/${id}/pipelines/${pipelineId}/edit`);
  await page.getByLabel('Minimum products').fill('7');
  const ids = { projectId: id, pipelineId };
  await service.relata.pipelines.put(ids, { ...definition, name: 'Renamed by somebody else' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The pipeline is saved').waitFor();
  const { value: merged } = await service.relata.pipelines.get(ids);
  assert.deepEqual([merged.name, merged.minProducts], ['Renamed by somebody else', 7]);

  await page.getByRole('link', { name: 'Change', exact: true }).click();
  await page.getByLabel('Minimum products').fill('8');
  await service.relata.pipelines.put(ids, { ...definition, minProducts: 9 });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('This pipeline was changed').waitFor();
  await page.getByRole('row', { name: /^Minimum products 8 9/ }).waitFor();
  assert.equal((await service.relata.pipelines.get(ids)).value.minProducts, 9);
});
