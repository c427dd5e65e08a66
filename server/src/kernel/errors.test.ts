// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from './errors.ts';

test('a refusal accepts its facts as one object, or as an optional detail and further facts', () => {
  const more = { retryAfterSeconds: 3 };
  assert.deepEqual(new ServiceError('not_ready', undefined, more).facts, more);
  assert.deepEqual(new ServiceError('not_ready', 'indexing', more).facts, { details: ['indexing'], ...more });
  assert.deepEqual(new ServiceError('not_ready', { values: [1] }).facts, { values: [1] });
});
