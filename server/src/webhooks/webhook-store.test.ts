// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markOfEndpoint } from './webhook-endpoints.ts';
import { ENDPOINTS } from './webhook-store.ts';

test('an endpoint has the same ETag as in earlier versions (§7.6)', () => {
  const row = {
    id: 1,
    account_id: 1,
    url: 'https://a',
    events: '[]',
    scope_type: 'account',
    scope_id: null,
    secrets: '[]',
    is_enabled: 1,
    switched_off: null,
    failing_since: null,
    created_at: 1,
    created_by: '{}',
    updated_at: 1,
  };
  const mark = markOfEndpoint(ENDPOINTS.read(row));
  assert.equal(mark, 'gNqFen75I8vMJClNJxUnDH');
  const turned = Object.fromEntries(Object.entries(row).reverse());
  assert.equal(markOfEndpoint(ENDPOINTS.read(turned)), mark);
});
