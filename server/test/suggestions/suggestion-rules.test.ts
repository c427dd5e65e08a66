// runs: deep, own
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attribute } from '../../src/catalog/ontology/ontology.ts';
import { readDemoRelations } from '../../src/cli/demo/demo.ts';
import { foldName, isNear, readLimit } from '../../src/suggestions/attribute-names.ts';
import { CatalogSample } from '../../src/suggestions/catalog-sample.ts';
import type { Suggestion } from '../../src/suggestions/suggestion-schemas.ts';
import { suggestAll } from '../../src/suggestions/suggestions.ts';
import { generateDemoCatalog } from '../support/demo-shop/demo-shop.ts';
import { readCatalog } from '../support/real-products.ts';
import { readShops } from '../support/suggestion-shops.ts';
import {
  createOntology,
  plantRelations,
  readDemoShop,
  readLensfun,
  scoreSuggestions,
  type TruthCatalog,
  type TruthProduct,
} from '../support/suggestion-truth.ts';

type TestProduct = TruthProduct;

const LOCALE = 'en-US';

function suggest(products: readonly TestProduct[], attributes?: readonly Attribute[]) {
  const sample = new CatalogSample();
  for (const product of products) sample.add(product);
  const ontology = createOntology(products);
  const all = suggestAll(sample, attributes ? { ...ontology, attributes } : ontology, LOCALE);
  const of = <Kind extends Suggestion['kind']>(kind: Kind) =>
    all.filter((suggestion): suggestion is Extract<Suggestion, { kind: Kind }> => suggestion.kind === kind);
  return { relations: of('relation'), attributes: of('attribute'), duplicates: of('duplicate') };
}

type Values = Readonly<Record<string, string | undefined>>;

const makeProducts = (category: string, count: number, valuesOf: (index: number) => Values) =>
  Array.from({ length: count }, (_, index) => ({
    identifier: `${category}-${index}`,
    categories: [{ path: ['Shop', category] }],
    attributes: Object.entries(valuesOf(index)).flatMap(([key, value]) =>
      value === undefined ? [] : [{ key, value }],
    ),
  }));

const SIZES = ['24 in', '26 in', '28 in', '29 in'];
const sizeAt = (index: number) => SIZES[index % SIZES.length];

const describeMatches = ({ draft }: { draft: { match: readonly object[] } }) =>
  draft.match.map((match) => Object.values(match).join(' '));

test('names are compared as people read them, and a limit is read from its name', () => {
  for (const name of ['Wheel size', 'wheel_size', 'WheelSize', 'Size (wheel)', 'WHEEL-SIZE'])
    assert.equal(foldName(name), 'size wheel', name);
  const near = [
    'color colour',
    'fibre fiber',
    'gray grey',
    'size sizes',
    'port 1/port 2',
    'max mix',
    'power tower',
  ];
  assert.deepEqual(
    near.filter((pair) => isNear(...(pair.split(pair.includes('/') ? '/' : ' ') as [string, string]))),
    ['color colour', 'fibre fiber', 'gray grey', 'size sizes', 'power tower'],
  );
  assert.deepEqual(readLimit('Maximum tyre width'), { bound: 'most', of: 'tyre width' });
  assert.deepEqual(readLimit('Höchstgewicht'), { bound: 'most', of: 'gewicht' });
  assert.deepEqual(readLimit('Noise min'), { bound: 'least', of: 'noise' });
  assert.equal(readLimit('Minute hand'), undefined);
});

test('a relation is suggested if nearly all products of two categories share a size, with values and products as evidence (§17.2)', () => {
  const frames = makeProducts('Frames', 50, (index) => ({
    'Wheel size': index === 7 ? '12 in' : sizeAt(index),
  }));
  const tyres = makeProducts('Tyres', 80, (index) => ({ 'Wheel size': sizeAt(index), Tread: `T${index}` }));
  const bells = makeProducts('Bells', 40, (index) => ({ Sound: `S${index % 5}` }));
  const [relation, ...others] = suggest([...frames, ...tyres, ...bells]).relations;
  assert.deepEqual(others, []);
  assert.ok(relation);
  const { source, target, ...evidence } = relation.evidence;
  const sides = [source, target].sort((a, b) => a.products - b.products);
  assert.deepEqual(sides, [
    { category: ['Shop', 'Frames'], products: 50, withPartner: 49 },
    { category: ['Shop', 'Tyres'], products: 80, withPartner: 80 },
  ]);
  assert.deepEqual(describeMatches(relation), ['Wheel size equals Wheel size']);
  assert.equal(evidence.values.length, SIZES.length);
  assert.equal(evidence.examples.length, 5);
  const again = suggest([...frames, ...tyres.slice(4), ...bells]).relations;
  assert.deepEqual(
    again.map(({ id }) => id),
    [relation.id],
    'other counts, the same suggestion',
  );
});

