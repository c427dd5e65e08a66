// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameProducts } from '../../../test/support/compare-products.ts';
import { generateDemoCatalog, streamDemoProducts } from '../../../test/support/demo-shop/demo-shop.ts';
import { type DemoProduct, drawPicture, readDemoCatalog, withPictures } from './demo.ts';

const catalog = readDemoCatalog();

/** Matches a number with or without a unit, as a full update in automatic mode recognises it. */
const MEASURE = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?: ([^\s\d]\S{0,11}))?$/;

function listValues(product: DemoProduct, key: string): string[] {
  return product.attributes.filter((attribute) => attribute.key === key).map(({ value }) => value);
}

function findNumber(product: DemoProduct, key: string): number {
  return Number.parseFloat(listValues(product, key)[0] ?? 'missing');
}

function inCategory(...start: string[]): DemoProduct[] {
  return catalog.filter(({ categories }) =>
    categories.some(({ path }) => start.every((name, level) => path[level] === name)),
  );
}

function shareValue(key: string): (source: DemoProduct, target: DemoProduct) => boolean {
  return (source, target) => {
    const values = listValues(target, key);
    return listValues(source, key).some((value) => values.includes(value));
  };
}

function groupBy<Key>(products: DemoProduct[], keyOf: (product: DemoProduct) => Key) {
  const groups = new Map<Key, DemoProduct[]>();
  for (const product of products) {
    const group = groups.get(keyOf(product));
    if (group === undefined) groups.set(keyOf(product), [product]);
    else group.push(product);
  }
  return groups;
}

test('the demo catalog has 5,000 to 10,000 products with unique identifiers and names', () => {
  assert.ok(catalog.length >= 5000 && catalog.length <= 10_000, `${catalog.length} products`);
  assert.equal(new Set(catalog.map(({ identifier }) => identifier)).size, catalog.length);
  assert.equal(new Set(catalog.map(({ name }) => name)).size, catalog.length);
});

test('the packed catalog equals the output of the generator, and the stream with its seed begins with it', () => {
  assertSameProducts(generateDemoCatalog(), catalog);
  assertSameProducts([...streamDemoProducts(catalog.length)], catalog);
});

test('a stream has the requested length, unique identifiers, and different products for another seed', () => {
  for (const count of [0, 1, 17, 20_000]) {
    const identifiers = Array.from(streamDemoProducts(count, 7), ({ identifier }) => identifier);
    assert.equal(identifiers.length, count);
    assert.equal(new Set(identifiers).size, count);
  }
  assert.notDeepEqual([...streamDemoProducts(100, 7)], [...streamDemoProducts(100, 8)]);
});

test('every demo product is within the limits of an upload', () => {
  for (const product of catalog) {
    const { identifier, name, productUrl, images, categories, attributes } = product;
    assert.ok(identifier.length >= 1 && identifier.length <= 255, identifier);
    assert.ok(name.length >= 1 && name.length <= 1000, identifier);
    assert.match(productUrl, /^https:\/\/shop\.example\/[a-z0-9/-]+$/);
    for (const { url } of images) assert.match(url, /^https:\/\/img\.shop\.example\/[a-z0-9/-]+\.jpg$/);
    assert.ok(images.some(({ type }) => type === 'LARGE'));
    assert.ok(categories.every(({ path }) => path.length > 0 && path.every((level) => level.length > 0)));
    for (const { key, value } of attributes) {
      assert.ok(key.length >= 1 && key.length <= 255, `${identifier} ${key}`);
      assert.ok(typeof value === 'string' && value.length > 0, `${identifier} ${key}`);
    }
  }
});

test('every demo product has one brand and one price in EUR without a user group', () => {
  for (const product of catalog) {
    assert.equal(listValues(product, 'Brand').length, 1, product.identifier);
    const [price, ...more] = listValues(product, 'Price');
    assert.match(price ?? '', /^[1-9]\d*\.\d\d EUR$/, product.identifier);
    assert.deepEqual(more, []);
  }
});

test('the first variant of each group in the demo catalog is its head', () => {
  const groups = groupBy(catalog, ({ groupIdentifier }) => groupIdentifier);
  for (const [groupIdentifier, variants] of groups) {
    assert.equal(variants[0]?.identifier, groupIdentifier);
  }
});

test('the demo catalog has at least five departments, each with groups of several variants', () => {
  const departments = groupBy(catalog, ({ categories }) => categories[0]?.path[0]);
  assert.ok(departments.size >= 5, [...departments.keys()].join());
  for (const [department, products] of departments) {
    const groups = [...groupBy(products, ({ groupIdentifier }) => groupIdentifier).values()];
    assert.ok(groups.filter((variants) => variants.length > 1).length >= 10, String(department));
  }
});

