// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedLists } from './shared-lists.ts';

/** @returns an object that represents a version of a catalog */
const open = (version: number) => ({ version });

test('a shared list is made once for each version of a catalog', () => {
  const lists = new SharedLists();
  const [present, next] = [open(1), open(2)];
  let calls = 0;
  const make = () => {
    calls += 1;
    return [calls];
  };
  const read = (version: object) => lists.of(version)('list', make, { weigh: () => 0 })[0];
  assert.deepEqual([read(present), read(present), read(next), read(present)], [1, 1, 2, 1]);
});

test('a watched list is made again after it stops being valid', () => {
  let isSame = true;
  const share = new SharedLists().of({}, () => () => isSame);
  let calls = 0;
  const make = () => [++calls];
  const read = () => share('list', make, { weigh: () => 0 })[0];
  assert.deepEqual([read(), read()], [1, 1]);
  isSame = false;
  assert.equal(read(), 2);
});

/**
 * @returns a function that requests lists of a tenth of the limit, and the names of the lists that were made
 */
function openTenths() {
  const most = 1024 * 1024;
  const share = new SharedLists(most).of(open(1));
  const madeNames: string[] = [];
  const read = (name: string, bytes = most / 10 - 200) => {
    const make = () => {
      madeNames.push(name);
      return [name];
    };
    return share(name, make, { weigh: () => bytes });
  };
  return { ask: read, made: madeNames, most };
}

const NAMES = Array.from({ length: 10 }, (_, index) => `list ${index}`);

test('lists within the limit are made once, whatever the order of requests', () => {
  const { ask, made } = openTenths();
  for (const name of [NAMES, NAMES.toReversed(), NAMES].flat()) ask(name);
  assert.deepEqual(made, NAMES);
});

test('lists beyond the limit evict the list whose last request is the oldest', () => {
  const { ask, made, most } = openTenths();
  for (const name of NAMES) ask(name);
  const [frequent = '', rare = ''] = NAMES;
  for (let round = 0; round < 100; round += 1) {
    ask(frequent);
    ask(`new ${round}`);
  }
  assert.equal(made.filter((name) => name === frequent).length, 1);
  ask('new 99');
  assert.equal(made.at(-1), 'new 99', 'the newest list stays cached');
  made.length = 0;
  ask(rare);
  assert.deepEqual(made, [rare]);
  const large = ask('large', 20 * most);
  assert.equal(ask('large', 20 * most), large, 'the newest list stays cached, however large it is');
  made.length = 0;
  ask(frequent);
  assert.deepEqual(made, [frequent], 'the large list evicted the others');
});