test('values that every product has, that nearly all share, or that are equal by chance suggest no relation (§17.2)', () => {
  const shared = (index: number) => ({
    Brand: `B${index % 6}`,
    Colour: ['red', 'blue', 'green', 'black'][index % 4],
    Weight: `${(index % 5) + 1} kg`,
    'Model year': String(2020 + (index % 6)),
    Approved: index % 2 === 0 ? 'yes' : 'no',
  });
  const shop = ['Lamps', 'Chairs', 'Tables', 'Rugs'].flatMap((category, position) =>
    makeProducts(category, 40, (index) => ({
      ...shared(index),
      [`Of ${category}`]: `V${position}${index % 7}`,
    })),
  );
  assert.deepEqual(suggest(shop).relations, []);
});

test('a limit in the name of an attribute is compared to the attribute that it limits, or to the only measure of the category (§17.2)', () => {
  const boards = makeProducts('Boards', 60, (index) => ({
    'Maximum memory': `${[32, 64, 128][index % 3]} GB`,
  }));
  const memory = makeProducts('Memory', 60, (index) => ({ 'Module size': `${[8, 16, 64][index % 3]} GB` }));
  const disks = makeProducts('Disks', 60, (index) => ({ Capacity: `${[250, 500, 1000][index % 3]} GB` }));
  const bikes = makeProducts('Bikes', 60, (index) => ({
    'Max. tyre width': `${[40, 50, 60][index % 3]} mm`,
  }));
  const tyres = makeProducts('Tyres', 60, (index) => ({ 'Tyre width': `${[35, 45, 55][index % 3]} mm` }));
  const relations = suggest([...boards, ...memory, ...disks, ...bikes, ...tyres]).relations;
  assert.deepEqual(relations.flatMap(describeMatches).sort(), [
    'Module size lessOrEqual Maximum memory',
    'Tyre width lessOrEqual Max. tyre width',
  ]);
  const limited = relations.find(({ draft }) => draft.match.some(({ target }) => target === 'Tyre width'));
  assert.deepEqual(limited?.evidence.source, { category: ['Shop', 'Bikes'], products: 60, withPartner: 60 });
  assert.equal(limited?.evidence.targetsPerSource, 40);
});

test('a type is suggested for an attribute if it fits nearly all values, with the other values as evidence (§17.3)', () => {
  const products = makeProducts('Memory', 100, (index) => ({
    Speed: index === 3 ? 'unknown' : index === 5 ? '3,2 GHz' : `${1600 + index} MHz`,
    Serial: `0${index}1`,
    Note: index % 4 === 0 ? `${index} W` : 'none',
    Certified: index === 9 ? 'pending' : 'true',
  }));
  const { attributes } = suggest(products);
  const drafts = attributes.map(({ draft }) => draft.attribute);
  const ids = Object.fromEntries(createOntology(products).attributes.map(({ name, id }) => [name, id]));
  assert.deepEqual(
    drafts.sort((a, b) => (a.name < b.name ? -1 : 1)),
    [
      { id: ids.Certified, name: 'Certified', type: 'BOOLEAN_ATTRIBUTE' },
      { id: ids.Speed, name: 'Speed', type: 'NUMERIC_ATTRIBUTE', unitName: 'MHz' },
    ],
  );
  const speed = attributes.find(({ draft }) => draft.attribute.name === 'Speed')?.evidence;
  assert.deepEqual([speed?.typeNow, speed?.values, speed?.fits], ['TEXT_ATTRIBUTE', 100, 98]);
  assert.deepEqual(speed?.misfits, [
    { value: '3,2 GHz', count: 1, identifiers: ['Memory-5'] },
    { value: 'unknown', count: 1, identifiers: ['Memory-3'] },
  ]);
});

