// runs: test
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { S3_KEYS, S3_REGION, startS3Server } from '../../../test/support/outbound/s3-server.ts';
import { startSftpServer } from '../../../test/support/outbound/sftp-server.ts';
import { createPayloadFiles } from '../../storage/payloads/payloads.ts';
import { type DeliveryOrder, deliver } from './delivery.ts';

/** Source: docs/interface §16.8 rules 2, 4. */

const file = (name: string) => ({
  name,
  mediaType: 'text/csv',
  sizeBytes: 3,
  rows: 1,
  sha256: '0',
  pieces: [
    { name: 'a', sizeBytes: 2 },
    { name: 'b', sizeBytes: 1 },
  ],
});
const snapshot = {
  projectId: 1,
  channelId: 1,
  taskNumber: 1,
  catalogVersion: 1,
  rows: 2,
  createdAt: 0,
  files: [file('products.csv'), file('products-2.csv')],
};
const root = mkdtempSync(join(tmpdir(), 'relata-delivery-'));
const folder = { sftp: join(root, 'sftp'), payloads: join(root, 'payloads') };
const payloads = createPayloadFiles(folder.payloads);
const parts = { payloads, allow: ['127.0.0.1'] };
before(async () => {
  for (const path of Object.values(folder)) mkdirSync(path);
  await payloads.write(snapshot.projectId, 'a', Buffer.from('xy'));
  await payloads.write(snapshot.projectId, 'b', Buffer.from('z'));
});
after(() => rmSync(root, { recursive: true }));
const NAMES = ['index.json', 'products-2.csv', 'products.csv'];

test('only files of a larger earlier build are removed', async (t) => {
  const sftp = await startSftpServer(folder.sftp, { user: 'shop', password: 'p' });
  const s3 = await startS3Server('feeds');
  t.after(async () => {
    await sftp.close();
    s3.close();
  });
  for (const name of ['products-3.csv', 'products-33.csv']) {
    writeFileSync(join(folder.sftp, name), 'old');
    s3.objects.set(name, Buffer.from('old'));
  }
  const { port, hostKey } = sftp;
  const destinations: DeliveryOrder['destination'][] = [
    { type: 'sftp', host: '127.0.0.1', port, user: 'shop', password: 'p', hostKey },
    { type: 's3', endpoint: s3.endpoint, region: S3_REGION, bucket: 'feeds', ...S3_KEYS },
  ];
  const stale = ['products-3.csv', 'products-4.csv'];
  for (const destination of destinations) {
    const { files, bytes, problem } = await deliver(parts, { snapshot, stale, destination });
    assert.deepEqual([files, problem], [3, undefined]);
    assert.ok(bytes > 6);
  }
  const left = [...NAMES.slice(0, 2), 'products-33.csv', NAMES[2]];
  assert.deepEqual(readdirSync(folder.sftp).sort(), left);
  assert.deepEqual([...s3.objects.keys()].sort(), left);
});

const AT_ONCE = { retryMs: [1, 1] };

test('transient problems are retried, and refusals are not', async (t) => {
  const s3 = await startS3Server('feeds');
  t.after(s3.close);
  const bucketDestination = {
    type: 's3' as const,
    endpoint: s3.endpoint,
    region: S3_REGION,
    bucket: 'feeds',
    ...S3_KEYS,
  };
  const order = (destination: DeliveryOrder['destination']) => ({ snapshot, stale: [], destination });
  s3.failPuts(2);
  assert.equal((await deliver(parts, order(bucketDestination), AT_ONCE)).problem, undefined);
  assert.equal(s3.objects.size, NAMES.length);
  s3.failPuts(3);
  const failed = await deliver(parts, order(bucketDestination), AT_ONCE);
  assert.match(failed.problem ?? '', /answered 500 InternalError \(3 attempts\)$/);
  const before = s3.requests.length;
  const refused = await deliver(parts, order({ ...bucketDestination, secretAccessKey: 'other' }), AT_ONCE);
  assert.match(refused.problem ?? '', /secret access key/);
  assert.equal(s3.requests.length, before + 1);
  const inside = await deliver({ ...parts, allow: [] }, order(bucketDestination), AT_ONCE);
  assert.match(inside.problem ?? '', /leads to a loopback address/);
});

test('no attempt is repeated after the time for all attempts has passed', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const destination = { type: 's3' as const, endpoint, bucket: 'feeds', ...S3_KEYS };
  const limits = { connectMs: 60_000, idleMs: 60_000, wholeMs: 500 };
  const { problem } = await deliver(parts, { snapshot, stale: [], destination }, { ...AT_ONCE, limits });
  assert.match(problem ?? '', /took longer than 0\.5 s in all$/);
});
