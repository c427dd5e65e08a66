// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDueWatch } from './tasks.ts';

const DUE = Array.from({ length: 200 }, (_, index) => index);

test('a watch of due work yields to other work between two starts', async () => {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  const started: number[] = [];
  const ended = Promise.withResolvers<void>();
  const fail = (facts: object, message: string) => assert.fail(`${message}: ${JSON.stringify(facts)}`);
  const watch = createDueWatch<number>({
    logger: { debug: fail, info: fail, warn: fail, error: fail },
    subject: 'tests',
    listDue: async (after) => (after === undefined ? DUE : []),
    async startDue(due) {
      started.push(due);
      if (due === DUE.at(-1)) ended.resolve();
    },
  });
  setImmediate(turn);
  watch.start();
  await ended.promise;
  isOver = true;
  await watch.close();
  assert.deepEqual(started, DUE);
  assert.ok(turns >= DUE.length - 1, `${turns} turns of other work between ${DUE.length} starts`);
});
