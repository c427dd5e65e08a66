import type { Attribute, Ontology } from '../catalog/ontology/ontology.ts';
import { countEach } from '../kernel/count-each.ts';
import { idOf } from './attribute-names.ts';
import { type CatalogSample, type Category, listCategories } from './catalog-sample.ts';
import { areAlike, isStandard, listMatches, profileCategories } from './compared-attributes.ts';
import {
  listPairs,
  type MatchedSide,
  matchSide,
  type Pair,
  type SuggestedMatch,
} from './matched-products.ts';
import type { RelationDraft, RelationSuggestion, SharedValue } from './suggestion-schemas.ts';

/**
 * Finds pairs of categories whose products share the values of an attribute. Most products must share a
 * value, and each with few products of the other category. In a good relation nearly every source has
 * results, but only a few.
 */

/** The least share of sources with results. An owner would not accept more sources without results. */
const SOURCES = 0.9;
/** The least share of targets with results. */
const TARGETS = 0.6;
/**
 * The largest share of all targets that one source may have on average. It is high for a standard such as
 * DDR5, which half of the products follow, and higher if products list several values. A rule that holds for
 * nearly all pairs means nothing.
 */
const SPREAD = { plain: 0.5, standard: 0.75, listed: 0.9, limit: 0.97 } as const;
/**
 * The least score of a named limit that excludes some targets; a limit with a share above `NEARLY_ALL`
 * excludes hardly any.
 */
const NAMED = 0.8;
const NEARLY_ALL = 0.96;
/**
 * The largest share of the targets that may remain after a match is added. It is higher for a named limit,
 * which is more surely meant.
 */
const NARROWS = { equals: 0.8, lessOrEqual: 0.98, greaterOrEqual: 0.98 } as const;
/** The least share of the products with results that must remain after a match is added. */
const KEEPS = 0.95;
/** The largest share of products that both categories may have, of the smaller category. */
const OVERLAP = 0.05;
const MATCHES = 4;
/**
 * The most product visits over all tried matches, which take about 4 s of processor time. The largest
 * categories come first.
 */
const VISITS = 1_000_000;
const SHOWN = 20;
const EXAMPLES = 5;

interface Candidate {
  readonly pair: Pair;
  readonly matches: readonly SuggestedMatch[];
  readonly source: MatchedSide;
  readonly target: MatchedSide;
  readonly score: number;
}

/** @returns suggestions, the best first */
export function suggestRelations(sample: CatalogSample, ontology: Ontology): RelationSuggestion[] {
  const categories = listCategories(sample, ontology);
  const profiles = profileCategories(categories);
  const candidates: Candidate[] = [];
  let visited = 0;
  for (const pair of listPairsApart(categories)) {
    const possible = orient(pair).map((oriented) => [oriented, listMatches(oriented, profiles)] as const);
    const matches = possible.reduce((sum, [, ofOne]) => sum + ofOne.length, 0);
    if (matches === 0 || areAlike(pair, profiles)) continue;
    visited += matches * sizeOf(pair);
    if (visited > VISITS) break;
    candidates.push(...findBest(possible));
  }
  return dropSiblings(dropCovered(candidates.sort(compareCandidates)))
    .slice(0, SHOWN)
    .map(describe);
}

/**
 * Drops relations between siblings. Saws and sanders have a dust port of the same size because hoses do; both
 * fit hoses, but not each other.
 */
function dropSiblings(candidates: readonly Candidate[]): readonly Candidate[] {
  const ends = candidates.flatMap(({ pair: [from, to], matches }) =>
    matches
      .filter(({ source, target }) => source !== target)
      .flatMap(({ source, target }) => [
        { category: from, attribute: source, other: to },
        { category: to, attribute: target, other: from },
      ]),
  );
  const othersOf = (category: Category, attribute: Attribute) =>
    new Set(
      ends
        .filter((end) => end.category === category && end.attribute === attribute)
        .map(({ other }) => other),
    );
  const areSiblings = ([from, to]: Pair, { source, target }: SuggestedMatch) =>
    source === target && othersOf(from, source).intersection(othersOf(to, target)).size > 0;
  return candidates.filter(({ pair, matches }) => !matches.every((match) => areSiblings(pair, match)));
}

