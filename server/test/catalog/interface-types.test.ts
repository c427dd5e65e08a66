// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

interface Attribute {
  id: number;
  name: string;
  type: string;
  unitName?: string;
  decimal?: string;
  reason?: string;
  typing?: string;
}

interface ReportLine {
  code: string;
  attribute: string;
  value: string;
  count?: number;
  message: string;
}

type Value = readonly [key: string, value: string];
const product = (identifier: string, ...values: readonly Value[]) => ({
  identifier,
  name: identifier,
  attributes: values.map(([key, value]) => ({ key, value })),
});

/** One product per value of an attribute. */
const productsOf = (columns: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(columns).flatMap(([key, values]) =>
    values.map((value, index) => product(`${key} ${index}`, [key, value])),
  );

const homeOf = ({ projectId }: TestCatalog) => `/management/projects/${projectId}`;

async function createIn(locale: string): Promise<TestCatalog> {
  const catalog = await createCatalog(service());
  const changed = await service().call('PATCH', homeOf(catalog), { body: { locale } });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  return catalog;
}

const readOntology = async (catalog: TestCatalog) =>
  (await service().call('GET', `${homeOf(catalog)}/ontology`)).body as {
    mode: string;
    attributes: Attribute[];
  };

const putOntology = (catalog: TestCatalog, body: object) =>
  service().call('PUT', `${homeOf(catalog)}/ontology`, { body });

const describe = ({ type, unitName, decimal }: Attribute) =>
  [type.replace('_ATTRIBUTE', ''), unitName, decimal].filter((part) => part !== undefined).join(' ');

async function typesOf(catalog: TestCatalog): Promise<Record<string, string>> {
  const { attributes } = await readOntology(catalog);
  return Object.fromEntries(attributes.map((attribute) => [attribute.name, describe(attribute)]));
}

async function factsOf(catalog: TestCatalog, identifier: string): Promise<string[][]> {
  const [product] = await catalog.find(identifier);
  return product.facts.map(({ attribute, value }: { attribute: string; value: string }) => [
    attribute,
    value,
  ]);
}

async function commitBatches(catalog: TestCatalog, ...batches: readonly object[][]) {
  await catalog.post('/products/batch/initiate');
  for (const products of batches)
    assert.equal((await catalog.post('/products/batch/upload', { products })).status, 200);
  return catalog.done(await catalog.post('/products/batch/start'));
}

test('an empty value does not affect the type, makes no fact, and is counted in one line of the report (§11.3 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const blanks: Value[] = [
    ['Price', ''],
    ['Colour', ' \u00a0\n'],
    ['Never', ''],
  ];
  const task = await commitBatches(
    catalog,
    [product('A', ...blanks), product('B', ['Price', '19.99'], ['Colour', 'red'])],
    [product('C', ...blanks)],
  );
  const report = await catalog.report(task);
  assert.deepEqual(
    report.filter(({ code }) => code === 'value_empty').map(({ attribute, count }) => [attribute, count]),
    [
      ['Price', 2],
      ['Colour', 2],
      ['Never', 2],
    ],
  );
  assert.deepEqual(await typesOf(catalog), { Price: 'NUMERIC', Colour: 'TEXT' });
  assert.deepEqual(await factsOf(catalog, 'A'), []);
  const page = await service().call('GET', `${homeOf(catalog)}/products/A`);
  assert.equal(page.body.upload.attributes.length, 3, 'the upload is kept');
  const counted = (await service().call('GET', `${homeOf(catalog)}/ontology/coverage`)).body.attributes;
  assert.deepEqual(
    counted.map(({ name, withValue, problems }: Coverage) => [name, withValue, problems.length]),
    [
      ['Price', 1, 0],
      ['Colour', 1, 0],
    ],
  );
  const patched = await catalog.patch({ identifier: 'B', attributes: { Colour: '' } });
  assert.deepEqual(
    (await catalog.report(patched)).map(({ code, count }) => [code, count]),
    [['value_empty', 1]],
  );
  assert.deepEqual(await factsOf(catalog, 'B'), [['Price', '19.99']]);
});

interface Coverage {
  name: string;
  withValue: number;
  problems: object[];
}

