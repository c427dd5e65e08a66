import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { createBodyBudget, declaredLength, parseJsonBody, readBody } from './body.ts';

const MIB = 1024 * 1024;

/** A request as far as a body reader sees one. */
function openRequest(headers: Record<string, string> = {}) {
  const stream = Object.assign(new PassThrough(), { headers });
  return { stream, request: stream as unknown as IncomingMessage };
}

const identity = (text: string | Uint8Array) => ({ bytes: Buffer.from(text), encoding: 'identity' as const });
const gzip = (text: string) => ({ bytes: gzipSync(text), encoding: 'gzip' as const });

test('a body is what was sent, however it is cut into chunks and whatever length was announced', async () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(chunks, fc.boolean(), async (parts, isDeclared) => {
      const whole = Buffer.concat(parts);
      const { stream, request } = openRequest(isDeclared ? { 'content-length': String(whole.length) } : {});
      const reading = readBody(request, 1);
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
    assert.equal((await readBody(request, 1)).encoding, 'gzip');
  }
  const { request } = openRequest({ 'content-encoding': 'br' });
  await assert.rejects(readBody(request, 1), { code: 'body_encoding' });
});

test('a body of exactly the limit is read, one byte more is refused, announced or not (§8)', async () => {
  const exact = openRequest();
  const reading = readBody(exact.request, 1);
  exact.stream.end(Buffer.alloc(MIB));
  assert.equal((await reading).bytes.length, MIB);

  const announced = openRequest({ 'content-length': String(MIB + 1) });
  await assert.rejects(readBody(announced.request, 1), { code: 'body_too_large' });

  const silent = openRequest();
  const refused = assert.rejects(readBody(silent.request, 1), { code: 'body_too_large' });
  silent.stream.end(Buffer.alloc(MIB + 1));
  await refused;
});

test('a sender that is silent for 30 seconds is given up, one that goes on is not (§7.2 rule 7)', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stream, request } = openRequest();
  const outcome = readBody(request, 1).then(
    () => 'read',
    (error: { code: string }) => error.code,
  );
  for (let at = 0; at < 3; at += 1) {
    stream.write('x');
    await new Promise(setImmediate);
    t.mock.timers.tick(29_000);
  }
  t.mock.timers.tick(1_001);
  assert.equal(await outcome, 'body_stalled');
});

test('a connection that breaks off is no body', async () => {
  const { stream, request } = openRequest();
  const refused = assert.rejects(readBody(request, 1), { code: 'body_stalled' });
  stream.write('half');
  stream.destroy();
  await refused;
});

test('the announced length is read from the header', () => {
  assert.equal(declaredLength(openRequest({ 'content-length': '12' }).request), 12);
  assert.equal(declaredLength(openRequest().request), undefined);
});

test('every JSON document is read back, packed or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ noUnicodeString: false } as object), async (text) => {
      const expected = JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value));
      assert.deepEqual(await parseJsonBody(identity(text), 1), expected);
      assert.deepEqual(await parseJsonBody(gzip(text), 1), expected);
    }),
    { numRuns: 50 },
  );
});

test('an empty body is undefined, and what is no JSON says where it ends (§7.3 rule 5)', async () => {
  assert.equal(await parseJsonBody(identity(''), 1), undefined);
  await assert.rejects(parseJsonBody(identity('{"a":'), 1), { code: 'body_not_json' });
  await assert.rejects(parseJsonBody(identity(new Uint8Array([0x22, 0xff, 0x22])), 1), {
    code: 'body_not_json',
  });
  await assert.rejects(parseJsonBody({ bytes: Buffer.from('plain'), encoding: 'gzip' }, 1), {
    code: 'body_not_gzip',
  });
});

test('a small body that unpacks beyond the limit is refused (§2.3 rule 10)', async () => {
  const packed = gzip(' '.repeat(MIB + 1));
  assert.ok(packed.bytes.length < 10_000);
  await assert.rejects(parseJsonBody(packed, 1), { code: 'body_too_large' });
});

test('what holds more than a body may is refused before it is parsed (§8)', async () => {
  const limits = { values: 100, names: 10, text: 1_000 };
  const fields = Array.from({ length: 11 }, (_, at) => `"${at}":0`);
  const cases: [string, string][] = [
    [`[${'0,'.repeat(100)}`, 'the body holds more than 100 values'],
    [`{${fields.join()}}`, 'the body holds more than 10 fields'],
    [`["${'x'.repeat(1_001)}"]`, 'the body holds a string of more than 1,000 bytes'],
    ['['.repeat(33), 'the body is nested deeper than 32 levels'],
  ];
  for (const [text, said] of cases) {
    for (const body of [identity(text), gzip(text)]) {
      await assert.rejects(parseJsonBody(body, 1, limits), {
        code: 'request_invalid',
        facts: { details: [said] },
      });
    }
  }
  const full = `[${'0,'.repeat(98)}0]`;
  assert.equal(((await parseJsonBody(identity(full), 1, limits)) as unknown[]).length, 99);
});

test('the prototype of an object cannot be written through a body', async () => {
  const body = (await parseJsonBody(identity('{"__proto__":{"isAdmin":true},"a":1}'), 1)) as object;
  assert.deepEqual(Object.keys(body), ['a']);
  assert.equal(Reflect.get(body, 'isAdmin'), undefined);
  const escaped = '{"a":[{"\\u005f_proto__":{"isAdmin":true},"b":"__proto__"}]}';
  const deep = (await parseJsonBody(identity(escaped), 1)) as { a: [object] };
  assert.deepEqual(Object.entries(deep.a[0]), [['b', '__proto__']]);
});

test('bodies share their memory: what does not fit waits, small ones first, none is lost', async () => {
  const budget = createBodyBudget(100);
  const granted: number[] = [];
  const reserve = async (bytes: number) => {
    const release = await budget.reserve(bytes);
    granted.push(bytes);
    return release;
  };
  const first = await reserve(80);
  const large = reserve(90);
  const small = reserve(30);
  const tiny = reserve(20);
  await new Promise(setImmediate);
  assert.deepEqual(granted, [80, 20]);
  first();
  first();
  await new Promise(setImmediate);
  assert.deepEqual(granted, [80, 20, 30], 'a release counts once');
  (await tiny)();
  (await small)();
  (await large)();
  assert.deepEqual(granted, [80, 20, 30, 90]);
  (await reserve(1_000))();
  assert.deepEqual(granted.at(-1), 1_000, 'more than there is takes all of it');
});
