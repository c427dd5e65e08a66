// runs: deep, postgres long, slow
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertSameProducts } from '../support/compare-products.ts';
import { type FileProduct, readCatalog } from '../support/real-products.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

interface Fact {
  attribute: string;
  value: string;
  type: string;
  valueId: number;
}

interface FoundProduct {
  id: number;
  identifier: string;
  groupId: string;
  name: string;
  link: string;
  images: object[];
  categories: { path: string[]; categoryId: number }[];
  facts: Fact[];
  lastUpdateTs: number;
}

interface OntologyAttribute {
  id: number;
  name: string;
  type: string;
  unitName?: string;
}

const BATCH = 10_000;
const LOOKUP = 1_000;

/** A second implementation of automatic creation, without the service's code. Source: docs/interface §11.2. */
function expectType(values: ReadonlySet<string>): string {
  const shapes = new Set([...values].map(shapeOf));
  const [shape = 'text'] = shapes;
  return shapes.size === 1 ? shape : 'text';
}

/** One of `number`, `number UNIT`, `boolean` and `text`. */
function shapeOf(value: string): string {
  if (['true', 'false'].includes(value.toLowerCase())) return 'boolean';
  const [number = '', unit, ...rest] = value.split(' ');
  if (rest.length > 0 || !isPlainNumber(number)) return 'text';
  if (unit === undefined) return 'number';
  return /^\D\S{0,11}$/.test(unit) ? `number ${unit}` : 'text';
}

/** No leading zero, no exponent, and at most 15 digits. */
function isPlainNumber(number: string): boolean {
  const [whole = '', fraction, ...more] = number.replace(/^[+-]/, '').split('.');
  const isDigits = (text: string) =>
    text !== '' && [...text].every((character) => character >= '0' && character <= '9');
  return (
    more.length === 0 &&
    isDigits(whole) &&
    (fraction === undefined || isDigits(fraction)) &&
    (whole === '0' || !whole.startsWith('0')) &&
    whole.length + (fraction?.length ?? 0) <= 15
  );
}

function typeOf({ type, unitName }: Omit<OntologyAttribute, 'id' | 'name'>): string {
  if (type === 'NUMERIC_ATTRIBUTE') return unitName === undefined ? 'number' : `number ${unitName}`;
  return type === 'BOOLEAN_ATTRIBUTE' ? 'boolean' : 'text';
}

