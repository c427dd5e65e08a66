// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  createRelationCatalog,
  product,
  type RelationCatalog,
  rule,
  under,
} from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';
import { until } from '../support/task-process.ts';

const service = shareService();

/** The longest attribute value, in characters (§8). */
const LONGEST = 65_536;

/** @returns text that stores cannot compress, the same for the same seed */
const noise = (seed: string, length: number) =>
  createHash('shake256', { outputLength: length }).update(seed).digest('base64').slice(0, length);

const text = (name: string) => ({ name, type: 'TEXT_ATTRIBUTE' });
const ALL_BITS = { source: under('Drills'), target: under('Bits') };
const drill = (identifier: string, values: Record<string, string>) => product(identifier, 'Drills', values);
const bit = (identifier: string, values: Record<string, string>) => product(identifier, 'Bits', values);

async function createTexts(...names: string[]): Promise<RelationCatalog> {
  const catalog = await createRelationCatalog(service());
  await catalog.putOntology('own', ...names.map(text));
  return catalog;
}

const listOf = async (catalog: RelationCatalog, identifier: string, { id }: { id: number }) =>
  (await catalog.related(identifier, id))?.groups.flat();

test('values of any length are equal only if all their characters are (§12.2 rule 4)', async () => {
  const catalog = await createTexts('Shank', 'Chuck', 'Size');
  const long = noise('shank', LONGEST - 1);
  await catalog.load(
    drill('D1', { Chuck: `${long}1`, Size: 'S' }),
    drill('D2', { Chuck: `${long}2`, Size: 'S' }),
    bit('B1', { Shank: `${long}1`, Size: 'S' }),
    bit('B2', { Shank: `${long}2`, Size: 'S' }),
    bit('B3', { Shank: long, Size: 'S' }),
    bit('B4', { Shank: `${long}1`, Size: 'M' }),
  );
  const match = ['Shank', 'Size'].map((target) => ({
    target,
    operator: 'equals',
    source: target === 'Shank' ? 'Chuck' : target,
  }));
  const relation = await catalog.relate({ ...ALL_BITS, match });
  assert.deepEqual(await listOf(catalog, 'D1', relation), ['B1']);
  assert.deepEqual(await listOf(catalog, 'D2', relation), ['B2']);
});

test('long texts are compared to their end (§12.2 rule 10)', async () => {
  const catalog = await createTexts('Code', 'Most');
  const long = noise('code', 2_000);
  await catalog.load(
    drill('D', { Most: `${long}m` }),
    ...['a', 'l', 'm', 'n', 'z'].map((end) => bit(`B-${end}`, { Code: `${long}${end}` })),
    bit('B-short', { Code: long }),
    bit('B-other', { Code: '~' }),
  );
  const identifiersByOperator: Record<string, string[] | undefined> = {};
  for (const operator of ['less', 'lessOrEqual', 'greater', 'greaterOrEqual', 'notEquals']) {
    const match = [{ target: 'Code', operator, source: 'Most' }];
    const relation = await catalog.relate({ ...ALL_BITS, name: operator, match });
    identifiersByOperator[operator] = (await listOf(catalog, 'D', relation))
      ?.map((identifier) => identifier.slice(2))
      .sort();
  }
  assert.deepEqual(identifiersByOperator, {
    less: ['a', 'l', 'short'],
    lessOrEqual: ['a', 'l', 'm', 'short'],
    greater: ['n', 'other', 'z'],
    greaterOrEqual: ['m', 'n', 'other', 'z'],
    notEquals: ['a', 'l', 'n', 'other', 'short', 'z'],
  });
});

test('texts with the same first 256 bytes rank equally (§12.3 rules 3 and 5)', async () => {
  const catalog = await createTexts('Title');
  const [start, tie] = [noise('title', 255), noise('title', 256)];
  await catalog.load(drill('D', {}));
  // In the order of their ids.
  for (const [identifier, Title] of [
    ['tie-3', `${tie}3`],
    ['after', `${start}~`],
    ['tie-1', `${tie}1`],
    ['before', start],
    ['tie-2', `${tie}2`],
  ] as const) {
    await catalog.update(bit(identifier, { Title }));
  }
  const ties = ['tie-3', 'tie-1', 'tie-2'];
  const ascending = await catalog.relate({ ...ALL_BITS, sort: [{ attribute: 'Title', direction: 'asc' }] });
  assert.deepEqual(await listOf(catalog, 'D', ascending), ['before', ...ties, 'after']);
  const descending = await catalog.relate({ ...ALL_BITS, sort: [{ attribute: 'Title', direction: 'desc' }] });
  assert.deepEqual(await listOf(catalog, 'D', descending), ['after', ...ties, 'before']);
});

