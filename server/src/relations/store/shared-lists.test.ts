import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogRelations } from '../answers/answers.ts';
import { createSharedLists } from './relation-reader.ts';

const open = (version: number) =>
  new CatalogRelations({ version, attributes: [], relations: [], hasTargets: () => true });

test('a list is made once for a version of a catalog', () => {
  const lists = createSharedLists();
  const [present, next] = [open(1), open(2)];
  let made = 0;
  const make = () => {
    made += 1;
    return [made];
  };
  const ask = (relations: CatalogRelations) => lists.of(relations)('list', make, () => 0)[0];
  assert.deepEqual([ask(present), ask(present), ask(next), ask(present)], [1, 1, 2, 1]);
});

test('when too much is kept, the lists are dropped that were not requested since half of it was full', () => {
  const half = 1024 * 1024;
  const share = createSharedLists(2 * half).of(open(1));
  const made: string[] = [];
  const ask = (name: string, bytes: number) => {
    const make = () => {
      made.push(name);
      return [name];
    };
    return share(name, make, () => bytes);
  };
  ask('rare', 0);
  ask('frequent', 0);
  for (const name of ['first', 'second', 'third']) {
    ask(name, half - 1_000);
    ask('frequent', 0);
  }
  assert.deepEqual(made, ['rare', 'frequent', 'first', 'second', 'third'], 'the frequent one is made once');
  ask('rare', 0);
  assert.equal(made.pop(), 'rare', 'the other one is made again');
  const large = ask('large', 20 * half);
  assert.equal(ask('large', 20 * half), large, 'the last one is kept, however large');
});
