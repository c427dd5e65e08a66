// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { definition, NUMERIC, product, TABLES, TEXTS } from '../../../test/support/relations/fit-cases.ts';
import type { FitDefinition, FitProduct } from '../../../test/support/relations/fit-oracle.ts';
import type { Filter } from '../../catalog/filters/filters.ts';
import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { normaliseProduct } from '../../catalog/products/product.ts';
import { Budget } from '../../storage/threads/threads.ts';
import { type RelationDefinition, ruleOf } from '../relation-definitions/relation-definitions.ts';
import { bindRule } from '../rules/rules.ts';
import { type Constraint, judgeUpload, SetJudge, type TotalVerdict } from './judgement.ts';

/**
 * Judges sets with missing values, completes the values and judges again. A verdict other than "unknown" must
 * stay the same (§12.10 rule 11). `exists` and `passes` are excluded, because they define what a missing
 * value means.
 */

const ATTRIBUTES = [
  ...NUMERIC.map((name, index) => ({ id: index + 1, name, type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' })),
  ...TEXTS.map((name, index) => ({ id: index + 10, name, type: 'TEXT_ATTRIBUTE' })),
] as readonly Attribute[];
const VALUE_TABLES = Object.entries(TABLES).map(([name, pairs]) => ({
  name,
  pairs: pairs.map(([from, to]) => [from, to] as [string, string]),
}));

const saysNothing = (filter: FitDefinition['source']): boolean => {
  if ('all' in filter) return filter.all.some(saysNothing);
  if ('any' in filter) return filter.any.some(saysNothing);
  if ('not' in filter) return saysNothing(filter.not);
  return 'operator' in filter && filter.operator === 'exists';
};
const leavesMissing = ({ source, target, match, total }: Omit<FitDefinition, 'id'>): boolean =>
  ![source, target].some(saysNothing) && !JSON.stringify([match, total]).includes('"passes"');

interface Case {
  readonly products: readonly FitProduct[];
  readonly definition: Omit<FitDefinition, 'id'>;
  /**
   * The first values decide how often each product is in the set, and all values decide how products are
   * completed.
   */
  readonly seeds: readonly number[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  products: fc.uniqueArray(product, { minLength: 2, maxLength: 4, selector: ({ identifier }) => identifier }),
  definition: definition.filter(leavesMissing),
  seeds: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
});

function bind({ definition: fitDefinition }: Case): Constraint {
  const whole = {
    name: 'Tried',
    tag: 'tried',
    sort: [],
    names: [],
    ...fitDefinition,
  } as Partial<RelationDefinition> as RelationDefinition;
  const result = bindRule(ruleOf(whole), ATTRIBUTES, VALUE_TABLES);
  if ('problem' in result) throw new Error(result.problem);
  const { kind, total, operator, limit } = whole;
  return {
    relation: { id: 1, name: 'Tried', tag: 'tried' },
    revision: '',
    excludeSameGroup: fitDefinition.excludeSameGroup ?? true,
    bound: result.bound,
    ...(kind === 'total' && { total: { total, operator, limit } }),
  };
}

type Verdicts = ReadonlyMap<string, string>;
type JudgeSet = (constraint: Constraint, tried: Case, products: readonly FitProduct[]) => Verdicts;

const negativeIn = (products: readonly FitProduct[]) =>
  new Set(
    products.flatMap(({ attributes = [] }) =>
      attributes.flatMap(({ key, value }) => (/^-.* mm$/.test(value) ? [key] : [])),
    ),
  );

/** @param describe returns the verdict on a total */
const judgeWith =
  (describe: (total: TotalVerdict) => string, { isSigned = true } = {}): JudgeSet =>
  (constraint, { seeds, products: original }, products) => {
    const negative = negativeIn(original);
    const set = products.map((product, index) => ({
      product: judgeUpload(normaliseProduct({ ...product, name: '' })),
      quantity: 1 + ((seeds[index] ?? 0) % 3),
    }));
    const judge = new SetJudge([constraint], Budget.unlimited());
    const totals = judge.judgeTotals(set, ({ name }) => isSigned && negative.has(name));
    return new Map([
      ...judge
        .judgePairs(set, 'en-GB')
        .map(({ source, target, verdict }) => [`${source} ${target}`, verdict] as const),
      ...totals.map((total) => [`sum ${total.source}`, describe(total)] as const),
    ]);
  };

const asJudged = judgeWith(({ verdict }) => verdict);

/** Numbers close to the numbers of the test, and one number that is larger than all sums of the test. */
const POSITIVE = ['0', '1', '1.5', '2', '1000000'];
const NEGATIVE = ['-1', '-1000000'];

/** @returns the products with a value for each attribute that had none */
function complete(products: readonly FitProduct[], seed: number): FitProduct[] {
  const negative = negativeIn(products);
  return products.map((product, index) => {
    const { attributes = [] } = product;
    const has = (name: string) =>
      attributes.some(({ key, value }) => key === name && (!NUMERIC.includes(name) || / mm$/.test(value)));
    const choose = <Value>(list: readonly Value[], name: number): Value => {
      // Seeds below 7 choose the same list position for all products and attributes. Larger seeds choose a
      // position for each product and attribute.
      const choice = seed < 7 ? seed : Math.imul(seed + index * 31 + name * 17, 2_654_435_761) >>> 8;
      return list[choice % list.length] as Value;
    };
    const numbers = NUMERIC.filter((name) => !has(name)).map((name, position) => {
      const list = negative.has(name) ? [...POSITIVE, ...NEGATIVE] : POSITIVE;
      return { key: name, value: `${choose(list, position)} mm` };
    });
    const texts = TEXTS.filter((name) => !has(name)).map((name, position) => ({
      key: name,
      value: choose(['red', 'blue', 'Red', 'green'], position + 5),
    }));
    return { ...product, attributes: [...attributes, ...numbers, ...texts] };
  });
}

/**
 * A completion can put a product on no side, so that a pair or total is not judged. That is not a
 * contradiction.
 */
function findContradiction(judge: JudgeSet, tried: Case): string | undefined {
  const constraint = bind(tried);
  const verdicts = judge(constraint, tried, tried.products);
  for (const seed of [0, 1, 2, 3, 4, 5, 6, ...tried.seeds.map((caseSeed) => caseSeed + 7)]) {
    const products = complete(tried.products, seed);
    const completed = asJudged(constraint, { ...tried, products }, products);
    for (const [name, verdict] of verdicts) {
      const after = completed.get(name) ?? verdict;
      if (verdict !== 'unknown' && after !== verdict)
        return JSON.stringify({
          name,
          verdict,
          after,
          products: products.map(({ attributes }) => attributes),
        });
    }
    for (const [name] of completed) assert.ok(verdicts.has(name), `${name} is judged`);
  }
  return undefined;
}

const isSound = (judge: JudgeSet) =>
  fc.property(cases, (tried) => assert.equal(findContradiction(judge, tried), undefined));

const RUNS = Number(process.env.RELATA_TEST_COMPLETIONS ?? 500);

test('no verdict is contradicted when the missing values are completed (§12.10 rule 11)', () => {
  fc.assert(isSound(asJudged), { numRuns: RUNS });
});

/** Judges a total as earlier versions did, which assumed that sums only grow. */
function judgeGrowing({ operator, total, limit, missing, verdict }: TotalVerdict): string {
  if (verdict !== 'unknown' || missing.length === 0 || limit.values.length === 0) return verdict;
  if (missing.some(({ attribute }) => attribute !== total.attribute)) return verdict;
  const compute = (text: string, { times = 1, plus = 0 }: { times?: number; plus?: number | string }) =>
    Number.parseFloat(text) * times + Number(plus);
  const sum = compute(total.sum, total);
  const isLess = operator.startsWith('less');
  const holds = limit.values.some((value) => {
    const least = compute(value, limit);
    if (operator.endsWith('OrEqual')) return isLess ? sum <= least : sum >= least;
    return isLess ? sum < least : sum > least;
  });
  if (holds === isLess) return verdict;
  return holds ? 'fits' : 'does_not_fit';
}

for (const [name, judge] of [
  ['a judge that assumes growing sums', judgeWith(judgeGrowing)],
  [
    'a judge that assumes no negative missing values',
    judgeWith(({ verdict }) => verdict, { isSigned: false }),
  ],
] as const) {
  test(`completed values contradict ${name}`, () => {
    const { failed } = fc.check(isSound(judge), { numRuns: 20_000, endOnFailure: true });
    assert.ok(failed);
  });
}

/** @returns for each verdict on a total with a limit, the verdicts of its extreme completions */
function listExtremes(tried: Case) {
  const { total, limit } = tried.definition;
  const all = { all: [] } satisfies Filter;
  const constraint = bind({ ...tried, definition: { ...tried.definition, source: all, target: all } });
  const seeds = negativeIn(tried.products).has(total?.attribute ?? '') ? [0, 4, 6] : [0, 4];
  const completed = seeds.map((seed) => asJudged(constraint, tried, complete(tried.products, seed)));
  const isLimit = ({ key, value }: { key: string; value: string }) =>
    key === limit?.attribute && / mm$/.test(value);
  return [...asJudged(constraint, tried, tried.products)].flatMap(([name, verdict]) => {
    const source = tried.products.find(({ identifier }) => name === `sum ${identifier}`);
    if (!source?.attributes?.some(isLimit)) return [];
    return [{ verdict, after: new Set(completed.map((verdicts) => verdicts.get(name))) }];
  });
}

test('a total is decided exactly if all completions of its values have the same verdict (§12.10 rule 11)', () => {
  const totals = cases.filter(({ definition: { kind } }) => kind === 'total');
  const verdictsFound = new Set<string>();
  fc.assert(
    fc.property(totals, (tried) => {
      for (const { verdict, after } of listExtremes(tried)) {
        const [first] = after;
        assert.equal(verdict, after.size === 1 ? first : 'unknown');
        verdictsFound.add(verdict);
      }
    }),
    { numRuns: RUNS },
  );
  assert.deepEqual([...verdictsFound].sort(), ['does_not_fit', 'fits', 'unknown']);
});
