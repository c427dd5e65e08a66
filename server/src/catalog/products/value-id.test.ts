// runs: test
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { computeValueId } from './value-id.ts';

test('a valueId is a 53-bit integer computed from its attribute and value (§11.4 rule 2)', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), fc.string({ unit: 'binary' }), (attributeId, value) => {
      const id = computeValueId(attributeId, value);
      assert.ok(Number.isSafeInteger(id) && id >= 0, String(id));
      assert.equal(computeValueId(attributeId, value), id);
    }),
  );
});

test('another process computes the same ids', () => {
  const values = ['', 'red', '12.5 in', '€', '😀'];
  const script = `import { computeValueId } from ${JSON.stringify(new URL('./value-id.ts', import.meta.url).href)};
    console.log(JSON.stringify(${JSON.stringify(values)}.map((value) => computeValueId(7, value))));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', script]);
  assert.deepEqual(
    JSON.parse(printed.toString()),
    values.map((value) => computeValueId(7, value)),
  );
});

test('the small values of many attributes have distinct ids', () => {
  const ids = new Set<number>();
  for (let attributeId = 1; attributeId <= 500; attributeId += 1) {
    for (let value = 0; value < 400; value += 1) ids.add(computeValueId(attributeId, String(value)));
  }
  assert.equal(ids.size, 500 * 400);
});

test('300,000 similar values of one attribute have distinct ids', () => {
  const ids = new Set<number>();
  for (let value = 0; value < 150_000; value += 1) {
    ids.add(computeValueId(3, `${value / 100} mm`)).add(computeValueId(3, `part-${value}`));
  }
  assert.equal(ids.size, 300_000);
});
