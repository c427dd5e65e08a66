// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createBackup } from '../../src/backup/backup.ts';
import {
  byUrl,
  createPipelineProject,
  FETCH_HERE,
  type PipelineProject,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { assertRefused } from '../support/shared-service.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { createTestStore, type TestStore, testedStore } from '../support/test-store.ts';

/** The storage of sources' secrets (docs/operating/settings.md, "Secrets"; docs/interface §13.4). */

const SECRET = 'only-the-source-knows-4711';
const keyOf = (text: string) => Buffer.alloc(32, text).toString('base64');
const [FIRST, SECOND, THIRD] = [keyOf('first'), keyOf('second'), keyOf('third')];

async function start(t: TestContext, store: TestStore, keys?: string) {
  const settings = { ...FETCH_HERE, ...(keys !== undefined && { RELATA_SECRET_KEYS: keys }) };
  return startTestService(t, { store, settings });
}

async function createSecretPipeline(project: PipelineProject) {
  const source = await startSource();
  const secret = { type: 'http', url: source.url, headers: { 'X-Token': SECRET } };
  const pipeline = await project.create(byUrl(source.url, { source: secret }));
  return { pipeline, source, lastToken: () => source.requests.at(-1)?.headers['x-token'] };
}

const postgresOnly = { skip: testedStore !== 'postgres' && 'the embedded store makes a key' };

/** @returns the stored column and definition */
async function readStored(store: TestStore, id: number, table: 'pipeline' | 'channel' = 'pipeline') {
  const storage = await store.open();
  const row = await storage.database.read
    .selectFrom(table)
    .select(['secrets', 'definition'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  await storage.close();
  return row;
}

test('a run sends a secret, and no log, backup or file of the store contains it', async (t) => {
  const store = await createTestStore(t);
  const service = await start(t, store);
  const project = await createPipelineProject(service);
  const { pipeline, lastToken } = await createSecretPipeline(project);
  assert.equal((await project.run(pipeline)).taskStatus, 'FINISHED');
  assert.equal(lastToken(), SECRET);
  if (store.kind === 'embedded') await checkBackup(t, store);

  const moved = await createSecretPipeline(project);
  await store.change(
    `update pipeline set secrets = (select secrets from pipeline where id = ${pipeline.id}) where id = ${moved.pipeline.id}`,
  );
  const failed = await project.run(moved.pipeline);
  assert.match(JSON.stringify(failed), /cannot be decrypted/, 'a sealed secret is bound to its place');
  assert.equal(moved.source.requests.length, 0);
  await service.stop();
  assert.doesNotMatch(String(await store.readAll()), new RegExp(SECRET));
  assert.doesNotMatch(service.log.join('\n'), new RegExp(SECRET));
});

/** Its key is in the data directory, and a backup leaves it out. */
async function checkBackup(t: TestContext, { dataDir }: TestStore): Promise<void> {
  assert.equal((await stat(join(dataDir, 'secret-keys'))).mode & 0o777, 0o600);
  const folder = await mkdtemp(join(tmpdir(), 'relata-secrets-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await createBackup(dataDir, join(folder, 'backup'));
  assert.ok(!(await readdir(join(folder, 'backup'))).includes('secret-keys'));
}

/** A channel whose destination has a secret (§16.8 rule 6). */
const DELIVERED = {
  name: 'Delivered',
  format: { type: 'csv' },
  destinations: [
    { type: 'sftp', host: 'shop.test', user: 'shop', password: SECRET, hostKey: `SHA256:${'A'.repeat(43)}` },
  ],
};

const keyIds = (...rows: readonly { readonly secrets: string | null }[]) =>
  rows.map(({ secrets }) => secrets?.split('.')[1]);

test('a start encrypts secrets with its first key and works without a key that was removed', async (t) => {
  const store = await createTestStore(t);
  const first = await start(t, store, FIRST);
  const project = await createPipelineProject(first);
  const { pipeline, lastToken } = await createSecretPipeline(project);
  const { pipeline: plain, lastToken: lastPlain } = await createSecretPipeline(project);
  const run = async (service: TestService, { id }: { id: number }) =>
    service.ended((await service.call('POST', `${project.path}/${id}/run`)).body.task.id);
  const channels = `/management/projects/${project.projectId}/channels`;
  const { body: channel } = await first.call('POST', channels, { body: DELIVERED });
  await first.stop();
  const before = await readStored(store, pipeline.id);
  const channelBefore = await readStored(store, channel.id, 'channel');
  assert.match(channelBefore.definition, /"password":"\*\*\*"/);
  // This is how versions without keys stored it.
  await store.change(
    `update pipeline set secrets = null, definition = replace(definition, '"***"', '"${SECRET}"') where id = ${plain.id}`,
  );

  const second = await start(t, store, `${SECOND},${FIRST}`);
  await run(second, plain);
  assert.equal(lastPlain(), SECRET);
  await second.stop();
  const after = await readStored(store, pipeline.id);
  assert.notEqual(after.secrets?.split('.')[1], before.secrets?.split('.')[1]);
  assert.equal(after.definition, before.definition);
  const ofChannel = await readStored(store, channel.id, 'channel');
  assert.deepEqual(keyIds(ofChannel, channelBefore), keyIds(after, before));
  const sealed = await readStored(store, plain.id);
  assert.equal(sealed.secrets?.split('.')[1], after.secrets?.split('.')[1]);
  assert.match(sealed.definition, /"X-Token":"\*\*\*"/);

  const third = await start(t, store, THIRD);
  assert.match(third.log.join('\n'), /no key of the service decrypts/);
  assert.match(JSON.stringify(await run(third, pipeline)), /cannot be decrypted/);
  const { task } = (await third.call('POST', `${channels}/${channel.id}/build`)).body;
  assert.match(JSON.stringify(await third.ended(task.id)), /secret_unreadable/);
  const path = `${project.path}/${pipeline.id}`;
  assertRefused(await third.call('PUT', path, { body: { ...pipeline, name: 'Other' } }), 409);
  const renewed = { ...pipeline, source: { ...pipeline.source, headers: { 'X-Token': 'new' } } };
  assert.equal((await third.call('PUT', path, { body: renewed })).status, 200);
  await run(third, pipeline);
  assert.equal(lastToken(), 'new');
});

test('a service on PostgreSQL without a key refuses secrets', postgresOnly, async (t) => {
  const project = await createPipelineProject(await start(t, await createTestStore(t), ''));
  const { url } = await startSource();
  const source = { type: 'http', url, headers: { 'X-Token': SECRET } };
  const refused = await project.manage('POST', '', { body: byUrl(url, { source }) });
  assertRefused(refused, 503);
  assert.match(refused.body.message, /set RELATA_SECRET_KEYS/);
  await project.create(byUrl(url));
});
