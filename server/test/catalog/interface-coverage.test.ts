// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const pathOf = ({ projectId }: TestCatalog, of: string) => `/management/projects/${projectId}/ontology${of}`;
const NDJSON = { accept: 'application/x-ndjson' };

type Value = readonly [key: string, value: string];
const product = (identifier: string, ...values: readonly Value[]) => ({
  identifier,
  attributes: values.map(([key, value]) => ({ key, value })),
});

const LENGTH = { name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in', synonyms: ['Länge'] };
const COLOUR = { name: 'Colour', type: 'TEXT_ATTRIBUTE' };

async function define(catalog: TestCatalog, ...attributes: object[]): Promise<AnyBody[]> {
  const { body } = await service().call('PUT', pathOf(catalog, ''), { body: { mode: 'own', attributes } });
  return body.attributes;
}

async function cover(catalog: TestCatalog, query = ''): Promise<AnyBody> {
  const { status, body } = await service().call('GET', pathOf(catalog, `/coverage${query}`));
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const preview = (catalog: TestCatalog, attribute: object, headers: Record<string, string> = {}) =>
  service().call('POST', pathOf(catalog, '/preview'), { body: { attribute }, headers });

async function effectOf(catalog: TestCatalog, attribute: object): Promise<AnyBody> {
  const { status, body } = await preview(catalog, attribute);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const linesOf = (body: unknown): AnyBody[] =>
  String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('the coverage of a category counts only its products (§11.6 rule 8)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, COLOUR);
  const inCategory = (identifier: string, path: string[], ...values: readonly Value[]) => ({
    ...product(identifier, ...values),
    categories: [{ path }],
  });
  await catalog.load(
    inCategory('A', ['Tools', 'Drills'], ['Colour', 'red']),
    inCategory('B', ['Tools'], ['Weight', '1']),
    inCategory('C', ['Toys'], ['Colour', 'blue']),
  );
  const { attributes, unknown, ...looked } = await cover(
    catalog,
    `?category=${encodeURIComponent('["Tools"]')}`,
  );
  assert.deepEqual(looked, { products: 3, sampled: false, sampledProducts: 2 });
  assert.deepEqual([attributes[0].withValue, attributes[0].values], [1, [{ value: 'red', count: 1 }]]);
  assert.deepEqual(
    unknown.map(({ name, withValue }: AnyBody) => [name, withValue]),
    [['Weight', 1]],
  );
  const refused = await service().call('GET', pathOf(catalog, '/coverage?category=Tools'));
  assertRefused(refused, 400);
});

test('coverage counts products that are too large to be read together (§11.6 rules 1 to 3)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, COLOUR);
  const large = Array.from({ length: 30 }, (_, index) => [`Text ${index}`, 'x'.repeat(50_000)] as const);
  await catalog.load(product('A', ...large), product('B', ...large), product('C', ...large));
  const { products, unknown } = await cover(catalog);
  assert.deepEqual([products, unknown[0].withValue], [3, 3]);
});

test('coverage counts products with values and with facts, and the values and problems of each attribute (§11.6 rules 1 to 3)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, LENGTH, COLOUR, { name: 'Unused', type: 'DATE_ATTRIBUTE' });
  await catalog.load(
    product('A', ['Length', '5 in'], ['Länge', '6 in'], ['Colour', 'red']),
    product('B', ['Länge', '5 in'], ['Length', '5'], ['Colour', 'red'], ['Colour', 'blue'], ['Weight', '1']),
    product('C', ['Length', '5'], ['Size', 'x'.repeat(300)]),
    product('D', ['Length', '5 cm'], ['Weight', '2']),
  );
  const { attributes, unknown, ...looked } = await cover(catalog);
  assert.deepEqual(looked, { products: 4, sampled: false, sampledProducts: 4 });
  const [length, colour, unused] = attributes;
  assert.deepEqual([length.name, length.type, length.unitName], ['Length', 'NUMERIC_ATTRIBUTE', 'in']);
  assert.deepEqual([length.withValue, length.withFact, length.distinctValues], [4, 2, 4]);
  assert.deepEqual(length.values, [
    { value: '5', count: 2 },
    { value: '5 in', count: 2 },
    { value: '5 cm', count: 1 },
    { value: '6 in', count: 1 },
  ]);
  assert.deepEqual(
    length.problems.map(({ message, ...problem }: AnyBody) => [message.length > 0, problem]),
    [
      [
        true,
        {
          code: 'unit_missing',
          count: 2,
          examples: [
            { identifier: 'B', value: '5' },
            { identifier: 'C', value: '5' },
          ],
        },
      ],
      [true, { code: 'unit_other', count: 1, examples: [{ identifier: 'D', value: '5 cm' }] }],
    ],
  );
  assert.deepEqual([colour.withValue, colour.withFact, colour.problems], [2, 2, []]);
  assert.deepEqual([unused.withValue, unused.values, unused.hasMoreValues], [0, [], false]);
  assert.deepEqual(
    unknown.map(({ id, name, type, withValue, withFact }: AnyBody) => [id, name, type, withValue, withFact]),
    [
      [null, 'Weight', null, 2, 0],
      [null, 'Size', null, 1, 0],
    ],
  );
  assert.equal(unknown[1].values[0].value, `${'x'.repeat(200)}…`);
});

