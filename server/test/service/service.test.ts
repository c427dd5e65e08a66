// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '../support/test-service.ts';

test('an uploaded product can be looked up once its full update is committed (§4.4, §4.2)', async (t) => {
  const service = await startTestService(t);
  const task = await service.loadCatalog([
    { identifier: 'A1', name: 'One', attributes: [{ key: 'Length', value: '12.5 in' }] },
  ]);
  assert.equal(task.taskStatus, 'FINISHED');
  const [product] = await service.lookUp(['A1', 'never-there']);
  assert.equal(product.name, 'One');
  assert.equal(product.groupId, 'A1');
  assert.deepEqual(
    product.facts.map(({ attribute, value, type }: Record<string, string>) => [attribute, value, type]),
    [['Length', '12.5 in', 'NUMERIC_ATTRIBUTE']],
  );
});
