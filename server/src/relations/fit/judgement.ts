import {
  COMPARISONS,
  type Comparable,
  type ComparableValue,
  type ComparedAttribute,
  compareValues,
  judgeFilter,
  least,
  listUnknown,
  type Operator,
  type ProductView,
  readComparables,
  sumComparables,
  type Truth,
  viewUpload,
} from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  attributeOf,
  type BoundRule,
  type CompiledMatch,
  type ComputedValue,
  compileRule,
  isPair,
  type Judgement,
  type RelationDefinition,
  type Side,
  type TotalOperator,
  type TotalValue,
} from '../definitions/definitions.ts';
import { explainElements, judgeElements, type MatchExplanation } from '../search/search.ts';

/**
 * Whether products can be used together: each pair of them, by every constraint on whose sides the two stand. Pure. Source:
 * docs/interface.md §12.10.
 */

/** What is said of a pair, a total or a whole set; `no_rule`: no constraint is about any of its products. */
export type Verdict = 'fits' | 'does_not_fit' | 'unknown' | 'no_rule';

const VERDICTS = { '-1': 'does_not_fit', '0': 'unknown', '1': 'fits' } as const;
export const verdictOf = (truth: Truth) => VERDICTS[`${truth}`];

/** A product of a set. */
export interface SetProduct {
  readonly product: UploadedProduct;
  readonly quantity: number;
}

/** A relation whose two sides must fit. */
export interface Constraint {
  readonly relation: { readonly id: number; readonly name: string; readonly tag: string };
  /** Of its definition. */
  readonly revision: string;
  readonly excludeSameGroup: boolean;
  readonly bound: BoundRule;
  /** It is over a whole set. */
  readonly total?: Pick<RelationDefinition, 'total' | 'operator' | 'limit'>;
}

/** A value that a verdict would need. */
export interface MissingValue {
  readonly identifier: string;
  readonly attribute: string;
}

/** How a product stands on a side, which may be unknown. */
export interface Standing {
  readonly one: SetProduct;
  readonly truth: Truth;
}

/** Judges by one constraint; it keeps how the products of a set stand on its sides. */
class Judge {
  readonly constraint: Constraint;
  readonly judgeSide: Readonly<Record<Side, (product: ProductView) => Truth>>;
  private readonly known = {
    source: new WeakMap<SetProduct, Standing>(),
    target: new WeakMap<SetProduct, Standing>(),
  };

  constructor(constraint: Constraint) {
    const { source, target } = constraint.bound.rule;
    this.constraint = constraint;
    this.judgeSide = { source: judgeFilter(source, this.find), target: judgeFilter(target, this.find) };
  }

  /** @returns those that stand on the side, or may */
  list(side: Side, set: readonly SetProduct[]): Standing[] {
    return set.map((one) => this.stand(side, one)).filter(({ truth }) => truth >= 0);
  }

  listMissing(side: Side, { one: { product }, truth }: Standing): MissingValue[] {
    if (truth !== 0) return [];
    const missing = listUnknown(this.constraint.bound.rule[side], this.find, viewUpload(product));
    return missing.map((attribute) => ({ identifier: product.identifier, attribute }));
  }

  isApart({ product: a }: SetProduct, { product: b }: SetProduct): boolean {
    if (a.identifier === b.identifier) return false;
    return !(this.constraint.excludeSameGroup && a.groupIdentifier === b.groupIdentifier);
  }

  private stand(side: Side, one: SetProduct): Standing {
    const known = this.known[side].get(one);
    if (known !== undefined) return known;
    const standing = { one, truth: this.judgeSide[side](viewUpload(one.product)) };
    this.known[side].set(one, standing);
    return standing;
  }

  private readonly find = (name: string) =>
    this.constraint.bound.attributes.find((attribute) => attribute.name === name) as ComparedAttribute;
}

type Pair = Readonly<Record<Side, Standing>>;

/** Judges sets of products by constraints. */
export class SetJudge {
  private readonly judges: readonly Judge[];
  private readonly totals: readonly Judge[];

  constructor(constraints: readonly Constraint[]) {
    const judges = constraints.map((constraint) => new Judge(constraint));
    this.judges = judges.filter(({ constraint }) => constraint.total === undefined);
    this.totals = judges.filter(({ constraint }) => constraint.total !== undefined);
  }

  /** @returns a verdict for every product on the source side of a total, where any may stand on the other one */
  judgeTotals(set: readonly SetProduct[]) {
    return this.totals.flatMap((judge) => listTotals(judge, set).map((total) => describeTotal(judge, total)));
  }

  /** @returns a verdict for every ordered pair that stands, or may stand, on the two sides of a constraint, by the order of the set */
  judgePairs(set: readonly SetProduct[]) {
    const places = new Map(set.map(({ product }, at) => [product.identifier, at]));
    const placeOf = (identifier: string) => places.get(identifier) as number;
    return this.judges
      .flatMap((judge) => listPairs(judge, set, set).map((pair) => judgePair(judge, pair)))
      .sort((a, b) => placeOf(a.source) - placeOf(b.source) || placeOf(a.target) - placeOf(b.target));
  }

