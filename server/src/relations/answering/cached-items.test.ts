// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CachedItems } from './cached-items.ts';

const look = { form: 'bulk', brandAttribute: 'Brand' } as const;

test('a cached item remains valid in later catalog versions while its product has the same document', () => {
  const items = new CachedItems();
  items.keep(look, 1, { text: 'one', document: 10, version: 1 });
  const find = (version: number, document: number | undefined) =>
    items.find(look, 1, { version, findDocument: () => document });
  assert.equal(find(1, 11), 'one', 'the document is not checked within a version');
  assert.equal(find(2, 10), 'one');
  assert.equal(find(3, 11), undefined, 'the product was changed');
  assert.equal(find(4, undefined), undefined, 'the product was deleted');
  assert.equal(find(5, 10), 'one', 'the change was undone');
  assert.equal(
    items.find(look, 1, { version: 6, findDocument: undefined }),
    undefined,
    'the document is unknown',
  );
  assert.equal(
    items.find({ ...look, form: 'single' }, 1, { version: 5, findDocument: undefined }),
    undefined,
  );
});
