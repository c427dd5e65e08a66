// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeStep, listTicks, markTimes, placeMarks } from './axis.ts';

test('marks the value axis with a few round numbers up to the largest value', () => {
  assert.deepEqual(listTicks(0), [0, 1]);
  assert.deepEqual(listTicks(1), [0, 1]);
  assert.deepEqual(listTicks(3), [0, 1, 2, 3]);
  assert.deepEqual(listTicks(33), [0, 10, 20, 30, 40]);
  assert.deepEqual(listTicks(66_778), [0, 20_000, 40_000, 60_000, 80_000]);
  assert.deepEqual(listTicks(250), [0, 100, 200, 300]);
  for (const largest of [4, 7, 11, 99, 101, 1_234, 999_999]) {
    const ticks = listTicks(largest);
    assert.ok((ticks.at(-1) ?? 0) >= largest && ticks.length <= 5, `${largest}: ${ticks}`);
  }
});

const HOUR = 3_600_000;
const stepsFrom = (begin: number, count: number, stepMs: number) =>
  Array.from({ length: count }, (_, index) => begin + index * stepMs);

test('marks the time axis with hours of a day, days of a week or dates of a month', () => {
  const midnight = new Date(2026, 10, 22).getTime();
  const day = stepsFrom(midnight, 24, HOUR);
  assert.deepEqual(
    markTimes(day).map(({ words }) => words),
    ['00:00', '06:00', '12:00', '18:00'],
  );
  assert.match(describeStep(day, 14), /^Sun,? 22, 14:00$/);
  const week = stepsFrom(midnight, 168, HOUR);
  assert.deepEqual(
    markTimes(week).map(({ index }) => index),
    [0, 24, 48, 72, 96, 120, 144],
  );
  const month = stepsFrom(Date.UTC(2026, 9, 25), 30, 24 * HOUR);
  assert.deepEqual(
    markTimes(month).map(({ words }) => words),
    ['29 Oct', '3 Nov', '8 Nov', '13 Nov', '18 Nov', '23 Nov'],
  );
  assert.equal(describeStep(month, 29), '23 Nov');
});

test('marks on the time axis keep their order and a minimum distance', () => {
  assert.deepEqual(placeMarks([0, 50, 100], 0), [0, 0.5, 1]);
  assert.deepEqual(
    placeMarks([0, 1, 100], 0.1).map((position) => Math.round(position * 100)),
    [0, 11, 100],
  );
  assert.deepEqual(placeMarks([5], 0.1), [0]);
  assert.deepEqual(placeMarks([1, 2, 3], 0.9), [0, 0.5, 1]);
});