/** [values, type by locale] */
const TYPED: Readonly<
  Record<string, Readonly<Record<string, readonly [values: readonly string[], type: string]>>>
> = {
  'de-DE': {
    'a comma': [['12,5 cm', '13 cm', '-0,75 cm'], 'NUMERIC cm comma'],
    'a price': [['19,99 €', '1.234,50 €', '2.500 €', '5 €'], 'NUMERIC € comma'],
    'no-break spaces': [['19,99\u00a0€', '1\u202f234,50\u00a0€'], 'NUMERIC € comma'],
    'a sign without a space': [['19,99€', '5 €'], 'NUMERIC € comma'],
    'plain numbers': [['12.5', '1000.25'], 'NUMERIC'],
    'both forms': [['12,5', '13.5'], 'TEXT'],
    'the notation of other locales': [['1,234.50'], 'TEXT'],
    'one unit in several spellings': [['1 in', '2 INCH', '3 Zoll', '4 "', '5"'], 'NUMERIC in'],
    'two units of a dimension': [['1 m', '2 cm'], 'TEXT'],
    'leading zeros': [['007', '12'], 'TEXT'],
    '11 digits': [['12345678901'], 'NUMERIC'],
    '12 digits': [['123456789012'], 'TEXT'],
    GTIN: [['4006381', '12'], 'TEXT'],
    'Artikel-Nr.': [['100.10', '100.1'], 'TEXT'],
    Herstellernummer: [['1'], 'TEXT'],
    articleNumber: [['1'], 'TEXT'],
    'Part number': [['1'], 'TEXT'],
    category_id: [['1'], 'TEXT'],
    "Numéro d'article": [['1'], 'TEXT'],
    'Número de artículo': [['1'], 'TEXT'],
    'Number of parts': [['1'], 'NUMERIC'],
    Width: [['1'], 'NUMERIC'],
    'Model year': [['2024'], 'NUMERIC'],
  },
  'en-US': {
    groups: [['1,234', '999', '1,234,567.5'], 'NUMERIC point'],
    'a comma': [['12,5'], 'TEXT'],
    'plain numbers': [['12.5'], 'NUMERIC'],
  },
  'fr-FR': { 'a price': [['1 234,50 €', '12,00 €'], 'NUMERIC € comma'] },
  'de-CH': { 'a price': [["1'234.50", '12.05'], 'NUMERIC point'] },
};

for (const [locale, columns] of Object.entries(TYPED)) {
  test(`an attribute is numeric if all its values are numbers as ${locale} or programs write them, and codes are text (§11.2)`, async () => {
    const catalog = await createIn(locale);
    const values = Object.fromEntries(Object.entries(columns).map(([key, [list]]) => [key, list]));
    await catalog.load(...productsOf(values));
    const expected = Object.fromEntries(Object.entries(columns).map(([key, [, type]]) => [key, type]));
    assert.deepEqual(await typesOf(catalog), expected);
    for (const [key, list] of Object.entries(values))
      for (const [index, value] of list.entries())
        assert.deepEqual(await factsOf(catalog, `${key} ${index}`), [[key, value]]);
  });
}

test('the report names the type of each new attribute and the value that decided it, and the ontology keeps this reason (§11.2)', async () => {
  const catalog = await createCatalog(service());
  const task = await commitBatches(
    catalog,
    productsOf({
      Price: ['19,99 €', '5 €'],
      Size: ['1', '2'],
      Colour: ['red'],
      EAN: ['123'],
      Sold: ['true'],
    }),
    productsOf({ Size: ['large'] }),
  );
  const lines = (await catalog.report(task)) as ReportLine[];
  assert.deepEqual(
    lines.map(({ code, attribute, value, message }) => [code, attribute, value, message]),
    [
      [
        'attribute_created',
        'Price',
        '19,99 €',
        'created as NUMERIC_ATTRIBUTE with the unit €: every value is a number with a decimal comma and the unit €, such as "19,99 €"',
      ],
      ['attribute_created', 'Size', 'large', 'created as TEXT_ATTRIBUTE: "large" is not a number in de-DE'],
      ['attribute_created', 'Colour', 'red', 'created as TEXT_ATTRIBUTE: "red" is not a number in de-DE'],
      [
        'attribute_created',
        'EAN',
        '123',
        'created as TEXT_ATTRIBUTE: the key is named like a code, and codes are not numbers',
      ],
      ['attribute_created', 'Sold', 'true', 'created as BOOLEAN_ATTRIBUTE: every value is true or false'],
    ],
  );
  const ontology = await readOntology(catalog);
  for (const { name, reason } of ontology.attributes) {
    const { message } = lines.find(({ attribute }) => attribute === name) as ReportLine;
    assert.ok(reason !== undefined && message.endsWith(reason), name);
  }
  const tasks = (await catalog.tasks()).length;
  const put = await putOntology(catalog, ontology);
  assert.deepEqual([put.status, put.body], [200, ontology]);
  assert.equal((await catalog.tasks()).length, tasks, 'nothing changed');
});

