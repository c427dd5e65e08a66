import {
  type ComparedAttribute,
  judgeFilter,
  least,
  listUnknown,
  type ProductView,
  type Truth,
  viewUpload,
} from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { BoundRule, Side } from '../definitions/definitions.ts';
import { explainPair, judgeElements, type PairExplanation } from '../search/search.ts';

/**
 * Whether products can be used together: each pair of them, by every constraint on whose sides the two stand. Pure. Source:
 * docs/interface.md §12.10.
 */

/** What is said of a pair, a total or a whole set; `no_rule`: no constraint is about any of its products. */
export type Verdict = 'fits' | 'does_not_fit' | 'unknown' | 'no_rule';

/** Worst first. */
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
}

/** A value that a verdict would need. */
export interface MissingValue {
  readonly identifier: string;
  readonly attribute: string;
}

export interface PairVerdict {
  readonly source: string;
  readonly target: string;
  readonly relation: Constraint['relation'];
  readonly verdict: ReturnType<typeof verdictOf>;
  readonly match: readonly (PairExplanation['match'][number] & Pick<PairVerdict, 'verdict'>)[];
  readonly missing: readonly MissingValue[];
}

/** A constraint made ready for the products of a set. */
interface Judge {
  readonly constraint: Constraint;
  readonly find: (name: string) => ComparedAttribute;
  readonly judgeSide: Readonly<Record<Side, (product: ProductView) => Truth>>;
}

function toJudge(constraint: Constraint): Judge {
  const { rule, attributes } = constraint.bound;
  const byName = new Map(attributes.map((attribute) => [attribute.name, attribute]));
  const find = (name: string) => byName.get(name) as ComparedAttribute;
  return {
    ...{ constraint, find },
    judgeSide: { source: judgeFilter(rule.source, find), target: judgeFilter(rule.target, find) },
  };
}

/** A product with how it stands on a side, which may be unknown. */
interface Standing {
  readonly product: UploadedProduct;
  readonly truth: Truth;
  readonly missing: readonly MissingValue[];
}

function listStanding(
  { constraint, find, judgeSide }: Judge,
  side: Side,
  set: readonly SetProduct[],
): Standing[] {
  return set.flatMap(({ product }) => {
    const view = viewUpload(product);
    const truth = judgeSide[side](view);
    if (truth < 0) return [];
    const missing = listUnknown(constraint.bound.rule[side], find, view);
    return [
      {
        product,
        truth,
        missing: missing.map((attribute) => ({ identifier: product.identifier, attribute })),
      },
    ];
  });
}

/** @returns a verdict for every ordered pair that stands, or may stand, on the two sides of a constraint, by the order of the set */
export function judgePairs(constraints: readonly Constraint[], set: readonly SetProduct[]): PairVerdict[] {
  const places = new Map(set.map(({ product }, at) => [product.identifier, at]));
  const judged = constraints.map(toJudge).flatMap((judge) => {
    const targets = listStanding(judge, 'target', set);
    return listStanding(judge, 'source', set).flatMap((source) =>
      targets
        .filter((target) => isApart(source.product, target.product, judge.constraint))
        .map((target) => judgePair(judge.constraint, source, target)),
    );
  });
  const placeOf = (identifier: string) => places.get(identifier) as number;
  return judged.sort(
    (a, b) => placeOf(a.source) - placeOf(b.source) || placeOf(a.target) - placeOf(b.target),
  );
}

const isApart = (a: UploadedProduct, b: UploadedProduct, { excludeSameGroup }: Constraint) =>
  a.identifier !== b.identifier && !(excludeSameGroup && a.groupIdentifier === b.groupIdentifier);

function judgePair({ relation, bound }: Constraint, source: Standing, target: Standing): PairVerdict {
  const products = { source: source.product, target: target.product };
  const judged = judgeElements(bound, products);
  const matched = least(judged.map(({ truth }) => truth));
  const missing = judged
    .flatMap((one) => one.missing)
    .map(({ side, attribute }) => ({ identifier: products[side].identifier, attribute }));
  return {
    source: source.product.identifier,
    target: target.product.identifier,
    relation,
    // A match that fails is false whoever stands there.
    verdict: verdictOf(matched < 0 ? matched : least([matched, source.truth, target.truth])),
    match: explainPair(bound, products).match.map((explained, at) => ({
      ...explained,
      verdict: verdictOf(judged[at]?.truth ?? 1),
    })),
    missing: distinct([...source.missing, ...target.missing, ...missing]),
  };
}

const distinct = (missing: readonly MissingValue[]): MissingValue[] => [
  ...new Map(missing.map((one) => [JSON.stringify([one.identifier, one.attribute]), one])).values(),
];
