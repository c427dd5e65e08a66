// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

interface Attribute {
  id?: number;
  name: string;
  type: string;
  unitName?: string;
  decimal?: 'point' | 'comma';
  synonyms?: string[];
}

interface Ontology {
  mode: 'automatic' | 'own';
  attributes: Attribute[];
}

interface Fact {
  attributeId: number;
  attribute: string;
  valueId: number;
  value: string;
  type: string;
  userGroups?: string[];
}

const text = (name: string): Attribute => ({ name, type: 'TEXT_ATTRIBUTE' });
const numeric = (name: string, unitName?: string): Attribute => ({
  name,
  type: 'NUMERIC_ATTRIBUTE',
  ...(unitName !== undefined && { unitName }),
});

/** `['Length', '12 in']` or with user groups as a third element. */
type Value = readonly [key: string, value: string, userGroups?: string[]];

const product = (identifier: string, ...values: readonly Value[]) => ({
  identifier,
  name: identifier,
  attributes: values.map(([key, value, userGroups]) => ({ key, value, ...(userGroups && { userGroups }) })),
});

const pathOf = ({ projectId }: TestCatalog) => `/management/projects/${projectId}`;

async function getOntology(catalog: TestCatalog): Promise<Ontology> {
  return (await service().call('GET', `${pathOf(catalog)}/ontology`)).body;
}

const putOntology = (catalog: TestCatalog, body: object) =>
  service().call('PUT', `${pathOf(catalog)}/ontology`, { body });

/** Replaces the attributes and waits for the extraction. @returns the ontology from the answer to the PUT */
async function define(catalog: TestCatalog, mode: Ontology['mode'], ...attributes: Attribute[]) {
  const answer = await putOntology(catalog, { mode, attributes });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  await extracted(catalog);
  return answer.body as Ontology;
}

/** Waits until no extraction is running. */
async function extracted(catalog: TestCatalog): Promise<void> {
  for (const task of await listExtractions(catalog)) {
    const ended = await service().ended(task.id);
    assert.equal(ended.taskStatus, 'FINISHED');
  }
}

async function listExtractions(catalog: TestCatalog) {
  return (await catalog.tasks()).filter(({ name }) => name === 're-extraction');
}

/** @returns [attribute, value] of every fact of a product */
async function factsOf(catalog: TestCatalog, identifier: string): Promise<string[][]> {
  const [product] = await catalog.find(identifier);
  return product.facts.map(({ attribute, value }: Fact) => [attribute, value]);
}

const describe = ({ type, unitName }: Attribute) => (unitName === undefined ? type : `${type} ${unitName}`);

async function typesOf(catalog: TestCatalog): Promise<Record<string, string>> {
  const { attributes } = await getOntology(catalog);
  return Object.fromEntries(attributes.map((attribute) => [attribute.name, describe(attribute)]));
}

async function stage(catalog: TestCatalog, ...batches: readonly object[][]): Promise<void> {
  await catalog.post('/products/batch/initiate');
  for (const products of batches) {
    const answer = await catalog.post('/products/batch/upload', { products });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  }
}

async function commit(catalog: TestCatalog) {
  return catalog.done(await catalog.post('/products/batch/start'));
}

/** @returns the report without its lines on new attributes */
const reportOf = async (catalog: TestCatalog, task: { id: string }) =>
  (await catalog.report(task)).filter(({ code }) => code !== 'attribute_created');

test('an empty catalog has an automatic ontology without attributes (§11.1)', async () => {
  const catalog = await createCatalog(service());
  assert.deepEqual(await getOntology(catalog), { mode: 'automatic', attributes: [] });
});

