import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createByteCache } from '../../storage/storage.ts';
import { BufferPool, createThreadPool } from '../../storage/threads/threads.ts';
import { LookupAnswers } from './lookup-answers.ts';

const MIB = 1024 * 1024;
const catalog = { projectId: 1, version: 1 };
const frame = { head: Buffer.alloc(0), tail: Buffer.alloc(0) };
const identifiers = ['a', 'b', 'c', 'd'];

const openAnswers = (cacheBytes: number) =>
  new LookupAnswers({
    cache: createByteCache(cacheBytes),
    makers: createThreadPool(new URL('file:///'), { size: 0, workerData: {} }),
    buffers: new BufferPool(),
  });

test('what would take the serving thread long is left to another one as soon as that is known (§8)', () => {
  const read: string[] = [];
  const find = (identifier: string) => {
    read.push(identifier);
    return identifier === 'c' ? ('long' as const) : { id: 1, updatedAt: 1, answer: Buffer.alloc(1) };
  };
  assert.equal(openAnswers(0).answer(catalog, { identifiers, frame }, find), undefined);
  assert.deepEqual(read, ['a', 'b', 'c']);
});

test('many bytes are not joined at once, even when all of them are in memory (§8)', () => {
  const answers = openAnswers(64 * MIB);
  const many = Array.from({ length: 50 }, (_, at) => `${at}`);
  const find = () => ({ id: 1, updatedAt: 1, answer: Buffer.alloc(200 * 1024) });
  for (const one of many)
    assert.equal(answers.answer(catalog, { identifiers: [one], frame }, find)?.count, 1);
  assert.ok(answers.holdsAll(catalog, many));
  assert.equal(answers.findCached(catalog, many, frame), undefined);
  assert.equal(answers.findCached(catalog, many.slice(0, 20), frame)?.count, 20);
});
