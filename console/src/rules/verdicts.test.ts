// runs: deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RelationExplanation } from '@relata/client';
import { listMissing } from './verdicts.ts';

const condition = (attribute: string, value: string, shown: { holds: boolean; values: string[] }) => ({
  ...shown,
  condition: { attribute, operator: 'equals' as const, value },
});

test('names the change that is needed for the product that lacks a value (§12.6)', () => {
  const inGroups = {
    holds: false,
    all: [
      condition('Type', 'Bit', { holds: true, values: ['Bit'] }),
      { holds: false, not: condition('Worn', 'yes', { holds: true, values: ['yes'] }) },
    ],
  };
  const explanation = {
    related: false,
    matchType: 'FIRST_WAY',
    rank: null,
    excluded: null,
    source: { holds: false, conditions: [condition('Type', 'Drill', { holds: false, values: [] })] },
    target: { holds: false, conditions: [], filter: inGroups },
    match: [
      {
        source: 'Chuck',
        target: 'Shank',
        operator: 'equals',
        holds: true,
        say: 'SDS = SDS',
        sourceValues: ['SDS'],
        targetValues: ['SDS'],
      },
      {
        source: 'Torque',
        target: 'Rated',
        operator: 'greaterOrEqual',
        holds: false,
        say: '40 Nm < 2 × 25 Nm',
        advice: 'would have to be at least 50 Nm',
        sourceAdvice: 'would have to be at most 20 Nm',
        sourceValues: ['25 Nm'],
        targetValues: ['40 Nm'],
      },
      {
        source: 'Length',
        target: 'Length',
        operator: 'equals',
        holds: false,
        say: '2 cm =? no value',
        advice: 'cannot make it hold while Length has no value',
        sourceAdvice: 'would have to be 2 cm',
        sourceValues: [],
        targetValues: ['2 cm'],
      },
    ],
  } as Partial<RelationExplanation> as RelationExplanation;
  const pair = { source: 'S', target: 'T' };
  assert.deepEqual(
    listMissing(explanation, pair)
      .flatMap(({ or, ...gap }) => (or ? [gap, or] : [gap]))
      .map(({ identifier, needs, has }) => `${identifier}: ${needs}; ${has}`),
    [
      'S: Type would have to be Drill; ',
      'T: This must not hold: Worn is yes; yes',
      'T: Rated would have to be at least 50 Nm; 40 Nm',
      'S: Torque would have to be at most 20 Nm; 25 Nm',
      'S: Length would have to be 2 cm; ',
    ],
  );
  const back = listMissing({ ...explanation, matchType: 'SECOND_WAY' }, pair);
  assert.deepEqual(
    back.map(({ identifier }) => identifier),
    ['T', 'S', 'S', 'T'],
  );
});
