// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RelationSurvey } from '../relation-definitions/relation-definitions.ts';
import { SurveyCache } from './survey-cache.ts';

const surveyOf = (characters: number): RelationSurvey => ({
  source: { products: 1 },
  target: { products: 1 },
  sampled: false,
  sampledSources: 0,
  withResults: 0,
  share: 0,
  withoutResults: { count: 1, identifiers: ['x'.repeat(characters)] },
  mostReturned: [],
  examples: [],
});

test('a survey is cached for its catalog version, and all surveys together take bounded memory', async () => {
  const cache = new SurveyCache();
  let calls = 0;
  const read = (name: string, version: number, characters: number) =>
    cache.read(name, version, async () => {
      calls += 1;
      return surveyOf(characters);
    });
  await read('1 1 1', 1, 1_000);
  await read('1 1 1', 1, 1_000);
  assert.equal(calls, 1);
  await read('1 1 1', 2, 1_000);
  assert.equal(calls, 2);
  for (let relation = 2; relation < 30; relation += 1) await read(`1 ${relation} 1`, 2, 900_000);
  assert.equal(calls, 30);
  await read('1 1 1', 2, 1_000);
  assert.equal(calls, 31);
  for (let again = 0; again < 2; again += 1) await read('2 1 1', 1, 2 * 1024 * 1024);
  assert.equal(calls, 33, 'a survey that is too long is not cached');
});
