// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchBody } from './push.ts';

const product = (identifier: string, padding = 0) =>
  Buffer.from(JSON.stringify({ identifier, name: 'x'.repeat(padding) }));

const identifiersOf = (body: Buffer) =>
  (JSON.parse(body.toString()) as { products: { identifier: string }[] }).products.map(
    ({ identifier }) => identifier,
  );

test('a batch ends at its number of products or bytes, and a longer product has its own batch', () => {
  const batch = new BatchBody(3);
  const MIB = 1024 * 1024;
  const products = [
    ...['A', 'B', 'C', 'D'].map((identifier) => product(identifier)),
    ...[product('long', 9 * MIB), product('E', MIB), product('F', 7.5 * MIB), product('G')],
  ];
  const bodies: string[][] = [];
  for (const nextProduct of products) {
    if (batch.add(nextProduct)) continue;
    bodies.push(identifiersOf(batch.take()));
    assert.ok(batch.add(nextProduct));
  }
  bodies.push(identifiersOf(batch.take()));
  assert.deepEqual(bodies, [['A', 'B', 'C'], ['D'], ['long'], ['E'], ['F', 'G']]);
});
