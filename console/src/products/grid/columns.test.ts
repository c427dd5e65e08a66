// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributeOf, columnOf, listOwn, MOST_COLUMNS, readColumns, writeColumns } from './columns.ts';

test('reads each stored column once, and returns the default columns for an unreadable text', () => {
  const chosen = ['group', columnOf('Price'), columnOf(':odd'), 'category'];
  assert.deepEqual(readColumns(writeColumns(chosen)), chosen);
  assert.deepEqual(readColumns('[]'), []);
  assert.deepEqual(readColumns('["group","group",":",7,"unknown",":A"]'), ['group', ':A']);
  for (const broken of ['', '{', '{}', 'null']) assert.deepEqual(readColumns(broken), listOwn(), broken);
  assert.equal(readColumns(writeColumns('abcdefghijkl'.split('').map(columnOf))).length, MOST_COLUMNS);
  assert.equal(attributeOf(columnOf(':odd')), ':odd');
  assert.equal(attributeOf('group'), undefined);
});
