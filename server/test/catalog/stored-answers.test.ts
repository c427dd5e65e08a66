// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeBack } from '../support/earlier-schema.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { makeTestStore } from '../support/test-store.ts';

const product = (identifier: string, values: Record<string, string>) => ({
  identifier,
  name: identifier,
  attributes: Object.entries(values).map(([key, value]) => ({ key, value })),
});

/** The form in which version 1 stored answers, and a negative revision for products that gain facts. */
const STORED = `update document set answer = '"identifier":"as it was stored"';
  update staged_product set ontology_revision = case when ontology_revision = 1 then -2 else 2 end;`;

test('a store of a version that stored answers now answers from its uploads and continues open work', async (t) => {
  const store = await makeTestStore();
  t.after(store.remove);
  const before = await startTestService(t, { store });
  const { projectId } = before;
  const uploads = [product('A', { Colour: 'red', Size: '1' }), product('B', { Colour: 'blue' })];
  await before.loadCatalog(uploads);
  const expected = await before.lookUp(['A', 'B']);
  const path = `/management/projects/${projectId}/ontology`;
  const { body: ontology } = await before.call('GET', path);
  const attributes = ontology.attributes.filter(({ name }: { name: string }) => name !== 'Size');
  assert.equal((await before.call('PUT', path, { body: { ...ontology, attributes } })).status, 200);
  await callOf(before, '/products/batch/initiate');
  await callOf(before, '/products/batch/upload', { products: [...uploads, product('C', { Colour: 'red' })] });
  await callOf(before, '/products/batch/preview');
  await before.stop();
  await takeBack(store, projectId, { before: 'answers', stored: STORED });

  const after = await startTestService(t, { store });
  const [a, b] = await after.lookUp(['A', 'B'], projectId);
  assert.deepEqual(factsOf(a), [['Colour', 'red']]);
  assert.deepEqual({ ...b, lastUpdateTs: 0 }, { ...expected[1], lastUpdateTs: 0 });
  const { data } = await callOf(after, '/products/batch/start');
  assert.equal((await after.ended(data.task.id)).taskStatus, 'FINISHED');
  const { body } = await after.call('GET', `/tasks/${data.task.id}/log`);
  assert.match(JSON.stringify(body), /created 1, changed 1, unchanged 1, deleted 0 products/);
  assert.deepEqual(factsOf((await after.lookUp(['A'], projectId))[0]), factsOf(expected[0]));
});

test('every answer uses a new ontology as soon as PUT has answered (§11.5 rule 1)', async (t) => {
  const service = await startTestService(t);
  const { projectId } = service;
  const many = Array.from({ length: 6_000 }, (_, index) =>
    product(`M${index}`, { Colour: index % 2 === 0 ? 'red' : 'blue' }),
  );
  await service.loadCatalog(many);
  for (const name of ['Tint', 'Shade', 'Hue']) {
    await service.lookUp(['M7', 'M5999']);
    const body = { mode: 'own', attributes: [{ name, type: 'TEXT_ATTRIBUTE', synonyms: ['Colour'] }] };
    const path = `/management/projects/${projectId}`;
    assert.equal((await service.call('PUT', `${path}/ontology`, { body })).status, 200);
    for (const served of await service.lookUp(['M7', 'M5999']))
      assert.deepEqual(factsOf(served), [[name, 'blue']]);
    const page = await service.call('GET', `${path}/products/M5999`);
    assert.deepEqual(factsOf(page.body.product), [[name, 'blue']]);
  }
});

test('a product that a full update skipped as invalid shows facts of a new attribute (§4.12)', async (t) => {
  const service = await startTestService(t);
  const { projectId } = service;
  const short = product('Short', { First: 'x', Second: 'x', Third: 'x' });
  await service.loadCatalog([short]);
  // The serving thread makes the first answers, passes all of them to another thread, and caches the result.
  const text = 'x'.repeat(60_000);
  const long = Array.from({ length: 4 }, (_, index) =>
    product(`Long ${index}`, { First: text, Second: text, Third: text, ...(index === 3 && { Weight: '1' }) }),
  );
  const { task } = await callOf(service, '/products', { products: long });
  await service.ended(task.id);
  const namesOf = async (identifiers: string[]) =>
    (await service.lookUp(identifiers)).map((product) => factsOf(product).map(([name]) => name));
  const attributeNames = ['First', 'Second', 'Third'];
  assert.deepEqual(await namesOf(long.map(({ identifier }) => identifier)), Array(4).fill(attributeNames));
  await callOf(service, '/products/batch/initiate');
  const invalid = product('Long 3', { First: 'x'.repeat(70_000) });
  const products = [short, ...long.slice(0, 3), product('Heavy', { Weight: '2' }), invalid];
  const path = `/products/batch/upload?projectId=${projectId}&onInvalid=skip`;
  assert.equal((await service.call('POST', path, { body: { products } })).status, 200);
  const { data } = await callOf(service, '/products/batch/start');
  assert.equal((await service.ended(data.task.id)).taskStatus, 'FINISHED');
  assert.deepEqual(await namesOf(['Short']), [attributeNames]);
  assert.deepEqual(await namesOf(['Long 2', 'Long 3']), [attributeNames, [...attributeNames, 'Weight']]);
});

const factsOf = ({ facts }: { facts: { attribute: string; value: string }[] }) =>
  facts.map(({ attribute, value }) => [attribute, value]);

async function callOf(service: TestService, path: string, body?: object) {
  const answer = await service.call('POST', `${path}?projectId=${service.projectId}`, body && { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}
