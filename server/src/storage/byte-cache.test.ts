// runs: test, own
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type CacheSpace, createByteCache } from './byte-cache.ts';

const MIB = 1024 * 1024;
const bytesOf = (length: number, value = 7) => new Uint8Array(length).fill(value);

function read(space: CacheSpace, key: string): Uint8Array | undefined {
  const position = space.find(key);
  if (position < 0) return undefined;
  const bytes = new Uint8Array(space.lengthAt(position));
  assert.equal(space.copy(position, bytes, 0), bytes.length);
  return bytes;
}

test('the cache returns an entry until its space has another version', () => {
  const cache = createByteCache(MIB);
  cache.of('one', 1).keep('A', bytesOf(10));
  assert.deepEqual(read(cache.of('one', 1), 'A'), bytesOf(10));
  assert.equal(read(cache.of('two', 1), 'A'), undefined, 'another space');
  assert.equal(read(cache.of('one', 2), 'A'), undefined);
  assert.equal(read(cache.of('one', 1), 'A'), undefined, 'a replaced version does not become valid again');
});

test('findAll returns the same positions as find, also for missing keys', () => {
  const space = createByteCache(MIB).of('one', 1);
  const keys = Array.from({ length: 5_000 }, (_, index) => `key ${index}`);
  for (const [index, key] of keys.entries()) if (index % 3 > 0) space.keep(key, bytesOf(index % 50));
  const requestedKeys = [...keys, 'key 1', '', 'unknown', '__proto__', '\u{1F600}', '\ud800'];
  assert.deepEqual(
    [...space.findAll(requestedKeys)],
    requestedKeys.map((key) => space.find(key)),
  );
  for (const [index, key] of keys.entries())
    assert.equal(read(space, key)?.length, index % 3 > 0 ? index % 50 : undefined);
});

test('the cache stores nothing below a limit of 1 MiB, and no entry of 256 KiB or more', () => {
  const none = createByteCache(0).of('one', 1);
  none.keep('A', bytesOf(1));
  assert.equal(read(none, 'A'), undefined);
  const some = createByteCache(MIB).of('one', 1);
  some.keep('A', bytesOf(MIB / 4));
  assert.equal(read(some, 'A'), undefined);
});

test('mark returns true only for the first mark of a request', () => {
  const space = createByteCache(MIB).of('one', 1);
  space.keep('A', bytesOf(1));
  assert.deepEqual(
    [1, 1, 2, 1].map((request) => space.mark(space.find('A'), request)),
    [true, false, true, true],
  );
});

test('a full cache admits one miss in eight and evicts unused entries first', () => {
  const space = createByteCache(2 * MIB).of('one', 1);
  const size = MIB / 8;
  const keys = Array.from({ length: 14 }, (_, index) => `${index}`);
  for (const key of keys) space.keep(key, bytesOf(size));
  assert.ok(keys.every((key) => read(space, key) !== undefined));
  space.mark(space.find('1'), 1);
  for (let miss = 1; miss <= 7; miss += 1) space.keep('new', bytesOf(size));
  assert.equal(read(space, 'new'), undefined);
  space.keep('new', bytesOf(size));
  assert.ok(read(space, 'new'));
  assert.ok(read(space, '1'), 'used');
  assert.equal(read(space, '0'), undefined, 'not used');
  assert.ok(read(space, '13'), 'this entry is in a newer slab');
});

test('the cache evicts entries of a replaced version first, even used ones', () => {
  const cache = createByteCache(MIB);
  const old = cache.of('one', 1);
  for (const key of ['A', 'B', 'C', 'D', 'E', 'F', 'G']) old.keep(key, bytesOf(MIB / 8));
  old.mark(old.find('A'), 1);
  const present = cache.of('one', 2);
  for (let miss = 1; miss <= 8; miss += 1) present.keep('new', bytesOf(MIB / 8));
  assert.ok(read(present, 'new'));
  old.keep('A', bytesOf(1));
  assert.equal(old.find('A'), -1, 'a replaced version stores nothing');
});

