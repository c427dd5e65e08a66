import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { findPipeline, updatePipeline } from '../src/pipelines/pipeline-store.ts';
import type { Storage } from '../src/storage/storage.ts';
import { byUpload, CSV, createPipelineProject, FETCH_HERE, MAPPING } from './pipeline-project.ts';
import { assertRefused, shareService } from './shared-service.ts';

/** What one key can cost others by its pipelines. */

let storage: Storage;
const keepStorage = (real: Storage) => {
  storage = real;
  return real;
};
const service = shareService({ settings: FETCH_HERE, replace: { storage: keepStorage } });

/** As those of the attack: 16 ms and 1.6 MB each. */
const heavyPattern = (at: number) => `(\\pL|\\pN){${1_000 - at}}`;
const replacing = (...patterns: readonly string[]) => ({
  ...MAPPING,
  attributes: Object.fromEntries(
    patterns.map((from, at) => [`A${at}`, { column: 'Length', replace: [{ from, to: '', regex: true }] }]),
  ),
});

test('patterns of a definition never hold up the thread that serves, and the one that is too much is named (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const mapping = replacing(...Array.from({ length: 400 }, (_, at) => heavyPattern(at)));
  const file = { name: 'feed.csv', base64: Buffer.from(CSV).toString('base64') };
  const wanted =
    /^\/mapping\/attributes\/A6\/replace\/0\/from: it takes 2,984 of the 20,000 steps .* repeat less/;
  for (const [path, body] of [
    ['', byUpload({ mapping })],
    ['/preview', { source: { type: 'upload' }, format: { type: 'csv' }, mapping, file }],
  ] as const) {
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const refused = await project.manage('POST', path, { body });
    delay.disable();
    assertRefused(refused, 400, 'Your body params are not valid');
    assert.match(refused.body.details[0], wanted);
    const longestMs = delay.max / 1e6;
    assert.ok(longestMs < 500, `the thread that serves stood still for ${longestMs.toFixed(0)} ms`);
  }
});

test('every pattern that cannot be used is told with its path, and so is a mapping with too many (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const filter = { any: [{ column: 'sku', operator: 'matches', value: '(?=x)' }] };
  const wrong = await project.manage('POST', '', {
    body: byUpload({ mapping: { ...replacing('\\d+', '('), filter } }),
  });
  assertRefused(wrong, 400);
  assert.deepEqual(
    wrong.body.details.map((line: string) => line.split(': ')[0]),
    ['/mapping/attributes/A1/replace/0/from', '/mapping/filter/any/0/value'],
  );
  const many = Array.from({ length: 501 }, (_, at) => `a${at}`);
  const tooMany = await project.manage('POST', '', { body: byUpload({ mapping: replacing(...many) }) });
  assert.match(tooMany.body.details[0], /^\/mapping\/attributes\/A500\/.*at most 500 different patterns/);

  const expressions = Object.fromEntries(
    Array.from({ length: 21 }, (_, at) => [
      `A${at}`,
      Array.from({ length: 100 }, (_, index) => ({ expression: `a${at}.b${index}` })),
    ]),
  );
  const columns = { A: { columns: Array.from({ length: 100 }, (_, at) => `c${at}`) } };
  const named = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`A${at}`, columns.A]));
  for (const [attributes, text] of [
    [expressions, /^\/mapping: a mapping has at most 2,000 different expressions/],
    [named, /^\/mapping: a mapping has at most 10,000 columns and replacements/],
  ] as const) {
    const refused = await project.manage('POST', '', {
      body: byUpload({ mapping: { ...MAPPING, attributes } }),
    });
    assertRefused(refused, 400);
    assert.match(refused.body.details[0], text);
  }
});

test('a definition with larger patterns that was stored before is read, and its run fails with the reason (§13.8)', async () => {
  const project = await createPipelineProject(service());
  const created = await project.create(byUpload({ mapping: replacing('\\d+') }));
  const mapping = replacing(...Array.from({ length: 7 }, (_, at) => heavyPattern(at)));
  const key = { projectId: project.projectId, id: created.id };
  const { database } = storage;
  const stored = await findPipeline(database.read, key);
  assert.ok(stored);
  const definition = { ...stored.definition, mapping };
  await database.write((tx) => updatePipeline(tx, { ...stored, definition }), { of: key.projectId });

  assert.deepEqual((await project.read(created)).mapping, mapping);
  const task = await project.done(await project.upload(created, CSV));
  assert.deepEqual([task.taskStatus, task.error.code], ['FAILED', 'mapping_unfit']);
  assert.match(JSON.stringify(task.error), /attributes\.A6: the pattern .* takes 2,984 of the 20,000 steps/);
});
