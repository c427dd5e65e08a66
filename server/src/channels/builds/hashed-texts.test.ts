// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HashedTexts } from './hashed-texts.ts';

test('every text that was added is found, and no other', () => {
  const texts = new HashedTexts();
  const made = (index: number) => [
    `P${index}`,
    `${index}`,
    `${'x'.repeat(index % 50)}-${index}`,
    `Ü${index} ß`,
  ];
  const added = Array.from({ length: 20_000 }, (_, index) => made(index)).flat();
  for (const text of added) texts.add(text);
  assert.ok(added.every((text) => texts.has(text)));
  assert.equal(texts.size, new Set(added).size);
  const others = Array.from({ length: 20_000 }, (_, index) => [
    `Q${index}`,
    `P${index} `,
    `p${index}`,
  ]).flat();
  assert.ok(!others.some((text) => texts.has(text)));
});
