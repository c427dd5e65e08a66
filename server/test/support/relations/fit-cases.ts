import fc from 'fast-check';
import type { FitDefinition, FitProduct } from './fit-oracle.ts';

/** Random products, constraints and sets to judge. */

/** Few attributes and values, so that products match, and some values that make no fact. */
export const NUMERIC = ['Width', 'Depth'];
export const TEXTS = ['Colour', 'Mount'];
const NUMBERS = [-1, 0, 1, 1.5, 2, 3];
const WORDS = ['red', 'Red', 'blue'];

const identifiers = fc.nat({ max: 24 }).map((number) => `P${number}`);
const paths = fc.constantFrom(['A'], ['A', 'B'], ['B']);
const value = fc.oneof(
  fc.record({
    key: fc.constantFrom(...NUMERIC),
    value: fc.constantFrom(...NUMBERS.map((number) => `${number} mm`), '2', 'wide'),
  }),
  fc.record({ key: fc.constantFrom(...TEXTS), value: fc.constantFrom(...WORDS) }),
);
const rowed = fc.tuple(value, fc.constantFrom<undefined | number>(undefined, undefined, 1, 2));
export const product: fc.Arbitrary<FitProduct & { name: string }> = fc
  .record({
    identifier: identifiers,
    groupIdentifier: fc.constantFrom('G1', 'G2', 'G3', 'G4', 'G5'),
    categories: fc.array(fc.record({ path: paths }), { maxLength: 2 }),
    attributes: fc.array(
      rowed.map(([value, row]) => (row === undefined ? value : { ...value, row })),
      { maxLength: 6, size: 'max' },
    ),
  })
  .map((fields) => ({ name: fields.identifier, ...fields }));

const ORDERINGS = ['less', 'lessOrEqual', 'greater', 'greaterOrEqual'] as const;
const COMPARISONS = ['equals', 'notEquals', ...ORDERINGS] as const;
const condition = fc.oneof(
  fc.record({
    attribute: fc.constantFrom(...NUMERIC),
    operator: fc.constantFrom(...COMPARISONS),
    value: fc.constantFrom(...NUMBERS),
  }),
  fc.record({
    attribute: fc.constantFrom(...TEXTS),
    operator: fc.constantFrom('equals', 'notEquals'),
    value: fc.constantFrom(...WORDS),
  }),
  fc.record({ attribute: fc.constantFrom(...NUMERIC, ...TEXTS), operator: fc.constant('exists') }),
  fc.record({ category: paths }),
  fc.record({ identifiers: fc.array(identifiers, { minLength: 1, maxLength: 8 }) }),
);
type Filter = FitDefinition['source'];
const filterOf = (depth: number): fc.Arbitrary<Filter> => {
  if (depth === 0) return condition;
  const inner = filterOf(depth - 1);
  return fc.oneof(
    condition,
    fc.record({ all: fc.array(inner, { maxLength: 3 }) }),
    fc.record({ any: fc.array(inner, { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: inner }),
  );
};
const filter = fc.oneof(fc.constant({ all: [] }), filterOf(2));

const term = fc.record(
  {
    attribute: fc.constantFrom(...NUMERIC),
    times: fc.constantFrom(1.2, 0.5, 2, -1),
    plus: fc.constantFrom(0.25, 1, -1.5),
  },
  { requiredKeys: ['attribute'] },
);
const side = fc.oneof(fc.constantFrom(...NUMERIC), term);
/** Pairs of a source and a target that fit. */
export const TABLES = {
  tones: [
    ['red', 'blue'],
    ['blue', 'Red'],
  ],
  lengths: [
    ['1 mm', '2 mm'],
    ['2 mm', '0 mm'],
    ['-1 mm', '1.5 mm'],
  ],
} as const;
const missing = fc.constantFrom('fails' as const, 'passes' as const);
const match = fc.oneof(
  fc.record(
    { target: side, operator: fc.constantFrom(...COMPARISONS), source: side, missing },
    { requiredKeys: ['target', 'operator', 'source'] },
  ),
  fc.record(
    {
      target: side,
      operator: fc.constant('equals' as const),
      source: side,
      missing,
      table: fc.constant('lengths' as const),
    },
    { requiredKeys: ['target', 'operator', 'source', 'table'] },
  ),
  fc.record(
    {
      target: fc.constantFrom(...TEXTS),
      operator: fc.constant('equals' as const),
      source: fc.constantFrom(...TEXTS),
      missing,
      table: fc.constant('tones' as const),
    },
    { requiredKeys: ['target', 'operator', 'source', 'table'] },
  ),
  fc.record(
    {
      target: fc.constantFrom(...TEXTS),
      operator: fc.constantFrom('equals', 'notEquals'),
      source: fc.constantFrom(...TEXTS),
      missing,
    },
    { requiredKeys: ['target', 'operator', 'source'] },
  ),
);
const element = fc.oneof(
  { weight: 3, arbitrary: match },
  { weight: 1, arbitrary: fc.record({ any: fc.array(match, { minLength: 2, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ together: fc.array(match, { minLength: 2, maxLength: 3 }) }) },
);
const sides = { source: filter, target: filter };
export const definition = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...sides,
      match: fc.array(element, { maxLength: 2 }),
      excludeSameGroup: fc.boolean(),
      constraint: fc.constant(true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('total' as const),
      ...sides,
      match: fc.constant([]),
      total: fc.tuple(term, missing).map(([term, how]) => ({ ...term, missing: how })),
      operator: fc.constantFrom(...ORDERINGS),
      limit: term,
    }),
  },
);
export const set = fc.array(
  fc.record(
    { identifier: identifiers, quantity: fc.integer({ min: 1, max: 3 }) },
    { requiredKeys: ['identifier'] },
  ),
  { minLength: 1, maxLength: 8, size: 'max' },
);
