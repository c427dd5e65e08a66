import type { ProductRelation, RelationSide } from '@relata/client';

/** Where things stand in the picture of a product and what is around it; lengths in rem, from the top. */

/** Of what the styles draw: `.walk` in styles/product.css. */
const HEAD = 1.75;
const NODE = 3.25;
const GAP = 0.375;
const MORE = 1.5;
const BETWEEN = 1;

interface Branch {
  /** Products that are drawn. */
  readonly shown: number;
  /** There are others, told in a line below. */
  readonly hasMore: boolean;
}

export interface WalkSide {
  /** Which branches stand on this side. */
  readonly branches: readonly number[];
  /** Where the products of each have their middle. */
  readonly nodes: readonly number[];
}

const heightOf = ({ shown, hasMore }: Branch): number =>
  HEAD + shown * NODE + (shown - 1) * GAP + (hasMore ? MORE : 0);

/** @returns the branches on both sides of the middle, as level as their order allows, and the height of all */
export function placeBranches(list: readonly Branch[]) {
  const sides: { branches: number[]; height: number }[] = [
    { branches: [], height: 0 },
    { branches: [], height: 0 },
  ];
  const [right, left] = sides as [(typeof sides)[number], (typeof sides)[number]];
  list.forEach((branch, at) => {
    const side = right.height <= left.height ? right : left;
    side.height += heightOf(branch) + (side.branches.length > 0 ? BETWEEN : 0);
    side.branches.push(at);
  });
  const height = Math.max(left.height, right.height);
  const place = (side: typeof right): WalkSide => {
    let top = (height - side.height) / 2;
    const nodes: number[] = [];
    for (const at of side.branches) {
      const branch = list[at] as Branch;
      for (let node = 0; node < branch.shown; node++) nodes.push(top + HEAD + node * (NODE + GAP) + NODE / 2);
      top += heightOf(branch) + BETWEEN;
    }
    return { branches: side.branches, nodes };
  };
  return { height, right: place(right), left: place(left) };
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** @returns which box an arrow key goes to: the nearest one on that side; up and down stay in their column. -1: none */
export function findNext(key: string, from: Box, boxes: readonly Box[]): number {
  const [x, y] = STEPS[key] ?? [0, 0];
  const overlaps = (box: Box) => box.left < from.right && from.left < box.right;
  const far = boxes.map((box) => {
    const [across, down] = [
      box.left + box.right - from.left - from.right,
      box.top + box.bottom - from.top - from.bottom,
    ];
    const ahead = across * x + down * y;
    const isReached = y === 0 ? x !== 0 && !overlaps(box) : overlaps(box);
    return isReached && ahead > 0 ? ahead + 2 * Math.abs(across * y + down * x) : Infinity;
  });
  const least = Math.min(...far);
  return Number.isFinite(least) ? far.indexOf(least) : -1;
}

/** No address grows without an end. */
const MOST_STEPS = 20;

/** @returns the way on to a product; back to it where the way has been there. It always begins where it began. */
export function walkTo(
  [first, ...way]: readonly [string, ...string[]],
  identifier: string,
): [string, ...string[]] {
  const at = [first, ...way].indexOf(identifier);
  return at < 0 ? [first, ...[...way, identifier].slice(1 - MOST_STEPS)] : [first, ...way.slice(0, at)];
}

export type RelatedProduct = RelationSide['results'][number];
/** The variants of one group, the best first. */
export type Variants = readonly [RelatedProduct, ...RelatedProduct[]];

/** One direction of a relation from a product, with what it finds. */
export interface Way {
  readonly relation: ProductRelation;
  /** From the results to the products that have them. */
  readonly isBack: boolean;
  readonly groups: readonly Variants[];
}

/** @returns the directions in which a relation finds something, relation by relation */
export const listWays = (relations: readonly ProductRelation[]): Way[] =>
  relations
    .flatMap((relation) => [
      { relation, isBack: false, groups: foldVariants(relation.asSource) },
      { relation, isBack: true, groups: foldVariants(relation.asTarget) },
    ])
    .filter(({ groups }) => groups.length > 0);

function foldVariants(side: RelationSide | null): Variants[] {
  const groups = new Map<string, [RelatedProduct, ...RelatedProduct[]]>();
  for (const product of side?.results ?? []) {
    const known = groups.get(product.groupId);
    if (known) known.push(product);
    else groups.set(product.groupId, [product]);
  }
  return [...groups.values()];
}

/** @returns the relations that find nothing in either direction */
export const listIdle = (relations: readonly ProductRelation[]): ProductRelation[] =>
  relations.filter(({ asSource, asTarget }) => !asSource?.results.length && !asTarget?.results.length);