  /**
   * @returns whether a product may fit all others strictly: what it rules out certainly does not. It looks at values alone,
   * without their rows, and takes some microseconds.
   */
  createSieve(others: readonly SetProduct[]): (product: ProductView, group: string) => boolean {
    const sieves = this.judges.flatMap((judge) => SIDES.map((side) => sieveOf(judge, side, others)));
    const inUse = sieves.filter(({ across }) => across.length > 0);
    return (product, group) => inUse.every((sieve) => passes(sieve, product, group));
  }

  /** Whether a constraint judges the product with the others, and all that do find that it fits, nothing unknown. */
  fitsStrictly(one: SetProduct, others: readonly SetProduct[]): boolean {
    let isJudged = false;
    for (const truth of this.weighOne(one, others)) {
      if (truth < 1) return false;
      isJudged = true;
    }
    return isJudged;
  }

  /** What every constraint says of the product with the others. */
  private *weighOne(one: SetProduct, others: readonly SetProduct[]): Generator<Truth, void> {
    for (const judge of this.judges) {
      for (const pair of [...listPairs(judge, [one], others), ...listPairs(judge, others, [one])])
        yield weigh(judge, pair).truth;
    }
    for (const judge of this.totals) {
      const totals = listTotals(judge, [one, ...others]);
      const isAbout = ({ source, targets }: Total) =>
        [source, ...targets].some((standing) => standing.one === one);
      for (const total of totals.filter(isAbout)) yield total.truth;
    }
  }
}

const SIDES = ['source', 'target'] as const;

/** A side of a constraint with what the others on the opposite side have for each of its plain matches. */
function sieveOf(judge: Judge, side: Side, others: readonly SetProduct[]) {
  const opposite = side === 'source' ? 'target' : 'source';
  const { elements } = compileRule(judge.constraint.bound);
  const matches = elements.filter((element): element is CompiledMatch => 'operator' in element);
  const across = judge.list(opposite, others).map(({ one: { product }, truth }) => ({
    truth,
    group: product.groupIdentifier,
    values: matches.map((match) =>
      readComparables(product, attributeOf(match, opposite)).map(({ comparable }) => comparable),
    ),
  }));
  return { judge, side, matches, across };
}

function passes(
  { judge, side, matches, across }: ReturnType<typeof sieveOf>,
  product: ProductView,
  group: string,
) {
  const { excludeSameGroup } = judge.constraint;
  const judged = across.filter((other) => !(excludeSameGroup && other.group === group));
  const truth = judged.length === 0 ? -1 : judge.judgeSide[side](product);
  if (truth < 0) return true;
  const own = matches.map((match) => product.valuesOf(attributeOf(match, side)));
  return judged.every(
    ({ truth: across, values }) =>
      least([truth, across]) === 1 &&
      matches.every((match, at) => {
        const [mine, theirs] = [own[at] ?? [], values[at] ?? []];
        if (mine.length === 0 || theirs.length === 0) return match.passes === true;
        const holds = (a: Comparable, b: Comparable) =>
          side === 'source' ? isPair(match, a, b) : isPair(match, b, a);
        return mine.some((a) => theirs.some((b) => holds(a, b)));
      }),
  );
}

function listPairs(judge: Judge, sources: readonly SetProduct[], targets: readonly SetProduct[]): Pair[] {
  const standing = judge.list('source', sources);
  if (standing.length === 0) return [];
  const others = judge.list('target', targets);
  return standing.flatMap((source) =>
    others.filter((target) => judge.isApart(source.one, target.one)).map((target) => ({ source, target })),
  );
}

export type PairVerdict = ReturnType<typeof judgePair>;

function judgePair(judge: Judge, pair: Pair) {
  const { truth, judged } = weigh(judge, pair);
  const products = productsOf(pair);
  const missing = [
    ...judge.listMissing('source', pair.source),
    ...judge.listMissing('target', pair.target),
    ...judged.flatMap((one) =>
      one.missing.map(({ side, attribute }) => ({ identifier: products[side].identifier, attribute })),
    ),
  ];
  return {
    source: products.source.identifier,
    target: products.target.identifier,
    relation: judge.constraint.relation,
    verdict: verdictOf(truth),
    match: explainVerdicts(judge, pair, judged),
    missing: distinct(missing),
  };
}

const productsOf = ({ source, target }: Pair) => ({ source: source.one.product, target: target.one.product });

/** A match that fails is false whoever stands there. */
function weigh(judge: Judge, pair: Pair) {
  const judged = judgeElements(judge.constraint.bound, productsOf(pair));
  const matched = least(judged.map(({ truth }) => truth));
  return { judged, truth: matched < 0 ? matched : least([matched, pair.source.truth, pair.target.truth]) };
}

