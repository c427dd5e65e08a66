// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findPath,
  type Lease,
  listPoints,
  nameOf,
  planRestore,
  readSpan,
  type Span,
  spansOf,
} from './spans.ts';

/** Paths through a target, found by the names of its objects alone. */

const span = (kind: Span['kind'], [from, to]: readonly [number, number], more: Partial<Span> = {}): Span => {
  const own = { kind, from, to, epoch: 1, at: 1_000 * to, ...more };
  return { ...own, name: nameOf(own) };
};
const segments = (first: number, last: number, more: Partial<Span> = {}) =>
  Array.from({ length: last - first + 1 }, (_, index) =>
    span('segments', [first + index - 1, first + index], more),
  );
const lease = (epoch: number, from: number, at: number): Lease => ({ epoch, from, at, holder: `h${epoch}` });
const FIRST = [lease(1, 0, 0)];
const numbersOf = (plan: { spans: readonly Span[] } | undefined) => plan?.spans.map(({ to }) => to);

test('the name of a span contains all its fields, and no other name is a span', () => {
  const hour = span('hours', [7, 19], { epoch: 3, at: 1_795_630_448_729 });
  assert.deepEqual(readSpan(hour.name), hour);
  for (const name of [
    'leases/000001',
    'copies/1-2-3',
    `${hour.name}-part`,
    hour.name.replace('hours', 'days'),
  ])
    assert.equal(readSpan(name), undefined, name);
  const names = [9, 10, 100].map((to) => span('segments', [to - 1, to]).name);
  assert.deepEqual([...names].sort(), names, 'names are listed in the order of their spans');
});

test('a restore uses the last base and the spans after it, up to its instant', () => {
  const spans = [span('bases', [0, 2]), span('bases', [4, 6]), ...segments(1, 9)];
  assert.deepEqual(numbersOf(planRestore(spans, FIRST)), [6, 5, 6, 7, 8, 9]);
  assert.deepEqual(numbersOf(planRestore(spans, FIRST, 7_500)), [6, 5, 6, 7]);
  assert.deepEqual(
    numbersOf(planRestore(spans, FIRST, 5_000)),
    [2, 1, 2, 3, 4, 5],
    'before the second base is valid',
  );
  assert.equal(planRestore(spans, FIRST, 1_000), undefined, 'before the first base is valid');
  assert.equal(planRestore(segments(1, 9), FIRST), undefined, 'there is no base');
  assert.equal(planRestore(spans, []), undefined, 'no service was the writer yet');
});

test('a missing object ends the plan of a restore, which names the last known instant', () => {
  const spans = [span('bases', [0, 1]), ...segments(1, 4), ...segments(6, 9)];
  const plan = planRestore(spans, FIRST);
  assert.deepEqual([plan?.to, plan?.at, plan?.lostAt], [4, 4_000, 9_000]);
  const later = planRestore([...spans, span('bases', [6, 7])], FIRST);
  assert.deepEqual([later?.to, later?.lostAt], [9, undefined], 'a later base leads across it');
  const merged = planRestore([...spans, span('hours', [3, 6])], FIRST);
  assert.deepEqual([numbersOf(merged), merged?.lostAt], [[1, 1, 2, 3, 6, 7, 8, 9], undefined]);
});

test('spans that a former writer wrote after it lost the lease are ignored', () => {
  const leases = [...FIRST, lease(2, 4, 4_500)];
  const spans = [span('bases', [0, 1]), ...segments(1, 7), ...segments(5, 6, { epoch: 2, at: 8_000 })];
  assert.deepEqual(
    spansOf(spans, leases, 2).map(({ epoch, to }) => [epoch, to]),
    [
      ...[
        [1, 1],
        [1, 1],
        [1, 2],
        [1, 3],
        [1, 4],
      ],
      ...[
        [2, 5],
        [2, 6],
      ],
    ],
  );
  const plan = planRestore(spans, leases);
  assert.deepEqual([plan?.to, plan?.epoch, plan?.at], [6, 2, 8_000]);
  assert.equal(
    planRestore(spans, leases, 4_200)?.epoch,
    1,
    'an instant before the promotion belongs to the former writer',
  );
  assert.deepEqual(
    listPoints(spans, leases).map(({ to, epoch }) => epoch * 10 + to),
    [11, 12, 13, 14, 25, 26],
  );
});

test('of two segments with one number, the later one is used', () => {
  const spans = [span('bases', [0, 1]), ...segments(1, 3), span('segments', [2, 3], { at: 3_100 })];
  assert.deepEqual(
    findPath(spans, { from: 0 }).map(({ at }) => at),
    [1_000, 2_000, 3_100],
  );
  assert.equal(planRestore(spans, FIRST)?.at, 3_100);
});

test('restorable instants begin when a base is valid', () => {
  const spans = [span('bases', [2, 4]), ...segments(1, 6), span('bases', [8, 9]), ...segments(9, 10)];
  assert.deepEqual(
    listPoints(spans, FIRST).map(({ to }) => to),
    [4, 5, 6, 9, 10],
  );
  for (const { at } of listPoints(spans, FIRST)) assert.equal(planRestore(spans, FIRST, at)?.at, at);
});