const TYPES: readonly { values: readonly string[]; type: string; why: string }[] = [
  { values: ['1', '-2.5', '+3', '0', '0.75', '100'], type: 'NUMERIC_ATTRIBUTE', why: 'plain numbers' },
  { values: ['1 in', '2.5 in'], type: 'NUMERIC_ATTRIBUTE in', why: 'numbers of one unit' },
  { values: ['1 %', '2 %'], type: 'NUMERIC_ATTRIBUTE %', why: 'a unit without letters' },
  { values: ['5 m3', '6 m3'], type: 'NUMERIC_ATTRIBUTE m3', why: 'a digit inside a unit' },
  { values: ['1 abcdefghijkl'], type: 'NUMERIC_ATTRIBUTE abcdefghijkl', why: 'a unit of 12 characters' },
  { values: ['1 abcdefghijklm'], type: 'TEXT_ATTRIBUTE', why: 'a unit of 13 characters' },
  { values: ['1 2in'], type: 'TEXT_ATTRIBUTE', why: 'a unit that begins with a digit' },
  { values: ['1  in'], type: 'TEXT_ATTRIBUTE', why: 'two spaces' },
  { values: ['1 in wide'], type: 'TEXT_ATTRIBUTE', why: 'two words behind the number' },
  { values: ['1in'], type: 'TEXT_ATTRIBUTE', why: 'no space' },
  { values: ['1 in', '2 cm'], type: 'TEXT_ATTRIBUTE', why: 'two units' },
  { values: ['1 in', '2'], type: 'TEXT_ATTRIBUTE', why: 'with and without unit' },
  { values: ['1', 'two'], type: 'TEXT_ATTRIBUTE', why: 'a number and a word' },
  { values: ['1', '02'], type: 'TEXT_ATTRIBUTE', why: 'a leading zero' },
  { values: ['00.5'], type: 'TEXT_ATTRIBUTE', why: 'two leading zeros' },
  { values: ['1e3'], type: 'TEXT_ATTRIBUTE', why: 'an exponent' },
  { values: ['99999999999'], type: 'NUMERIC_ATTRIBUTE', why: '11 digits' },
  { values: ['100000000000'], type: 'TEXT_ATTRIBUTE', why: '12 digits' },
  { values: ['1', '2.5'], type: 'NUMERIC_ATTRIBUTE', why: 'a point' },
  { values: [' 1'], type: 'TEXT_ATTRIBUTE', why: 'a space in front' },
  { values: ['true', 'false'], type: 'BOOLEAN_ATTRIBUTE', why: 'true and false' },
  { values: ['true', 'yes'], type: 'TEXT_ATTRIBUTE', why: 'true and another word' },
  { values: ['true', '1'], type: 'TEXT_ATTRIBUTE', why: 'true and a number' },
  { values: ['2026-01-31'], type: 'TEXT_ATTRIBUTE', why: 'dates are never guessed' },
];

test('a full update makes each new key an attribute of the type that fits all its values (§11.2 rules 2 and 3)', async () => {
  const catalog = await createCatalog(service());
  const values = TYPES.flatMap(({ values: list, why }) => list.map((value): Value => [why, value]));
  const products = values.map((value, index) => product(`P${index}`, value));
  await catalog.load(...products);
  assert.deepEqual(await typesOf(catalog), Object.fromEntries(TYPES.map(({ why, type }) => [why, type])));
  for (const [position, [why, value]] of values.entries()) {
    assert.deepEqual(await factsOf(catalog, `P${position}`), [[why, value]], `${why}: ${value}`);
  }
});

test('the values of all batches decide the type of an attribute, not only those of the first (§11.2 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await stage(
    catalog,
    [product('A', ['Size', '1'], ['Length', '2 in'], ['Flag', 'true'], ['Same', '7 mm'])],
    [product('B', ['Size', 'large'], ['Length', '2 cm'], ['Flag', 'maybe'], ['Same', '8 mm'])],
  );
  const task = await commit(catalog);
  assert.equal(task.taskStatus, 'FINISHED');
  assert.deepEqual(await typesOf(catalog), {
    Size: 'TEXT_ATTRIBUTE',
    Length: 'TEXT_ATTRIBUTE',
    Flag: 'TEXT_ATTRIBUTE',
    Same: 'NUMERIC_ATTRIBUTE mm',
  });
  const ontology = await getOntology(catalog);
  for (const served of await catalog.find('A', 'B')) {
    assert.equal(served.facts.length, 4);
    for (const { attributeId, attribute, type } of served.facts as Fact[]) {
      const defined = ontology.attributes.find(({ name }) => name === attribute);
      assert.deepEqual([attributeId, type], [defined?.id, defined?.type], attribute);
    }
  }
  assert.deepEqual(await reportOf(catalog, task), []);
});

test('the report keeps the lines of earlier batches when a later batch changes a type (§4.7 rule 8)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('OLD', ['Width', '3 in']));
  await define(catalog, 'automatic', numeric('Width', 'mm'));
  await stage(
    catalog,
    [
      product('A', ['Size', '1']),
      product('A', ['Size', '2'], ['Width', '5']),
      product('OLD', ['Width', '3 in']),
    ],
    [product('B', ['Size', 'large'])],
  );
  const report = await reportOf(catalog, await commit(catalog));
  assert.deepEqual(report.map(({ identifier, code }) => [identifier, code]).sort(), [
    ['A', 'repeated_identifier'],
    ['A', 'unit_missing'],
    ['OLD', 'unit_other'],
  ]);
});

