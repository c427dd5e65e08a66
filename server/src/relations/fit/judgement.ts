import {
  type ComparableValue,
  type ComparedAttribute,
  compareValues,
  type FindAttribute,
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
import type { Budget } from '../../storage/threads/threads.ts';
import { explainElements } from '../matching/matching.ts';
import { listRead } from '../memberships/memberships.ts';
import type {
  ComputedValue,
  RelationDefinition,
  Side,
  TotalOperator,
  TotalValue,
} from '../relation-definitions/relation-definitions.ts';
import {
  type BoundRule,
  type CompiledMatch,
  compileRule,
  finderOf,
  isApart,
  judgeElement,
  type ReadValues,
  type RowedValue,
} from '../rules/rules.ts';
import { compareSum } from './possible-sums.ts';

/**
 * Judges whether products can be used together: every pair by each constraint whose sides the two products
 * are on. Pure. Source: docs/interface §12.10.
 */

/**
 * The verdict on a pair, a total or a whole set. `no_rule` means that no constraint applies to any of its
 * products.
 */
export type Verdict = 'fits' | 'does_not_fit' | 'unknown' | 'no_rule';

const VERDICTS = { '-1': 'does_not_fit', '0': 'unknown', '1': 'fits' } as const;
export const verdictOf = (truth: Truth) => VERDICTS[`${truth}`];

/** A product in the form that constraints judge. */
export interface JudgedProduct extends Pick<UploadedProduct, 'identifier' | 'groupIdentifier'> {
  readonly view: ProductView;
  readonly read: ReadValues;
}

/** @returns a product whose values are read only once, however many products it is judged with */
export function judgeUpload(product: UploadedProduct): JudgedProduct {
  const { identifier, groupIdentifier } = product;
  const valuesByAttribute = new Map<ComparedAttribute, readonly RowedValue[]>();
  const readOnce = (attribute: ComparedAttribute) => readComparables(product, attribute);
  const read: ReadValues = (attribute) => valuesByAttribute.getOrInsertComputed(attribute, readOnce);
  return { identifier, groupIdentifier, view: viewUpload(product), read };
}

/** A product of a set. */
export interface SetProduct {
  readonly product: JudgedProduct;
  readonly quantity: number;
}

/** A relation that the products on its two sides must satisfy. */
export interface Constraint {
  readonly relation: { readonly id: number; readonly name: string; readonly tag: string };
  /** The revision of the relation's definition. */
  readonly revision: string;
  readonly excludeSameGroup: boolean;
  readonly bound: BoundRule;
  /** Set if the constraint applies to a whole set. */
  readonly total?: Pick<RelationDefinition, 'total' | 'operator' | 'limit'>;
}

/** @returns all attributes that judging a product reads */
export const listAttributes = ({ bound }: Constraint) => listRead(compileRule(bound), bound.attributes);

/** A missing value that a verdict would need. */
export interface MissingValue {
  readonly identifier: string;
  readonly attribute: string;
}

/** A product, and whether it is on a side. That may be unknown. */
export interface PossibleMember {
  readonly setProduct: SetProduct;
  readonly truth: Truth;
}

/** Judges by one constraint. Caches which products of a set are on its sides. */
export class Judge {
  readonly constraint: Constraint;
  private readonly find: FindAttribute;
  private readonly judgeSide: Readonly<Record<Side, (product: ProductView) => Truth>>;
  private readonly members = {
    source: new WeakMap<SetProduct, PossibleMember>(),
    target: new WeakMap<SetProduct, PossibleMember>(),
  };

  constructor(constraint: Constraint) {
    const { source, target } = constraint.bound.rule;
    this.constraint = constraint;
    this.find = finderOf(constraint.bound);
    this.judgeSide = { source: judgeFilter(source, this.find), target: judgeFilter(target, this.find) };
  }

  /** @returns the products that are, or may be, on the side */
  list(side: Side, set: readonly SetProduct[]): PossibleMember[] {
    return set.map((product) => this.judgeMember(side, product)).filter(({ truth }) => truth >= 0);
  }

  listMissing(side: Side, { setProduct: { product }, truth }: PossibleMember): MissingValue[] {
    if (truth !== 0) return [];
    const missing = listUnknown(this.constraint.bound.rule[side], this.find, product.view);
    return missing.map((attribute) => ({ identifier: product.identifier, attribute }));
  }

  isApart(first: SetProduct, second: SetProduct): boolean {
    return isApart(first.product, second.product, this.constraint.excludeSameGroup);
  }

  judgeMember(side: Side, setProduct: SetProduct): PossibleMember {
    return this.members[side].getOrInsertComputed(setProduct, () => ({
      setProduct,
      truth: this.judgeSide[side](setProduct.product.view),
    }));
  }
}

type Pair = Readonly<Record<Side, PossibleMember>>;

/** Whether a missing value of a numeric attribute may be negative. */
export type MayBeNegative = (attribute: ComparedAttribute) => boolean;

/** Judges sets of products by constraints. The budget of the question is charged for each product and pair. */
export class SetJudge {
  private readonly judges: readonly Judge[];
  private readonly totals: readonly Judge[];
  private readonly budget: Budget;
  /** All attributes that judging a product reads. */
  readonly attributes: readonly ComparedAttribute[];

  constructor(constraints: readonly Constraint[], budget: Budget) {
    const judges = constraints.map((constraint) => new Judge(constraint));
    this.budget = budget;
    this.attributes = constraints.flatMap(listAttributes);
    this.judges = judges.filter(({ constraint }) => constraint.total === undefined);
    this.totals = judges.filter(({ constraint }) => constraint.total !== undefined);
  }

  /**
   * @returns how many pairs would be judged. A total counts each product of its source side with each of its
   * parts.
   */
  countPairs(set: readonly SetProduct[]): number {
    let pairs = 0;
    for (const judge of [...this.judges, ...this.totals]) {
      this.budget.charge(set.length);
      const sources = judge.list('source', set);
      const targets = sources.length === 0 ? [] : judge.list('target', set);
      const isTotal = judge.constraint.total !== undefined;
      const countApart = ({ setProduct }: PossibleMember) =>
        targets.filter((other) => judge.isApart(setProduct, other.setProduct)).length;
      pairs += isTotal
        ? sources.length * targets.length
        : sources.reduce((sum, source) => sum + countApart(source), 0);
    }
    return pairs;
  }

  /**
   * @returns a verdict for every product on the source side of a total, if any product may be on its target
   * side
   * @throws answer_too_large
   */
  judgeTotals(set: readonly SetProduct[], mayBeNegative: MayBeNegative) {
    return this.totals.flatMap((judge) =>
      listTotals(judge, set, mayBeNegative).map((total) => {
        this.budget.charge(total.targets.length);
        return this.budget.measure(describeTotal(judge, total));
      }),
    );
  }

  /** @returns the attributes of totals whose verdicts depend on the sign of missing values */
  listSigned(set: readonly SetProduct[]): ComparedAttribute[] {
    const isDecided = ({ incomplete, truth }: Total) => incomplete.length > 0 && truth !== 0;
    return this.totals.filter((judge) => listTotals(judge, set, () => false).some(isDecided)).map(summedBy);
  }

  /** The attributes that totals add up. */
  get summed(): ComparedAttribute[] {
    return this.totals.map(summedBy);
  }

  /**
   * @returns a verdict for every ordered pair on the two sides of a constraint, in the order of the set.
   * Includes products that may be on a side.
   * @throws answer_too_large
   */
  judgePairs(set: readonly SetProduct[], locale: string) {
    const positions = new Map(set.map(({ product }, index) => [product.identifier, index]));
    const positionOf = (identifier: string) => positions.get(identifier) as number;
    return this.judges
      .flatMap((judge) =>
        listPairs(judge, set).map((pair) => {
          this.budget.charge();
          return this.budget.measure(judgePair(judge, pair, locale));
        }),
      )
      .sort(
        (a, b) => positionOf(a.source) - positionOf(b.source) || positionOf(a.target) - positionOf(b.target),
      );
  }

  /**
   * @param budget the part of the question's budget that the judging may use
   * @returns functions that judge further products, each together with `others`
   */
  judgeBeside(
    others: readonly SetProduct[],
    { mayBeNegative, budget }: { readonly mayBeNegative: MayBeNegative; readonly budget: Budget },
  ) {
    const facing = this.judges
      .flatMap((judge) => [
        { judge, side: 'source' as const, across: judge.list('target', others) },
        { judge, side: 'target' as const, across: judge.list('source', others) },
      ])
      .filter(({ across }) => across.length > 0);
    const pairsOf = (side: Facing, candidate: SetProduct) => {
      budget.charge(side.across.length);
      return pairAcross(side, candidate);
    };
    const totalsOf = (judge: Judge, candidate: SetProduct) => {
      budget.charge(others.length);
      return listTotals(judge, [candidate, ...others], mayBeNegative);
    };
    const weighTotals = (candidate: SetProduct) =>
      this.totals
        .flatMap((judge) => totalsOf(judge, candidate))
        .filter(({ source, targets }) =>
          [source, ...targets].some((member) => member.setProduct === candidate),
        )
        .map(({ truth }) => truth);
    return {
      /** Whether no constraint forbids using the product with one of the others. Totals are ignored. */
      mayFit: (candidate: SetProduct) =>
        facing.every((side) => pairsOf(side, candidate).every((pair) => isFit(side.judge, pair))),
      /**
       * Whether at least one constraint judges the product with the others, and every such verdict is
       * `fits`.
       */
      fitsStrictly(candidate: SetProduct): boolean {
        const judged = [
          ...facing.flatMap((side) => pairsOf(side, candidate).map((pair) => isFit(side.judge, pair))),
          ...weighTotals(candidate).map((truth) => truth === 1),
        ];
        return judged.length > 0 && judged.every(Boolean);
      },
    };
  }
}

interface Facing {
  readonly judge: Judge;
  /** The side that the judged product would be on. */
  readonly side: Side;
  /** The products on the opposite side. */
  readonly across: readonly PossibleMember[];
}

function pairAcross({ judge, side, across }: Facing, candidate: SetProduct): Pair[] {
  const member = judge.judgeMember(side, candidate);
  if (member.truth < 0) return [];
  return across
    .filter((other) => judge.isApart(candidate, other.setProduct))
    .map((other) =>
      side === 'source' ? { source: member, target: other } : { source: other, target: member },
    );
}

/** The same as the verdict `fits`, but stops at the first element that does not hold. */
function isFit({ constraint }: Judge, { source, target }: Pair): boolean {
  if (least([source.truth, target.truth]) < 1) return false;
  const read = { source: source.setProduct.product.read, target: target.setProduct.product.read };
  const { elements } = compileRule(constraint.bound);
  return elements.every((element) => judgeElement(element, read).truth === 1);
}

function listPairs(judge: Judge, set: readonly SetProduct[]): Pair[] {
  const sources = judge.list('source', set);
  if (sources.length === 0) return [];
  const others = judge.list('target', set);
  return sources.flatMap((source) =>
    others
      .filter((target) => judge.isApart(source.setProduct, target.setProduct))
      .map((target) => ({ source, target })),
  );
}

export type PairVerdict = ReturnType<typeof judgePair>;

/** @param locale the locale of the sentences */
function judgePair(judge: Judge, pair: Pair, locale: string) {
  const { truth, judged } = weigh(judge, pair);
  const products = productsOf(pair);
  const missing = [
    ...judge.listMissing('source', pair.source),
    ...judge.listMissing('target', pair.target),
    ...judged.flatMap((judgement) =>
      judgement.missing.map(({ side, attribute }) => ({ identifier: products[side].identifier, attribute })),
    ),
  ];
  return {
    source: products.source.identifier,
    target: products.target.identifier,
    relation: judge.constraint.relation,
    verdict: verdictOf(truth),
    match: explainElements(judge.constraint.bound, judged, {
      locale,
      add: (judgement) => ({ verdict: verdictOf(judgement.truth) }),
    }),
    missing: distinct(missing),
  };
}

const productsOf = ({ source, target }: Pair) => ({
  source: source.setProduct.product,
  target: target.setProduct.product,
});

/** A match that fails makes the pair false, even if the sides of the products are unknown. */
function weigh(judge: Judge, pair: Pair) {
  const { source, target } = productsOf(pair);
  const { elements } = compileRule(judge.constraint.bound);
  const judged = elements.map((element) =>
    judgeElement(element, { source: source.read, target: target.read }),
  );
  const matched = least(judged.map(({ truth }) => truth));
  return { judged, truth: matched < 0 ? matched : least([matched, pair.source.truth, pair.target.truth]) };
}

/** A sum over the target side, for one product on the source side. */
interface Total {
  readonly source: PossibleMember;
  readonly targets: readonly PossibleMember[];
  readonly sum: ComparableValue;
  readonly limits: readonly RowedValue[];
  /** Products without a value for the sum. */
  readonly incomplete: readonly JudgedProduct[];
  readonly truth: Truth;
}

const comparisonOf = ({ constraint }: Judge) => (compileRule(constraint.bound).matches as [CompiledMatch])[0];
const summedBy = (judge: Judge): ComparedAttribute => comparisonOf(judge).target;

function listTotals(judge: Judge, set: readonly SetProduct[], mayBeNegative: MayBeNegative): Total[] {
  const targets = judge.list('target', set);
  if (targets.length === 0) return [];
  const comparison = comparisonOf(judge);
  const counted = targets.map(({ setProduct, truth }) => ({
    setProduct,
    truth,
    value: chooseCounted(setProduct, comparison)?.text,
  }));
  const added = counted.flatMap(({ setProduct, value: text }) =>
    text === undefined ? [] : [{ text, times: setProduct.quantity }],
  );
  const sum = sumComparables(added, comparison.target);
  const isCounted = judge.constraint.total?.total?.missing === 'passes';
  const incomplete = isCounted
    ? []
    : counted.flatMap(({ setProduct, value }) => (value === undefined ? [setProduct.product] : []));
  const summed = {
    attribute: comparison.target,
    addends: counted.map(({ setProduct, truth, value: text }) => ({
      text,
      isMissing: text === undefined && !isCounted,
      times: setProduct.quantity,
      isSure: truth === 1,
    })),
    mayBeNegative: incomplete.length > 0 && mayBeNegative(comparison.target),
  };
  return judge.list('source', set).map((source) => {
    const limits = source.setProduct.product.read(comparison.source);
    const compared = { operator: comparison.operator, limits: limits.map(({ comparable }) => comparable) };
    const truth = compareSum(summed, compared);
    const membership = least([source.truth, ...targets.map((target) => target.truth)]);
    return {
      source,
      targets,
      sum,
      limits,
      incomplete,
      truth: truth < 0 ? truth : least([truth, membership]),
    };
  });
}

const wantsLess = (operator: Operator) => operator === 'less' || operator === 'lessOrEqual';

/**
 * If a product has several values, the value with which the comparison holds most easily counts, because
 * one matching value suffices (§12.2 rule 9).
 */
function chooseCounted({ product }: SetProduct, { target, operator }: CompiledMatch) {
  const sign = wantsLess(operator) ? 1 : -1;
  const [best] = product.read(target).toSorted((a, b) => sign * compareValues(a.comparable, b.comparable));
  return best;
}

export type TotalVerdict = ReturnType<typeof describeTotal>;

function describeTotal(judge: Judge, { source, targets, sum, limits, incomplete, truth }: Total) {
  const { relation, total: { total, operator, limit } = {} } = judge.constraint;
  const comparison = comparisonOf(judge);
  const { identifier } = source.setProduct.product;
  const missing = [
    ...judge.listMissing('source', source),
    ...targets.flatMap((target) => judge.listMissing('target', target)),
    ...incomplete.map((product) => ({ identifier: product.identifier, attribute: comparison.target.name })),
    ...(limits.length === 0 ? [{ identifier, attribute: comparison.source.name }] : []),
  ];
  const parts = targets.map(({ setProduct }) => {
    const value = chooseCounted(setProduct, comparison)?.text;
    return {
      identifier: setProduct.product.identifier,
      quantity: setProduct.quantity,
      ...(value !== undefined && { value }),
    };
  });
  return {
    source: identifier,
    relation,
    verdict: verdictOf(truth),
    operator: operator as TotalOperator,
    total: { ...(total as TotalValue), sum: sum.text, parts },
    limit: { ...(limit as ComputedValue), values: limits.map(({ text = '' }) => text) },
    missing: distinct(missing),
  };
}

const distinct = (missing: readonly MissingValue[]): MissingValue[] => [
  ...new Map(missing.map((value) => [JSON.stringify([value.identifier, value.attribute]), value])).values(),
];
