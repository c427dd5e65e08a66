import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogRelations } from '../answers/answers.ts';
import { createSharedLists } from './relation-reader.ts';

const open = (version: number) =>
  new CatalogRelations({ version, attributes: [], relations: [], hasTargets: () => true });

test('a list is made once for a version of a catalog, and again when too much was kept', () => {
  const lists = createSharedLists();
  const [present, next] = [open(1), open(2)];
  let made = 0;
  const make = () => {
    made += 1;
    return [made];
  };
  const ask = (relations: CatalogRelations, bytes = 0) => lists.of(relations)('list', make, () => bytes)[0];
  assert.deepEqual([ask(present), ask(present), ask(next), ask(present)], [1, 1, 2, 1]);
  const large = lists.of(next)(
    'large',
    () => [0, 0],
    () => 20 * 1024 * 1024,
  );
  assert.equal(
    lists.of(next)(
      'large',
      () => [],
      () => 0,
    ),
    large,
    'the last one is kept, however large',
  );
  assert.equal(ask(present), 3);
});
