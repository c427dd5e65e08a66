// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnValue, createColumns } from '../../formats/input/source-row.ts';
import { compileMapping, type Mapping, MappingProblem } from './mapping.ts';
import type { RowFilter } from './mapping-schemas.ts';

const cells: Record<string, ColumnValue> = {
  sku: 'A1',
  Stock: '12',
  Price: '1.299,00',
  Colour: ['red', 'dark blue'],
  Empty: '',
  Text: 'Drill 18 V',
  Smile: '\u{1f600}',
};

function takes(filter: unknown): boolean {
  const mapping: Mapping = { identifier: 'sku', filter: filter as RowFilter };
  const row = { number: 1, values: Object.assign(createColumns<ColumnValue>(), cells), source: undefined };
  const outcome = compileMapping(mapping, 'delete').mapRow(row);
  assert.ok(!('problems' in outcome));
  return 'product' in outcome;
}

const price = { column: 'Price', number: { decimal: 'comma' } };
const cases: [object, boolean][] = [
  [{ column: 'Text', operator: 'equals', value: 'Drill 18 V' }, true],
  [{ column: 'Text', operator: 'equals', value: 'drill 18 v' }, false],
  [{ column: 'Text', operator: 'notEquals', value: 'x' }, true],
  [{ column: 'Text', operator: 'contains', value: 'DRILL' }, true],
  [{ column: 'Text', operator: 'startsWith', value: 'Drill' }, true],
  [{ column: 'Text', operator: 'startsWith', value: 'drill' }, false],
  [{ column: 'Text', operator: 'matches', value: '^Drill \\d+ V$' }, true],
  [{ column: 'Text', operator: 'matches', value: '^\\d' }, false],
  [{ column: 'Text', operator: 'in', value: ['x', 'Drill 18 V'] }, true],
  [{ column: 'Text', operator: 'in', value: ['x'] }, false],
  [{ column: 'Text', operator: 'exists' }, true],
  [{ column: 'Empty', operator: 'exists' }, false],
  [{ column: 'Missing', operator: 'exists' }, false],
  [{ column: 'Stock', operator: 'equals', value: 12 }, true],
  [{ column: 'Stock', operator: 'equals', value: '12' }, true],
  [{ column: 'Stock', operator: 'greater', value: 2 }, true],
  [{ column: 'Stock', operator: 'greater', value: '2' }, false],
  [{ column: 'Stock', operator: 'between', value: [12, 13] }, true],
  [{ column: 'Stock', operator: 'between', value: [13, 20] }, false],
  [{ column: 'Stock', operator: 'in', value: [1, 12] }, true],
  [{ column: 'Stock', operator: 'in', value: ['x', 12] }, true],
  [{ column: 'Text', operator: 'in', value: [12, 'Drill 18 V'] }, true],
  [{ column: 'Smile', operator: 'greater', value: '\uffff' }, true],
  [{ column: 'Smile', operator: 'between', value: ['a', '\uffff'] }, false],
  [{ column: 'Stock', operator: 'less', value: 12 }, false],
  [{ column: 'Stock', operator: 'lessOrEqual', value: 12 }, true],
  [{ column: 'Text', operator: 'greater', value: 1 }, false],
  [{ column: price, operator: 'greaterOrEqual', value: 1299 }, true],
  [{ column: price, operator: 'greater', value: 1299 }, false],
  [{ column: 'Colour', operator: 'equals', value: 'dark blue' }, true],
  [{ column: 'Colour', operator: 'notEquals', value: 'red' }, true],
  [{ column: 'Missing', operator: 'notEquals', value: 'x' }, false],
  [{ not: { column: 'Missing', operator: 'equals', value: 'x' } }, true],
  [{ all: [] }, true],
  [{ any: [] }, false],
  [
    {
      all: [
        { column: 'Stock', operator: 'exists' },
        { not: { any: [{ column: 'Empty', operator: 'exists' }] } },
      ],
    },
    true,
  ],
  [
    {
      any: [
        { column: 'Empty', operator: 'exists' },
        { column: 'Stock', operator: 'less', value: 99 },
      ],
    },
    true,
  ],
];
for (const [filter, isTaken] of cases) {
  test(`${JSON.stringify(filter)} ${isTaken ? 'takes' : 'excludes'} the row`, () => {
    assert.equal(takes(filter), isTaken);
  });
}

const nested = (depth: number): object => (depth === 1 ? { all: [] } : { not: nested(depth - 1) });
const conditions = (count: number) => ({
  any: Array.from({ length: count }, () => ({ column: 'Stock', operator: 'exists' })),
});

test('a filter has up to 100 conditions and 10 levels', () => {
  assert.ok(takes(conditions(100)));
  assert.throws(() => takes(conditions(101)), /more than 100 conditions/);
  takes(nested(10));
  assert.throws(() => takes(nested(11)), /deeper than 10/);
});

const wrong: [unknown, RegExp][] = [
  [null, /must be an object/],
  [[], /must be an object/],
  ['Stock', /must be an object/],
  [{}, /must be an object/],
  [{ all: {} }, /all must be a list/],
  [{ not: [] }, /not takes one/],
  [{ not: null }, /must be an object/],
  [{ all: [], any: [] }, /"any" is not allowed beside all/],
  [{ column: 'Stock', operator: 'exists', value: 1 }, /exists takes no value/],
  [{ column: 'Stock', operator: 'like', value: 'x' }, /like is not an operator/],
  [{ column: 'Stock', operator: 'equals' }, /takes a number or a text/],
  [{ column: 'Stock', operator: 'equals', value: null }, /takes a number or a text/],
  [{ column: 'Stock', operator: 'equals', value: Number.NaN }, /takes a number or a text/],
  [{ column: 'Stock', operator: 'between', value: [1] }, /between takes two/],
  [{ column: 'Stock', operator: 'between', value: [1, 'a'] }, /between takes two/],
  [{ column: 'Stock', operator: 'in', value: 'x' }, /in takes a list/],
  [{ column: 'Stock', operator: 'in', value: [] }, /in takes a list/],
  [{ column: 'Stock', operator: 'contains', value: '' }, /takes a number or a text/],
  [{ column: 'Stock', operator: 'matches', value: '(?=x)' }, /pattern \(\?=x\) cannot be used/],
  [{ column: { column: 'Stock', colour: 1 }, operator: 'exists' }, /column is not a valid column/],
  [{ column: 7, operator: 'exists' }, /column is not a valid column/],
  [{ column: 'Stock', operator: 'exists', extra: 1 }, /"extra" is not allowed beside column/],
  [{ expression: '' }, /expression must be a text/],
];
for (const [filter, text] of wrong) {
  test(`the filter ${JSON.stringify(filter)} is refused`, () => {
    assert.throws(
      () => takes(filter),
      (error) => error instanceof MappingProblem && text.test(error.message),
    );
  });
}

test('a value that the filter cannot read rejects the row, and does not silently exclude it', () => {
  const filter: RowFilter = {
    column: { column: 'Text', number: { decimal: 'comma' } },
    operator: 'less',
    value: 5,
  };
  const values = Object.assign(createColumns<ColumnValue>(), cells);
  const outcome = compileMapping({ identifier: 'sku', filter }, 'delete').mapRow({
    number: 7,
    values,
    source: null,
  });
  assert.deepEqual(outcome, {
    row: 7,
    problems: [
      { field: 'filter', column: 'Text', reason: '"Drill 18 V" is not a number with a decimal comma' },
    ],
  });
});
