// runs: test (not on postgres: deliveries to other machines; pipeline-secrets.test.ts covers stored secrets)
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { S3_KEYS, S3_REGION, type S3TestServer, startS3Server } from '../support/outbound/s3-server.ts';
import { type SftpTestServer, startSftpServer } from '../support/outbound/sftp-server.ts';
import { FETCH_HERE } from '../support/pipelines/pipeline-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService } from '../support/test-service.ts';
import { createTestStore } from '../support/test-store.ts';

/** Destinations of channels (docs/interface §16.8). */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const SECRET = 'pass-4711';
const BUCKET = 'feeds';
const root = mkdtempSync(join(tmpdir(), 'relata-destinations-'));
let sftp: SftpTestServer;
let s3: S3TestServer;

const service = shareService({ settings: FETCH_HERE });
const createProject = () => createChannelProject(service());

before(async () => {
  sftp = await startSftpServer(root, { user: 'shop', password: SECRET });
  s3 = await startS3Server(BUCKET);
});
after(async () => {
  await sftp.close();
  s3.close();
  rmSync(root, { recursive: true });
});

const onServer = (folder: string, more: object = {}) => ({
  type: 'sftp',
  host: '127.0.0.1',
  port: sftp.port,
  user: 'shop',
  password: SECRET,
  hostKey: sftp.hostKey,
  folder,
  ...more,
});
const inBucket = (folder: string, more: object = {}) => ({
  type: 's3',
  endpoint: s3.endpoint,
  region: S3_REGION,
  bucket: BUCKET,
  folder,
  ...S3_KEYS,
  ...more,
});
const NDJSON = { name: 'Everything', format: { type: 'ndjson' } };

test('secrets are write-only, are kept while the address is unchanged, and are never sent to another address (§16.8 rule 6)', async () => {
  const project = await createProject();
  const destinations = [onServer('a'), inBucket('a')];
  const channel = await project.create({ ...NDJSON, destinations });
  const masked = [onServer('a', { password: '***' }), inBucket('a', { secretAccessKey: '***' })];
  assert.deepEqual(channel.destinations, masked);
  const put = (list: AnyBody) =>
    project.manage('PUT', `/${channel.id}`, { body: { ...channel, destinations: list } });
  const same = await put(masked);
  assert.equal(same.body.updatedAt, channel.updatedAt, 'a change without effect is not a change');
  // Another order, another folder and one more destination on the same server: each keeps its own secrets.
  const moved = await put([masked[1], masked[0], { ...masked[0], folder: 'b' }]);
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
  const elsewhere: [object, string][] = [
    [{ ...masked[0], port: 1 }, 'password'],
    [{ ...masked[1], endpoint: 'https://elsewhere.example' }, 'secretAccessKey'],
  ];
  for (const [wrong, member] of elsewhere) {
    const refused = await put([wrong]);
    assertRefused(refused, 400);
    assert.match(refused.body.details[0], new RegExp(`^/destinations/0/${member}: \\*\\*\\* stands for`));
  }
  const tried = await project.manage('POST', `/${channel.id}/preview`, { body: { ...channel } });
  assert.equal(tried.status, 200, JSON.stringify(tried.body));
  const audit = await service().call('GET', '/management/audit-log');
  const log = service().log.join('\n') + JSON.stringify(audit.body);
  assert.ok(!log.includes(SECRET) && !log.includes(S3_KEYS.secretAccessKey));
});