test('an unchanged product gains the facts of an attribute whose type a later batch changed (§11.2 rule 5)', async () => {
  const catalog = await createCatalog(service());
  const upload = product('A', ['Colour', 'red'], ['Size', '1']);
  await catalog.load(upload);
  await define(catalog, 'automatic', text('Colour'));
  await stage(catalog, [upload], [product('B', ['Size', 'large'])]);
  await commit(catalog);
  assert.deepEqual((await factsOf(catalog, 'A')).sort(), [
    ['Colour', 'red'],
    ['Size', '1'],
  ]);
});

test('an existing type stays when a later update has values that do not fit, which are reported (§11.2 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Size', '1']));
  const task = await catalog.load(product('A', ['Size', '1']), product('B', ['Size', 'large']));
  assert.deepEqual(await typesOf(catalog), { Size: 'NUMERIC_ATTRIBUTE' });
  assert.deepEqual(await factsOf(catalog, 'B'), []);
  const [line, ...rest] = await catalog.report(task);
  assert.deepEqual(rest, []);
  const { message, ...fixed } = line;
  assert.deepEqual(fixed, { identifier: 'B', code: 'value_not_numeric', attribute: 'Size', value: 'large' });
  assert.equal(typeof message, 'string');
});

test('incremental and partial updates create no attributes and report each unknown one once (§11.2 rule 6, §4.7 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Known', 'x']));
  const incremental = await catalog.update(
    product('A', ['Known', 'x'], ['New', '1']),
    product('B', ['New', '2'], ['Newer', '3']),
  );
  const partial = await catalog.patch({ identifier: 'A', attributes: { Newest: '4' } });
  assert.deepEqual(await typesOf(catalog), { Known: 'TEXT_ATTRIBUTE' });
  assert.deepEqual(await factsOf(catalog, 'A'), [['Known', 'x']]);
  assert.deepEqual(await factsOf(catalog, 'B'), []);
  const unknown = async (task: { id: string }) =>
    (await catalog.report(task)).map(({ identifier, code, attribute }) => [identifier, code, attribute]);
  assert.deepEqual(await unknown(incremental), [
    [undefined, 'attribute_unknown', 'New'],
    [undefined, 'attribute_unknown', 'Newer'],
  ]);
  assert.deepEqual((await unknown(partial)).toSorted(), [
    [undefined, 'attribute_unknown', 'New'],
    [undefined, 'attribute_unknown', 'Newest'],
  ]);
  const upload = await catalog.stored('A');
  assert.deepEqual(
    upload.attributes.map(({ key }: { key: string }) => key),
    ['Known', 'New', 'Newest'],
    'the raw values are kept',
  );
});

test('raw values of an unknown attribute become facts when the ontology gains the attribute (§11.3 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.update(product('A', ['Length', '5 in'], ['Colour', 'red']));
  assert.deepEqual(await factsOf(catalog, 'A'), []);
  await define(catalog, 'own', numeric('Length', 'in'));
  assert.deepEqual(await factsOf(catalog, 'A'), [['Length', '5 in']]);
  await define(catalog, 'automatic');
  assert.deepEqual(await factsOf(catalog, 'A'), []);
  await catalog.load(product('A', ['Length', '5 in'], ['Colour', 'red']));
  assert.deepEqual(await factsOf(catalog, 'A'), [
    ['Length', '5 in'],
    ['Colour', 'red'],
  ]);
});

test('in the mode own, full updates create no attributes and report each unknown one once per task (§11.2 rule 1)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'own', text('Colour'));
  await stage(
    catalog,
    [product('A', ['Colour', 'red'], ['Size', '1'])],
    [product('B', ['Size', '2']), product('C', ['Size', '3'])],
  );
  const task = await commit(catalog);
  assert.deepEqual(await typesOf(catalog), { Colour: 'TEXT_ATTRIBUTE' });
  assert.deepEqual(await factsOf(catalog, 'A'), [['Colour', 'red']]);
  assert.deepEqual(
    (await catalog.report(task)).map(({ code, attribute }) => [code, attribute]),
    [['attribute_unknown', 'Size']],
  );
});

