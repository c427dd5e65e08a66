import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { until } from '../../../test/support/task-process.ts';
import { dataFolderAt, makeStoreFolders, migrate } from '../../storage/storage.ts';
import { createBackupStream, createStreamState, STATE } from './backup-stream.ts';
import { listBackups } from './listing.ts';
import { openTarget } from './target.ts';

test('a target that fails once the lease is taken gets its base copy when it is back', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'relata-test-'));
  t.after(() => rm(root, { recursive: true }));
  const folder = dataFolderAt(join(root, 'data'));
  makeStoreFolders(folder);
  {
    using control = new DatabaseSync(folder.control);
    migrate(control, 'control');
  }
  const target = join(root, 'target');
  makeStoreFolders(dataFolderAt(target));
  // It is no folder, so what is in it cannot be listed.
  await writeFile(join(target, 'bases'), '');
  const place = { url: pathToFileURL(target).href, s3: undefined };
  const state = createStreamState();
  const settings = { key: undefined, keepSecondsHours: 24, keepHoursDays: 30, backlogBytes: 2 ** 30 };
  const stream = createBackupStream({ dataDir: folder.root, target: place, ...settings }, state);
  assert.equal(await stream.start(), undefined);
  assert.equal(state[STATE.failures], 1);
  await rm(join(target, 'bases'));
  await until('there is a base copy', () => Number(state[STATE.basedAt]) > 0);
  await stream.stop();
  assert.equal((await listBackups(openTarget(place))).ranges.length, 1);
});
