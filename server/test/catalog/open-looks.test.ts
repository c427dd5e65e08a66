// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

/** Work on whole catalogs is shared fairly. Source: docs/interface §14.3 rule 14. */

const OPEN = 4;
/** Four counts of all products take several seconds. */
const MANY = Array.from({ length: 80_000 }, (_, index) => ({ identifier: `P${index}`, name: 'hay' }));
const COUNT = '/ontology/coverage?sample=all';

const service = shareService({}, async (started) => {
  large = await createCatalog(started);
  await large.load(...MANY);
});
let large: TestCatalog;

const pathOf = ({ projectId }: TestCatalog, path: string) => `/management/projects/${projectId}${path}`;

test('one key can have four counts and previews in progress (§14.3 rule 14)', async () => {
  const { call, createProject } = service();
  const made = await call('POST', '/management/api-keys', {
    body: { name: 'Another', scope: { type: 'account' }, access: 'manage' },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const definition = { name: 'r', tag: 't', source: { all: [] }, target: { all: [] } };
  const kinds = [
    () => call('GET', pathOf(large, COUNT)),
    () => call('GET', pathOf(large, '/ontology/coverage')),
    () => call('POST', pathOf(large, '/relations/preview'), { body: definition }),
  ];
  // Many calls at once: which four are first depends on the connections, and a fast machine may end one before the last
  // starts.
  const answers = await Promise.all(
    kinds.flatMap((ask) => Array.from({ length: 2 * OPEN }, async () => ({ ask, answer: await ask() }))),
  );
  const refused = answers.filter(({ answer }) => answer.status !== 200);
  assert.ok(answers.length - refused.length >= OPEN);
  assert.equal(new Set(refused.map(({ ask }) => ask)).size, kinds.length, 'some of each kind are refused');
  for (const { answer } of refused) {
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
    // The index of the search may take longer than a request waits.
    while (status === 503) status = await ask();
    assert.equal(status, 200, path);
  }
  const small = await createProject('Small');
  const other = await call('GET', `/management/projects/${small}/ontology/coverage`, { key: made.body.key });
  assert.equal(other.status, 200);
  let again = await call('GET', pathOf(large, '/ontology/coverage'));
  while (again.status === 429) again = await call('GET', pathOf(large, '/ontology/coverage'));
  assert.equal(again.status, 200, 'calls that have ended no longer count');
});
