// runs: test
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../kernel/errors.ts';
import { createPayloadFiles } from '../../storage/payloads/payloads.ts';
import { BufferPool } from '../../storage/threads/threads.ts';
import { declaredLength, readBody } from './body.ts';
import { MemoryBudget } from './memory-budget.ts';

const MIB = 1024 * 1024;

/** A request, limited to the parts that a body reader uses. */
function openRequest(headers: Record<string, string> = {}) {
  const stream = Object.assign(new PassThrough(), { headers });
  // The reader uses only the stream and the headers of a message.
  return { stream, request: stream as unknown as IncomingMessage };
}

const TERMS = { maxMib: 1, memory: undefined, findRefusal: async () => undefined };

test('readBody returns the bytes that were sent, in any chunks and with or without Content-Length', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), async (parts, isDeclared) => {
      const whole = Buffer.concat(parts);
      const { stream, request } = openRequest(isDeclared ? { 'content-length': String(whole.length) } : {});
      const reading = readBody(request, TERMS);
      for (const part of parts) stream.write(part);
      stream.end();
      const { bytes, encoding } = await reading;
      assert.equal(encoding, 'identity');
      assert.ok(bytes.buffer instanceof SharedArrayBuffer, 'threads share it without a copy');
      assert.equal(Buffer.compare(Buffer.from(bytes), whole), 0);
    }),
    { numRuns: 50 },
  );
});

test('readBody accepts gzip and x-gzip, and refuses unknown encodings', async () => {
  for (const name of ['gzip', 'x-gzip', ' GZIP ']) {
    const { stream, request } = openRequest({ 'content-encoding': name });
    stream.end('x');
    assert.equal((await readBody(request, TERMS)).encoding, 'gzip');
  }
  const { request } = openRequest({ 'content-encoding': 'compress' });
  await assert.rejects(readBody(request, TERMS), { code: 'body_encoding' });
});

test('readBody accepts a body of exactly the limit and refuses one byte more, with or without Content-Length (§8)', async () => {
  const exact = openRequest();
  const reading = readBody(exact.request, TERMS);
  exact.stream.end(Buffer.alloc(MIB));
  assert.equal((await reading).bytes.length, MIB);

  const announced = openRequest({ 'content-length': String(MIB + 1) });
  await assert.rejects(readBody(announced.request, TERMS), { code: 'body_too_large' });

  const silent = openRequest();
  const refused = assert.rejects(readBody(silent.request, TERMS), { code: 'body_too_large' });
  silent.stream.end(Buffer.alloc(MIB + 1));
  await refused;
});

/**
 * Writes a chunk at fixed intervals until the body ends.
 * @returns the code of its refusal, and the seconds until then
 */
async function drip(
  t: TestContext,
  { bytes, seconds, maxMib }: { bytes: number; seconds: number; maxMib: number },
) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { stream, request } = openRequest();
  let outcome: string | undefined;
  readBody(request, { ...TERMS, maxMib }).then(
    () => assert.fail('the sender never ends the body'),
    (error: { code: string }) => {
      outcome = error.code;
    },
  );
  let second = 0;
  for (; outcome === undefined && second < 1_000; second += 1) {
    if (second % seconds === 0) stream.write(Buffer.alloc(bytes));
    await new Promise(setImmediate);
    t.mock.timers.tick(1_000);
    await new Promise(setImmediate);
  }
  return [outcome, second];
}

test('a sender that is silent for 30 seconds is refused (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 600, maxMib: 128 }), ['body_stalled', 30]);
});

test('a sender of less than 1 MiB a minute is refused (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 8, maxMib: 128 }), ['body_slow', 60]);
});

test('a body may take a minute plus 10 seconds for each MiB of its limit (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 18 * 1024, seconds: 1, maxMib: 4 }), ['body_slow', 100]);
  t.mock.timers.reset();
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 8, maxMib: 1 / 64 }), ['body_slow', 60], 'a sign-in');
});

test('a sender that waits for memory is not timed, and it resumes when memory is free (§7.2 rule 8)', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const budget = new MemoryBudget(100);
  const holder = { caller: 'key 1', accountId: 1 };
  const other = budget.open(holder);
  assert.ok(other.grow(100));
  const { stream, request } = openRequest();
  const reading = readBody(request, { ...TERMS, memory: budget.open(holder) });
  stream.write('one ');
  await new Promise(setImmediate);
  for (let second = 0; second < 600; second += 1) t.mock.timers.tick(1_000);
  assert.equal(request.isPaused(), true);
  other.release();
  stream.end('two');
  assert.equal(String(Buffer.from((await reading).bytes)), 'one two');
});

test('a body is refused when its sender has lost access (§7.2 rule 9)', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let refusal: ServiceError | undefined;
  const { stream, request } = openRequest();
  const reading = readBody(request, { ...TERMS, findRefusal: async () => refusal });
  stream.write('one ');
  t.mock.timers.tick(1_000);
  await new Promise(setImmediate);
  refusal = new ServiceError('scope_refused');
  const refused = assert.rejects(reading, { code: 'scope_refused' });
  t.mock.timers.tick(1_000);
  await refused;
});

test('a body whose connection breaks is refused', async () => {
  const { stream, request } = openRequest();
  const refused = assert.rejects(readBody(request, TERMS), { code: 'body_stalled' });
  stream.write('half');
  stream.destroy();
  await refused;
});

test('a stored body whose connection breaks returns its memory and leaves no file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'relata-body-'));
  t.after(() => rm(folder, { recursive: true }));
  const buffers = new BufferPool();
  const former = buffers.take(6 * MIB);
  former.giveBack();
  const payload = { ...createPayloadFiles(folder).open(1, 'a.body'), buffers };
  const { stream, request } = openRequest({ 'content-length': String(6 * MIB) });
  const refused = assert.rejects(readBody(request, { ...TERMS, maxMib: 8, payload }), {
    code: 'body_stalled',
  });
  for (let sent = 0; sent < 5; sent += 1) stream.write(Buffer.alloc(MIB));
  await new Promise(setImmediate);
  const beside = buffers.take(6 * MIB);
  stream.destroy();
  await refused;
  await payload.abandon();
  await new Promise(setImmediate);
  assert.notEqual(beside.bytes.buffer, former.bytes.buffer, 'the body had the buffer');
  assert.equal(buffers.take(6 * MIB).bytes.buffer, former.bytes.buffer);
  assert.deepEqual(await readdir(folder), []);
});

test('declaredLength reads Content-Length', () => {
  assert.equal(declaredLength(openRequest({ 'content-length': '12' }).request), 12);
  assert.equal(declaredLength(openRequest().request), undefined);
});
