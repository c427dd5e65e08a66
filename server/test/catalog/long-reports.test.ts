// runs: deep, own (not on postgres: how threads pass reports; interface-tasks.test.ts covers their rows)
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLongestPause } from '../support/longest-pause.ts';
import { startTestService } from '../support/test-service.ts';

/** Reports with the maximum of lines per batch. The report of the commit includes all of them (§4.7). */

const BATCHES = 6;
const PRODUCTS = 10_000;
const ATTRIBUTES = Array.from({ length: 11 }, (_, index) => `Measure ${index}`);
const MOST_LINES = 100_000;

const productsOf = (batch: number) =>
  Array.from({ length: PRODUCTS }, (_, index) => ({
    identifier: `B${batch}P${index}`,
    name: 'Drill',
    attributes: ATTRIBUTES.map((key) => ({ key, value: 'none' })),
  }));

const milliseconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000;

test('a commit with long reports does not delay other calls and keeps the first lines of all batches (§4.7)', async (t) => {
  const service = await startTestService(t, { settings: { RELATA_LOG_LEVEL: 'info' } });
  const attributes = ATTRIBUTES.map((name) => ({ name, type: 'NUMERIC_ATTRIBUTE' }));
  const path = `/management/projects/${service.projectId}/ontology`;
  const changed = await service.call('PUT', path, { body: { mode: 'own', attributes } });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  const send = async (step: string, body?: object) => {
    const path = `/products/batch/${step}?projectId=${service.projectId}`;
    const answer = await service.call('POST', path, { body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  await send('initiate');
  for (let batch = 1; batch <= BATCHES; batch += 1) await send('upload', { products: productsOf(batch) });
  // Waits until all are staged.
  await send('preview');

  let commit = '';
  const longestMs = await findLongestPause(async () => {
    commit = (await send('start')).data.task.id;
    assert.equal((await service.ended(commit)).taskStatus, 'FINISHED');
  });

  const lines = await service.report(commit);
  assert.equal(lines.length, MOST_LINES + 1);
  assert.deepEqual(lines.at(-1), { more: BATCHES * PRODUCTS * ATTRIBUTES.length - MOST_LINES });
  assert.ok(lines.slice(0, -1).every(({ identifier }) => identifier.startsWith('B1P')));
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  // The current time to read and write one of the reports on this machine.
  const before = process.threadCpuUsage();
  for (const line of text.split('\n')) JSON.stringify(JSON.parse(line));
  const oneMs = milliseconds(process.threadCpuUsage(before));
  t.diagnostic(`longest ${Math.round(longestMs)} ms, one report ${Math.round(oneMs)} ms`);
  // Reading and forwarding all reports in one turn took 19 times as long. A call also waits for a core.
  assert.ok(longestMs < 5 * oneMs, `a call waits ${longestMs} ms, one report takes ${oneMs} ms`);
});
