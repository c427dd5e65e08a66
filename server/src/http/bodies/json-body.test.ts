// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { JSON_LIMITS, type JsonInput, type JsonTerms, jsonOperations, readJsonBody } from './json-body.ts';
import { MemoryBudget } from './memory-budget.ts';

const MIB = 1024 * 1024;

const identity = (text: string | Uint8Array) => ({ bytes: Buffer.from(text), encoding: 'identity' as const });
const gzip = (text: string) => ({ bytes: gzipSync(text), encoding: 'gzip' as const });

/** The operations of a parsing thread, on this thread. */
const thread = jsonOperations();
/** Bodies that were passed to the parsing thread. */
let readElsewhere: JsonInput[] = [];

function read(body: ReturnType<typeof identity | typeof gzip>, terms: Partial<JsonTerms> = {}) {
  return readJsonBody(body, {
    maxMib: 1,
    limits: JSON_LIMITS,
    schema: undefined,
    memory: undefined,
    owner: 1,
    openSignal: () => new AbortController().signal,
    async readElsewhere(input) {
      readElsewhere.push(input);
      return thread.readJson(input).output;
    },
    ...terms,
  });
}

test('readJsonBody returns the value of every JSON document, packed or not', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ noUnicodeString: false } as object), async (text) => {
      const expected = JSON.parse(text, (key, value) => (key === '__proto__' ? undefined : value));
      assert.deepEqual(await read(identity(text)), expected);
      assert.deepEqual(await read(gzip(text)), expected);
    }),
    { numRuns: 50 },
  );
});

test('readJsonBody returns undefined for an empty body and refuses invalid JSON and gzip (§7.3 rule 5)', async () => {
  assert.equal(await read(identity('')), undefined);
  await assert.rejects(read(identity('{"a":')), { code: 'body_not_json' });
  await assert.rejects(read(identity(new Uint8Array([0x22, 0xff, 0x22]))), { code: 'body_not_json' });
  await assert.rejects(read({ bytes: Buffer.from('plain'), encoding: 'gzip' }), {
    code: 'body_not_unpacked',
  });
  assert.deepEqual(await read(identity('\ufeff{"a":1}')), { a: 1 });
  for (const pack of [identity, gzip])
    for (const text of ['\ufeff\ufeff{"a":1}', `\ufeff\ufeff[${' '.repeat(MIB / 2)}]`])
      await assert.rejects(read(pack(text)), { code: 'body_not_json' });
});

test('a small body that unpacks beyond the limit is refused (§2.3 rule 10)', async () => {
  const packed = gzip(' '.repeat(MIB + 1));
  assert.ok(packed.bytes.length < 10_000);
  await assert.rejects(read(packed), { code: 'body_too_large' });
});

test('a body that exceeds a limit is refused before it is parsed, and the refusal names the limit (§8)', async () => {
  const limits = { values: 100, names: 10, text: 1_000 };
  const fields = Array.from({ length: 11 }, (_, index) => `"${index}":0`);
  const cases: [string, string][] = [
    [`[${'0,'.repeat(100)}`, 'the body holds more than 100 values'],
    [`{${fields.join()}}`, 'the body holds more than 10 fields'],
    [`["${'x'.repeat(1_001)}"]`, 'the body holds a string of more than 1,000 bytes'],
    ['['.repeat(33), 'the body is nested deeper than 32 levels'],
  ];
  for (const [text, detail] of cases) {
    for (const body of [identity(text), gzip(text)]) {
      await assert.rejects(read(body, { limits }), { code: 'request_invalid', facts: { details: [detail] } });
    }
  }
  const full = `[${'0,'.repeat(98)}0]`;
  assert.equal(((await read(identity(full), { limits })) as unknown[]).length, 99);
});

test('a body cannot set the prototype of an object', async () => {
  const body = (await read(identity('{"__proto__":{"isAdmin":true},"a":1}'))) as object;
  assert.deepEqual(Object.keys(body), ['a']);
  assert.equal(Reflect.get(body, 'isAdmin'), undefined);
  const escaped = '{"a":[{"\\u005f_proto__":{"isAdmin":true},"b":"__proto__"}]}';
  const deep = (await read(identity(escaped))) as { a: [object] };
  assert.deepEqual(Object.entries(deep.a[0]), [['b', '__proto__']]);
});