test('the next full update adds a removed attribute again with its id, even if no product changed (§11.2 rule 5, §11.4 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const upload = product('A', ['Colour', 'red'], ['Size', '1']);
  await catalog.load(upload);
  const [before] = await catalog.find('A');
  const { attributes } = await getOntology(catalog);
  await define(catalog, 'automatic', ...attributes.filter(({ name }) => name !== 'Size'));
  assert.deepEqual(await factsOf(catalog, 'A'), [['Colour', 'red']]);
  await catalog.update(upload);
  assert.deepEqual(await factsOf(catalog, 'A'), [['Colour', 'red']], 'only a full update brings it back');
  await catalog.load(upload);
  assert.deepEqual((await getOntology(catalog)).attributes, attributes);
  const [after] = await catalog.find('A');
  assert.deepEqual(after.facts, before.facts);
  assert.equal(after.id, before.id);
});

test('PUT accepts the answer of GET and then starts no task (§11.1 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Colour', 'red'], ['Size', '1 in'], ['Price', '19,99 €']));
  const full: Attribute[] = [
    { ...text('Colour'), synonyms: ['Color', 'Farbe'] },
    { ...numeric('Price', '€'), decimal: 'comma' },
    { ...numeric('Plain'), decimal: 'point' },
    { name: 'Sold', type: 'BOOLEAN_ATTRIBUTE' },
    { name: 'Since', type: 'DATE_ATTRIBUTE' },
    { name: 'Other', type: 'UNTYPED_ATTRIBUTE' },
  ];
  for (const mode of ['own', 'automatic'] as const) {
    await define(catalog, mode, ...full);
    const ontology = await getOntology(catalog);
    assert.equal(ontology.mode, mode);
    assert.deepEqual(
      ontology.attributes.map(({ id: _, ...attribute }) => attribute).toSorted(byName),
      full.toSorted(byName),
    );
    const tasks = await catalog.tasks();
    const answer = await putOntology(catalog, ontology);
    assert.deepEqual([answer.status, answer.body], [200, ontology]);
    assert.deepEqual(await getOntology(catalog), ontology);
    assert.equal((await catalog.tasks()).length, tasks.length);
  }
});

const byName = (a: Attribute, b: Attribute) => (a.name < b.name ? -1 : 1);

test('PUT changes attributes that it names by id or name, adds new ones and removes the others (§11.1 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Colour', 'red'], ['Size', '1'], ['Shape', 'round']));
  const { attributes } = await getOntology(catalog);
  const idOf = (name: string) => attributes.find((attribute) => attribute.name === name)?.id;
  const put = await define(
    catalog,
    'own',
    { ...text('Tint'), id: Number(idOf('Colour')), synonyms: ['Colour'] },
    text('Size'),
    text('Weight'),
  );
  const byNewName = new Map(put.attributes.map((attribute) => [attribute.name, attribute]));
  assert.deepEqual([...byNewName.keys()].sort(), ['Size', 'Tint', 'Weight']);
  assert.equal(byNewName.get('Tint')?.id, idOf('Colour'), 'renamed by id');
  assert.equal(byNewName.get('Size')?.id, idOf('Size'), 'changed by name');
  assert.ok(![...attributes.map(({ id }) => id)].includes(byNewName.get('Weight')?.id), 'an id of its own');
  assert.deepEqual(await getOntology(catalog), put);
  assert.deepEqual(await factsOf(catalog, 'A'), [
    ['Tint', 'red'],
    ['Size', '1'],
  ]);
});

test('two attributes can exchange names and keep their ids (§11.1 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const [first, second] = (await define(catalog, 'own', text('First'), text('Second'))).attributes;
  assert.ok(first?.id && second?.id);
  const put = await define(
    catalog,
    'own',
    { ...text('Second'), id: first.id },
    { ...text('First'), id: second.id },
  );
  assert.deepEqual(
    put.attributes.map(({ id, name }) => [id, name]),
    [
      [first.id, 'Second'],
      [second.id, 'First'],
    ],
  );
});

