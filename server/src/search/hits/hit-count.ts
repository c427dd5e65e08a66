import type { SearchTier } from '../search-port.ts';
import { isInTier } from '../words/words.ts';
import type { HitList } from './hit-list.ts';
import type { OpenIndex } from './search-index.ts';

/** If the index has dead entries, at most this many hits are checked, at 2 µs each. */
const COUNTED = 10_000;
/** Checking this many hits takes less time than counting all products. */
const FEW = 1_000;

export interface HitCount {
  readonly total: number;
  /** False if there are so many hits that documents without a product are counted too. */
  readonly isExact: boolean;
}

/** Counts the hits of a search whose conditions the index checks, without reading them. */
export async function countHits({ index, plan }: HitList): Promise<HitCount> {
  const { counted } = plan.tiers;
  const counts: HitCount[] = [];
  for (const tier of counted) if (index.isMade) counts.push(await countTier(index, tier));
  const ofTail = index.tail.filter(({ lexemes }) => counted.some((tier) => isInTier(tier, lexemes)));
  return {
    total: counts.reduce((sum, { total }) => sum + total, ofTail.length),
    isExact: counts.every(({ isExact }) => isExact),
  };
}

async function countTier(index: OpenIndex, tier: SearchTier): Promise<HitCount> {
  const { newer, state, countOnce } = index;
  const isWhole = newer === undefined && state?.version === state?.presentVersion;
  const count = () => countLiving(index, tier, isWhole);
  return isWhole ? countOnce(JSON.stringify([state, tier.all, tier.except]), count) : count();
}

/** @param isWhole whether the index has every product of the catalog */
async function countLiving(
  { snapshot, newer, state, countOnce }: OpenIndex,
  tier: SearchTier,
  isWhole: boolean,
): Promise<HitCount> {
  const total = await snapshot.countEntries(tier);
  const countProducts = () => countOnce(String(state?.version), snapshot.countProducts);
  const dead = isWhole && state && total > FEW ? state.documents - (await countProducts()) : total;
  if (dead === 0) return { total, isExact: true };
  if (total - dead > COUNTED) return { total, isExact: false };
  const living = await snapshot.countHits({ tier, newer, limit: COUNTED + 1 });
  return living <= COUNTED ? { total: living, isExact: true } : { total, isExact: false };
}
