import type { ProductRelation, RelationSide } from '@relata/client';

/** The layout of a picture of a product and its surroundings; lengths in rem, from the top. */

/** Sizes of the styles: `.walk` in styles/product.css. */
const HEAD = 1.75;
const NODE = 3.25;
const GAP = 0.375;
const MORE = 1.5;
const BETWEEN = 1;

interface Branch {
  /** The number of products drawn. */
  readonly shown: number;
  /** Whether there are others, mentioned in a line below. */
  readonly hasMore: boolean;
}

export interface WalkSide {
  /** The branches on this side. */
  readonly branches: readonly number[];
  /** The vertical centers of each branch's products. */
  readonly nodes: readonly number[];
}

const heightOf = ({ shown, hasMore }: Branch): number =>
  HEAD + shown * NODE + (shown - 1) * GAP + (hasMore ? MORE : 0);

/** @returns the branches on both sides, as balanced as their order allows, and the total height */
export function placeBranches(list: readonly Branch[]) {
  const sides: { branches: number[]; height: number }[] = [
    { branches: [], height: 0 },
    { branches: [], height: 0 },
  ];
  const [right, left] = sides as [(typeof sides)[number], (typeof sides)[number]];
  list.forEach((branch, index) => {
    const side = right.height <= left.height ? right : left;
    side.height += heightOf(branch) + (side.branches.length > 0 ? BETWEEN : 0);
    side.branches.push(index);
  });
  const height = Math.max(left.height, right.height);
  const layOut = (side: typeof right): WalkSide => {
    let top = (height - side.height) / 2;
    const nodes: number[] = [];
    for (const index of side.branches) {
      const branch = list[index] as Branch;
      for (let node = 0; node < branch.shown; node++) nodes.push(top + HEAD + node * (NODE + GAP) + NODE / 2);
      top += heightOf(branch) + BETWEEN;
    }
    return { branches: side.branches, nodes };
  };
  return { height, right: layOut(right), left: layOut(left) };
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

/** @returns the box that an arrow key moves to: the nearest on that side, up and down in its column; or -1 */
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

/** Keeps addresses from growing without limit. */
const MOST_STEPS = 20;

/** @returns the way extended to a product, or cut back to it if it was visited. The start never changes. */
export function walkTo(
  [first, ...way]: readonly [string, ...string[]],
  identifier: string,
): [string, ...string[]] {
  const position = [first, ...way].indexOf(identifier);
  return position < 0
    ? [first, ...[...way, identifier].slice(1 - MOST_STEPS)]
    : [first, ...way.slice(0, position)];
}

export type RelatedProduct = RelationSide['results'][number];
/** The variants of one group, best first. */
export type Variants = readonly [RelatedProduct, ...RelatedProduct[]];

/** One direction of a relation from a product, with its results. */
export interface Way {
  readonly relation: ProductRelation;
  /** Whether it leads from results to the products that have them. */
  readonly isBack: boolean;
  readonly groups: readonly Variants[];
}

/** @returns the directions in which relations have results, by relation */
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
    const group = groups.get(product.groupId);
    if (group) group.push(product);
    else groups.set(product.groupId, [product]);
  }
  return [...groups.values()];
}

/** @returns the relations without results in either direction */
export const listIdle = (relations: readonly ProductRelation[]): ProductRelation[] =>
  relations.filter(({ asSource, asTarget }) => !asSource?.results.length && !asTarget?.results.length);
