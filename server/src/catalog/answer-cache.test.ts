import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createAnswerCache } from './answer-cache.ts';

const answer = (length: number) => new Uint8Array(length).fill(7);

test('an answer is found until its catalog has another version', () => {
  const cache = createAnswerCache(1_000_000);
  const bytes = answer(10);
  cache.of(1, 1).keep('A', bytes);
  assert.equal(cache.of(1, 1).find('A'), bytes);
  assert.equal(cache.of(2, 1).find('A'), undefined, 'another catalog');
  assert.equal(cache.of(1, 2).find('A'), undefined);
  assert.equal(cache.of(1, 1).find('A'), undefined, 'an older version does not come back');
});

test('findAll answers each identifier once, in the order asked, or nothing when one is missing', () => {
  const cache = createAnswerCache(1_000_000);
  const [a, b] = [answer(1), answer(2)];
  cache.of(1, 1).keep('A', a);
  cache.of(1, 1).keep('B', b);
  assert.deepEqual(cache.of(1, 1).findAll(['B', 'A', 'B', 'A']), [b, a]);
  assert.deepEqual(cache.of(1, 1).findAll(['B', 'A']), [b, a], 'again');
  assert.equal(cache.of(1, 1).findAll(['A', 'C']), undefined);
  assert.deepEqual(cache.of(1, 1).findAll(['A', 'A']), [a], 'also after one that was missing');
  assert.deepEqual(cache.of(1, 1).findAll([]), []);
});

test('a limit of 0 keeps nothing', () => {
  const cache = createAnswerCache(0);
  cache.of(1, 1).keep('A', answer(1));
  assert.equal(cache.of(1, 1).find('A'), undefined);
});

test('when it is full, the catalog used least recently goes first', () => {
  const cache = createAnswerCache(5_000);
  cache.of(1, 1).keep('A', answer(1_500));
  cache.of(2, 1).keep('B', answer(1_500));
  assert.ok(cache.of(1, 1).find('A'));
  cache.of(3, 1).keep('C', answer(1_500));
  assert.ok(cache.of(1, 1).find('A'), 'used after the other');
  assert.equal(cache.of(2, 1).find('B'), undefined);
  assert.ok(cache.of(3, 1).find('C'));
});

test('of one catalog alone, the answers asked for least recently go, and one miss in eight is kept', () => {
  const cache = createAnswerCache(5_000);
  const answers = cache.of(1, 1);
  for (const identifier of ['A', 'B']) answers.keep(identifier, answer(1_500));
  for (let miss = 3; miss <= 7; miss += 1) {
    answers.keep('C', answer(1_500));
    assert.equal(answers.find('C'), undefined, `miss ${miss} pushes nothing out`);
  }
  answers.keep('C', answer(1_500));
  assert.ok(answers.find('C'), 'the eighth miss');
  assert.equal(answers.find('A'), undefined, 'A was kept first');
});

test('what is found is what was kept last for that version, and its bytes stay within the limit', () => {
  const step = fc.record({
    project: fc.integer({ min: 1, max: 3 }),
    newVersion: fc.boolean(),
    identifier: fc.constantFrom('A', 'B', 'C', 'D'),
    length: fc.integer({ min: 0, max: 600 }),
  });
  const LIMIT = 2_000;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const cache = createAnswerCache(LIMIT);
      const versions = new Map<number, number>();
      const kept = new Map<string, Uint8Array>();
      for (const { project, newVersion, identifier, length } of steps) {
        const version = (versions.get(project) ?? 0) + Number(newVersion);
        versions.set(project, version);
        const bytes = answer(length);
        const key = `${project} ${version} ${identifier}`;
        const answers = cache.of(project, version);
        assert.ok([undefined, kept.get(key)].includes(answers.find(identifier)));
        answers.keep(identifier, bytes);
        if (!kept.has(key) || answers.find(identifier) === bytes) kept.set(key, bytes);
      }
      for (const [project, version] of versions) {
        const bytes = ['A', 'B', 'C', 'D'].map((one) => cache.of(project, version).find(one)?.length ?? 0);
        assert.ok(bytes.reduce((sum, one) => sum + one, 0) <= LIMIT);
      }
    }),
  );
});
