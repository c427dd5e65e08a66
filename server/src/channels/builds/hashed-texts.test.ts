// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HashedTexts } from './hashed-texts.ts';

test('every text that was added is found, and no other', () => {
  const texts = new HashedTexts();
  const made = (at: number) => [`P${at}`, `${at}`, `${'x'.repeat(at % 50)}-${at}`, `Ü${at} ß`];
  const added = Array.from({ length: 20_000 }, (_, at) => made(at)).flat();
  for (const one of added) texts.add(one);
  assert.ok(added.every((one) => texts.has(one)));
  assert.equal(texts.size, new Set(added).size);
  const others = Array.from({ length: 20_000 }, (_, at) => [`Q${at}`, `P${at} `, `p${at}`]).flat();
  assert.ok(!others.some((one) => texts.has(one)));
});
