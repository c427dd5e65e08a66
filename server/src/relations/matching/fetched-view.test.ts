// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Membership } from '../memberships/membership.ts';
import { FetchedView } from './fetched-view.ts';
import type { CandidateSearch } from './related-view.ts';

const opposite: Membership = { build: 1, side: 'source', rank: '', compared: [], keys: ['AQ=='] };
const search: CandidateSearch = {
  build: 1,
  side: 'target',
  opposite,
  operators: [],
  limit: 2,
  excluded: undefined,
};
const candidate = (productId: number) => ({ productId, group: `G${productId}` });

test('a view returns the minimum for missing parts and lists what to fetch', () => {
  const view = new FetchedView();
  assert.equal(view.findSource('A'), undefined);
  assert.deepEqual([...view.listCandidates(search)], []);
  assert.deepEqual(view.listVariants('G'), []);
  assert.equal(view.findRaw(7), undefined);
  const { sources, pages, variants, raws } = view;
  assert.deepEqual([...sources.missing, ...variants.missing, ...raws.missing], ['A', 'G', 7]);
  assert.deepEqual([...pages.values()], [{ ...search, size: 8, after: undefined }]);
  assert.equal(view.isComplete, false);
});

test('a part that a fetch does not find counts as nonexistent and is not fetched again', () => {
  const view = new FetchedView();
  for (let round = 1; round <= 2; round += 1) {
    assert.deepEqual(
      [view.findSource('A'), view.findUpload('B'), view.listVariants('G')],
      [undefined, undefined, []],
    );
    assert.equal(view.isComplete, round === 2);
    view.settle();
  }
  view.findRaw(7);
  assert.throws(() => view.settle(), /product 7/);
});

test('a view requests the next, larger page of a list only after its whole part was read', () => {
  const view = new FetchedView();
  const last = { rank: 'ff', productId: 6 };
  view.addPage(opposite, { page: [1, 2, 3, 4, 5, 6].map(candidate), last, size: 6 });
  for (const { productId } of view.listCandidates(search)) if (productId === 5) break;
  assert.equal(view.isComplete, true);
  assert.equal([...view.listCandidates(search)].length, 6);
  assert.deepEqual([...view.pages.values()], [{ ...search, size: 24, after: last }]);
  view.addPage(opposite, { page: [candidate(7)], last: { rank: 'ff', productId: 7 }, size: 24 });
  view.settle();
  assert.deepEqual(
    [...view.listCandidates(search)].map(({ productId }) => productId),
    [1, 2, 3, 4, 5, 6, 7],
  );
  assert.equal(view.isComplete, true, 'a page that is not full is the last one');
});

test('a view caches a result only if nothing was missing while it was made', () => {
  const view = new FetchedView();
  let calls = 0;
  const make = () =>
    view.once('answer', () => {
      calls += 1;
      return view.once('part', () => view.findRaw(7));
    });
  assert.equal(make(), undefined);
  view.raws.add(7, 'seven');
  view.settle();
  assert.deepEqual([make(), make(), calls], ['seven', 'seven', 2]);
});
