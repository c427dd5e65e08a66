// runs: deep (not on postgres: how a format reads a file)
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createPipeline } from '../support/pipelines/pipeline-under-test.ts';
import { createCatalog, shareService } from '../support/shared-service.ts';

const importDir = mkdtempSync(join(tmpdir(), 'relata-feeds-'));
after(() => rmSync(importDir, { recursive: true }));
const service = shareService({ settings: { RELATA_IMPORT_DIR: importDir } });

const BMECAT = `<BMECAT version="2005"><HEADER/><T_NEW_CATALOG><PRODUCT><SUPPLIER_PID>M1</SUPPLIER_PID>
  <PRODUCT_DETAILS><DESCRIPTION_SHORT>Motor</DESCRIPTION_SHORT><MANUFACTURER_NAME>Acme</MANUFACTURER_NAME></PRODUCT_DETAILS></PRODUCT></T_NEW_CATALOG></BMECAT>`;
const SHOPIFY = 'Handle,Title,Vendor,Variant SKU\nmotor,Motor,Acme,M1\n';

for (const [type, content] of [
  ['bmecat', BMECAT],
  ['shopify-csv', SHOPIFY],
] as const)
  test(`the manufacturer in a ${type} file becomes the attribute Brand without a setting (§13.7 rule 4)`, async () => {
    const pipeline = await createPipeline(service(), { format: { type }, mapping: undefined });
    const task = await pipeline.upload(content);
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    const [product] = await service().lookUp(['M1'], pipeline.projectId);
    const brand = product.facts.find(({ attribute }: { attribute: string }) => attribute === 'Brand');
    assert.equal(brand?.value, 'Acme', JSON.stringify(product));
  });

interface Tried {
  readonly mapping?: object;
  readonly catalog?: true;
  readonly isBeginning?: true;
}