function valuesByAttribute(products: readonly FileProduct[]): Map<string, Set<string>> {
  const values = new Map<string, Set<string>>();
  for (const { key, value } of products.flatMap(({ attributes }) => attributes)) {
    values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  return values;
}

const distinctValues = ({ attributes }: FileProduct) =>
  [...new Set(attributes.map(({ key, value }) => JSON.stringify([key, value])))].sort();

function* chunks<Element>(list: readonly Element[], size: number): Generator<readonly Element[]> {
  for (let index = 0; index < list.length; index += size) yield list.slice(index, index + size);
}

/** The same numbers every time. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function sample<Element>(list: readonly Element[], count: number, random: () => number): Element[] {
  const left = [...list];
  return Array.from(
    { length: count },
    () => left.splice(Math.floor(random() * left.length), 1)[0] as Element,
  );
}

/** Sends every second batch compressed. @returns the commit's log */
async function fullUpdate(service: TestService, products: readonly FileProduct[]): Promise<string> {
  await service.call('POST', '/products/batch/initiate');
  let isPacked = false;
  for (const batch of chunks(products, BATCH)) {
    const body = JSON.stringify({ products: batch });
    const { status, body: answer } = await service.call(
      'POST',
      '/products/batch/upload',
      isPacked ? { body: gzipSync(body), headers: { 'content-encoding': 'gzip' } } : { body },
    );
    assert.equal(status, 200, JSON.stringify(answer));
    assert.deepEqual([answer.nrOfSent, answer.nrOfParsed], [batch.length, batch.length]);
    isPacked = !isPacked;
  }
  const { body } = await service.call('POST', '/products/batch/start');
  return endWell(service, body.data.task.id);
}

async function endWell(service: TestService, taskId: string): Promise<string> {
  const task = await service.ended(taskId);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  const { body } = await service.call('GET', `/tasks/${taskId}/log`);
  return body.log.map(({ line }: { line: string }) => line).join('\n');
}

async function readAll(service: TestService, identifiers: readonly string[]): Promise<FoundProduct[]> {
  const products: FoundProduct[] = [];
  for (const part of chunks(identifiers, LOOKUP)) products.push(...(await service.lookUp(part)));
  return products;
}

async function exportAll(service: TestService): Promise<FileProduct[]> {
  const { body } = await service.call(
    'GET',
    `/management/projects/${service.projectId}/products?format=ndjson`,
  );
  return String(body)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function compareWithFile(served: FoundProduct, product: FileProduct): void {
  assert.deepEqual(
    {
      identifier: served.identifier,
      groupIdentifier: served.groupId,
      name: served.name,
      productUrl: served.link,
      images: served.images,
      categories: served.categories.map(({ path }) => ({ path })),
      values: served.facts.map(({ attribute, value }) => JSON.stringify([attribute, value])).sort(),
    },
    {
      identifier: product.identifier,
      groupIdentifier: product.groupIdentifier,
      name: product.name,
      productUrl: product.productUrl,
      images: product.images,
      categories: product.categories,
      values: distinctValues(product),
    },
  );
}

test('a catalog of real size is uploaded, answered, exported, repeated, changed and restored without a difference', async (t) => {
  const { products, units } = readCatalog();
  const service = await startTestService(t);
  const identifiers = products.map(({ identifier }) => identifier);
  /** A sample for the later steps, because the whole catalog would take seconds in each step. */
  const watched = sample(identifiers, 5_000, createRandom(3));
  let first: FoundProduct[] = [];

  await t.test('a full update creates every product, with a fact for each distinct value', async () => {
    assert.match(await fullUpdate(service, products), new RegExp(`created ${products.length}, changed 0`));
    first = await readAll(service, identifiers);
    assert.equal(first.length, products.length);
    const groups = new Set(products.map(({ groupIdentifier }) => groupIdentifier));
    assert.equal(new Set(first.map(({ groupId }) => groupId)).size, groups.size);
    assert.equal(new Set(first.map(({ id }) => id)).size, products.length);
    const count = (sizes: number[]) => sizes.reduce((sum, size) => sum + size, 0);
    assert.equal(
      count(first.map(({ facts }) => facts.length)),
      count(products.map((product) => distinctValues(product).length)),
    );
  });

  await t.test(
    'the automatic ontology has every attribute with the type that its values require (§11.2)',
    async () => {
      const { body } = await service.call('GET', `/management/projects/${service.projectId}/ontology`);
      const made = new Map<string, OntologyAttribute>(
        body.attributes.map((attribute: OntologyAttribute) => [attribute.name, attribute]),
      );
      const values = valuesByAttribute(products);
      assert.deepEqual([...made.keys()].sort(), [...values.keys()].sort());
      for (const [name, attribute] of made) {
        assert.equal(typeOf(attribute), expectType(values.get(name) ?? new Set()), name);
      }
      for (const [name, unit] of units) {
        // One number without the unit turns the attribute into text.
        if (expectType(values.get(name) ?? new Set()) === 'text') continue;
        const attribute = made.get(name);
        assert.deepEqual([name, attribute?.type, attribute?.unitName], [name, 'NUMERIC_ATTRIBUTE', unit]);
      }
    },
  );

  await t.test('1,000 random products equal those of the file, field by field', () => {
    const byIdentifier = new Map(first.map((served) => [served.identifier, served]));
    for (const product of sample(products, 1_000, createRandom(42))) {
      const lookedUp = byIdentifier.get(product.identifier);
      assert.ok(lookedUp, product.identifier);
      compareWithFile(lookedUp, product);
    }
  });

  await t.test('equal category paths share one id, and different paths have different ids', () => {
    const idOf = new Map<string, number>();
    for (const { path, categoryId } of first.flatMap(({ categories }) => categories)) {
      const key = JSON.stringify(path);
      assert.equal(idOf.get(key) ?? categoryId, categoryId, key);
      idOf.set(key, categoryId);
    }
    assert.equal(new Set(idOf.values()).size, idOf.size);
    assert.ok([...idOf.values()].every((id) => id > 1_000_000_000));
  });

  await t.test(
    'equal attribute values share one valueId, and different values have different ids (§11.4 rule 2)',
    () => {
      const idOf = new Map<string, number>();
      for (const { attribute, value, valueId } of first.flatMap(({ facts }) => facts)) {
        const key = JSON.stringify([attribute, value]);
        assert.equal(idOf.get(key) ?? valueId, valueId, key);
        idOf.set(key, valueId);
      }
      assert.equal(new Set(idOf.values()).size, idOf.size);
      assert.ok([...idOf.values()].every(Number.isSafeInteger));
    },
  );

  await t.test('the export contains the products as uploaded (§14.3 rule 2)', async () => {
    const sorted = products.toSorted((a, b) => (a.identifier < b.identifier ? -1 : 1));
    assertSameProducts(await exportAll(service), sorted);
  });

  await t.test(
    'repeating the same full update changes nothing, not even lastUpdateTs (§2.2 rule 4)',
    async () => {
      const log = await fullUpdate(service, products);
      assert.match(log, new RegExp(`created 0, changed 0, unchanged ${products.length}, deleted 0`));
      assertSameProducts(await readAll(service, identifiers), first);
    },
  );

  await t.test(
    'a partial update of 10,000 products changes one attribute and nothing else (§4.3)',
    async () => {
      const picked = sample(products, Math.min(BATCH, products.length), createRandom(7));
      const body = picked.map(({ identifier }, index) => ({
        identifier,
        attributes: { Stock: String(index) },
      }));
      const answer = await service.call('POST', '/products?partial=true', { body });
      assert.deepEqual([answer.body.nrOfSent, answer.body.nrOfParsed], [picked.length, picked.length]);
      assert.match(await endWell(service, answer.body.task.id), new RegExp(`changed ${picked.length}`));
      const expected = picked.map((product, index) => ({
        ...product,
        attributes: [...product.attributes, { key: 'Stock', value: String(index) }],
      }));
      const present = new Map((await exportAll(service)).map((product) => [product.identifier, product]));
      assert.equal(present.size, products.length);
      for (const product of expected) assert.deepEqual(present.get(product.identifier), product);
      // Incremental and partial updates create no attributes, so the facts stay.
      const sampled = picked.slice(0, LOOKUP);
      const facts = await readAll(
        service,
        sampled.map(({ identifier }) => identifier),
      );
      for (const [position, product] of sampled.entries())
        compareWithFile(facts[position] as FoundProduct, product);
      assert.deepEqual(
        (await service.report(answer.body.task.id)).map(({ code, attribute }) => [code, attribute]),
        [['attribute_unknown', 'Stock']],
      );
    },
  );

  await t.test(
    'a full update reverts those changes, and a restore undoes the full update (§4.5)',
    async () => {
      const changed = await exportAll(service);
      const before = await readAll(service, watched);
      const counts = `changed ${Math.min(BATCH, products.length)}, unchanged \\d+, deleted 0`;
      assert.match(await fullUpdate(service, products), new RegExp(`created 0, ${counts}`));
      const { body } = await service.call('POST', '/products/batch/restore');
      await endWell(service, body.task.id);
      assertSameProducts(await exportAll(service), changed);
      assertSameProducts(await readAll(service, watched), before);
    },
  );

  await t.test(
    'a delete removes the named products, and a restore brings them back with their ids',
    async () => {
      const before = await readAll(service, watched);
      const gone = watched.slice(0, 2_500);
      const deleted = await service.call('DELETE', '/products', { body: { identifiers: gone } });
      assert.match(await endWell(service, deleted.body.task.id), /deleted 2500 products/);
      const missing = new Set(gone);
      const left = before.filter(({ identifier }) => !missing.has(identifier));
      assertSameProducts(await readAll(service, watched), left);
      const { body } = await service.call('POST', '/products/batch/restore');
      await endWell(service, body.task.id);
      assertSameProducts(await readAll(service, watched), before);
    },
  );
});
