import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteCache } from '../../storage/storage.ts';
import { LookupAnswers } from './lookup-answers.ts';

const MIB = 1024 * 1024;
const catalog = { projectId: 1, version: 1 };
const frame = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };

test('an answer of more than 256 MiB is refused as soon as it is known, the rest is not read (§8)', () => {
  const answers = new LookupAnswers(createByteCache(0));
  const answer = Buffer.alloc(100 * MIB);
  const asked: string[] = [];
  const find = (identifier: string) => {
    asked.push(identifier);
    return { id: 1, updatedAt: 1, answer };
  };
  const wanted = { identifiers: ['a', 'b', 'c', 'd'], frame };
  assert.throws(() => answers.answer(catalog, wanted, find), { code: 'answer_too_large' });
  assert.deepEqual(asked, ['a', 'b', 'c']);
});