const orient = ([a, b]: Pair): Pair[] => [
  [a, b],
  [b, a],
];

/** For the same score, the narrower categories are more informative. */
const compareCandidates = (a: Candidate, b: Candidate) => b.score - a.score || depthOf(b) - depthOf(a);
const depthOf = ({ pair: [a, b] }: Candidate) => a.path.length + b.path.length;

/** Each pair of categories that have hardly any product in common, once. The largest pairs come first. */
function listPairsApart(categories: readonly Category[]): Pair[] {
  return categories
    .flatMap((a, index) => categories.slice(index + 1).map((b): Pair => [a, b]))
    .filter(([a, b]) => (a.shared.get(b.path) ?? 0) <= OVERLAP * b.products.length)
    .sort((first, second) => sizeOf(second) - sizeOf(first));
}

const sizeOf = ([a, b]: Pair) => a.products.length + b.products.length;

/**
 * Finds the best match with further matches that narrow it. The side with more partners is the source.
 * @returns one candidate or none
 */
function findBest(possible: readonly (readonly [Pair, readonly SuggestedMatch[]])[]): Candidate[] {
  return possible
    .flatMap(([pair, matches]) => narrow(pair, matches) ?? [])
    .sort((first, second) => second.matches.length - first.matches.length || compareCandidates(first, second))
    .slice(0, 1);
}

function narrow(pair: Pair, possible: readonly SuggestedMatch[]): Candidate | undefined {
  let best = possible.flatMap((match) => tryMatches(pair, [match]) ?? []).sort(compareCandidates)[0];
  while (best !== undefined && best.matches.length < MATCHES) {
    const { matches, source } = best;
    const isLimited = matches.some(({ operator }) => operator !== 'equals');
    const wider: Candidate = best;
    const more = possible
      .filter((match) => !matches.includes(match) && !(isLimited && match.operator !== 'equals'))
      .flatMap((match) => tryMatches(pair, [...matches, match]) ?? [])
      .filter((narrowed) => isNarrower(narrowed, source) && keepsMost(narrowed, wider))
      .sort(compareCandidates)[0];
    if (more === undefined) break;
    best = more;
  }
  return best;
}

const isNarrower = ({ matches, source }: Candidate, wider: MatchedSide) =>
  source.spread <= NARROWS[matches.at(-1)?.operator ?? 'equals'] * wider.spread;

/** A limit may exclude targets that exceed it for every source. */
const keepsMost = (narrowed: Candidate, wider: Candidate) =>
  narrowed.source.withPartner >= KEEPS * wider.source.withPartner &&
  (narrowed.matches.at(-1)?.operator !== 'equals' ||
    narrowed.target.withPartner >= KEEPS * wider.target.withPartner);

function tryMatches(pair: Pair, matches: readonly SuggestedMatch[]): Candidate | undefined {
  const [from, to] = pair;
  const source = matchSide([from, to], matches, 'source');
  const target = matchSide([to, from], matches, 'target');
  const ofSources = source.withPartner / from.products.length;
  const ofTargets = target.withPartner / to.products.length;
  const hasLimit = matches.some(({ operator }) => operator !== 'equals');
  const widest = Math.max(...matches.map((match) => SPREAD[spreadKind(match, pair)]));
  if (ofSources < SOURCES || ofTargets < TARGETS || source.spread > widest) return undefined;
  const isNamed = hasLimit && source.spread <= NEARLY_ALL;
  const selectivity = Math.max(1 - source.spread, isNamed ? NAMED : 0);
  return { pair, matches, source, target, score: Math.sqrt(ofSources * ofTargets) * selectivity };
}