test('a relation with eight sorts accepts values of any length and removes them with their products (§12.1 rule 1)', async () => {
  const sorts = Array.from({ length: 8 }, (_, index) => `Sort ${index}`);
  const catalog = await createTexts('Key', ...sorts);
  const relation = await catalog.relate({
    ...ALL_BITS,
    match: ['equals', 'lessOrEqual'].map((operator) => ({ target: 'Key', operator, source: 'Key' })),
    sort: sorts.map((attribute) => ({ attribute, direction: 'desc' })),
  });
  // 500 bytes, the maximum of a key that is not a hash.
  const Key = noise('key', 500);
  const valuesOf = (seed: string) =>
    Object.fromEntries(sorts.map((name) => [name, noise(`${seed} ${name}`, LONGEST)]));
  await catalog.load(
    drill('D', { Key }),
    bit('B1', { Key, ...valuesOf('one') }),
    bit('B2', { Key, ...valuesOf('two') }),
  );
  const order = (['one', 'two'] as const).map((seed) => valuesOf(seed)['Sort 0'] as string);
  const expected = (order[0] as string) > (order[1] as string) ? ['B1', 'B2'] : ['B2', 'B1'];
  assert.deepEqual(await listOf(catalog, 'D', relation), expected);
  await catalog.update(bit('B1', { Key: `${Key}!`, ...valuesOf('one') }));
  assert.deepEqual(await listOf(catalog, 'D', relation), ['B2']);
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['B2'] }));
  assert.deepEqual(await listOf(catalog, 'D', relation), []);
});

test('a match may name the identifier, group and name of a product, and an attribute of that name takes precedence (§12.3 rule 7)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(
    product('N1', 'New', { Replaces: ['O1', 'O2'] }),
    { ...product('O1', 'Old', { group: 'G' }), name: 'G' },
    product('O2', 'Old', { group: 'G' }),
    product('O3', 'Old', { group: 'O1' }),
  );
  const by = (target: unknown, source: unknown = 'Replaces', operator = 'equals') =>
    catalog.relate({ match: [{ target, operator, source }], excludeSameGroup: false });
  const groupsOf = async (identifier: string, { id }: { id: number }) =>
    (await catalog.related(identifier, id))?.groups;
  const plain = await by('identifier');
  const own = await by({ field: 'identifier' });
  for (const relation of [plain, own]) assert.deepEqual(await groupsOf('N1', relation), [['O1', 'O2']]);
  assert.deepEqual(await groupsOf('N1', await by('groupIdentifier')), [['O3']]);
  assert.deepEqual(await groupsOf('O2', await by('name', 'groupIdentifier')), [['O1']]);
  assert.deepEqual(await groupsOf('O2', await by({ field: 'identifier' }, 'identifier', 'less')), [
    ['N1'],
    ['O1'],
  ]);
  const explained = await catalog.manage('POST', `/${plain.id}/explain`, { source: 'N1', target: 'O2' });
  assert.deepEqual(explained.body.match, [
    {
      target: 'identifier',
      operator: 'equals',
      source: 'Replaces',
      holds: true,
      targetValues: ['O2'],
      sourceValues: ['O2'],
      say: 'O2 = O2',
    },
  ]);
  assert.equal((await by('Name')).misconfigured, true, 'an attribute that does not exist');
  assert.equal((await by({ field: 'identifier' }, 'Length')).misconfigured, true);
  assert.equal(
    (
      await catalog.manage(
        'POST',
        '',
        rule({ match: [{ target: { field: 'link' }, operator: 'equals', source: 'a' }] }),
      )
    ).status,
    400,
  );
  await catalog.load(
    product('N1', 'New', { Replaces: 'O1' }),
    product('O1', 'Old'),
    product('O4', 'Old', { identifier: 'O1' }),
  );
  await catalog.settled();
  assert.deepEqual(await groupsOf('N1', plain), [['O4']]);
  assert.deepEqual(await groupsOf('N1', own), [['O1']]);
});

const numeric = (name: string, unitName: string, decimal?: 'comma') => ({
  name,
  type: 'NUMERIC_ATTRIBUTE',
  unitName,
  ...(decimal && { decimal }),
});