const REFUSED: readonly { why: string; body: object }[] = [
  { why: 'no mode', body: { attributes: [] } },
  { why: 'no attributes', body: { mode: 'own' } },
  { why: 'another mode', body: { mode: 'manual', attributes: [] } },
  { why: 'an unknown type', body: { mode: 'own', attributes: [{ name: 'A', type: 'MONEY_ATTRIBUTE' }] } },
  { why: 'an unknown field', body: { mode: 'own', attributes: [{ ...text('A'), unit: 'in' }] } },
  { why: 'a unit of a text', body: { mode: 'own', attributes: [{ ...text('A'), unitName: 'in' }] } },
  ...['BOOLEAN', 'DATE', 'UNTYPED'].map((type) => ({
    why: `a unit of ${type}`,
    body: { mode: 'own', attributes: [{ name: 'A', type: `${type}_ATTRIBUTE`, unitName: 'in' }] },
  })),
  { why: 'a decimal of a text', body: { mode: 'own', attributes: [{ ...text('A'), decimal: 'comma' }] } },
  { why: 'a name twice', body: { mode: 'own', attributes: [text('A'), numeric('A')] } },
  {
    why: 'an id twice',
    body: {
      mode: 'own',
      attributes: [
        { ...text('A'), id: 1 },
        { ...text('B'), id: 1 },
      ],
    },
  },
  {
    why: 'a synonym that is a name',
    body: { mode: 'own', attributes: [text('A'), { ...text('B'), synonyms: ['A'] }] },
  },
];
for (const { why, body } of REFUSED) {
  test(`an ontology with ${why} is refused and changes nothing (§11.1)`, async () => {
    const catalog = await createCatalog(service());
    const ontology = await define(catalog, 'own', text('Kept'));
    assertRefused(await putOntology(catalog, body), 400);
    assert.deepEqual(await getOntology(catalog), ontology);
  });
}

test('names match exactly, including upper and lower case (§11.1 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'own', text('Colour'), numeric('COLOUR'));
  await catalog.load(product('A', ['Colour', 'red'], ['COLOUR', '1'], ['colour', 'blue'], ['Colour ', 'x']));
  assert.deepEqual(await factsOf(catalog, 'A'), [
    ['Colour', 'red'],
    ['COLOUR', '1'],
  ]);
});

test('__proto__ and constructor are valid names (§11.1 rule 6)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['__proto__', '1'], ['constructor', 'x'], ['toString', 'true']));
  assert.deepEqual((await factsOf(catalog, 'A')).sort(), [
    ['__proto__', '1'],
    ['constructor', 'x'],
    ['toString', 'true'],
  ]);
  const ontology = await getOntology(catalog);
  assert.deepEqual((await putOntology(catalog, ontology)).body, ontology);
});

const READ: readonly { attribute: Attribute; takes: string[]; refuses: Record<string, string> }[] = [
  {
    attribute: numeric('Length', 'in'),
    takes: ['12.5 in', '-1 in', '+0.5 in', '1e3 in', '007 in'],
    refuses: {
      '12.5': 'unit_missing',
      '12.5 cm': 'unit_other',
      '12.5 IN': 'unit_other',
      '12.5  in': 'unit_other',
      '12.5 in ': 'unit_other',
      '12,5 in': 'value_not_numeric',
      '12.5in': 'value_not_numeric',
      long: 'value_not_numeric',
      ' in': 'value_not_numeric',
    },
  },
  {
    attribute: numeric('Count'),
    takes: ['12', '-12.25', '1E-3', '.5'],
    refuses: {
      '12 in': 'unit_other',
      '1,5': 'value_not_numeric',
      '1.2.3': 'value_not_numeric',
      '0x10': 'value_not_numeric',
      Infinity: 'value_not_numeric',
      '1e999': 'value_not_numeric',
      ' 12': 'value_not_numeric',
    },
  },
  {
    attribute: { ...numeric('Price', '€'), decimal: 'comma' },
    takes: ['19,99 €', '20 €', '-0,5 €'],
    refuses: { '19.99 €': 'value_not_numeric', '19,99': 'unit_missing', '19,99 $': 'unit_other' },
  },
  {
    attribute: { name: 'Sold', type: 'BOOLEAN_ATTRIBUTE' },
    takes: ['true', 'false', 'TRUE', 'False'],
    refuses: { yes: 'value_not_boolean', '1': 'value_not_boolean', ' true': 'value_not_boolean' },
  },
  {
    attribute: { name: 'Since', type: 'DATE_ATTRIBUTE' },
    takes: [
      '2026-01-31',
      '2024-02-29',
      '2026-01-31T23:59:59Z',
      '2026-01-31 08:15',
      '2026-01-31T08:15:00.5+02:00',
    ],
    refuses: {
      '31.01.2026': 'value_not_date',
      '2026-02-29': 'value_not_date',
      '2026-13-01': 'value_not_date',
      '2026-1-1': 'value_not_date',
      '2026-01-31T25:00': 'value_not_date',
      today: 'value_not_date',
    },
  },
  { attribute: text('Note'), takes: [' spaces ', '12', 'ß\n'], refuses: {} },
  { attribute: { name: 'Free', type: 'UNTYPED_ATTRIBUTE' }, takes: ['\u00a0x', '12 in'], refuses: {} },
];
for (const { attribute, takes, refuses } of READ) {
  test(`values of ${describe(attribute)} are read by its rule, and other values stay raw and are reported (§11.3)`, async () => {
    const catalog = await createCatalog(service());
    await define(catalog, 'own', attribute);
    const values = [...takes, ...Object.keys(refuses)];
    const task = await catalog.load(
      ...values.map((value, index) => product(`P${index}`, [attribute.name, value])),
    );
    for (const [position, value] of values.entries()) {
      const expected = position < takes.length ? [[attribute.name, value]] : [];
      assert.deepEqual(await factsOf(catalog, `P${position}`), expected, value);
      assert.equal((await catalog.stored(`P${position}`)).attributes[0].value, value);
    }
    const lines = await catalog.report(task);
    assert.deepEqual(
      lines.map(({ message, ...line }) => {
        assert.ok(message.length > 0);
        return line;
      }),
      Object.entries(refuses).map(([value, code]) => ({
        identifier: `P${values.indexOf(value)}`,
        code,
        attribute: attribute.name,
        value,
      })),
    );
  });
}

