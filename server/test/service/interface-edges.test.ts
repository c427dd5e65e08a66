// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

/** Notations of parameters at the limits that the contract allows. */

const service = shareService();

const LARGEST = Number.MAX_SAFE_INTEGER;
const UNKNOWN = 'You are not allowed to access the requested resource';

async function makeProjectKey(projectId: number): Promise<string> {
  const body = { name: 'k', scope: { type: 'project', id: projectId } };
  return (await service().call('POST', '/management/api-keys', { body })).body.key;
}

test('every call looks up a project id up to 2^53 - 1 and refuses a larger one with 400 (§4.1 rule 2)', async () => {
  const paths = [
    'GET /projects?projectId=ID',
    'GET /project/check-credentials?projectId=ID',
    'GET /tasks?projectId=ID',
    'GET /product-service/products-by-sku?projectId=ID&identifiers=A',
    'POST /products/batch/initiate?projectId=ID',
    'POST /search/v1/ID',
  ];
  for (const call of paths) {
    const [method = '', path = ''] = call.split(' ');
    const send = (id: string) => service().call(method, path.replace('ID', id));
    for (const id of ['999999999999999', '1000000000000000', String(LARGEST)])
      assertRefused(await send(id), 401, UNKNOWN);
    for (const id of [String(BigInt(LARGEST) + 1n), '1'.repeat(400)]) assertRefused(await send(id), 400);
  }
});

test('an empty projectId counts as missing on every call (§4.10 rule 5)', async () => {
  const { projectId } = await createCatalog(service());
  const key = await makeProjectKey(projectId);
  const { status, body } = await service().call('GET', '/projects?projectId=', { key });
  assert.deepEqual([status, body.data.projects.map(({ id }: { id: number }) => id)], [200, [projectId]]);
  for (const path of ['/project/check-credentials', '/tasks', '/management/audit-log'])
    for (const query of ['', '?projectId='])
      assert.equal((await service().call('GET', `${path}${query}`, { key })).status, 200, path + query);
  const all = await service().call('GET', '/projects?projectId=');
  assert.ok(all.body.data.projects.length > 1, 'all projects of the account');
});

const RELATED = '/search/relations/result';
const BULK = '/search/relations/bulk-results';

/** The same request by GET and by POST. */
async function askBoth(catalog: Awaited<ReturnType<typeof createCatalog>>, lists: Record<string, unknown>) {
  const query = Object.entries(lists).map(
    ([name, list]) => `${name}=${encodeURIComponent(JSON.stringify(list))}`,
  );
  return [
    await catalog.call('GET', `${RELATED}?identifier=A&${query.join('&')}`),
    await catalog.call('POST', RELATED, { body: { identifier: 'A', ...lists } }),
  ] as const;
}

test('GET and POST refuse a relation id beyond 2^53 - 1 with 400 and skip the largest valid one (§4.8 rule 15)', async () => {
  const catalog = await createCatalog(service());
  for (const { status } of await askBoth(catalog, { includeRelations: [{ id: LARGEST }] }))
    assert.equal(status, 200);
  for (const answer of await askBoth(catalog, { includeRelations: [{ id: LARGEST + 1 }] }))
    assertRefused(answer, 400);
});

test('an entry of includeTags or includeRelations with a wrong name is 400 and names the right one (§4.8 rule 7)', async () => {
  const catalog = await createCatalog(service());
  const wrong = [
    [{ includeTags: [{ tag: 't', limit: 3 }] }, /includeTags\/0\/limit is unknown.*limitPerRelation/],
    [{ includeTags: [{ tag: 't', limitperrelation: 3 }] }, /a tag takes limitPerRelation/],
    [
      { includeRelations: [{ id: 1, limitPerRelation: 3 }] },
      /limitPerRelation is unknown.* a relation takes limit$/,
    ],
    [{ includeRelations: [{ id: 1, tag: 't' }] }, /includeRelations\/0\/tag is unknown: a relation takes id/],
    [{ includeTags: [{ tag: 't' }, { tag: 'u', id: 3 }] }, /includeTags\/1\/id is unknown: a tag takes tag/],
  ] as const;
  for (const [lists, text] of wrong)
    for (const answer of await askBoth(catalog, lists)) {
      assertRefused(answer, 400);
      assert.match(answer.body.details.join(), text);
    }
  const other = { includeTags: [{ tag: 't', limitPerRelation: 3, source: 'shop' }] };
  for (const { status } of await askBoth(catalog, other)) assert.equal(status, 200, 'others are ignored');
});