function spreadKind({ operator, source, target }: SuggestedMatch, [from, to]: Pair): keyof typeof SPREAD {
  if (operator !== 'equals') return 'limit';
  if (isListed(from, source) || isListed(to, target)) return 'listed';
  return isStandard(from, source) && isStandard(to, target) ? 'standard' : 'plain';
}

/** Whether products have several values of the attribute on average. */
function isListed({ values }: Category, attribute: Attribute): boolean {
  const { products = 0, byValue } = values.get(attribute) ?? {};
  const all = [...(byValue?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  return all >= 1.5 * products;
}

/** Drops suggestions for smaller categories if larger ones are about as good. */
function dropCovered(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(
    (candidate, index) =>
      !candidates.some(
        (other, otherIndex) =>
          otherIndex !== index &&
          isWithin(candidate.pair, other.pair) &&
          (otherIndex < index || !isWithin(other.pair, candidate.pair)) &&
          other.score >= 0.8 * candidate.score,
      ),
  );
}

/** Compares products instead of paths, because a category such as Sale has products of others. */
function isWithin([a, b]: Pair, [c, d]: Pair): boolean {
  return (isPart(a, c) && isPart(b, d)) || (isPart(a, d) && isPart(b, c));
}

const isPart = (part: Category, whole: Category) =>
  (part.shared.get(whole.path) ?? 0) >= 0.8 * part.products.length;

function describe({ pair, matches, source, target }: Candidate): RelationSuggestion {
  const [from, to] = pair;
  const draft = draftRelation(pair, matches);
  const side = ({ path, products }: Category, { withPartner }: MatchedSide) => ({
    category: path,
    products: products.length,
    withPartner,
  });
  return {
    kind: 'relation',
    id: idOf('relation', [draft.source, draft.target, draft.match]),
    draft,
    evidence: {
      source: side(from, source),
      target: side(to, target),
      constraint: kindOf(pair, matches),
      targetsPerSource: Math.round(source.partners * 10) / 10,
      values: listShared(pair, matches),
      examples: listPairs(pair, matches, EXAMPLES),
      withoutPartner: source.alone.slice(0, EXAMPLES).map(({ identifier, values }) => ({
        identifier,
        values: matches.flatMap((match) => (values.get(match.source) ?? []).map(({ text }) => text)),
      })),
    },
  };
}

/** The most likely kind of relation: a limit, a standard that both sides follow, or equal values. */
function kindOf(pair: Pair, matches: readonly SuggestedMatch[]): 'limit' | 'standard' | 'equal' {
  if (matches.some(({ operator }) => operator !== 'equals')) return 'limit';
  return matches.some((match) => spreadKind(match, pair) === 'standard') ? 'standard' : 'equal';
}

function draftRelation([from, to]: Pair, matches: readonly SuggestedMatch[]): RelationDraft {
  const [source = '', target = ''] = [from.path.at(-1), to.path.at(-1)];
  return {
    name: `${source} – ${target}`.slice(0, 255),
    tag: 'accessories',
    twoWay: true,
    enabled: true,
    source: { category: from.path },
    target: { category: to.path },
    match: matches.map((match) => ({
      target: match.target.name,
      operator: match.operator,
      source: match.source.name,
    })),
  };
}

function listShared([from, to]: Pair, matches: readonly SuggestedMatch[]): SharedValue[] {
  return matches
    .filter(({ operator }) => operator === 'equals')
    .flatMap(({ source: attribute }) => {
      const [sources, targets] = [countTexts(from, attribute), countTexts(to, attribute)];
      return [...sources]
        .map(([value, count]) => ({
          attribute: attribute.name,
          value,
          sources: count,
          targets: targets.get(value) ?? 0,
        }))
        .filter((sharedValue) => sharedValue.targets > 0)
        .sort((a, b) => b.sources * b.targets - a.sources * a.targets)
        .slice(0, EXAMPLES);
    });
}

const countTexts = ({ products }: Category, attribute: Attribute): Map<string, number> =>
  countEach(products.flatMap(({ values }) => (values.get(attribute) ?? []).map(({ text }) => text)));