test('an unchanged product is reported again for values that are not extracted (§11.3 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'own', numeric('Length', 'in'));
  const upload = product('A', ['Length', '12.5']);
  const codes = async (task: { id: string }) => (await catalog.report(task)).map(({ code }) => code);
  assert.deepEqual(await codes(await catalog.load(upload)), ['unit_missing']);
  const [before] = await catalog.find('A');
  assert.deepEqual(await codes(await catalog.load(upload)), ['unit_missing']);
  assert.deepEqual(await codes(await catalog.update(upload)), ['unit_missing']);
  assert.deepEqual(await catalog.find('A'), [before]);
});

test('equal values of one attribute are one fact, whose user groups are the union, or none (§11.4 rules 4 and 5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(
    product(
      'A',
      ['Colour', 'red', ['trade']],
      ['Colour', 'red', ['staff', 'trade']],
      ['Colour', 'blue', ['trade']],
      ['Colour', 'blue'],
      ['Colour', 'green'],
      ['Colour', 'green'],
      ['Shape', 'red', ['trade']],
    ),
  );
  const [served] = await catalog.find('A');
  const facts = served.facts.map(({ attribute, value, userGroups }: Fact) => [
    attribute,
    value,
    userGroups?.toSorted(),
  ]);
  assert.deepEqual(facts, [
    ['Colour', 'red', ['staff', 'trade']],
    ['Colour', 'blue', undefined],
    ['Colour', 'green', undefined],
    ['Shape', 'red', ['trade']],
  ]);
});

test('a synonym means its attribute, and equal values under both keys are one fact (§11.1 rule 7, §11.4 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'automatic', { ...text('Colour'), synonyms: ['Farbe', 'Color'] });
  await catalog.load(
    product('A', ['Farbe', 'rot']),
    product('B', ['Colour', 'rot'], ['Color', 'rot'], ['Farbe', 'blau']),
    product('C', ['farbe', 'rot']),
  );
  assert.deepEqual(await factsOf(catalog, 'A'), [['Colour', 'rot']]);
  assert.deepEqual(await factsOf(catalog, 'B'), [
    ['Colour', 'rot'],
    ['Colour', 'blau'],
  ]);
  assert.deepEqual(await factsOf(catalog, 'C'), [['farbe', 'rot']], 'another case is another key');
  const [a, b] = await catalog.find('A', 'B');
  assert.equal(a.facts[0].valueId, b.facts[0].valueId);
});

test('attributeId and valueId stay the same when a catalog is loaded again (§11.4 rules 1 and 2)', async () => {
  const catalog = await createCatalog(service());
  const upload = product('A', ['Colour', 'red'], ['Length', '5 in']);
  await catalog.load(upload);
  const [before] = await catalog.find('A');
  await catalog.load(product('B', ['Other', 'x']));
  await catalog.load(upload);
  const [after] = await catalog.find('A');
  assert.deepEqual(after.facts, before.facts);
});

test('the detail of a product shows its upload and each value without a fact (§14.3 rule 3)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'own', numeric('Length', 'in'), text('Colour'));
  const upload = {
    ...product('A /ä', ['Length', '12.5'], ['Colour', 'red'], ['Width', '5']),
    settings: { excludeUserGroups: ['minors'] },
  };
  await catalog.update(upload);
  const { status, body } = await service().call(
    'GET',
    `${pathOf(catalog)}/products/${encodeURIComponent('A /ä')}`,
  );
  assert.equal(status, 200);
  assert.deepEqual([body.product], await catalog.find('A /ä'));
  assert.deepEqual(body.upload.settings, upload.settings);
  assert.deepEqual(body.upload.attributes, upload.attributes);
  assert.deepEqual(
    body.notExtracted.map(({ message: _, ...entry }: { message: string }) => entry),
    [
      { attribute: 'Length', value: '12.5', code: 'unit_missing' },
      { attribute: 'Width', value: '5', code: 'attribute_unknown' },
    ],
  );
  assertRefused(await service().call('GET', `${pathOf(catalog)}/products/never-there`), 404);
});

