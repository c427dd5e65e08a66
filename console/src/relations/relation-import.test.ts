// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Relation } from '@relata/client';
import { foreseeImport, readImport } from './relation-import.ts';

const relation = (id: number, name: string, tag = 'accessories') =>
  ({ id, name, tag, source: { all: [] }, target: { all: [] } }) as Partial<Relation> as Relation;

test('an import matches relations by id, else by name and tag, creates new ones, and deletes missing ones (§12.1 rule 4)', () => {
  const present = [relation(1, 'Bits'), relation(2, 'Chargers'), relation(3, 'Bags'), relation(4, 'Saws')];
  const { id: _, ...bags } = relation(3, 'Bags');
  const imported = [
    relation(1, 'Bits, renamed'),
    bags,
    relation(99, 'Chargers'),
    relation(98, 'Saws', 'another tag'),
    { ...bags, name: 'New' },
  ];
  const { changed, created, deleted } = foreseeImport(present, imported);
  assert.deepEqual([changed, created, deleted.map(({ name }) => name)], [3, 2, ['Saws']]);
});

test('two entries with the same name and tag change the only existing relation once', () => {
  const { changed, created, deleted } = foreseeImport(
    [relation(1, 'Bits')],
    [relation(7, 'Bits'), relation(8, 'Bits')],
  );
  assert.deepEqual([changed, created, deleted.length], [1, 1, 0]);
});

test('refuses a file that is not an export, with a text for users', () => {
  assert.throws(() => readImport('{"relations":'), /^Error: The file is not JSON: /);
  for (const text of ['[]', 'null', '{"relations":{}}'])
    assert.throws(() => readImport(text), /no list "relations"/);
  assert.deepEqual(readImport('{"relations":[]}'), []);
});