test('lists in the notation of PHP are accepted like their JSON form (§4.8 rule 19)', async () => {
  const catalog = await createCatalog(service());
  const php = (query: string) => catalog.call('GET', `${RELATED}?identifier=A&${query}`);
  const json = await php(
    'includeTags=[{"tag":"12","limitPerRelation":3},{"tag":"b"}]&includeRelations=[{"id":7,"limit":2}]',
  );
  const spelt = await php(
    'includeTags[0][tag]=12&includeTags[0][limitPerRelation]=3&includeTags%5B1%5D%5Btag%5D=b&includeRelations[0][id]=7&includeRelations[0][limit]=2',
  );
  assert.deepEqual([spelt.status, spelt.body], [200, json.body]);
  const bulk = `${BULK}?identifiers[0]=A&includeTags[0][tag]=t`;
  assert.equal((await catalog.call('GET', bulk)).status, 200);
  assert.equal(
    (await catalog.call('POST', `${BULK}?includeTags[0][tag]=t`, { body: { identifiers: ['A'] } })).status,
    200,
  );
  for (const [query, text] of [
    ['includeTags[0][tag]=t&includeTags[0][limitPerRelation]=200', /includeTags\/0\/limitPerRelation/],
    ['includeTags[0][tag]=t&includeTags[0][limitPerRelation]=x', /includeTags\/0\/limitPerRelation/],
    ['includeTags[0][tag]=t&includeTags[0][limit]=3', /a tag takes limitPerRelation/],
    ['includeTags[0][tag]=t&includeTags=[]', /send one of them/],
  ] as const) {
    const answer = await php(query);
    assertRefused(answer, 400);
    assert.match(answer.body.details.join(), text, query);
  }
});

test('every flag in a query accepts only 1, 0, true and false, in any case (§4.3 rule 1)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load({ identifier: 'A' });
  const calls = [
    (flag: string) => catalog.post(`/products?partial=${flag}`, [{ identifier: 'A', name: 'A' }]),
    (flag: string) =>
      catalog.call('GET', `${RELATED}?identifier=A&includeTags=[{"tag":"t"}]&explain=${flag}`),
    (flag: string) =>
      catalog.call('GET', `${RELATED}?identifier=A&includeTags=[{"tag":"t"}]&assumed=${flag}`),
  ];
  for (const send of calls) {
    for (const flag of ['1', '0', 'true', 'false', 'True', 'FALSE'])
      assert.equal((await send(flag)).status, 200, flag);
    for (const flag of ['yes', '2', '', 'null', 'true%20']) assertRefused(await send(flag), 400);
  }
});

test('a POST with too many identifiers is refused with the fixed text of its limit (§7.4)', async () => {
  const catalog = await createCatalog(service());
  const send = (path: string, count: number, more: object = {}) => {
    const identifiers = Array.from({ length: count }, (_, index) => `A${index}`);
    return catalog.call('POST', path, { body: { identifiers, ...more } });
  };
  for (const count of [1_001, 19_990, 19_999, 20_001, 100_000]) {
    const lookup = await send('/product-service/products-by-sku', count);
    assertRefused(
      lookup,
      400,
      /^The request has .* identifiers, but at most 1000 are accepted: send several smaller requests$/,
    );
    const related = await send(BULK, count, { includeTags: [{ tag: 't' }] });
    assertRefused(related, 400, 'Bad Request');
    assert.match(related.body.details.join(), /at most 1000 are answered at once/);
  }
  for (const count of [10_001, 19_999, 100_000])
    assertRefused(
      await send('/products/delete', count),
      400,
      /identifiers, but at most 10000 are accepted: send several smaller requests$/,
    );
});