test('a refused definition names the faults of its destinations (§16.8 rule 8)', async () => {
  const project = await createProject();
  const wrong: [object[], RegExp][] = [
    [[onServer('a', { host: 'a b' })], /^\/destinations\/0\/host: must be a host name/],
    [
      [onServer('a', { password: undefined })],
      /^\/destinations\/0\/password: is required unless privateKey is sent/,
    ],
    [[onServer('a/../b')], /^\/destinations\/0\/folder: must not contain an empty name, \. or \.\./],
    [[onServer('a'), onServer('a/')], /^\/destinations\/1: is the same location as 0/],
    [[inBucket('..')], /^\/destinations\/0\/folder: must not contain an empty name/],
    [[inBucket('/a')], /^\/destinations\/0\/folder: must not begin with \//],
    [[inBucket('a', { endpoint: 'ftp://x' })], /^\/destinations\/0\/endpoint: .*http/],
    [[{ type: 'ftp' }], /destinations/],
  ];
  for (const [destinations, text] of wrong) {
    const refused = await project.manage('POST', '', { body: { ...NDJSON, destinations } });
    assertRefused(refused, 400);
    assert.match(refused.body.details.join(), text);
    // The id of a request may contain any four digits.
    assert.doesNotMatch(JSON.stringify({ ...refused.body, requestId: '' }), /4711/);
  }
});

test('each build is delivered under the same names (§16.8 rules 2 and 3)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  mkdirSync(join(root, 'out'));
  writeFileSync(join(root, 'out/other.csv'), 'of somebody else');
  const format = { type: 'csv', compression: 'gzip' };
  const destinations = [onServer('/out/'), inBucket('feeds/shop')];
  const channel = await project.create({ ...NDJSON, format, destinations });
  for (const [position, identifier] of ['A2', 'A3'].entries()) {
    await project.update(sold(identifier));
    const task = await project.build(channel);
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    const served = await bytesOf(await project.fetch(channel.url));
    const index = await bytesOf(await project.fetch(channel.url.replace('products.csv.gz', 'index.json')));
    assert.equal(JSON.parse(String(index)).rows, position + 2);
    const names = ['index.json', 'products.csv.gz'];
    assert.deepEqual(readdirSync(join(root, 'out')).sort(), [names[0], 'other.csv', names[1]]);
    assert.deepEqual(
      [...s3.objects.keys()].sort(),
      names.map((name) => `feeds/shop/${name}`),
    );
    for (const [name, bytes] of Object.entries({ 'index.json': index, 'products.csv.gz': served })) {
      assert.ok(readFileSync(join(root, 'out', name)).equals(bytes), name);
      assert.ok(s3.objects.get(`feeds/shop/${name}`)?.equals(bytes), name);
    }
    const { body } = await service().call('GET', `/tasks/${task.id}/log`);
    assert.match(JSON.stringify(body), /delivered 2 files, \d+ bytes to sftp:\/\/127\.0\.0\.1:\d+\/out\//);
  }
});

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

test('a destination that refuses the files fails the task and is named, while the address and the other destinations get them (§16.8 rule 4)', async () => {
  const project = await createProject();
  await project.load(sold('A1'));
  mkdirSync(join(root, 'sound'));
  const refusing: [object, RegExp][] = [
    [onServer('a', { hostKey: `SHA256:${'A'.repeat(43)}` }), /has the host key SHA256:.*nothing was sent/],
    [onServer('b', { password: 'other-4711' }), /does not accept the user, the password/],
    [onServer('absent'), /has no folder absent; create it/],
    [
      inBucket('c', { secretAccessKey: 'other-4711' }),
      /at 127\.0\.0\.1:\d+: .*secret access key or the region/,
    ],
  ];
  const destinations = [...refusing.map(([destination]) => destination), onServer('sound')];
  const channel = await project.create({ ...NDJSON, destinations });
  const task = await project.build(channel);
  assert.deepEqual([task.taskStatus, task.error.code], ['FAILED', 'channel_undelivered']);
  const { published, lastBuild } = await project.read(channel);
  assert.deepEqual([published.rows, lastBuild.taskStatus, task.counts.rows], [1, 'FAILED', 1]);
  assert.equal((await project.fetch(channel.url)).status, 200);
  assert.deepEqual(readdirSync(join(root, 'sound')).sort(), ['index.json', 'products.ndjson']);
  const report = await project.report(task);
  assert.equal(task.error.details.length, refusing.length);
  for (const [index, [, text]] of refusing.entries()) {
    assert.match(task.error.details[index], text);
    assert.deepEqual(report[index], { code: 'undelivered', message: task.error.details[index] });
  }
  assert.doesNotMatch(JSON.stringify([task, report]), /4711/);
  mkdirSync(join(root, 'absent'));
  await project.manage('PUT', `/${channel.id}`, {
    body: { ...channel, destinations: [channel.destinations[2]] },
  });
  assert.equal((await project.build(channel)).taskStatus, 'FINISHED', 'the next build delivers');
});

test('the next process repeats a delivery that the end of a process interrupted (§16.8 rule 5)', async (t) => {
  const store = await createTestStore(t);
  const start = () => startTestService(t, { store, settings: FETCH_HERE });
  const first = await start();
  const project = await createChannelProject(first);
  await project.load(sold('A1'));
  const channel = await project.create({ ...NDJSON, destinations: [inBucket('again')] });
  s3.failPuts(1_000);
  const { task } = (await project.manage('POST', `/${channel.id}/build`)).body;
  // The run then waits for its next attempt.
  while (!s3.requests.some((request) => request.startsWith(`PUT /${BUCKET}/again/`))) await delay(20);
  await first.stop();
  s3.failPuts(0);
  const second = await start();
  assert.equal((await second.ended(task.id)).taskStatus, 'FINISHED');
  const delivered = s3.objects.get('again/products.ndjson');
  const served = await fetch(new URL(new URL(channel.url).pathname, second.address));
  assert.deepEqual(delivered, await bytesOf(served));
  const { body } = await second.call('GET', `/tasks/${task.id}/log`);
  assert.equal(JSON.stringify(body).match(/published 1 of 1/g)?.length, 1, 'it is built once');
});
