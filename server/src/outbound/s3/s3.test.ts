// runs: test
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { S3_KEYS, S3_REGION, startS3Server } from '../../../test/support/outbound/s3-server.ts';
import { allowAddresses, createTimeouts } from '../outbound.ts';
import { S3, type S3Place } from './s3.ts';

const LIMITS = { connectMs: 60_000, idleMs: 60_000, wholeMs: 600_000 };
const BUCKET = 'shop-feeds';

interface Patience {
  readonly wholeMs?: number;
  readonly signal?: AbortSignal;
}

async function startServer(t: TestContext) {
  const server = await startS3Server(BUCKET);
  t.after(server.close);
  const open = (more: Partial<S3Place> = {}, { wholeMs = LIMITS.wholeMs, signal }: Patience = {}) =>
    new S3(
      { ...S3_KEYS, endpoint: server.endpoint, region: S3_REGION, bucket: BUCKET, ...more },
      {
        allows: allowAddresses(['127.0.0.1']),
        resolve: async () => [{ address: '127.0.0.1' }],
        timeouts: createTimeouts({ ...LIMITS, wholeMs }, 'The server'),
        signal,
      },
    );
  return { server, open };
}

async function* pieces(bytes: Uint8Array, size: number) {
  for (let offset = 0; offset < bytes.length; offset += size) yield bytes.subarray(offset, offset + size);
}

async function readAll(read: { bytes: AsyncIterable<Uint8Array> } | undefined): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(read?.bytes ?? []));
}

test('objects with any key can be written, listed in pages and read, and each request is signed', async (t) => {
  const { server, open } = await startServer(t);
  const s3 = open();
  const keys = ['feeds/a b+c.csv', 'feeds/ä&(1)=*.csv', 'feeds/sub/z~.csv', 'other.csv', "feeds/q'!%.csv"];
  for (const key of keys)
    assert.equal(await s3.write(key, pieces(Buffer.from(key), 3)), Buffer.byteLength(key));
  const listed = await Array.fromAsync(s3.list('feeds/'));
  assert.deepEqual(
    listed.map(({ key }) => key).sort(),
    keys.filter((key) => key.startsWith('feeds/')).sort(),
  );
  for (const { key, etag } of listed) {
    assert.equal(String(await readAll(await s3.read(key, { ifMatch: etag }))), key);
    assert.equal(await s3.read(key, { ifNoneMatch: etag }), undefined);
  }
  server.objects.set('other.csv', Buffer.from('changed'));
  await assert.rejects(s3.read('other.csv', { ifMatch: '"old"' }), { reason: 'changed' });
});

test('a large object is sent in parts and appears as a whole or not at all', async (t) => {
  const { server, open } = await startServer(t);
  const bytes = randomBytes(17 * 1024 * 1024);
  assert.equal(await open().write('big', pieces(bytes, 1_000_000)), bytes.length);
  assert.ok(server.objects.get('big')?.equals(bytes));
  assert.equal(server.requests.filter((request) => request.includes('partNumber')).length, 2);

  server.failPart(2);
  await assert.rejects(open().write('broken', pieces(bytes, 1_000_000)), /answered 500 InternalError/);
  assert.ok(!server.objects.has('broken'));
  assert.equal(server.uploads.size, 0, 'the parts that were sent are removed');
});

test('parts are removed even if the time is used up or the caller has disconnected', async (t) => {
  const { server, open } = await startServer(t);
  const bytes = randomBytes(17 * 1024 * 1024);
  server.stallPart(2);
  const late = open({}, { wholeMs: 3_000 }).write('late', pieces(bytes, 1_000_000));
  await assert.rejects(late, /took longer than 3 s in all/);
  assert.equal(server.requests.filter((request) => request.includes('partNumber')).length, 2);
  assert.equal(server.uploads.size, 0);

  const controller = new AbortController();
  const left = open({}, { signal: controller.signal }).write('left', pieces(bytes, 1_000_000));
  left.catch(() => {});
  while (server.requests.filter((request) => request.includes('partNumber')).length < 4) await delay(10);
  controller.abort();
  await assert.rejects(left, { name: 'AbortError' });
  assert.equal(server.uploads.size, 0);
});

test('the bucket is in the path or in the host name', async (t) => {
  const { server, open } = await startServer(t);
  const endpoint = `http://s3.test:${server.port}`;
  await open({ endpoint, forcePathStyle: false }).write('a', pieces(Buffer.from('1'), 1));
  await open({ endpoint }).write('a', pieces(Buffer.from('2'), 1));
  assert.deepEqual(server.requests, ['PUT /a', `PUT /${BUCKET}/a`]);
});

test('texts about refusals contain no secret and no text of the server', async (t) => {
  const { open } = await startServer(t);
  const refused: [Partial<S3Place>, RegExp][] = [
    [
      { secretAccessKey: 'other-4711' },
      /403 SignatureDoesNotMatch: the secret access key or the region is wrong$/,
    ],
    [{ accessKeyId: 'AKIDOTHER' }, /403 InvalidAccessKeyId: it does not know the access key id$/],
    [{ region: 'us-east-1' }, /403 AuthorizationHeaderMalformed: the region is wrong$/],
    [{ bucket: 'other' }, /404 NoSuchBucket: there is no such bucket$/],
    [{}, /404 NoSuchKey: there is no such object$/],
  ];
  for (const [endpoint, text] of refused)
    await assert.rejects(open(endpoint).read('missing'), (error: Error) => {
      assert.match(error.message, text);
      assert.doesNotMatch(error.message, /4711|words/);
      return true;
    });
});