async function preview(format: object, content: string, { mapping, catalog, isBeginning }: Tried = {}) {
  const { projectId } = await createCatalog(service());
  const file = {
    name: 'feed',
    base64: Buffer.from(content).toString('base64'),
    ...(isBeginning && { isBeginning }),
  };
  const body = {
    source: { type: 'upload' },
    format,
    file,
    ...(mapping && { mapping }),
    ...(catalog && { catalog }),
  };
  const answer = await service().call('POST', `/management/projects/${projectId}/pipelines/preview`, {
    body,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

test('a preview shows the result of the suggested mapping, not that of the default mapping (§13.5 rule 5)', async () => {
  const { suggestion, rows, warnings } = await preview({ type: 'bmecat' }, BMECAT);
  assert.deepEqual(suggestion.mapping, {
    identifier: 'SUPPLIER_PID',
    name: 'DESCRIPTION_SHORT',
    attributes: { Brand: 'MANUFACTURER_NAME', '*': '*' },
  });
  assert.deepEqual(rows[0].product.attributes, [{ key: 'Brand', value: 'Acme' }]);
  assert.deepEqual(warnings, []);
});

test('the preview of a price update without names reports the missing name and shows the rows (§13.5 rule 6)', async () => {
  const article = (number: number) =>
    `<ARTICLE mode="update"><SUPPLIER_AID>${number}</SUPPLIER_AID><ARTICLE_PRICE_DETAILS><ARTICLE_PRICE price_type="net_list"><PRICE_AMOUNT>19.90</PRICE_AMOUNT><PRICE_CURRENCY>EUR</PRICE_CURRENCY></ARTICLE_PRICE></ARTICLE_PRICE_DETAILS></ARTICLE>`;
  const content = `<BMECAT version="1.2"><HEADER/><T_UPDATE_PRICES>${article(1)}${article(2)}</T_UPDATE_PRICES></BMECAT>`;
  const { suggestion, rows, warnings } = await preview({ type: 'bmecat' }, content);
  assert.equal(suggestion.mapping.name, undefined);
  assert.deepEqual([rows.length, rows[0].product], [2, undefined]);
  assert.match(warnings[0].message, /No column looks like a name.*partial/);
});

test('a preview reports a file of another format and sheets that are not read (§13.5 rule 6)', async () => {
  const uploaded = '{"identifier":"A1","name":"Drill","attributes":[{"key":"Length","value":"5 in"}]}\n';
  for (const [type, content, wanted] of [
    ['ndjson', uploaded, 'native'],
    ['json', `{"products":[${uploaded}]}`, 'native'],
    [
      'xml',
      BMECAT.replaceAll('</PRODUCT>', '</PRODUCT><PRODUCT><SUPPLIER_PID>2</SUPPLIER_PID></PRODUCT>'),
      'bmecat',
    ],
    ['csv', 'Handle,Title,Option1 Name,Option1 Value,Variant SKU\na,A,Size,M,1\n', 'shopify-csv'],
    ['csv', 'ID,SKU,Name,Attribute 1 name,Attribute 1 value(s)\n1,a,A,Size,M\n', 'woocommerce-csv'],
    ['csv', 'sku,name\n1,Drill\n', undefined],
  ] as const) {
    const { suggestion } = await preview({ type }, content);
    assert.equal(suggestion.format?.type, wanted, `${type} ${content.slice(0, 40)}`);
  }
});

test('a preview warns of conspicuous values in more rows than it shows (§13.5 rule 6)', async () => {
  const lines = Array.from(
    { length: 60 },
    (_, index) => `${index}.5;${index}0 EUR;9,99;Top ${index} / Sub;img/${index}.jpg`,
  );
  const content = ['id;title;Price;category;image', ...lines, '0.5;0 EUR;9,99;Top 0 / Sub;img/0.jpg'].join(
    '\n',
  );
  const mapping = {
    identifier: 'id',
    name: 'title',
    images: 'image',
    attributes: '*',
    categories: { from: 'category', separator: ' / ' },
  };
  const { rows, warnings } = await preview({ type: 'csv' }, content, { mapping });
  assert.equal(rows.length, 20);
  assert.deepEqual(
    warnings.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`),
    [
      'identifier: 1 of 61 rows repeat an identifier, such as "0.5". The last of these rows is used. If they are variants, choose a column whose values differ',
      'identifier: The identifiers look like prices: "0.5"',
      'name: The names look like numbers or prices: "00 EUR"',
      'images: The addresses of images are incomplete: "img/0.jpg"',
      'categories: 60 different top categories in 61 products, such as "Top 0", "Top 1", "Top 2". Check the separators',
      'attributes.Price: All 61 values of Price are "9,99"',
    ],
  );
});

test('Type and Tags of Shopify become a category and a list without a setting (§13.7)', async () => {
  const pipeline = await createPipeline(service(), { format: { type: 'shopify-csv' }, mapping: undefined });
  const task = await pipeline.upload(
    'Handle,Title,Product Category,Type,Tags,Variant SKU\nshirt,Shirt,Apparel > Tops,Shirts,"linen, summer",S1\n',
  );
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const [product] = await service().lookUp(['S1'], pipeline.projectId);
  assert.deepEqual(
    product.categories.map(({ path }: { path: string[] }) => path),
    [['Apparel', 'Tops'], ['Shirts']],
  );
  const facts = product.facts.map(({ attribute, value }: Record<string, string>) => `${attribute}: ${value}`);
  assert.deepEqual(facts.sort(), ['Tags: linen', 'Tags: summer', 'Type: Shirts']);
});

test('a preview suggests a mapping for a cell of keys and values (§13.5 rule 5)', async () => {
  const lines = ['A1,Hoodie,"color=Black|Grey,size=M"', 'A2,Shirt,"color=Red,size=L"'];
  const { suggestion, rows } = await preview(
    { type: 'csv' },
    `sku,name,additional_attributes\n${lines.join('\n')}\n`,
  );
  assert.deepEqual(suggestion.mapping.keyValues, [{ column: 'additional_attributes', split: '|' }]);
  assert.deepEqual(rows[0].product.attributes, [
    { key: 'color', value: 'Black' },
    { key: 'color', value: 'Grey' },
    { key: 'size', value: 'M' },
  ]);
});

test('a missing optional column is accepted, and a file of a directory that lacks a required one is named (§13.8 rule 8)', async () => {
  const pipeline = await createPipeline(service(), {
    source: { type: 'directory', pattern: '*.csv' },
    mapping: {
      identifier: 'sku',
      name: 'name',
      attributes: { Colour: { column: 'colour', optional: true } },
    },
  });
  const folder = join(importDir, String(pipeline.projectId));
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.csv'), 'sku,name,colour\nA1,Hoodie,red\n');
  writeFileSync(join(folder, 'b.csv'), 'sku,name\nB1,Shirt\n');
  assert.equal((await pipeline.run()).taskStatus, 'FINISHED');
  assert.equal((await service().lookUp(['A1', 'B1'], pipeline.projectId)).length, 2);

  writeFileSync(join(folder, 'c.csv'), 'sku,title\nC1,Cap\n');
  const { taskStatus, error } = await pipeline.run();
  assert.equal(taskStatus, 'FAILED');
  assert.match(JSON.stringify(error), /c\.csv has no column \\"name\\"; it has \\"sku\\", \\"title\\"/);
});

/** More rows than a suggestion reads. The value that makes Size a text comes last. */
const BIKES = `sku;title;category;Weight;Size;Electric\n${Array.from(
  { length: 2_500 },
  (_, index) =>
    `B${index};Bicycle ${index};Bicycles > ${index % 5 === 0 ? 'City' : 'Road'};${10 + (index % 7)},5 kg;${index === 2_499 ? 'M' : 50};${index % 2 === 0}\n`,
).join('')};no identifier;;;;\n`;

test('a preview predicts the effect on the catalog, and a run has that effect (§13.5 rule 9)', async () => {
  const { catalog, suggestion } = await preview({ type: 'csv' }, BIKES, { catalog: true });
  const { attributes, ...counts } = catalog;
  assert.deepEqual(counts, {
    rows: 2_501,
    isWhole: true,
    products: 2_500,
    filtered: 0,
    rejected: { count: 1, examples: [{ row: 2_502, reason: 'sku: is empty' }] },
    categories: [
      { path: ['Bicycles', 'Road'], products: 2_000 },
      { path: ['Bicycles', 'City'], products: 500 },
    ],
    hasMoreCategories: false,
    hasMoreAttributes: false,
  });

  const definition = {
    format: { type: 'csv' },
    mapping: suggestion.mapping,
    mode: 'full',
    onRejectedRow: 'continue',
  };
  const pipeline = await createPipeline(service(), definition);
  const task = await pipeline.upload(BIKES);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const path = `/management/projects/${pipeline.projectId}/ontology`;
  const { body: ontology } = await service().call('GET', path);
  const typed = ({ name, type, unitName, decimal, reason }: Record<string, string>) => ({
    name,
    type,
    unitName,
    decimal,
    reason,
  });
  const byName = (a: { name?: string }, b: { name?: string }) => String(a.name).localeCompare(String(b.name));
  assert.deepEqual(attributes.map(typed).sort(byName), ontology.attributes.map(typed).sort(byName));
  assert.deepEqual(
    attributes.map(({ name, type, products }: Record<string, unknown>) => [name, type, products]).sort(),
    [
      ['Electric', 'BOOLEAN_ATTRIBUTE', 2_500],
      ['Size', 'TEXT_ATTRIBUTE', 2_500],
      ['Weight', 'NUMERIC_ATTRIBUTE', 2_500],
    ],
  );
});

test('several rows of one identifier make one product, from the last row (§13.5)', async () => {
  const rows = 'sku;title;category;Colour\nA;First;Old;red\nB;Second;New;blue\nA;Last;New;green\n';
  const { catalog } = await preview({ type: 'csv' }, rows, { catalog: true });
  assert.equal(catalog.products, 2);
  assert.deepEqual(catalog.categories, [{ path: ['New'], products: 2 }]);
  assert.deepEqual(
    catalog.attributes.map(({ name, products }: { name: string; products: number }) => [name, products]),
    [['Colour', 2]],
  );
});

test('a preview reads the beginning of a file up to the point where it was cut (§13.5 rule 10)', async () => {
  const rows = Array.from({ length: 300 }, (_, index) => ({
    identifier: `B${index}`,
    name: `Bicycle ${index}`,
  }));
  const whole = JSON.stringify(rows);
  const cut = whole.slice(0, whole.indexOf('Bicycle 200') + 5);
  const { catalog } = await preview({ type: 'native' }, cut, { catalog: true, isBeginning: true });
  assert.deepEqual([catalog.isWhole, catalog.rejected.count], [false, 0]);
  assert.ok(catalog.products > 100 && catalog.products <= 200, `${catalog.products}`);
});