test('the list of products continues at its cursor, and its export can be uploaded again (§14.3 rules 1 and 2)', async () => {
  const catalog = await createCatalog(service());
  const uploads = Array.from({ length: 7 }, (_, index) =>
    product(`P${index}`, ['Size', String(index)], ['Ö', '😀']),
  );
  await catalog.load(...uploads);
  const seen: { identifier: string; id: number; lastUpdateTs: number }[] = [];
  let cursor = '';
  for (let page = 0; page < 3; page += 1) {
    const { body } = await service().call('GET', `${pathOf(catalog)}/products?limit=3${cursor}`);
    seen.push(...body.items);
    assert.equal(body.nextCursor === null, page === 2);
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
  const products = await catalog.find(...uploads.map(({ identifier }) => identifier));
  assert.deepEqual(
    seen.map(({ identifier, id, lastUpdateTs }) => [identifier, id, lastUpdateTs]),
    products.map(({ identifier, id, lastUpdateTs }) => [identifier, id, lastUpdateTs]),
  );
  const exported = await service().call('GET', `${pathOf(catalog)}/products?format=ndjson`);
  assert.match(exported.headers.get('content-type') ?? '', /^application\/x-ndjson/);
  const lines = exported.body.split('\n').filter((line: string) => line !== '');
  await catalog.load(...lines.map((line: string) => JSON.parse(line)));
  assert.deepEqual(await catalog.find(...uploads.map(({ identifier }) => identifier)), products);
  for (const limit of ['0', '1001', 'x'])
    assertRefused(await service().call('GET', `${pathOf(catalog)}/products?limit=${limit}`), 400);
});

/** Enough that their extraction takes longer than a request. */
const MANY = Array.from({ length: 6_000 }, (_, index) =>
  product(
    `M${String(index).padStart(4, '0')}`,
    ['Length', `${index} in`],
    ['Colour', index % 2 === 0 ? 'red' : 'blue'],
  ),
);

test('a change of the ontology re-extracts the catalog without an upload, in a task listed before PUT answers (§11.5 rule 1, §3.2 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...MANY);
  await catalog.load(...MANY, product('Z', ['Colour', 'red']));
  const identifiers = ['M0007', 'M5999', 'Z'];
  const before = await catalog.find(...identifiers);
  const changes = [
    [text('Length'), text('Colour')],
    [numeric('Length', 'in'), text('Colour')],
    [numeric('Length', 'in'), text('Tint'), text('Colour')],
    [text('Colour')],
  ];
  const states: string[] = [];
  for (const [index, attributes] of changes.entries()) {
    const answer = await putOntology(catalog, { mode: 'own', attributes });
    assert.equal(answer.status, 200);
    const [newest, ...older] = await listExtractions(catalog);
    assert.equal(older.length, index);
    states.push(newest.taskStatus);
    assert.deepEqual(
      [newest.name, newest.taskIncrementType, newest.origin, newest.failure],
      ['re-extraction', 'STEP_BASED', 'LIVE-API', false],
    );
  }
  assert.equal(states.at(-1), 'PENDING', 'after the tasks in progress');
  await extracted(catalog);
  const after = await catalog.find(...identifiers);
  assert.deepEqual(
    after.map(({ facts }) => facts.map(({ attribute, value }: Fact) => [attribute, value])),
    [[['Colour', 'blue']], [['Colour', 'blue']], [['Colour', 'red']]],
  );
  for (const position of [0, 1])
    assert.ok(after[position].lastUpdateTs > before[position].lastUpdateTs, 'its facts changed');
  assert.deepEqual(after[2], before[2], 'no fact of this product changed');
  assert.deepEqual(
    after.map(({ id }) => id),
    before.map(({ id }) => id),
  );
});

test('the report of a re-extraction names the values that no longer make a fact (§4.7 rule 5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Length', '5 in']), product('B', ['Length', '5 cm']));
  await define(catalog, 'own', numeric('Length', 'cm'));
  const [task] = await listExtractions(catalog);
  const lines = await catalog.report(task);
  assert.deepEqual(
    lines.map(({ identifier, code, value }) => [identifier, code, value]),
    [['A', 'unit_other', '5 in']],
  );
  assert.deepEqual(await factsOf(catalog, 'B'), [['Length', '5 cm']]);
});

