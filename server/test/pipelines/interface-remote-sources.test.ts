// runs: test (not on postgres: reads from other machines, before anything is stored)
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { S3_KEYS, S3_REGION, type S3TestServer, startS3Server } from '../support/outbound/s3-server.ts';
import { type SftpTestServer, startSftpServer } from '../support/outbound/sftp-server.ts';
import {
  byUpload,
  createPipelineProject,
  FETCH_HERE,
  type PipelineProject,
} from '../support/pipelines/pipeline-project.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';

/** Sources on other machines: SFTP and S3 (docs/interface §13.1, §13.4). */

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const service = shareService({ settings: FETCH_HERE });
const SECRET = 'only-the-server-knows-4711';
const BUCKET = 'shop-feeds';
const root = mkdtempSync(join(tmpdir(), 'relata-remote-'));
let sftp: SftpTestServer;
let s3: S3TestServer;
before(async () => {
  sftp = await startSftpServer(root, { user: 'erp', password: SECRET });
  s3 = await startS3Server(BUCKET);
});
after(async () => {
  await sftp.close();
  s3.close();
  rmSync(root, { recursive: true });
});

const csv = (...identifiers: string[]) => `sku,title\n${identifiers.map((id) => `${id},T ${id}\n`).join('')}`;
const overSftp = (path: string, more: object = {}) => ({
  type: 'sftp',
  host: '127.0.0.1',
  port: sftp.port,
  user: 'erp',
  password: SECRET,
  hostKey: sftp.hostKey,
  path,
  ...more,
});
const inBucket = (key: string, more: object = {}) => ({
  type: 's3',
  endpoint: s3.endpoint,
  region: S3_REGION,
  bucket: BUCKET,
  key,
  ...S3_KEYS,
  ...more,
});

async function createRemote(source: object) {
  const project = await createPipelineProject(service());
  const pipeline = await project.create(byUpload({ source, maxDeletePercent: 100 }));
  return { project, pipeline, run: () => runOf(project, pipeline) };
}

async function runOf(project: PipelineProject, pipeline: AnyBody) {
  const task = await project.run(pipeline);
  const { body } = await project.manage('GET', `/${pipeline.id}/runs`);
  return { task, counts: body.items[0].counts, text: JSON.stringify(task) };
}

const write = (path: string, content: string | Uint8Array) => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), content);
};

test('a run reads matching files by SFTP in the order of their names and reports unchanged ones as nothing new (§13.1)', async () => {
  write('in/b.csv.gz', gzipSync(csv('B1')));
  write('in/a.csv', csv('A1', 'A2'));
  write('in/deep/c.csv', csv('C1'));
  write('in/.hidden.csv', csv('H1'));
  write('in/notes.txt', 'no csv');
  symlinkSync('.', join(root, 'in/circle'));
  symlinkSync('gone.csv', join(root, 'in/broken.csv'));
  const { project, run } = await createRemote(overSftp('/in/**/*.csv*'));
  const first = await run();
  assert.equal(first.task.taskStatus, 'FINISHED', first.text);
  assert.deepEqual((await project.list()).sort(), ['A1', 'A2', 'B1', 'C1']);
  assert.equal((await run()).counts.nothingNew, true);
  write('in/a.csv', csv('A1', 'A3', 'A4'));
  assert.equal((await run()).counts.products, 5);
});

test('a run reads one file, or only the newest, by SFTP (§13.1)', async () => {
  write('dated/1.csv', csv('OLD'));
  write('dated/2.csv', csv('NEW'));
  utimesSync(join(root, 'dated/1.csv'), 1_000_000, 1_000_000);
  const newest = await createRemote(overSftp('dated/*.csv', { take: 'newest' }));
  await newest.run();
  assert.deepEqual(await newest.project.list(), ['NEW']);
  const singleFile = await createRemote(overSftp('dated/1.csv'));
  await singleFile.run();
  assert.deepEqual(await singleFile.project.list(), ['OLD']);
  const none = await createRemote(overSftp('dated/3.csv'));
  assert.match((await none.run()).text, /127\.0\.0\.1 has no dated\/3\.csv/);
});