/** @returns each element as it is explained, with its verdict and those of the matches within */
function explainVerdicts(judge: Judge, pair: Pair, judged: readonly Judgement[]) {
  const addTo = (inner: readonly MatchExplanation[], judgements: readonly Judgement[] = []) =>
    inner.map((one, at) => ({ ...one, verdict: verdictOf(judgements[at]?.truth ?? 0) }));
  return explainElements(judge.constraint.bound, productsOf(pair), judged).map((explained, at) => {
    const { truth, inner } = judged[at] as Judgement;
    const verdict = verdictOf(truth);
    if ('any' in explained) return { ...explained, any: addTo(explained.any, inner), verdict };
    if ('together' in explained) return { ...explained, together: addTo(explained.together, inner), verdict };
    return { ...explained, verdict };
  });
}

/** A sum over the target side, against one product of the source side. */
interface Total {
  readonly source: Standing;
  readonly targets: readonly Standing[];
  readonly sum: ComparableValue;
  readonly limits: readonly ComparableValue[];
  /** Products whose value is needed and lacks. */
  readonly lacking: readonly UploadedProduct[];
  readonly truth: Truth;
}

function listTotals(judge: Judge, set: readonly SetProduct[]): Total[] {
  const targets = judge.list('target', set);
  if (targets.length === 0) return [];
  const [comparison] = compileRule(judge.constraint.bound).matches as [CompiledMatch];
  const counted = targets.map(({ one }) => ({ one, value: chooseCounted(one, comparison) }));
  const sum = sumComparables(
    counted.flatMap(({ one, value }) => (value ? [{ text: value.text, times: one.quantity }] : [])),
    comparison.target,
  );
  const isCounted = judge.constraint.total?.total?.missing === 'passes';
  const lacking = counted
    .filter(({ value }) => !isCounted && value === undefined)
    .map(({ one }) => one.product);
  return judge.list('source', set).map((source) => {
    const limits = readComparables(source.one.product, comparison.source);
    const truth = compareTotal({ sum, limits, isAnyLacking: lacking.length > 0 }, comparison.operator);
    const standing = least([source.truth, ...targets.map((target) => target.truth)]);
    return { source, targets, sum, limits, lacking, truth: truth < 0 ? truth : least([truth, standing]) };
  });
}

const wantsLess = (operator: Operator) => operator === 'less' || operator === 'lessOrEqual';

/** Of several values the one with which the sum compares so most easily: one is enough (§12.2 rule 9). */
function chooseCounted(
  { product }: SetProduct,
  { target, operator }: CompiledMatch,
): ComparableValue | undefined {
  const sign = wantsLess(operator) ? 1 : -1;
  const [best] = readComparables(product, target).toSorted(
    (a, b) => sign * compareValues(a.comparable, b.comparable),
  );
  return best;
}

/** What is known decides where nothing that lacks can change it: values add to a sum, and never take away from it. */
function compareTotal(
  { sum, limits, isAnyLacking }: Pick<Total, 'sum' | 'limits'> & { readonly isAnyLacking: boolean },
  operator: Operator,
): Truth {
  if (limits.length === 0) return 0;
  const holds = limits.some((limit) =>
    COMPARISONS[operator](compareValues(sum.comparable, limit.comparable)),
  );
  if (isAnyLacking && holds === wantsLess(operator)) return 0;
  return holds ? 1 : -1;
}

export type TotalVerdict = ReturnType<typeof describeTotal>;

function describeTotal(judge: Judge, { source, targets, sum, limits, lacking, truth }: Total) {
  const { relation, total: { total, operator, limit } = {} } = judge.constraint;
  const [comparison] = compileRule(judge.constraint.bound).matches as [CompiledMatch];
  const { identifier } = source.one.product;
  const missing = [
    ...judge.listMissing('source', source),
    ...targets.flatMap((target) => judge.listMissing('target', target)),
    ...lacking.map((product) => ({ identifier: product.identifier, attribute: comparison.target.name })),
    ...(limits.length === 0 ? [{ identifier, attribute: comparison.source.name }] : []),
  ];
  const parts = targets.map(({ one }) => {
    const value = chooseCounted(one, comparison)?.text;
    return {
      identifier: one.product.identifier,
      quantity: one.quantity,
      ...(value !== undefined && { value }),
    };
  });
  return {
    ...{ source: identifier, relation, verdict: verdictOf(truth), operator: operator as TotalOperator },
    total: { ...(total as TotalValue), sum: sum.text, parts },
    limit: { ...(limit as ComputedValue), values: limits.map(({ text }) => text) },
    missing: distinct(missing),
  };
}

const distinct = (missing: readonly MissingValue[]): MissingValue[] => [
  ...new Map(missing.map((one) => [JSON.stringify([one.identifier, one.attribute]), one])).values(),
];
