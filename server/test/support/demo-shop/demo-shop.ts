/**
 * The generator of the demo catalog: the goods of an invented shop for sports, outdoor and photo, in which tyres fit
 * bicycles, lenses fit cameras and filters fit lenses. The same seed makes the same products. `relata demo` loads the
 * file written by `npm run demo-catalog` (server/demo/); tests and benchmarks take as many products as they need.
 *
 * The catalog comes in rounds: each has new groups of every product line, with the variants of a group in a row.
 */

import type { DemoProduct } from '../../../src/cli/demo/demo.ts';
import { bicyclePartLines } from './bicycle-parts.ts';
import { bicycleLines } from './bicycles.ts';
import { cameraLines } from './cameras.ts';
import { campingLines } from './camping.ts';
import { clothingLines } from './clothing.ts';
import { lensLines } from './lenses.ts';
import { buildGroup } from './product-group.ts';

/** Rounds that make about 6,000 products: enough for searches, and few enough to upload in one request. */
const DEMO_ROUNDS = 12;

const DEMO_SEED = 1;

const LINES = [
  ...bicycleLines,
  ...bicyclePartLines,
  ...clothingLines,
  ...cameraLines,
  ...lensLines,
  ...campingLines,
];

/** Makes the demo catalog: about 6,000 products, in which each relation of the demo has products on both sides. */
export function generateDemoCatalog(): DemoProduct[] {
  return Array.from({ length: DEMO_ROUNDS }, (_, round) => [...streamRound(round, DEMO_SEED)]).flat();
}

/**
 * Makes exactly `count` products one after another, for tests and benchmarks of any size. The last group may lack
 * variants, but never its head. With the default seed, the demo catalog is the beginning of these products.
 */
export function* streamDemoProducts(count: number, seed = DEMO_SEED): Generator<DemoProduct, void> {
  let left = count;
  for (let round = 0; left > 0; round++) {
    for (const product of streamRound(round, seed)) {
      if (left === 0) return;
      left -= 1;
      yield product;
    }
  }
}

/** Adds one group of every line in turn, so that even a few products cover all departments. */
function* streamRound(round: number, seed: number): Generator<DemoProduct, void> {
  const turns = Math.max(...LINES.map((line) => line.groupsPerRound));
  for (let turn = 0; turn < turns; turn++) {
    for (const line of LINES.filter((candidate) => turn < candidate.groupsPerRound)) {
      yield* buildGroup(line, round * line.groupsPerRound + turn, seed);
    }
  }
}