const isThread = (body: ReturnType<typeof identity | typeof gzip>, schema?: object) => {
  readElsewhere = [];
  return read(body, { maxMib: 16, schema }).then(() => readElsewhere.length > 0);
};

test('a parsing thread reads bodies that are large, unpack to a large size or have many values (§8)', async () => {
  const spaces = (bytes: number) => `[${' '.repeat(bytes)}]`;
  const names = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join()}}`;
  for (const pack of [identity, gzip]) {
    assert.equal(await isThread(pack(spaces(200 * 1024))), false);
    assert.equal(await isThread(pack(spaces(300 * 1024))), true);
    assert.equal(await isThread(pack(names(900))), false);
    assert.equal(await isThread(pack(names(1_100))), true);
    assert.equal(await isThread(pack(`[${'0,'.repeat(19_000)}0]`)), false);
    assert.equal(await isThread(pack(`[${'0,'.repeat(21_000)}0]`)), true);
    const large = { type: 'array', description: 'x'.repeat(8_000) };
    for (const count of [1_000, 3_000])
      assert.equal(
        await isThread(pack(`[${'0,'.repeat(count)}0]`), large),
        true,
        'the check takes long to compile',
      );
  }
});

test('a value that a parsing thread read in parts equals the value that was sent', async () => {
  const list = (length: number, make: (index: number) => unknown) =>
    Array.from({ length }, (_, index) => make(index));
  const wide = Object.fromEntries(list(4_000, (index) => [`name ${index}`, index]) as [string, number][]);
  for (const value of [
    list(30_000, (index) => index),
    { lists: list(3, () => list(20_000, (index) => `${index}`)), text: 'x'.repeat(MIB / 2), none: null },
    { wide, within: { wide: [wide, [], {}, 'é', '\ud83d\ude00'] } },
    list(200, (index) => ({ at: index, parts: list(150, () => ({ deep: [[index]] })) })),
    'y'.repeat(MIB / 2),
  ]) {
    readElsewhere = [];
    assert.deepEqual(await read(gzip(JSON.stringify(value)), { maxMib: 16 }), value);
    assert.equal(readElsewhere.length, 1);
  }
});

test('a parsing thread refuses a body that violates its schema, with the same details as the route', async () => {
  const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } };
  const spaces = ' '.repeat(MIB / 2);
  await assert.rejects(read(gzip(`{"a":["x",1]${spaces}}`), { schema }), {
    code: 'request_invalid',
    facts: { details: ['/a/1 must be string'] },
  });
  assert.deepEqual(await read(gzip(`{"a":["x"]${spaces}}`), { schema }), { a: ['x'] });
  assert.deepEqual(await read(gzip(`[]${spaces}`), { schema }), [], 'the query may replace an empty body');
});

test('unpacked bytes count for their key and account until the memory is released (§7.2 rule 8)', async () => {
  const budget = new MemoryBudget(8 * MIB);
  const holder = { caller: 'key 1', accountId: 1 };
  const texts = `[${`"${'x'.repeat(1_000)}",`.repeat(3_000)}"x"]`;
  // The oldest holding of an account may exceed every limit.
  const oldest = budget.open(holder);
  assert.ok(oldest.grow(1));
  const first = budget.open(holder);
  await read(gzip(texts), { maxMib: 3, memory: first });
  const other = budget.open(holder);
  assert.equal(other.grow(1.5 * MIB), false, 'this key holds half of the budget');
  const waiting = read(gzip(texts), { maxMib: 3, memory: other });
  readElsewhere = [];
  await new Promise(setImmediate);
  assert.equal(readElsewhere.length, 0, 'the body is not unpacked while there is no room');
  first.release();
  assert.equal(((await waiting) as unknown[]).length, 3_001);
});

test('the memory of unpacked white space is released immediately (§7.2 rule 8)', async () => {
  const budget = new MemoryBudget(16 * MIB);
  const holder = { caller: 'key 1', accountId: 1 };
  assert.ok(budget.open(holder).grow(1));
  await read(gzip(`[${' '.repeat(3 * MIB)}]`), { maxMib: 4, memory: budget.open(holder) });
  assert.equal(budget.open(holder).grow(7.9 * MIB), true);
});