/** [operator, value of the bits, value of the drill]: true if the product is found. */
const CONVERTED: readonly [
  string,
  unit: readonly [string, string],
  Readonly<Record<string, boolean>>,
  drill: string,
][] = [
  [
    'equals',
    ['in', 'cm'],
    { '12.5 in': true, '12.5 INCH': true, '12.5 "': true, '12.50001 in': false },
    '31,75 cm',
  ],
  ['greaterOrEqual', ['MHz', 'GHz'], { '2400 MHz': true, '2399.999 MHz': false }, '2,4 GHz'],
  ['equals', ['°F', '°C'], { '212 °F': true, '-40 °F': false }, '100 °C'],
  ['less', ['lb', 'g'], { '1 lb': true, '1.1 lb': false }, '453,592371 g'],
  ['equals', ['km/h', 'm/s'], { '36 km/h': true, '36.1 km/h': false }, '10 m/s'],
  ['notEquals', ['GiB', 'MB'], { '1 GiB': false, '1.1 GiB': true }, '1073,741824 MB'],
];

test('units of a dimension convert exactly in matches, filters and sorts (§11.7, §12.2 rule 5)', async () => {
  for (const [operator, [unitName, own], found, value] of CONVERTED) {
    const catalog = await createRelationCatalog(service());
    await catalog.putOntology('own', numeric('Size', unitName), numeric('Fits', own, 'comma'));
    const sizes = Object.keys(found);
    await catalog.load(drill('D', { Fits: value }), ...sizes.map((Size) => bit(Size, { Size })));
    const relation = await catalog.relate({
      ...ALL_BITS,
      match: [{ target: 'Size', operator, source: 'Fits' }],
      sort: [{ attribute: 'Size', direction: 'asc' }],
    });
    const expected = sizes.filter((size) => found[size]).sort();
    assert.deepEqual((await listOf(catalog, 'D', relation))?.toSorted(), expected, `${unitName} and ${own}`);
    const filtered = await catalog.relate({
      source: under('Drills'),
      target: { all: [under('Bits'), { attribute: 'Size', operator, value }] },
    });
    assert.deepEqual(
      (await listOf(catalog, 'D', filtered))?.toSorted(),
      expected,
      `${unitName} and ${value}`,
    );
    const answer = await catalog.bulk({
      identifiers: ['D'],
      includeRelations: [{ id: relation.id, limit: 1 }],
    });
    const [[first]] = answer.D.tags[0].relations[0].searchResult;
    const { value: text, parsedValue, unit } = first.dataPoints[0];
    assert.deepEqual(
      [parsedValue, unit],
      [Number.parseFloat(text), unitName],
      'in the notation of the attribute',
    );
  }
});

test('a project adds names of units for types, facts and relations (§11.7 rule 6)', async () => {
  const catalog = await createRelationCatalog(service());
  const path = `/management/projects/${catalog.projectId}/ontology`;
  const put = (unitAliases: object, attributes: object[] = []) =>
    service().call('PUT', path, { body: { mode: 'automatic', unitAliases, attributes } });
  assert.deepEqual((await put({ ZOLL: 'in', Daumen: 'thumb' })).body.details, [
    '/unitAliases/ZOLL is in already',
    '/unitAliases/Daumen must be a unit of the table of units, such as in or kg, but is thumb',
  ]);
  assert.equal((await put({ Daumen: 'in' })).status, 200);
  await catalog.load(
    drill('D', { Fits: '31.75 cm' }),
    ...['12.5 Daumen', '12.5 in', '13 Daumen'].map((Size) => bit(Size, { Size })),
  );
  const { attributes, unitAliases } = (await service().call('GET', path)).body;
  assert.deepEqual(unitAliases, { Daumen: 'in' });
  const units = Object.fromEntries(
    (attributes as { name: string; unitName?: string }[]).map(({ name, unitName }) => [name, unitName]),
  );
  assert.deepEqual([units.Size, units.Fits], ['in', 'cm']);
  const equal = await catalog.relate({
    ...ALL_BITS,
    match: [{ target: 'Size', operator: 'equals', source: 'Fits' }],
  });
  const above = await catalog.relate({
    source: under('Drills'),
    target: { attribute: 'Size', operator: 'greater', value: '12.6 Daumen' },
  });
  const listBoth = async () =>
    Promise.all([equal, above].map(async (relation) => (await listOf(catalog, 'D', relation))?.toSorted()));
  assert.deepEqual(await listBoth(), [['12.5 Daumen', '12.5 in'], ['13 Daumen']]);

  const changed = await put({}, attributes);
  assert.equal('unitAliases' in changed.body, false);
  const facts = await catalog.find('12.5 Daumen');
  assert.equal(facts[0].facts.length, 0, 'answers change immediately');
  await until('relations follow', async () => (await listBoth()).join(' and ') === '12.5 in and ');
});
