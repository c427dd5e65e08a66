// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPipeline } from '../support/pipelines/pipeline-under-test.ts';
import { createRelationCatalog, product, rule } from '../support/relations/relation-catalog.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

const service = shareService();

interface Subject {
  readonly name: string;
  /** @returns the path of a new thing in a project of its own */
  make(): Promise<string>;
  /** Two different bodies. */
  readonly first: object;
  readonly second: object;
}

const attribute = (name: string) => ({ name, type: 'TEXT_ATTRIBUTE' });

const pipeline = (name: string) => ({
  name,
  source: { type: 'upload' },
  format: { type: 'native' },
  mode: 'full',
  trigger: { type: 'manual' },
});

const SUBJECTS: readonly Subject[] = [
  {
    name: 'the ontology',
    async make() {
      const { projectId } = await createCatalog(service());
      return `/management/projects/${projectId}/ontology`;
    },
    first: { mode: 'own', attributes: [attribute('Colour')] },
    second: { mode: 'own', attributes: [attribute('Size')] },
  },
  {
    name: 'a relation',
    async make() {
      const catalog = await createRelationCatalog(service());
      await catalog.load(product('A', 'All', {}));
      const { id } = await catalog.relate({});
      return `/management/projects/${catalog.projectId}/relations/${id}`;
    },
    first: rule({ tag: 'first' }),
    second: rule({ tag: 'second' }),
  },
  {
    name: 'a pipeline',
    make: async () => (await createPipeline(service())).path,
    first: pipeline('First'),
    second: pipeline('Second'),
  },
];

const put = (path: string, body: object, ifMatch?: string) =>
  service().call('PUT', path, { body, headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } });

async function readTag(path: string): Promise<string> {
  const { status, headers } = await service().call('GET', path);
  assert.equal(status, 200);
  return headers.get('etag') ?? assert.fail(`${path} has no ETag`);
}

for (const { name, make, first, second } of SUBJECTS) {
  test(`the ETag of ${name} is the same until a change, and PUT answers the new one (§7.6 rules 1 and 3)`, async () => {
    const path = await make();
    const before = await readTag(path);
    assert.match(before, /^"[\w-]{22}"$/);
    assert.equal(await readTag(path), before);
    const answer = await put(path, first, before);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.notEqual(answer.headers.get('etag'), before);
    assert.equal(answer.headers.get('etag'), await readTag(path));
    const { body } = await service().call('GET', path);
    assert.equal((await put(path, body)).headers.get('etag'), answer.headers.get('etag'));
  });

  test(`a change of ${name} with an old ETag is 412 and changes nothing (§7.6 rule 2)`, async () => {
    const path = await make();
    const old = await readTag(path);
    await put(path, first);
    const present = await readTag(path);
    const refused = await put(path, second, old);
    assertRefused(
      refused,
      412,
      'The resource was changed since it was read: read it again, then repeat the change',
    );
    assert.ok(refused.body.details[0].includes(present), 'the refusal names the present state');
    assert.equal(await readTag(path), present);
    assert.equal((await put(path, second, present)).status, 200);
  });

  test(`of simultaneous changes of ${name} with one ETag exactly one is made (§7.6 rule 2)`, async () => {
    const path = await make();
    const tag = await readTag(path);
    const answers = await Promise.all([first, second, first, second].map((body) => put(path, body, tag)));
    const done = answers.filter(({ status }) => status === 200);
    assert.equal(done.length, 1, JSON.stringify(answers.map(({ status }) => status)));
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, 412);
    assert.equal(await readTag(path), done[0]?.headers.get('etag'));
  });

  test(`lists, * and a missing header work as in RFC 9110, and a weak ETag matches nothing: ${name} (§7.6 rule 4)`, async () => {
    const path = await make();
    const tag = await readTag(path);
    assertRefused(await put(path, first, `W/${tag}`), 412);
    assertRefused(await put(path, first, '"other", "another"'), 412);
    assertRefused(await put(path, first, '""'), 412);
    for (const malformed of ['abc', '"abc', '"a" "b"', `${tag}, abc`])
      assertRefused(await put(path, first, malformed), 400, 'Your query params are not valid');
    assert.equal(await readTag(path), tag);
    assert.equal((await put(path, first, `"other", W/"weak" , ${tag}`)).status, 200);
    assert.equal((await put(path, second, '*')).status, 200);
    assert.equal((await put(path, first)).status, 200);
  });

  test(`a repetition under an idempotency key is not a second change: ${name} (§7.6 rule 5, §7.5)`, async () => {
    const path = await make();
    const tag = await readTag(path);
    const headers = { 'idempotency-key': `change of ${path}`, 'if-match': tag };
    const change = () => service().call('PUT', path, { body: first, headers });
    const done = await change();
    assert.equal(done.status, 200);
    const again = await change();
    assert.deepEqual([again.status, again.body], [200, done.body]);
    assert.equal(again.headers.get('etag'), done.headers.get('etag'));
  });
}

test('PUT of the current ontology with an old ETag succeeds for a repetition and is 412 for other callers (§7.6 rules 2 and 5)', async () => {
  const { projectId } = await createCatalog(service());
  const path = `/management/projects/${projectId}/ontology`;
  const attributes = [attribute('Colour'), { ...attribute('Size'), synonyms: ['Grösse'] }];
  const body = { mode: 'own', attributes, unitAliases: { Gebinde: 'pcs' } };
  const old = await readTag(path);
  // This is the state after a first attempt whose answer was lost.
  const first = await put(path, body);
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const keyed = (sent: object, key: string) =>
    service().call('PUT', path, {
      body: sent,
      headers: { 'if-match': old, 'idempotency-key': `${key} ${path}` },
    });
  const repeated = await keyed(body, 'same');
  assert.deepEqual([repeated.status, repeated.body], [200, first.body]);
  assert.equal(repeated.headers.get('etag'), first.headers.get('etag'));
  assertRefused(await put(path, body, old), 412);
  for (const [key, other] of Object.entries({
    fewer: { ...body, attributes: attributes.slice(1) },
    more: { ...body, attributes: [...attributes, attribute('Price')] },
    type: { ...body, attributes: [attribute('Colour'), { name: 'Size', type: 'DATE_ATTRIBUTE' }] },
    mode: { ...body, mode: 'automatic' },
    alias: { ...body, unitAliases: {} },
  }))
    assertRefused(await keyed(other, key), 412);
  assert.equal(await readTag(path), first.headers.get('etag'));
});

test('a build of a relation does not change its ETag, and an old ETag does not delete it (§7.6 rules 1 and 2)', async () => {
  const catalog = await createRelationCatalog(service());
  await catalog.load(product('A', 'All', {}), product('B', 'All', {}));
  const created = await catalog.manage('POST', '', rule({}));
  const path = `/management/projects/${catalog.projectId}/relations/${created.body.id}`;
  const tag = created.headers.get('etag') ?? '';
  await catalog.settled();
  assert.equal(await readTag(path), tag, 'notes of the service itself do not count as a change by a person');
  const remove = (ifMatch: string) => service().call('DELETE', path, { headers: { 'if-match': ifMatch } });
  await put(path, rule({ tag: 'other' }));
  assertRefused(await remove(tag), 412);
  assert.equal((await remove(await readTag(path))).status, 200);
  assertRefused(await remove(tag), 404);
});