test('a run reads an object from S3 and reports one with the same ETag as nothing new (§13.1)', async () => {
  s3.objects.set('one/feed.csv', Buffer.from(csv('A1')));
  const { project, run } = await createRemote(inBucket('one/feed.csv'));
  assert.equal((await run()).task.taskStatus, 'FINISHED');
  assert.equal((await run()).counts.nothingNew, true);
  s3.objects.set('one/feed.csv', Buffer.from(csv('A2')));
  await run();
  assert.deepEqual(await project.list(), ['A2']);
});

test('a run reads matching objects from S3 in the order of their keys (§13.1)', async () => {
  for (const [key, id] of [
    ['many/2.csv', 'B'],
    ['many/1.csv', 'A'],
    ['many/sub/3.csv', 'C'],
    ['many/4.txt', 'D'],
  ])
    s3.objects.set(key ?? '', Buffer.from(csv(id ?? '')));
  const { project, run } = await createRemote(inBucket('many/**/*.csv'));
  await run();
  assert.deepEqual((await project.list()).sort(), ['A', 'B', 'C']);
  assert.equal((await run()).counts.nothingNew, true);
});

test('another host key or a wrong secret fails a run, with an explanation that contains no secret (§13.4)', async () => {
  const wrong = [
    [
      overSftp('x.csv', { hostKey: `SHA256:${'A'.repeat(43)}` }),
      /has the host key SHA256:.*nothing was sent/,
    ],
    [overSftp('x.csv', { password: 'other-4711' }), /does not accept the user, the password/],
    [inBucket('x.csv', { secretAccessKey: 'other-4711' }), /the secret access key or the region is wrong/],
  ] as const;
  for (const [source, text] of wrong) {
    const { task, text: failureText } = await (await createRemote(source)).run();
    assert.equal(task.taskStatus, 'FAILED');
    assert.match(failureText, text);
    assert.doesNotMatch(failureText, /4711/);
  }
});

test('secrets are write-only, are kept while the server is unchanged, and are never sent to another server (§13.4)', async () => {
  write('kept.csv', csv('K'));
  s3.objects.set('kept.csv', Buffer.from(csv('K')));
  const cases = [
    [overSftp('kept.csv'), 'password', { port: 1 }],
    [inBucket('kept.csv'), 'secretAccessKey', { endpoint: 'https://elsewhere.example' }],
  ] as const;
  for (const [source, member, moved] of cases) {
    const { project, pipeline, run } = await createRemote(source);
    assert.deepEqual(pipeline.source, { ...source, [member]: '***' });
    const { body } = await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, name: 'Other' } });
    assert.equal(body.source[member], '***');
    assert.equal((await run()).task.taskStatus, 'FINISHED');
    const refused = await project.manage('PUT', `/${pipeline.id}`, {
      body: { ...pipeline, source: { ...pipeline.source, ...moved } },
    });
    assertRefused(refused, 400);
    assert.match(refused.body.details.join(), new RegExp(`/source/${member}: `));
  }
  const log = service().log.join('\n');
  assert.ok(!log.includes(SECRET) && !log.includes(S3_KEYS.secretAccessKey));
});

test('a refused definition names its faults (§13.1)', async () => {
  const project = await createPipelineProject(service());
  const wrong: [object, RegExp][] = [
    [overSftp('a.csv', { host: 'a b' }), /^\/source\/host: must be a host name/],
    [
      overSftp('a.csv', { password: undefined }),
      /^\/source\/password: is required unless privateKey is sent/,
    ],
    [overSftp('a.csv', { privateKey: 'secret-4711' }), /^\/source\/privateKey: must be a private key/],
    [overSftp('a.csv', { passphrase: 'secret-4711' }), /^\/source\/passphrase: is only used with privateKey/],
    [overSftp('a.csv', { hostKey: 'MD5:aa' }), /^\/source\/hostKey: must be a fingerprint/],
    [overSftp('../a.csv'), /^\/source\/path: A pattern must not contain/],
    [inBucket('a.csv', { endpoint: 'ftp://x' }), /^\/source\/endpoint: .*http/],
    [inBucket('/a.csv'), /^\/source\/key: A pattern must not begin/],
    [inBucket('a.csv', { bucket: 'A' }), /bucket/],
  ];
  for (const [source, text] of wrong) {
    const refused = await project.manage('POST', '', { body: byUpload({ source }) });
    assertRefused(refused, 400);
    assert.match(refused.body.details.join(), text);
    assert.doesNotMatch(JSON.stringify(refused.body), /4711/);
  }
});