test('the coverage of an empty catalog contains zeros (§11.6 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const empty = { products: 0, sampled: false, sampledProducts: 0, attributes: [], unknown: [] };
  assert.deepEqual(await cover(catalog), empty);
});

const EFFECTS: readonly { why: string; attribute: object; kept: number; gained: string[]; lost: string[] }[] =
  [
    { why: 'nothing changes', attribute: LENGTH, kept: 2, gained: [], lost: [] },
    {
      why: 'another unit',
      attribute: { ...LENGTH, unitName: 'cm' },
      kept: 0,
      gained: ['D'],
      lost: ['A', 'B'],
    },
    {
      why: 'no unit',
      attribute: { name: 'Length', type: 'NUMERIC_ATTRIBUTE', synonyms: ['Länge'] },
      kept: 0,
      gained: ['C'],
      lost: ['A', 'B'],
    },
    {
      why: 'text, which accepts every value',
      attribute: { ...COLOUR, name: 'Length', synonyms: ['Länge'] },
      kept: 2,
      gained: ['C', 'D'],
      lost: [],
    },
    {
      why: 'a removed synonym',
      attribute: { name: 'Length', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
      kept: 1,
      gained: [],
      lost: ['B'],
    },
    {
      why: 'an added synonym',
      attribute: { ...LENGTH, synonyms: ['Länge', 'Width'] },
      kept: 2,
      gained: ['E'],
      lost: [],
    },
    {
      why: 'a new attribute',
      attribute: { name: 'Width', type: 'TEXT_ATTRIBUTE' },
      kept: 0,
      gained: ['E'],
      lost: [],
    },
  ];
for (const { why, attribute, kept, gained, lost } of EFFECTS) {
  test(`a preview predicts the gained and lost facts exactly: ${why} (§11.6 rules 4 and 5)`, async () => {
    const catalog = await createCatalog(service());
    await define(catalog, LENGTH, COLOUR);
    await catalog.load(
      product('A', ['Length', '5 in']),
      product('B', ['Länge', '6 in']),
      product('C', ['Length', '7']),
      product('D', ['Length', '8 cm']),
      product('E', ['Width', '9 in'], ['Colour', 'red']),
    );
    const identifiers = ['A', 'B', 'C', 'D', 'E'];
    const name = 'name' in attribute ? attribute.name : '';
    const listFacts = async () =>
      (await catalog.find(...identifiers)).flatMap(({ identifier, facts }) =>
        facts.flatMap((fact: AnyBody) => (fact.attribute === name ? [identifier] : [])),
      );
    const before = await listFacts();
    const effect = await effectOf(catalog, attribute);
    const named = ({ examples }: AnyBody) => examples.map((example: AnyBody) => example.identifier);
    assert.deepEqual([effect.kept, named(effect.gained), named(effect.lost)], [kept, gained, lost]);
    assert.deepEqual([effect.gained.count, effect.lost.count], [gained.length, lost.length]);
    assert.deepEqual([effect.products, effect.sampled, effect.sampledProducts], [5, false, 5]);
    assert.deepEqual(await listFacts(), before, 'a preview changes nothing');

    const others = [LENGTH, COLOUR].filter((attribute) => attribute.name !== name);
    await define(catalog, attribute, ...others);
    for (const { id, name: task } of await catalog.tasks())
      if (task === 're-extraction') await service().ended(id);
    const after = await listFacts();
    assert.deepEqual(
      after.filter((fact) => !before.includes(fact)),
      gained,
    );
    assert.deepEqual(
      before.filter((fact) => !after.includes(fact)),
      lost,
    );
  });
}

test('an attribute is matched by its id, even if its name changes (§11.6 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const [length] = await define(catalog, LENGTH);
  await catalog.load(product('A', ['Length', '5 in'], ['Size', '6 in']));
  const { kept, gained, lost, withValue } = await effectOf(catalog, {
    ...length,
    name: 'Size',
    synonyms: [],
  });
  assert.deepEqual([kept, gained.count, lost.count, withValue], [0, 1, 1, 1]);
  const { problems } = await effectOf(catalog, { ...length, type: 'DATE_ATTRIBUTE', unitName: undefined });
  assert.deepEqual(
    problems.map(({ code, count }: AnyBody) => [code, count]),
    [['value_not_date', 1]],
  );
});

