// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readComparables } from '../../catalog/filters/filters.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { normaliseProduct } from '../../catalog/products/product.ts';
import type { SentValue } from '../../catalog/products/schemas/product-schemas.ts';
import type { ServiceError } from '../../kernel/errors.ts';
import { checkDefinition } from '../relation-definitions/definition-check.ts';
import type { MatchElement } from '../relation-definitions/relation-schemas.ts';
import type { ValueTable } from '../relation-definitions/table-schemas.ts';
import { judgeElement } from './match-truth.ts';
import { bindRule, compileRule } from './rule.ts';

const numeric = (id: number, name: string, unitName?: string) =>
  ({ id, name, type: 'NUMERIC_ATTRIBUTE', ...(unitName && { unitName }) }) as Attribute;
const text = (id: number, name: string) => ({ id, name, type: 'TEXT_ATTRIBUTE' }) as Attribute;
const ATTRIBUTES = [
  ...[numeric(1, 'TDP', 'W'), numeric(2, 'Wattage', 'kW'), numeric(3, 'Year'), numeric(4, 'From')],
  ...[numeric(5, 'To'), text(6, 'Model'), text(7, 'Mount'), numeric(8, 'Warmth', '°C')],
];
const MOUNTS: ValueTable = { name: 'mounts', pairs: [['Sony E', 'M42']] };

type Values = Readonly<Record<string, string | readonly (string | readonly [string, number | string])[]>>;

/** A value is a text, or `[text, row]` with the row of the value. */
function upload(values: Values) {
  const attributes = Object.entries(values).flatMap(([key, list]) =>
    [list].flat().map((sentValue) => {
      const [value, row] = typeof sentValue === 'string' ? [sentValue] : sentValue;
      return { key, value, ...(row !== undefined && { row }) } as SentValue;
    }),
  );
  return normaliseProduct({ identifier: 'one', attributes });
}

function judge(element: MatchElement, sourceValues: Values, targetValues: Values) {
  const rule = { source: { all: [] }, target: { all: [] }, match: [element], sort: [] };
  const result = bindRule(rule, ATTRIBUTES, [MOUNTS]);
  if ('problem' in result) throw new Error(result.problem);
  const [compiled] = compileRule(result.bound).elements;
  const [source, target] = [upload(sourceValues), upload(targetValues)];
  assert.ok(compiled);
  return judgeElement(compiled, {
    source: (attribute) => readComparables(source, attribute),
    target: (attribute) => readComparables(target, attribute),
  });
}

const problemOf = (element: MatchElement) => {
  const rule = { source: { all: [] }, target: { all: [] }, match: [element], sort: [] };
  const result = bindRule(rule, ATTRIBUTES, [MOUNTS]);
  return 'problem' in result ? result.problem : undefined;
};

test('a side is computed with exact decimals in the unit of the attribute, `times` before `plus` (§12.3 rule 8)', () => {
  const needs = (plus: number | string): MatchElement => ({
    target: 'Wattage',
    operator: 'equals',
    source: { attribute: 'TDP', times: 1.1, plus },
  });
  assert.equal(judge(needs(100), { TDP: '3 W' }, { Wattage: '0.1033 kW' }).truth, 1, '1.1 × 3 is 3.3');
  assert.equal(judge(needs('0.1 kW'), { TDP: '3 W' }, { Wattage: '0.1033 kW' }).truth, 1);
  assert.equal(judge(needs(-3.3), { TDP: '3 W' }, { Wattage: '0 kW' }).truth, 1);
  assert.equal(
    judge(needs(100), { TDP: ['1 W', '3 W'] }, { Wattage: '0.1033 kW' }).truth,
    1,
    'each value is computed',
  );
  const warmer: MatchElement = {
    target: 'Warmth',
    operator: 'equals',
    source: { attribute: 'Warmth', plus: '10 K' },
  };
  assert.equal(
    judge(warmer, { Warmth: '20 °C' }, { Warmth: '30 °C' }).truth,
    1,
    'the zero of °C does not apply to a difference',
  );
  assert.match(problemOf(needs('10 mm')) ?? '', /"10 mm" does not fit, because the attribute "TDP"/);
  assert.match(
    problemOf({ target: 'Model', operator: 'equals', source: { attribute: 'Mount', times: 2 } }) ?? '',
    /only numbers can be computed, but the attribute "Mount" is text/,
  );
});

test('a match without a value holds if missing values pass, and is unknown otherwise (§12.3 rule 9)', () => {
  const match = { target: 'Wattage', operator: 'greater', source: 'TDP' } as const;
  const { values, ...judged } = judge(match, { TDP: '1 W' }, {});
  assert.deepEqual(judged, { truth: 0, assumed: [], missing: [{ side: 'target', attribute: 'Wattage' }] });
  assert.deepEqual([values.source.map(({ text }) => text), values.target], [['1 W'], []]);
  assert.equal(judge(match, { TDP: '1 W' }, { Wattage: '1 kW' }).truth, 1);
  assert.equal(judge(match, { TDP: '2000 W' }, { Wattage: '1 kW' }).truth, -1);
  const passes = { ...match, missing: 'passes' } as const;
  assert.deepEqual(judge(passes, {}, {}).assumed, ['TDP', 'Wattage']);
  assert.deepEqual(
    judge(passes, { TDP: '2000 W' }, { Wattage: '1 kW' }).truth,
    -1,
    'missing values pass, but present values can fail',
  );
});

