// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MoveMeter, type MoveProgress } from '../transfer/move-meter.ts';
import type { MovedTable } from '../transfer/move-tables.ts';
import { openProgressLine } from './progress-line.ts';

/** Opens a line whose output is collected and whose time the test sets. */
function startLine({ isTTY, columns = 200 }: { isTTY: boolean; columns?: number }) {
  let now = 0;
  const written: string[] = [];
  const line = openProgressLine({ isTTY, columns, write: (text) => written.push(text) }, () => now);
  return {
    written,
    end: () => line.end(),
    /** By default, `done` is the share of the copied rows. */
    show(atMs: number, rows: number, fields: Partial<MoveProgress> = {}) {
      now = atMs;
      const progress = {
        phase: 'copying',
        subject: 'project 3, document',
        allRows: 1_000_000,
        doneBefore: 0,
      } as const;
      line.show({ ...progress, rows, done: rows / 1_000_000, ...fields });
    },
  };
}

test('on a terminal one line is redrawn with rows, rate and remaining time', () => {
  const { written, show, end } = startLine({ isTTY: true });
  show(0, 0);
  show(100, 1_000);
  show(10_000, 250_000);
  assert.equal(written.length, 2, 'a change within 200 ms is not drawn');
  const [first = '', second = ''] = written;
  assert.match(first, /^\rcopying {4}\[\.{24}\] {2}0 % /);
  assert.equal(
    second,
    '\rcopying    [######..................]  25 %  250,000 of 1,000,000 rows  25,000 rows/s  30 s left  project 3, document\x1b[K',
  );
  end();
  assert.equal(written.at(-1), '\n');
});

test('a line is truncated to the width of the terminal', () => {
  const { written, show } = startLine({ isTTY: true, columns: 40 });
  show(0, 0);
  assert.equal(written[0]?.replace('\r', '').replace('\x1b[K', '').length, 39);
});

test('without a terminal a plain line is written at intervals and at the end of a phase', () => {
  const { written, show, end } = startLine({ isTTY: false });
  for (let second = 0; second <= 30; second += 1) show(second * 1_000, second * 10_000);
  show(31_000, 1_000_000, { done: 1 });
  end();
  assert.deepEqual(written, [
    'copying    0 %  0 of 1,000,000 rows  project 3, document\n',
    'copying    10 %  100,000 of 1,000,000 rows  10,000 rows/s  1 min 30 s left  project 3, document\n',
    'copying    20 %  200,000 of 1,000,000 rows  10,000 rows/s  1 min 20 s left  project 3, document\n',
    'copying    30 %  300,000 of 1,000,000 rows  10,000 rows/s  1 min 10 s left  project 3, document\n',
    'copying    100 %  1,000,000 of 1,000,000 rows  32,258 rows/s  project 3, document\n',
  ]);
});

test('without a terminal a move of a few seconds shows its progress as well', () => {
  const { written, show, end } = startLine({ isTTY: false });
  for (let tick = 0; tick <= 50; tick += 1) show(tick * 100, tick * 20_000);
  end();
  assert.deepEqual(
    written.map((line) => /\d+ %/.exec(line)?.[0]),
    ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %'],
  );
});

test('a phase ends with 100 % despite rounding errors in the sum of its tables', () => {
  const written: string[] = [];
  const line = openProgressLine({ write: (text) => written.push(text) });
  const table = { name: 'document' } as MovedTable;
  const units = [0.1, 0.2, 0.3].map((bytes, index) => ({ table, projectId: index + 1, rows: 3, bytes }));
  const meter = new MoveMeter('comparing', { units, payloads: [] }, (progress) => line.show(progress));
  for (const unit of units) for (let row = 0; row < 6; row += 1) meter.addRows(unit, 1);
  line.end();
  assert.match(written.at(-1) ?? '', /^comparing {2}100 % {2}18 of 18 rows(?!.* left)/);
});

test('the work of an earlier run is not part of the rate or the remaining time', () => {
  const { written, show } = startLine({ isTTY: false });
  show(0, 0);
  show(100, 600_000, { doneBefore: 0.6 });
  show(10_000, 700_000, { doneBefore: 0.6 });
  assert.match(written[1] ?? '', /^copying {4}70 % .* 10,000 rows\/s {2}30 s left/);
});
