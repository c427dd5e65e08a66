// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readViews, withoutView, withRenamed, withView } from './saved-views.ts';

const DRILLS = { name: 'Drills', query: 'category=Drills' };
const BLACK = { name: 'Black', query: 'q=black' };

test('keeps views by name, and leaves out unreadable ones', () => {
  const views = withView(withView([], DRILLS), BLACK);
  assert.deepEqual(readViews(JSON.stringify(views)), [DRILLS, BLACK]);
  const other = { name: 'Drills', query: 'q=drill' };
  assert.deepEqual(withView(views, other), [BLACK, other]);
  assert.deepEqual(withoutView(views, 'Black'), [DRILLS]);
  for (const broken of [null, '', '{', '{}', '[1,null,{"name":"a"}]'])
    assert.deepEqual(readViews(broken), []);
  const many = Array.from({ length: 60 }, (_, index) => ({ name: `${index}`, query: '' }));
  assert.equal(many.reduce(withView, [] as ReturnType<typeof readViews>).length, 50);
});

test('renames an attribute in the columns, order and filters of a view', () => {
  const view = (attribute: string) => ({
    name: 'Sockets',
    query: new URLSearchParams({
      q: 'Socket',
      columns: JSON.stringify(['group', `:${attribute}`, ':Socket count']),
      sort: `${attribute}:desc`,
      where: JSON.stringify([{ attribute, in: ['Socket'] }]),
    }).toString(),
  });
  assert.deepEqual(withRenamed([view('Socket'), DRILLS], 'Socket', 'CPU socket'), [
    view('CPU socket'),
    DRILLS,
  ]);
});