test('a preview refuses an attribute that PUT would refuse (§11.6 rule 6, §11.1)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, LENGTH, COLOUR);
  for (const [attribute, detail] of [
    [{ ...COLOUR, unitName: 'in' }, '/attribute/unitName'],
    [{ ...COLOUR, synonyms: ['Länge'] }, '/attribute uses the key "Länge" of "Length"'],
    [{ ...COLOUR, type: 'NUMBER' }, '/attribute/type'],
    [{ type: 'TEXT_ATTRIBUTE' }, 'name'],
  ] as const) {
    for (const headers of [{}, NDJSON]) {
      const answer = await preview(catalog, attribute, headers);
      assertRefused(answer, 400, 'Your body params are not valid');
      assert.ok(answer.body.details.join().includes(detail), JSON.stringify(answer.body));
    }
  }
  assertRefused(await service().call('GET', pathOf(catalog, '/coverage?sample=some')), 400);
  assertRefused(await service().call('GET', '/management/projects/4711/ontology/coverage'), 404);
});

test('a large catalog is sampled, or counted completely with progress (§11.6 rules 1 and 7, §17.1 rule 4)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, COLOUR);
  const all = Array.from({ length: 60_000 }, (_, index) =>
    product(`P${String(index).padStart(5, '0')}`, ['Colour', index % 2 === 0 ? 'red' : `unique ${index}`]),
  );
  await catalog.load(...all);
  const { attributes, unknown, ...looked } = await cover(catalog);
  assert.deepEqual([looked, unknown], [{ products: 60_000, sampled: true, sampledProducts: 50_000 }, []]);
  assert.deepEqual([attributes[0].withValue, attributes[0].values[0].count], [50_000, 25_000]);
  assert.deepEqual([attributes[0].distinctValues, attributes[0].hasMoreValues], [5_000, true]);
  assert.equal(attributes[0].values.length, 100);

  const answer = await service().call('GET', pathOf(catalog, '/coverage?sample=all'), { headers: NDJSON });
  const lines = linesOf(answer.body);
  assert.ok(lines.length > 10, 'progress is reported during the work');
  assert.ok(lines.every(({ scanned, of }) => of === 60_000 && scanned <= of));
  const { result } = lines.at(-1);
  assert.deepEqual([result.sampled, result.sampledProducts], [false, 60_000]);
  assert.equal(result.attributes[0].withFact, 60_000);
  const effect = linesOf((await preview(catalog, { ...COLOUR, type: 'BOOLEAN_ATTRIBUTE' }, NDJSON)).body);
  assert.deepEqual(effect.at(-1).result.lost.count, 50_000);
  const { body: suggested } = await service().call(
    'GET',
    `/management/projects/${catalog.projectId}/suggestions`,
  );
  const { products, sampled, sampledProducts } = suggested;
  assert.deepEqual([products, sampled, sampledProducts], [60_000, true, 20_000]);
});

test('sample=all counts the same as reading each product, also when repeated and after a change (§11.6 rules 1 and 2)', async () => {
  const catalog = await createCatalog(service());
  await define(catalog, COLOUR);
  // A sample of 50,000 has the first 50 of each 60 products, in which red is more frequent than blue.
  const colourOf = (index: number) =>
    index % 60 < 12 ? 'red' : index % 60 < 20 || index % 60 >= 54 ? 'blue' : 'green';
  const all = Array.from({ length: 60_000 }, (_, index) => ({
    ...product(`P${String(index).padStart(5, '0')}`, ['Colour', colourOf(index)]),
    categories: [{ path: [index % 3 === 0 ? 'Third' : 'Others'] }],
  }));
  await catalog.load(...all);
  const valuesOf = async (query: string) => (await cover(catalog, query)).attributes[0].values;
  const countAll = (holds: (index: number) => boolean) => {
    const colours = all.flatMap((_, index) => (holds(index) ? [colourOf(index)] : []));
    return [...Map.groupBy(colours, (colour) => colour)]
      .map(([value, { length }]) => ({ value, count: length }))
      .sort((a, b) => b.count - a.count);
  };
  const everyOne = countAll(() => true);
  assert.notDeepEqual(
    (await valuesOf('')).map(({ value }: { value: string }) => value),
    everyOne.map(({ value }) => value),
    'the sample has another order',
  );
  for (const time of ['first', 'again']) assert.deepEqual(await valuesOf('?sample=all'), everyOne, time);
  const category = encodeURIComponent('["Third"]');
  const third = countAll((index) => index % 3 === 0);
  assert.deepEqual(await valuesOf(`?sample=all&category=${category}`), third);
  await catalog.update({ ...product('P00000', ['Colour', 'blue']), name: 'Blue' });
  const changed = everyOne.map(({ value, count }) => ({
    value,
    count: count + { red: -1, blue: 1, green: 0 }[value as 'red'],
  }));
  assert.deepEqual(await valuesOf('?sample=all'), changed);
  await define(catalog, { ...COLOUR, name: 'Other' });
  assert.equal((await cover(catalog, '?sample=all')).attributes[0].name, 'Other');
});
