// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkHistory,
  type History,
  type Read,
  type TaskLook,
  type Write,
} from '../support/histories/check-history.ts';

/** The checker of histories finds every planted fault, and none in a correct history. */

const write = (value: string, begunAt: number, more: Partial<Write> = {}): Write => ({
  project: 1,
  value,
  begunAt,
  endedAt: begunAt + 2,
  outcome: 'accepted',
  taskIds: [`task ${value}`],
  ...more,
});
const read = (begunAt: number, ...values: string[]): Read => ({
  project: 1,
  begunAt,
  endedAt: begunAt + 1,
  values,
});
const look = (taskId: string, begunAt: number, status = 'FINISHED'): TaskLook => ({
  project: 1,
  taskId: `task ${taskId}`,
  begunAt,
  endedAt: begunAt + 1,
  status,
});

/** A then B, and B concurrently with C. One commit is refused, and the answer of another is lost. */
const GOOD: History = {
  writes: [
    write('A', 10),
    write('B', 20),
    write('C', 21),
    write('D', 40, { outcome: 'refused', taskIds: [] }),
    write('E', 50, { outcome: 'unknown', taskIds: [] }),
    { ...write('F', 10), project: 2 },
  ],
  reads: [
    read(5),
    read(14, 'A', 'A'),
    read(24, 'C', 'C'),
    read(30, 'B', 'B'),
    read(60, 'E', 'E'),
    read(70, 'E'),
  ],
  looks: [
    look('A', 12, 'RUNNING'),
    look('A', 16),
    look('B', 32),
    look('C', 33),
    look('F', 34),
    look('A', 80),
  ],
};

test('a history that keeps every promise has no violation', () => {
  assert.deepEqual(checkHistory(GOOD), []);
  assert.deepEqual(checkHistory({ writes: [], reads: [], looks: [] }), []);
});

const PLANTED: readonly { fault: string; with: Partial<History>; pattern: RegExp }[] = [
  {
    fault: 'a read of two versions',
    with: { reads: [read(60, 'B', 'C')] },
    pattern: /several versions: B, C/,
  },
  {
    fault: 'a value that was never written',
    with: { reads: [read(60, 'X')] },
    pattern: /X was read but never written/,
  },
  {
    fault: 'a refused write that took effect',
    with: { reads: [read(60, 'D')] },
    pattern: /D was refused but read/,
  },
  {
    fault: 'a value before it was sent',
    with: { reads: [read(15, 'B')] },
    pattern: /B was read before it was written/,
  },
  {
    fault: 'a reader that sees an older version',
    with: { reads: [read(24, 'B'), read(30, 'A')], looks: [] },
    pattern: /A was read after B had taken effect/,
  },
  {
    fault: 'a read of nothing after a value took effect',
    with: { reads: [read(14, 'A'), read(18)] },
    pattern: /nothing was read after A had taken effect/,
  },
  {
    fault: 'an end that one process does not show',
    with: { reads: [read(40, 'A')] },
    pattern: /A was read after . had/,
  },
  {
    fault: 'a write that took effect twice',
    with: { reads: [read(24, 'B'), read(26, 'C'), read(28, 'B')] },
    pattern: /B was there before and after C/,
  },
  {
    fault: 'two writes that alternate',
    with: { reads: [read(24, 'B'), read(26, 'C'), read(28, 'B'), read(30, 'C')] },
    pattern: /before and after/,
  },
  {
    fault: 'a repetition that is a second task',
    with: { writes: [write('A', 10, { taskIds: ['task A', 'task B'] })] },
    pattern: /A was accepted as several tasks/,
  },
  {
    fault: 'an accepted task that never ends',
    with: { looks: [look('A', 12, 'RUNNING')] },
    pattern: /its task is open/,
  },
  {
    fault: 'an accepted task that fails',
    with: { looks: [look('A', 12, 'FAILED')] },
    pattern: /its task is FAILED/,
  },
  {
    fault: 'an end that is reverted',
    with: { looks: [...GOOD.looks, look('A', 90, 'RUNNING')] },
    pattern: /task A ended FINISHED and was RUNNING later/,
  },
  {
    fault: 'an end that changes to another one',
    with: { looks: [...GOOD.looks, look('B', 90, 'CANCELLED')] },
    pattern: /task B ended FINISHED and was CANCELLED later/,
  },
];

for (const { fault, with: planted, pattern } of PLANTED) {
  test(`the checker finds ${fault}`, () => {
    const faults = checkHistory({ ...GOOD, ...planted });
    assert.ok(
      faults.some((fault) => pattern.test(fault)),
      faults.join('; '),
    );
  });
}
