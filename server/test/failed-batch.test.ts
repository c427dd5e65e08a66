import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from './test-service.ts';

test('a batch refused over its key’s rate is a failed batch: the commit waits for it (§3.1, §5.3)', async (t) => {
  const service = await startTestService(t);
  const made = await service.call('POST', '/management/api-keys', {
    body: { name: 'Slow', scope: { type: 'account' }, rateLimit: { requestsPerMinute: 2 } },
  });
  const path = (step: string) => `/products/batch/${step}?projectId=${service.projectId}`;
  const batch = (identifier: string) => ({
    body: { products: [{ identifier, name: identifier }] },
    key: made.body.key,
  });
  assert.equal((await service.call('POST', path('initiate'), { key: made.body.key })).status, 200);
  assert.equal((await service.call('POST', path('upload'), batch('A'))).status, 200);
  assert.equal((await service.call('POST', path('upload'), batch('B'))).status, 429);
  const refused = await service.call('POST', path('start'));
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /last batch of the full update failed/);
});

test('a batch for another full update leaves the open one as it is (§4.4 rule 20)', async (t) => {
  const service = await startTestService(t);
  const path = (step: string) => `/products/batch/${step}?projectId=${service.projectId}`;
  const { body } = await service.call('POST', path('initiate'));
  const products = [{ identifier: 'A', name: 'A' }];
  assert.equal((await service.call('POST', path('upload'), { body: { products } })).status, 200);
  const other = `${path('upload')}&fullUpdateId=${body.fullUpdateId + 1}`;
  assert.equal((await service.call('POST', other, { body: { products } })).status, 400);
  assert.equal((await service.call('POST', path('start'))).status, 200);
});
