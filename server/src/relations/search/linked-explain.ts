import type { MatchType } from './related-search.ts';
import type { RelationView } from './related-view.ts';
import type { PairExplanation } from './relation-explain.ts';

/** Two products of which one was asked about and the other was found, or was looked for. */
interface LinkedPair {
  readonly build: number;
  readonly identifier: string;
  readonly productId: number;
  readonly matchType: MatchType;
}

/** By which product a pair is listed, and where. Source: docs/interface.md §12.6, §12.8. */
export function explainLinked(
  view: RelationView,
  { build, identifier, productId, matchType }: LinkedPair,
): PairExplanation {
  const isForward = matchType === 'FIRST_WAY';
  const linked = view.listLinked({ build, side: isForward ? 'target' : 'source', identifier });
  const found = linked.find((one) => one.productId === productId);
  const side = { holds: found !== undefined, conditions: [] };
  const by = isForward ? identifier : view.findIdentifier(productId);
  return {
    ...{ source: side, target: side, match: [] },
    listed: found === undefined ? null : { by, position: found.place + 1 },
  };
}