test('all values of a demo attribute are numbers with the same unit, booleans or texts', () => {
  const kinds = new Map<string, Set<string>>();
  for (const { key, value } of catalog.flatMap(({ attributes }) => attributes)) {
    const measure = MEASURE.exec(value);
    const isBoolean = value === 'true' || value === 'false';
    const kind = measure === null ? (isBoolean ? 'boolean' : 'text') : `number ${measure[1] ?? ''}`;
    kinds.set(key, (kinds.get(key) ?? new Set()).add(kind));
  }
  for (const [key, valueKinds] of kinds)
    assert.equal(valueKinds.size, 1, `${key}: ${[...valueKinds].join()}`);
  const all = [...kinds.values()].flatMap((valueKinds) => [...valueKinds]);
  assert.ok(all.filter((kind) => kind === 'boolean').length >= 10);
  assert.ok(all.filter((kind) => kind.startsWith('number ')).length >= 20);
});

test('the demo catalog has attributes with several values and values for dealers only', () => {
  assert.ok(catalog.some((product) => listValues(product, 'Brake standard').length > 1));
  assert.ok(catalog.some((product) => listValues(product, 'Battery type').length > 1));
  const forDealers = catalog.flatMap(({ attributes }) => attributes).filter(({ userGroups }) => userGroups);
  assert.ok(forDealers.length > 100);
  assert.ok(forDealers.every(({ userGroups }) => userGroups?.join() === 'dealer'));
});

const bicycles = inCategory('Bicycles');
const tyres = inCategory('Bicycle parts', 'Tyres');
const cameras = inCategory('Photo', 'Cameras');
const lenses = inCategory('Photo', 'Lenses');

const relations = [
  {
    name: 'a tyre for every bicycle',
    sources: bicycles,
    targets: tyres,
    fits: (bicycle: DemoProduct, tyre: DemoProduct) =>
      shareValue('Wheel size')(bicycle, tyre) &&
      shareValue('Bicycle type')(bicycle, tyre) &&
      findNumber(tyre, 'Tyre width') <= findNumber(bicycle, 'Maximum tyre width'),
  },
  {
    name: 'an inner tube for every tyre',
    sources: tyres,
    targets: inCategory('Bicycle parts', 'Inner tubes'),
    fits: (tyre: DemoProduct, tube: DemoProduct) =>
      shareValue('Wheel size')(tyre, tube) &&
      findNumber(tube, 'Fits tyres from') <= findNumber(tyre, 'Tyre width') &&
      findNumber(tube, 'Fits tyres to') >= findNumber(tyre, 'Tyre width'),
  },
  {
    name: 'a set of brake pads for every bicycle',
    sources: bicycles,
    targets: inCategory('Bicycle parts', 'Brake pads'),
    fits: shareValue('Brake standard'),
  },
  {
    name: 'a chain for every bicycle',
    sources: bicycles,
    targets: inCategory('Bicycle parts', 'Chains'),
    fits: shareValue('Speeds'),
  },
  { name: 'a lens for every camera', sources: cameras, targets: lenses, fits: shareValue('Mount') },
  { name: 'a camera for every lens', sources: lenses, targets: cameras, fits: shareValue('Mount') },
  {
    name: 'a filter for every lens',
    sources: lenses,
    targets: inCategory('Photo', 'Filters'),
    fits: shareValue('Filter diameter'),
  },
  {
    name: 'a lens for every filter',
    sources: inCategory('Photo', 'Filters'),
    targets: lenses,
    fits: shareValue('Filter diameter'),
  },
  {
    name: 'a battery for every camera',
    sources: cameras,
    targets: inCategory('Photo', 'Batteries'),
    fits: shareValue('Battery type'),
  },
  {
    name: 'a memory card for every camera',
    sources: cameras,
    targets: inCategory('Photo', 'Memory cards'),
    fits: shareValue('Card type'),
  },
  {
    name: 'another sleeping bag that is at least as warm for every sleeping bag',
    sources: inCategory('Camping', 'Sleeping bags'),
    targets: inCategory('Camping', 'Sleeping bags'),
    fits: (bag: DemoProduct, otherBag: DemoProduct) =>
      bag.groupIdentifier !== otherBag.groupIdentifier &&
      findNumber(otherBag, 'Comfort temperature') <= findNumber(bag, 'Comfort temperature'),
  },
];
for (const { name, sources, targets, fits } of relations) {
  test(`the demo catalog has ${name}`, () => {
    assert.ok(sources.length > 0);
    for (const source of sources) {
      assert.ok(
        targets.some((target) => fits(source, target)),
        source.identifier,
      );
    }
  });
}

test('every category of the demo catalog has products with different prices', () => {
  const categories = groupBy(catalog, (product) => product.categories[0]?.path.join(' > ') ?? 'none');
  for (const [category, products] of categories) {
    assert.ok(new Set(products.map((product) => findNumber(product, 'Price'))).size > 1, category);
  }
});

test('the demo draws each picture of its products and no others', () => {
  const pictures = withPictures(catalog, 'http://127.0.0.1:1').flatMap(({ images }) => images);
  assert.ok(pictures.length > catalog.length);
  for (const { url } of pictures) {
    const [size = '', file = ''] = new URL(url).pathname.split('/').slice(3);
    assert.match(drawPicture(size, file) ?? '', /^<svg .*<\/svg>$/, url);
  }
  for (const [size, file] of [
    ['huge', 'bike-0001.svg'],
    ['small', 'yacht-0001.svg'],
    ['small', '../bike-0001.svg'],
  ] as const)
    assert.equal(drawPicture(size, file), undefined);
});
