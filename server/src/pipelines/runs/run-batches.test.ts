// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReportLine } from '../../tasks/tasks.ts';
import { createBatches, type RunBatch } from './run-batches.ts';

const REPORT_LINES = 100_000;
const reject = (row: number, column = 'price') => ({
  row,
  problems: [{ field: 'attributes.Price', column, reason: 'is not a number' }],
});

/** @returns the batches of this many rejected rows, as a run takes them */
function takeRejected(rows: number): RunBatch[] {
  const builder = createBatches({ mode: 'full', stopsAtProblem: false });
  const batches: RunBatch[] = [];
  for (let row = 1; row <= rows; row += 1) {
    if (builder.add(reject(row), undefined)) batches.push(builder.take());
  }
  return [...batches, builder.take()];
}

test('rows that make no product also fill batches, which are small enough for any thread', () => {
  const batches = takeRejected(10_000);
  assert.ok(Math.max(...batches.map(({ report }) => report.length)) <= 1_000);
  assert.deepEqual(
    batches.flatMap(({ report }) => report.map(({ row }) => row)),
    Array.from({ length: 10_000 }, (_, index) => index + 1),
  );
});

test('lines beyond the limit of the report are only counted', () => {
  const batches = takeRejected(REPORT_LINES + 250_000);
  const sum = (count: (batch: RunBatch) => number) =>
    batches.reduce((total, batch) => total + count(batch), 0);
  assert.equal(
    sum(({ report }) => report.length),
    REPORT_LINES,
  );
  assert.equal(
    sum(({ unreported }) => unreported),
    250_000,
  );
  assert.equal(
    sum(({ counts }) => counts.rejected),
    REPORT_LINES + 250_000,
  );
});

test('a column name that the source chose is reported with at most 1,000 characters', () => {
  const builder = createBatches({ mode: 'full', stopsAtProblem: false });
  builder.add(reject(1, 'x'.repeat(1_000_000)), 'y'.repeat(1_000_000));
  const [line] = builder.take().report as [ReportLine];
  assert.equal(line.column?.length, 1_000);
  assert.ok(line.message.length <= 2_000);
});
