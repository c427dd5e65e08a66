// runs: test
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../kernel/errors.ts';
import { createPayloadFiles } from './payloads.ts';

async function openFolder(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'relata-payloads-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return { payloads: createPayloadFiles(folder), path: join(folder, 'one') };
}

const isDamaged = (error: unknown) => error instanceof ServiceError && error.code === 'payload_damaged';

test('reading a payload returns the bytes that were written, in one piece or in several', async (t) => {
  const { payloads } = await openFolder(t);
  const bytes = new Uint8Array(9 * 1024 * 1024).map((_, index) => (index * 7) % 251);
  const writer = payloads.open(1, 'one');
  for (const length of [1, 4 * 1024 * 1024 + 1, bytes.length - 1]) writer.received(bytes.subarray(0, length));
  await writer.finish(bytes);
  assert.deepEqual(Buffer.from(await payloads.read(1, 'one')).compare(bytes), 0);
  await payloads.write(1, 'one', bytes.subarray(0, 10));
  assert.deepEqual(await payloads.read(1, 'one'), bytes.slice(0, 10));
});

test('a payload that is truncated, or has a changed byte, is refused as damaged', async (t) => {
  const { payloads, path } = await openFolder(t);
  await payloads.write(1, 'one', Buffer.from('{"id":1}\n{"id":2}\n'));
  const whole = await readFile(path);
  for (let length = whole.length - 1; length >= 0; length -= 1) {
    await truncate(path, length);
    await assert.rejects(payloads.read(1, 'one'), isDamaged, `${length}`);
  }
  for (let index = 8; index < whole.length; index += 1) {
    await writeFile(path, whole.with(index, (whole[index] ?? 0) ^ 1));
    await assert.rejects(payloads.read(1, 'one'), isDamaged, `byte ${index}`);
  }
  await rm(path);
  await assert.rejects(payloads.read(1, 'one'), isDamaged);
});

test('a payload of version 0.1.0, which has no header, is returned unchanged', async (t) => {
  const { payloads, path } = await openFolder(t);
  await writeFile(path, '{"products":[]}');
  assert.equal(Buffer.from(await payloads.read(1, 'one')).toString(), '{"products":[]}');
});
