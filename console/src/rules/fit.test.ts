// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeTerm, describeTotal, listReasons, readSet, replaceIn, writeSet } from './fit.ts';

test('reads a set from any address, skips invalid entries, and writes it in the shortest form', () => {
  const set = [
    { identifier: 'A,1', quantity: 1 },
    { identifier: 'B', quantity: 3 },
  ];
  assert.equal(writeSet(set), '["A,1",["B",3]]');
  assert.deepEqual(readSet(writeSet(set)), set);
  assert.equal(writeSet([]), '');
  assert.deepEqual(readSet('["A","A",["A",2],["B",0],["C",1.5],7,null,""]'), [
    { identifier: 'A', quantity: 4 },
  ]);
  for (const broken of ['', '["A"', '{"A":1}', '7']) assert.deepEqual(readSet(broken), []);
  assert.equal(readSet(JSON.stringify(Array.from({ length: 200 }, (_, index) => `P${index}`))).length, 100);
});

test('a product replaces another one, or increases its own quantity', () => {
  const set = readSet('["A","B"]');
  assert.equal(writeSet(replaceIn(set, 'A', 'C')), '["C","B"]');
  assert.equal(writeSet(replaceIn(set, 'A', 'B')), '[["B",2]]');
});

test('describes the calculation of a rule in words', () => {
  assert.equal(describeTerm('its TDP', { times: 1.2, plus: '100 W' }), '1.2 times its TDP plus 100 W');
  assert.equal(describeTerm('its width', { plus: '-10 mm' }), 'its width minus 10 mm');
  assert.equal(describeTerm('its width', {}), 'its width');
});

const match = {
  target: 'Width',
  operator: 'lessOrEqual',
  source: 'Clearance',
  holds: false,
  targetValues: ['62 mm'],
  sourceValues: ['50 mm'],
  say: '62 mm > 50 mm',
  advice: 'would have to be at most 50 mm',
  sourceAdvice: 'would have to be at least 62 mm',
};

test('reasons name the deciding values and the matches within an element', () => {
  assert.deepEqual(listReasons([{ ...match, verdict: 'does_not_fit' }]), [
    { verdict: 'does_not_fit', words: 'Width would have to be at most 50 mm; Width is 62 mm' },
  ]);
  const inner = {
    ...match,
    targetValues: [],
    verdict: 'unknown' as const,
    say: 'no value ≤? 50 mm − 10 mm',
    advice: 'would have to be at most 40 mm',
  };
  assert.deepEqual(listReasons([{ holds: false, verdict: 'unknown', any: [inner] }]), [
    {
      verdict: 'unknown',
      words: 'one of these',
      inner: [{ verdict: 'unknown', words: 'Width would have to be at most 40 mm' }],
    },
  ]);
  const noSource = { ...match, sourceValues: [], verdict: 'unknown' as const };
  assert.equal(listReasons([noSource])[0]?.words, 'Clearance would have to be at least 62 mm');
  const holds = { ...match, holds: true, say: '47 mm ≤ 50 mm', verdict: 'fits' as const };
  assert.equal(listReasons([holds])[0]?.words, 'Width and Clearance: 47 mm ≤ 50 mm');
  const same = {
    ...match,
    operator: 'equals',
    holds: true,
    targetValues: ['28 in'],
    sourceValues: ['28 in'],
    say: '28 in = 28 in',
  };
  assert.equal(listReasons([{ ...same, verdict: 'fits' }])[0]?.words, 'Width: 28 in');
  const listed = { ...same, targetValues: ['622'], say: '622 goes with 28 in by the table wheels' };
  assert.equal(
    listReasons([{ ...listed, verdict: 'fits' }])[0]?.words,
    'Width and Clearance: 622 goes with 28 in by the table wheels',
  );
});

test('describes a total with its sum and its limit', () => {
  const total = { attribute: 'TDP', times: 1.2, plus: '100 W', sum: '355 W', parts: [] };
  assert.equal(
    describeTotal({
      source: 'P',
      relation: { id: 1, name: 'Power', tag: 'power' },
      verdict: 'fits',
      missing: [],
      total,
      operator: 'lessOrEqual',
      limit: { attribute: 'Wattage', values: ['650 W'] },
    }),
    '1.2 times the sum of TDP (355 W) plus 100 W is at most Wattage 650 W',
  );
});
