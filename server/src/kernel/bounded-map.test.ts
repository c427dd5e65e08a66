// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BoundedMap } from './bounded-map.ts';

test('a full map evicts the entry that was set first', () => {
  const map = new BoundedMap<string, number>({ most: 2 });
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index);
  assert.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [undefined, 1, 2, 2]);
});

test('a full map spares an entry once if it was read', () => {
  const map = new BoundedMap<string, number>({ most: 2 });
  map.set('a', 1);
  map.set('b', 2);
  assert.equal(map.get('a'), 1);
  map.set('c', 3);
  assert.deepEqual([...map.keys()].toSorted(), ['a', 'c']);
  map.set('d', 4);
  assert.deepEqual([...map.keys()].toSorted(), ['c', 'd']);
});

test('a map evicts the entry that was set least recently, and a peek does not spare an entry', () => {
  const map = new BoundedMap<string, number>({ most: 2 });
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', map.peek('a') ?? 0);
  assert.equal(map.peek('b'), 2);
  map.set('c', 3);
  assert.deepEqual([...map.keys()].toSorted(), ['a', 'c']);
});

test('a map reports evictions, but neither replacements nor deletions', () => {
  const evicted: string[] = [];
  const map = new BoundedMap<string, string>({
    most: 10,
    weigh: (text) => text.length,
    onEvict: (text, key) => evicted.push(`${key} ${text}`),
  });
  map.set('a', '12345');
  map.set('a', '1234');
  map.set('b', '123');
  map.delete('b');
  map.set('c', '123456');
  assert.deepEqual([evicted, map.weight], [[], 10]);
  map.set('d', '1');
  assert.deepEqual([evicted, map.weight], [['a 1234'], 7]);
});

test('a map keeps its newest entry even if it is heavier than the limit, and evicts all others', () => {
  const map = new BoundedMap<string, number>({ most: 10, weigh: (weight) => weight });
  map.set('light', 3);
  map.set('heavy', 100);
  assert.deepEqual([map.get('light'), map.get('heavy'), map.size], [undefined, 100, 1]);
  map.set('light', 3);
  assert.deepEqual([map.get('light'), map.get('heavy'), map.weight], [3, undefined, 3]);
});

/** A model of the map: a list of entries, whose first entry is the next candidate for eviction. */
class ModelOfMap {
  readonly list: { key: number; weight: number; isUsed: boolean }[] = [];
  readonly evicted: number[] = [];
  readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  get(key: number): number | undefined {
    const entry = this.list.find((candidate) => candidate.key === key);
    if (entry !== undefined) entry.isUsed = true;
    return entry?.weight;
  }

  set(key: number, weight: number): void {
    this.delete(key);
    while (this.list.length > 0 && this.list.reduce((sum, entry) => sum + entry.weight, weight) > this.most) {
      const [first] = this.list.splice(0, 1);
      if (first?.isUsed) this.list.push({ ...first, isUsed: false });
      else this.evicted.push(first?.key ?? -1);
    }
    this.list.push({ key, weight, isUsed: false });
  }

  delete(key: number): void {
    const index = this.list.findIndex((entry) => entry.key === key);
    if (index >= 0) this.list.splice(index, 1);
  }

  clear(): void {
    this.list.length = 0;
  }

  get weight(): number {
    return this.list.reduce((sum, entry) => sum + entry.weight, 0);
  }
}

interface Step {
  readonly kind: 'get' | 'set' | 'delete' | 'clear';
  readonly key: number;
  readonly weight: number;
}

/** @returns the value that a read returns */
function take(map: BoundedMap<number, number> | ModelOfMap, { kind, key, weight }: Step): unknown {
  if (kind === 'get') return map.get(key);
  if (kind === 'set') map.set(key, weight);
  else if (kind === 'delete') map.delete(key);
  else map.clear();
  return undefined;
}

test('a map behaves like a list of entries in random series of reads, writes and deletions', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('get', 'get', 'get', 'set', 'set', 'set', 'set', 'delete', 'clear'),
    key: fc.nat({ max: 12 }),
    weight: fc.nat({ max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.integer({ min: 0, max: 40 }), (steps, most) => {
      const evicted: number[] = [];
      const onEvict = (_: number, key: number) => void evicted.push(key);
      const map = new BoundedMap<number, number>({ most, weigh: (weight) => weight, onEvict });
      const model = new ModelOfMap(most);
      for (const current of steps) {
        assert.equal(take(map, current), take(model, current));
        assert.deepEqual([map.size, map.weight, evicted], [model.list.length, model.weight, model.evicted]);
        assert.ok(map.weight <= most || map.size === 1);
      }
    }),
  );
});