test('a key that the ontology lacks is suggested with its type, and a chosen type that reads half of the values is kept (§17.3)', () => {
  const products = makeProducts('Boxes', 40, (index) => ({
    Width: `${index + 1} cm`,
    Height: index % 2 === 0 ? `${index} mm` : `${index} cm`,
    Depth: `${index} cm`,
  }));
  const ontology: Attribute[] = [
    { id: 1, name: 'Height', type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' },
    { id: 2, name: 'Depth', type: 'NUMERIC_ATTRIBUTE', unitName: 'in' },
  ];
  const { attributes } = suggest(products, ontology);
  assert.deepEqual(
    attributes.map(({ draft, evidence }) => [draft.attribute, evidence.typeNow]),
    [
      [{ id: 2, name: 'Depth', type: 'NUMERIC_ATTRIBUTE', unitName: 'cm' }, 'NUMERIC_ATTRIBUTE'],
      [{ name: 'Width', type: 'NUMERIC_ATTRIBUTE', unitName: 'cm' }, null],
    ],
  );
});

test('attributes with equal values and similar names are suggested as duplicates, unless products have both (§17.4)', () => {
  const colours = ['Red', 'Blue', 'Green', 'Black'];
  const products = makeProducts('Shirts', 100, (index) => ({
    [index < 70 ? 'Color' : 'Colour']: colours[index % 4],
    [index < 60 ? 'Sleeve length' : 'sleeve_length']: `${index % 9}`,
    'Noise max': `${index % 5}`,
    'Noise min': `${index % 5}`,
    [index < 50 ? 'Power' : 'Tower']: index < 50 ? `P${index % 3}` : `T${index % 3}`,
  }));
  const { duplicates, attributes } = suggest(products);
  assert.deepEqual(
    duplicates.map(({ evidence, draft }) => [
      draft.attribute.name,
      evidence.dropped.name,
      draft.attribute.synonyms,
    ]),
    [
      ['Sleeve length', 'sleeve_length', ['sleeve_length']],
      ['Color', 'Colour', ['Colour']],
    ],
  );
  const [, colour] = duplicates;
  assert.deepEqual(colour?.draft.deleted, [colour?.evidence.dropped.id]);
  assert.deepEqual(
    [colour?.evidence.withBoth, colour?.evidence.sharedValues, colour?.evidence.values],
    [0, 30, 30],
  );
  assert.deepEqual(attributes, []);
});

test('for the demo shop, its own relations are suggested and few others', () => {
  const { relations } = suggest(generateDemoCatalog());
  const comparisons = relations.map(({ draft }) => describeComparison(draft));
  const made = readDemoRelations().flatMap(({ match = [] }) => {
    const [first] = match;
    return first && 'operator' in first && first.operator === 'equals' ? [first] : [];
  });
  const missing = made.filter(
    ({ target, source }) => !comparisons.some((product) => product.includes(`${target} equals ${source}`)),
  );
  assert.deepEqual(missing, []);
  assert.ok(
    comparisons.some((product) => product.includes('Tyre width lessOrEqual Maximum tyre width')),
    comparisons.join('\n'),
  );
  assert.ok(relations.length <= 15, comparisons.join('\n'));
});

test('for a catalog with known relations, nearly all are suggested and few others (§17.2)', (t) => {
  const lensfun = readLensfun();
  if (lensfun === undefined) t.diagnostic('without lensfun, which is in RELATA_TEST_DATA');
  const catalogs: readonly TruthCatalog[] = [
    lensfun ?? [],
    readDemoShop(),
    readShops(),
    [1, 2].map(plantRelations),
  ].flat(2);
  for (const catalog of catalogs) {
    const { f1, precision, missed, wrong } = scoreSuggestions(catalog);
    const about = `${catalog.name}: ${JSON.stringify({ missed, wrong })}`;
    assert.ok(f1 >= 0.87, about);
    assert.ok(precision >= 0.95, about);
  }
});

test('a suggestion names its likely kind of constraint (§17.2)', () => {
  const limits = [
    ...makeProducts('Cases', 60, (index) => ({ 'Max GPU length': String(220 + index * 3) })),
    ...makeProducts('GPU', 60, (index) => ({ Length: String(160 + index * 4) })),
  ];
  const standards = [
    ...makeProducts('Boards', 60, (index) => ({
      'Memory type': index % 20 < 11 ? 'DDR5' : `DDR${3 + (index % 2)}`,
    })),
    ...makeProducts('Memory', 60, (index) => ({
      'Memory type': index % 20 < 11 ? 'DDR5' : `DDR${3 + (index % 2)}`,
    })),
  ];
  const relations = suggest([...limits, ...standards, ...makeProducts('Rugs', 60, () => ({}))]).relations;
  assert.deepEqual(
    relations.map((product) => [product.evidence.constraint, ...describeMatches(product)]).sort(),
    [
      ['limit', 'Length lessOrEqual Max GPU length'],
      ['standard', 'Memory type equals Memory type'],
    ],
  );
});

const describeComparison = (draft: { match: readonly object[] }) => describeMatches({ draft }).join(', ');

test('the real catalog has few suggestions, and the relations that people confirmed come first', (t) => {
  const { products, isReal } = readCatalog(0);
  if (!isReal) return t.skip('needs the catalog of RELATA_TEST_DATA');
  const before = process.cpuUsage();
  const { relations, attributes, duplicates } = suggest(products);
  const { user, system } = process.cpuUsage(before);
  assert.deepEqual(relations[0] && describeMatches(relations[0]), ['Module size lessOrEqual Maximum memory']);
  assert.deepEqual(relations[0]?.evidence.source.category, ['PC parts', 'Core', 'Motherboards']);
  assert.ok(relations.length <= 5, JSON.stringify(relations.map(({ draft }) => draft)));
  const [speed] = attributes;
  assert.deepEqual(
    [speed?.draft.attribute.name, speed?.draft.attribute.unitName, speed?.evidence.misfits[0]?.count],
    ['Memory speed', 'MHz', 4],
  );
  assert.deepEqual(duplicates, []);
  // Usually 2 s for all 66,778 products.
  assert.ok(user + system < 30_000_000, `${(user + system) / 1e6} s of processor time`);
});
