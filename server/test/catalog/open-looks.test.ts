import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';

/** What looks through whole catalogs is shared fairly. Source: docs/interface.md §14.3 rule 14. */

const OPEN = 4;
/** Four counts of all products take several seconds. */
const MANY = Array.from({ length: 80_000 }, (_, at) => ({ identifier: `P${at}`, name: 'hay' }));
const COUNT = '/ontology/coverage?sample=all';

const service = shareService({}, async (started) => {
  large = await createCatalog(started);
  await large.load(...MANY);
});
let large: TestCatalog;

const pathOf = ({ projectId }: TestCatalog, path: string) => `/management/projects/${projectId}${path}`;

/** Begins counts that say how far they are. @returns what ends them, as their caller does */
async function beginCounts({ address, key }: TestService, count: number) {
  const caller = new AbortController();
  const headers = { authorization: `Bearer ${key}`, accept: 'application/x-ndjson' };
  const answers = await Promise.all(
    Array.from({ length: count }, () =>
      fetch(`${address}${pathOf(large, COUNT)}`, { headers, signal: caller.signal }),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  return () => caller.abort();
}

test('a key has four counts and previews open at a time (§14.3 rule 14)', async () => {
  const { call, createProject } = service();
  const made = await call('POST', '/management/api-keys', {
    body: { name: 'Another', scope: { type: 'account' }, access: 'manage' },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const leave = await beginCounts(service(), OPEN);
  const relations = pathOf(large, '/relations/preview');
  const definition = { name: 'r', tag: 't', source: { all: [] }, target: { all: [] } };
  // At once: on a busy machine the counts may have ended before a third request.
  const refused = await Promise.all([
    call('POST', relations, { body: definition }),
    call('GET', pathOf(large, COUNT)),
    call('GET', pathOf(large, '/ontology/coverage')),
  ]);
  for (const answer of refused) {
    assertRefused(answer, 429, 'Too Many Requests');
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.match(answer.body.details.join(), /4 at a time/);
  }
  const allowed = [
    '/products?limit=1',
    '/products?identifierPrefix=P1&limit=1',
    '/products?q=P1',
    '/categories',
  ];
  for (const path of allowed) {
    const ask = async () => (await call('GET', pathOf(large, path))).status;
    let status = await ask();
    // The index of search may take longer than a request waits.
    while (status === 503) status = await ask();
    assert.equal(status, 200, path);
  }
  const small = await createProject('Small');
  const other = await call('GET', `/management/projects/${small}/ontology/coverage`, { key: made.body.key });
  assert.equal(other.status, 200);
  leave();
  let again = await call('GET', pathOf(large, '/ontology/coverage'));
  while (again.status === 429) again = await call('GET', pathOf(large, '/ontology/coverage'));
  assert.equal(again.status, 200, 'those that ended count no more');
});