test('a type that a person chose has no reason, and can be set back to automatic (§11.2)', async () => {
  const catalog = await createCatalog(service());
  const upload = [product('A', ['Size', '7'], ['Colour', 'red']), product('B', ['Grösse', '8'])];
  await catalog.load(...upload);
  const { mode, attributes } = await readOntology(catalog);
  const [size, colour] = attributes as [Attribute, Attribute];
  const chosen = { ...size, type: 'TEXT_ATTRIBUTE', synonyms: ['Grösse'] };
  const put = await putOntology(catalog, { mode, attributes: [chosen, colour] });
  const { reason: _, ...withoutReason } = chosen;
  assert.deepEqual(put.body.attributes, [withoutReason, colour]);
  const waiting = { ...withoutReason, typing: 'automatic' };
  const back = await putOntology(catalog, { mode, attributes: [waiting, colour] });
  assert.deepEqual(back.body.attributes, [waiting, colour], 'until the next full update');
  assert.deepEqual(await typesOf(catalog), { Size: 'TEXT', Colour: 'TEXT' });
  const task = await commitBatches(catalog, upload);
  assert.equal(task.taskStatus, 'FINISHED');
  const after = await readOntology(catalog);
  const [judged] = after.attributes as [Attribute];
  assert.deepEqual(
    { ...judged, reason: undefined },
    { id: size.id, name: 'Size', type: 'NUMERIC_ATTRIBUTE', synonyms: ['Grösse'], reason: undefined },
  );
  assert.ok(judged.reason);
  const [served] = await catalog.find('B');
  assert.deepEqual([served.facts[0].type, served.facts[0].value], ['NUMERIC_ATTRIBUTE', '8']);
});

test('a task whose changes remove existing facts reports them with a count and a reason (§2.4 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const priced = (price: (index: number) => string) =>
    ['A', 'B', 'C', 'D'].map((identifier, index) =>
      product(identifier, ['Price', price(index)], ['Note', 'x']),
    );
  await catalog.load(...priced((index) => (index === 3 ? '' : `${index} €`)));
  const dropped =
    'Price: 2 values are no longer facts, because of values such as "1 USD": another unit; the attribute needs a number, one space and €';
  const [first = [], ...others] = [priced((index) => `${index} ${index === 0 ? '€' : 'USD'}`)];
  assert.deepEqual(others, []);
  const task = await commitBatches(catalog, first.slice(0, 2), first.slice(2));
  assert.deepEqual(task.warnings, [dropped], 'D had no fact');
  const log = (await catalog.call('GET', `/tasks/${task.id}/log`)).body.log as { line: string }[];
  assert.ok(log.some(({ line }) => line === dropped));
  assert.equal((await commitBatches(catalog, first)).warnings, undefined, 'no more facts were removed');

  const patched = await catalog.patch({ identifier: 'A', attributes: { Price: 'on request' } });
  assert.match(
    patched.warnings[0],
    /^Price: 1 value is no longer a fact, because .*"on request": not a number/,
  );
  const { mode, attributes } = await readOntology(catalog);
  await putOntology(catalog, { mode, attributes: attributes.filter(({ name }) => name !== 'Note') });
  const [{ id }] = (await catalog.tasks()).filter(({ name }) => name === 're-extraction');
  assert.deepEqual((await service().ended(id)).warnings, [
    'Note: 4 values are no longer facts, because the ontology no longer has the attribute',
  ]);
});