test('alternatives hold if one of them holds, preferably without assumptions (§12.3 rule 10)', () => {
  const any = {
    any: [
      { target: 'Wattage', operator: 'greater', source: 'TDP', missing: 'passes' },
      { target: 'Model', operator: 'equals', source: 'Model' },
    ],
  } as const;
  const { truth, assumed, inner } = judge(any, { TDP: '1 W', Model: 'Golf' }, { Model: 'Golf' });
  assert.deepEqual([truth, assumed, inner?.map((alternative) => alternative.truth)], [1, [], [1, 1]]);
  assert.deepEqual(judge(any, { TDP: '1 W', Model: 'Golf' }, { Model: 'Polo' }).assumed, ['Wattage']);
  assert.equal(judge(any, { TDP: '2000 W' }, { Wattage: '1 kW' }).truth, 0, 'one alternative is unknown');
});

test('a match with a table also holds for pairs of source and target values in the table (§12.9)', () => {
  const match = { target: 'Mount', operator: 'equals', source: 'Mount', table: 'mounts' } as const;
  const truth = (source: string, target: string) => judge(match, { Mount: source }, { Mount: target }).truth;
  assert.deepEqual(
    [truth('Sony E', 'M42'), truth('M42', 'Sony E'), truth('M42', 'M42'), truth('Sony E', 'F')],
    [1, -1, 1, -1],
  );
  assert.match(problemOf({ ...match, table: 'lens mounts' }) ?? '', /there is no table "lens mounts"/);
});

test('values of one row match together: a Golf of 2007 does not fit a part for Golfs until 2003 (§12.3 rule 11)', () => {
  const together: MatchElement = {
    together: [
      { target: 'Model', operator: 'equals', source: 'Model' },
      { target: 'From', operator: 'lessOrEqual', source: 'Year' },
      { target: 'To', operator: 'greaterOrEqual', source: 'Year' },
    ],
  };
  const part = {
    Model: [['Golf', 1] as const, ['Passat', 2] as const],
    From: [['1998', 1] as const, ['2005', 2] as const],
    To: [['2003', 1] as const, ['2010', 2] as const],
  };
  const truth = (car: Values, target: Values = part) => judge(together, car, target).truth;
  assert.equal(truth({ Model: 'Golf', Year: '2007' }), -1);
  assert.equal(truth({ Model: 'Passat', Year: '2007' }), 1);
  assert.equal(truth({ Model: 'Golf', Year: ['1990', '2007'] }), -1, 'neither year is within the row');
  assert.equal(truth({ Model: 'Golf', Year: ['1990', '2000'] }), 1);
  assert.equal(truth({ Model: 'Passat' }), 0, 'the year is missing');
  assert.equal(truth({ Model: 'Polo' }), -1, 'the model fails with any year');
  const { inner = [] } = judge(together, { Model: 'Golf', Year: '2007' }, part);
  assert.deepEqual(
    inner.map(({ truth: innerTruth, values }) => [innerTruth, values.target[0]?.text]),
    [...[[1, 'Golf'] as const, [1, '1998'] as const], [-1, '2003']],
    'the values are those of the nearest row',
  );
  const open = { ...part, To: [['2003', 1] as const, '2020'] };
  assert.equal(
    truth({ Model: 'Passat', Year: '2015' }, open),
    1,
    'a value without a row counts in every row',
  );
  assert.equal(truth({ Model: 'Golf', Year: '2015' }, open), 1);
});

test('the problem of a match within a list begins with its path (§12.4 rule 1)', () => {
  const good = { target: 'Model', operator: 'equals', source: 'Model' } as const;
  assert.equal(
    problemOf({ any: [good, { ...good, source: 'Maker' }] }),
    'match/0/any/1/source: there is no attribute "Maker"',
  );
  assert.match(
    problemOf({ together: [{ ...good, target: 'Year' }, good] }) ?? '',
    /^match\/0\/together\/0: .* cannot be compared$/,
  );
  assert.equal(problemOf({ ...good, source: 'Maker' }), 'there is no attribute "Maker"');
});

test('the refusal of an invalid definition names the path of each mistake (§12.1)', () => {
  const good = { target: 'Model', operator: 'equals', source: 'Model' } as const;
  const detailsOf = (match: unknown[]): readonly string[] => {
    try {
      checkDefinition({
        name: 'n',
        tag: 't',
        source: { all: [] },
        target: { all: [] },
        match: match as MatchElement[],
      });
    } catch (error) {
      return (error as ServiceError).facts.details ?? [];
    }
    return [];
  };
  assert.deepEqual(detailsOf([good, { any: [good, good] }, { together: [good, good] }]), []);
  assert.deepEqual(detailsOf([{ any: [good, { ...good, source: undefined }] }]), [
    '/match/0/any/1 must have required properties source',
  ]);
  assert.deepEqual(detailsOf([{ any: [good, { ...good, source: { field: 'name', times: 2 } }] }]), [
    '/match/0/any/1/source must be a name, {"field"} or {"attribute","times"?,"plus"?}',
  ]);
  assert.deepEqual(detailsOf([{ any: [good] }]), ['/match/0/any must have 2 to 8 matches, but has 1']);
  assert.deepEqual(detailsOf([good, { ...good, together: [good, good] }]), [
    '/match/1 must be a match, {"any":[…]} or {"together":[…]}, but has together, target, operator, source',
  ]);
  assert.deepEqual(detailsOf([{ ...good, operator: 'less', table: 'mounts' }]), [
    '/match/0/table is only possible with equals, not with less',
  ]);
  const eight = Array.from({ length: 8 }, () => good);
  assert.deepEqual(detailsOf([{ any: eight }, { any: eight }, good]), [
    '/match has 17 matches, but at most 16 are possible',
  ]);
});