test('new versions reuse the memory of replaced ones, even if the cache also has a space that rarely changes', () => {
  const cache = createByteCache(512 * MIB);
  const keys = Array.from({ length: 16 }, (_, index) => `${index}`);
  const quiet = cache.of('quiet', 1);
  // The test reuses its own arrays, because their garbage would count as growth.
  const [stored, copied] = [bytesOf(MIB / 8), bytesOf(MIB / 8)];
  const before = process.memoryUsage().rss;
  for (let version = 1; version <= 200; version += 1) {
    const space = cache.of('one', version);
    quiet.keep(`${version}`, bytesOf(100, version));
    stored.fill(version);
    for (const key of keys) space.keep(key, stored);
    for (const key of keys) {
      assert.equal(space.copy(space.find(key), copied, 0), stored.length);
      assert.equal(Buffer.compare(copied, stored), 0);
    }
  }
  const grown = (process.memoryUsage().rss - before) / MIB;
  assert.ok(grown < 20, `${grown} MiB, of 400 that were kept and 2 that are valid`);
  for (let version = 1; version <= 200; version += 1)
    assert.deepEqual(read(quiet, `${version}`), bytesOf(100, version), 'valid entries remain');
});

test('only an entry of another origin replaces an entry, and each entry reports the state that last confirmed it', () => {
  const space = createByteCache(MIB).of('one', 1);
  const origin = { state: 1, document: 2 ** 40, at: 1_700_000_000_000 };
  space.keep('A', bytesOf(3), origin);
  space.keep('A', bytesOf(4), { ...origin, state: 2 });
  assert.equal(read(space, 'A')?.length, 3, 'the origin is the same');
  assert.equal(space.seenIn(space.find('A')), 1);
  space.see(space.find('A'), 2);
  assert.equal(space.seenIn(space.find('A')), 2);
  for (const otherOrigin of [
    { ...origin, document: 2 ** 40 + 1 },
    { ...origin, at: 0 },
  ]) {
    assert.ok(!space.isOf(space.find('A'), otherOrigin));
    space.keep('A', bytesOf(5, otherOrigin.at % 7), otherOrigin);
    assert.deepEqual(read(space, 'A'), bytesOf(5, otherOrigin.at % 7));
  }
});

interface Step {
  space: string;
  newVersion: boolean;
  /** The number of versions since this one was current. */
  age: number;
  key: string;
  length: number;
  isUsed: boolean;
  document: number;
}

/** A cache that is compared with a map of everything that was ever stored. */
class Comparison {
  private readonly cache = createByteCache(2 * MIB);
  private readonly versions = new Map<string, CacheSpace[]>();
  private readonly storedById = new Map<string, Uint8Array>();
  private steps = 0;

  run({ space: name, newVersion, age, key, length, isUsed, document }: Step): void {
    this.steps += 1;
    const versions = this.versions.get(name) ?? [];
    this.versions.set(name, versions);
    if (newVersion || versions.length === 0) versions.push(this.cache.of(name, versions.length));
    const version = Math.max(0, versions.length - 1 - age);
    const space = versions[version] ?? assert.fail();
    const id = `${name} ${version} ${key} ${document}`;
    const origin = { state: this.steps, document, at: version };
    const cached = read(space, key);
    if (cached === undefined || !space.isOf(space.find(key), origin)) {
      this.storedById.set(id, bytesOf(length, this.steps % 251));
      space.keep(key, bytesOf(length, this.steps % 251), origin);
    } else {
      assert.deepEqual(cached, this.storedById.get(id));
      if (isUsed) space.mark(space.find(key), this.steps);
    }
  }
}

test('a lookup in the cache returns nothing or the bytes stored for its key and version, also when the cache is full', () => {
  const step = fc.record({
    space: fc.constantFrom('one', 'two', 'three'),
    newVersion: fc.nat(40).map((dice) => dice === 0),
    age: fc.nat(20).map((dice) => Number(dice === 0)),
    key: fc.nat(30).map(String),
    length: fc.nat({ max: MIB / 8 }),
    isUsed: fc.boolean(),
    document: fc.nat(12).map((dice) => Number(dice === 0)),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 100, maxLength: 400 }), (steps) => {
      const comparison = new Comparison();
      for (const current of steps) comparison.run(current);
    }),
    { numRuns: 60 },
  );
});