test('updates accepted after a change use the new ontology, and the re-extraction never overwrites them (§11.5 rules 2 and 3)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(...MANY);
  const { attributes } = await getOntology(catalog);
  for (const [round, unitName] of ['cm', 'm', 'in'].entries()) {
    const changed = attributes.map((attribute) =>
      attribute.name === 'Length' ? { ...attribute, unitName } : attribute,
    );
    assert.equal((await putOntology(catalog, { mode: 'automatic', attributes: changed })).status, 200);
    const updates = MANY.slice(round * 100, round * 100 + 100).map(({ identifier }) =>
      product(identifier, ['Length', `${round} ${unitName}`], ['Colour', `round ${round}`]),
    );
    const task = await catalog.update(...updates);
    assert.deepEqual(await catalog.report(task), []);
    for (const { identifier } of updates) {
      assert.deepEqual(await factsOf(catalog, identifier), [
        ['Length', `${round} ${unitName}`],
        ['Colour', `round ${round}`],
      ]);
    }
  }
  await extracted(catalog);
  const colours = async (from: number) =>
    (await catalog.find(...MANY.slice(from, from + 100).map(({ identifier }) => identifier))).map(
      ({ facts }) => facts.map(({ value }: Fact) => value).join(),
    );
  assert.deepEqual(new Set(await colours(0)), new Set(['round 0']), 'cm is no longer the unit');
  assert.deepEqual(new Set(await colours(100)), new Set(['round 1']));
  assert.deepEqual(new Set(await colours(200)), new Set(['2 in,round 2']));
  assert.equal((await colours(300))[0], '300 in,red');
});

test('a full update that was open when the ontology changed is committed with the new ontology (§11.5 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('OLD', ['Length', '1 in']));
  await stage(catalog, [product('OLD', ['Length', '1 in']), product('A', ['Length', '5 in'], ['Size', '7'])]);
  await define(catalog, 'automatic', text('Size'), numeric('Length', 'cm'));
  const report = await catalog.report(await commit(catalog));
  assert.deepEqual(await typesOf(catalog), { Size: 'TEXT_ATTRIBUTE', Length: 'NUMERIC_ATTRIBUTE cm' });
  assert.deepEqual(await factsOf(catalog, 'A'), [['Size', '7']]);
  assert.deepEqual(await factsOf(catalog, 'OLD'), []);
  assert.deepEqual(report.map(({ identifier, code }) => [identifier, code]).sort(), [
    ['A', 'unit_other'],
    ['OLD', 'unit_other'],
  ]);
});

test('a full update that was open when its attributes became automatic also makes facts of unchanged products (§11.2 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, 'own');
  const uploads = [product('A', ['Size', '7']), product('B', ['Size', '8'])];
  await catalog.load(...uploads);
  await stage(catalog, uploads);
  await define(catalog, 'automatic');
  await commit(catalog);
  await extracted(catalog);
  assert.deepEqual(await typesOf(catalog), { Size: 'NUMERIC_ATTRIBUTE' });
  assert.deepEqual(await factsOf(catalog, 'A'), [['Size', '7']]);
});

test('a product that a commit returns to its staged version has facts of the ontology at the commit (§11.5)', async () => {
  const catalog = await createCatalog(service());
  const upload = product('A', ['Length', '5 in']);
  await catalog.load(upload);
  await stage(catalog, [upload]);
  await catalog.update(product('A', ['Length', '6 in']));
  await define(catalog, 'automatic', numeric('Length', 'in'), text('Note'));
  await define(catalog, 'automatic', numeric('Length', 'cm'));
  await commit(catalog);
  await extracted(catalog);
  assert.deepEqual(await factsOf(catalog, 'A'), []);
  await define(catalog, 'automatic', numeric('Length', 'in'));
  assert.deepEqual(await factsOf(catalog, 'A'), [['Length', '5 in']]);
});

test('restored products have facts of the current ontology (§4.5, §11.5)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A', ['Length', '5 in']), product('B', ['Length', '6 in']));
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A'] }));
  await define(catalog, 'automatic', text('Length'));
  const { id } = await catalog.done(await catalog.post('/products/batch/restore'));
  assert.ok(id);
  await extracted(catalog);
  const [a, b] = await catalog.find('A', 'B');
  assert.deepEqual([a.facts[0].type, b.facts[0].type], ['TEXT_ATTRIBUTE', 'TEXT_ATTRIBUTE']);
});
