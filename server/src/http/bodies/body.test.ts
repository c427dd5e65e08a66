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
  // The reader uses no more of a message than its stream and its headers.
  return { stream, request: stream as unknown as IncomingMessage };
}

const TERMS = { maxMib: 1, memory: undefined, findRefusal: async () => undefined };

test('a body is what was sent, however it is cut into chunks and whatever length was announced', async () => {
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

test('gzip is known by both its names, anything else is refused', async () => {
  for (const name of ['gzip', 'x-gzip', ' GZIP ']) {
    const { stream, request } = openRequest({ 'content-encoding': name });
    stream.end('x');
    assert.equal((await readBody(request, TERMS)).encoding, 'gzip');
  }
  const { request } = openRequest({ 'content-encoding': 'compress' });
  await assert.rejects(readBody(request, TERMS), { code: 'body_encoding' });
});

test('a body of exactly the limit is read, one byte more is refused, announced or not (§8)', async () => {
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

/** Writes a chunk at fixed intervals until the body ends. @returns its end, and the seconds until then */
async function drip(
  t: TestContext,
  { bytes, seconds, maxMib }: { bytes: number; seconds: number; maxMib: number },
) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { stream, request } = openRequest();
  let outcome: string | undefined;
  readBody(request, { ...TERMS, maxMib }).then(
    () => assert.fail('it never ends'),
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

test('a sender that is silent for 30 seconds is given up (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 600, maxMib: 128 }), ['body_stalled', 30]);
});

test('a sender of less than 1 MiB a minute is given up (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 8, maxMib: 128 }), ['body_slow', 60]);
});

test('a body has a minute and 10 seconds for each MiB that it may have (§7.2 rule 7)', async (t) => {
  assert.deepEqual(await drip(t, { bytes: 18 * 1024, seconds: 1, maxMib: 4 }), ['body_slow', 100]);
  t.mock.timers.reset();
  assert.deepEqual(await drip(t, { bytes: 1, seconds: 8, maxMib: 1 / 64 }), ['body_slow', 60], 'a sign-in');
});

test('a sender that waits for memory is not timed, and goes on when there is some (§7.2 rule 8)', async (t) => {
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

test('a body ends when its sender may send no more (§7.2 rule 9)', async (t) => {
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

test('a connection that breaks off is no body', async () => {
  const { stream, request } = openRequest();
  const refused = assert.rejects(readBody(request, TERMS), { code: 'body_stalled' });
  stream.write('half');
  stream.destroy();
  await refused;
});

test('what is to be stored of a connection that breaks off gives its memory back', async (t) => {
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
  assert.notEqual(beside.bytes.buffer, former.bytes.buffer, 'the body had it');
  assert.equal(buffers.take(6 * MIB).bytes.buffer, former.bytes.buffer);
  assert.deepEqual(await readdir(folder), []);
});

test('the announced length is read from the header', () => {
  assert.equal(declaredLength(openRequest({ 'content-length': '12' }).request), 12);
  assert.equal(declaredLength(openRequest().request), undefined);
});
