import type { Attribute, Ontology } from '../catalog/catalog.ts';
import type { CatalogSample } from './catalog-sample.ts';
import { type Category, listCategories } from './comparable-sample.ts';
import { listPairs, type MatchedSide, matchSide, type SuggestedMatch } from './pair-matches.ts';
import { areAlike, listMatches, profileCategories } from './relation-candidates.ts';
import { idOf, type RelationDraft, type RelationSuggestion, type SharedValue } from './suggestion.ts';

/**
 * Categories whose products share the values of an attribute: most of them, and each with few of the others. A good relation
 * is one that nearly every source has results in, and a few only.
 */

/** Of the sources; more would be without results than an owner accepts. */
const SOURCES = 0.9;
/** Of the targets. */
const TARGETS = 0.6;
/** Of all targets that one source may have. */
const SPREAD = 0.5;
/** By a limit that is named, nearly all may be within it: it excludes something. */
const LIMIT_SPREAD = 0.99;
/** What the names of a limit and of what it limits count for at least, beside what they exclude. */
const NAMED = 0.8;
/** Of the targets, what a match that is added may leave at most; a limit that is named needs less to be meant. */
const NARROWS = { equals: 0.8, lessOrEqual: 0.98, greaterOrEqual: 0.98 } as const;
/** Of the products with results, what it must leave at least. */
const KEEPS = 0.95;
/** Products that are on both sides, of the smaller one. */
const OVERLAP = 0.05;
const MATCHES = 4;
/** Products looked at, over all matches that are tried: about 4 s of processor time. The largest categories come first. */
const VISITS = 1_000_000;
const SHOWN = 20;
const EXAMPLES = 5;

type Pair = readonly [source: Category, target: Category];

interface Candidate {
  readonly pair: Pair;
  readonly matches: readonly SuggestedMatch[];
  readonly source: MatchedSide;
  readonly target: MatchedSide;
  readonly score: number;
}

/** @returns the best first */
export function suggestRelations(sample: CatalogSample, ontology: Ontology): RelationSuggestion[] {
  const categories = listCategories(sample, ontology);
  const profiles = profileCategories(categories);
  const candidates: Candidate[] = [];
  let visited = 0;
  for (const pair of listPairsApart(categories)) {
    const possible = orient(pair).map((one) => [one, listMatches(one, profiles)] as const);
    const matches = possible.reduce((sum, [, ofOne]) => sum + ofOne.length, 0);
    if (matches === 0 || areAlike(pair, profiles)) continue;
    visited += matches * sizeOf(pair);
    if (visited > VISITS) break;
    candidates.push(...findBest(possible));
  }
  return dropCovered(candidates.sort(compareCandidates)).slice(0, SHOWN).map(describe);
}

const orient = ([a, b]: Pair): Pair[] => [
  [a, b],
  [b, a],
];

/** Of the same products the narrower category says more. */
const compareCandidates = (a: Candidate, b: Candidate) => b.score - a.score || depthOf(b) - depthOf(a);
const depthOf = ({ pair: [a, b] }: Candidate) => a.path.length + b.path.length;

/** Each pair once, the largest first: of categories that share hardly a product. */
function listPairsApart(categories: readonly Category[]): Pair[] {
  return categories
    .flatMap((a, at) => categories.slice(at + 1).map((b): Pair => [a, b]))
    .filter(([a, b]) => (a.shared.get(b.path) ?? 0) <= OVERLAP * b.products.length)
    .sort((one, other) => sizeOf(other) - sizeOf(one));
}

const sizeOf = ([a, b]: Pair) => a.products.length + b.products.length;

/** The best match, with others that narrow it; the side that has more partners is the source. @returns one or none */
function findBest(possible: readonly (readonly [Pair, readonly SuggestedMatch[]])[]): Candidate[] {
  return possible
    .flatMap(([pair, matches]) => narrow(pair, matches) ?? [])
    .sort((one, other) => other.matches.length - one.matches.length || compareCandidates(one, other))
    .slice(0, 1);
}

function narrow(pair: Pair, possible: readonly SuggestedMatch[]): Candidate | undefined {
  const single = possible.flatMap((match) => tryMatches(pair, [match]) ?? []);
  let best = single.sort(compareCandidates)[0];
  while (best !== undefined && best.matches.length < MATCHES) {
    const { matches, source } = best;
    const isLimited = matches.some(({ operator }) => operator !== 'equals');
    const wider: Candidate = best;
    const more = possible
      .filter((match) => !matches.includes(match) && !(isLimited && match.operator !== 'equals'))
      .flatMap((match) => tryMatches(pair, [...matches, match]) ?? [])
      .filter((one) => isNarrower(one, source) && keepsMost(one, wider))
      .sort(compareCandidates)[0];
    if (more === undefined) break;
    best = more;
  }
  return best;
}

const isNarrower = ({ matches, source }: Candidate, wider: MatchedSide) =>
  source.spread <= NARROWS[matches.at(-1)?.operator ?? 'equals'] * wider.spread;

/** A limit may leave targets alone that are beyond it for every source. */
const keepsMost = (one: Candidate, wider: Candidate) =>
  one.source.withPartner >= KEEPS * wider.source.withPartner &&
  (one.matches.at(-1)?.operator !== 'equals' || one.target.withPartner >= KEEPS * wider.target.withPartner);

function tryMatches(pair: Pair, matches: readonly SuggestedMatch[]): Candidate | undefined {
  const [from, to] = pair;
  const source = matchSide([from, to], matches, 'source');
  const target = matchSide([to, from], matches, 'target');
  const [ofSources, ofTargets] = [
    source.withPartner / from.products.length,
    target.withPartner / to.products.length,
  ];
  const hasLimit = matches.some(({ operator }) => operator !== 'equals');
  const widest = hasLimit ? LIMIT_SPREAD : SPREAD;
  if (ofSources < SOURCES || ofTargets < TARGETS || source.spread > widest) return undefined;
  const selectivity = Math.max(1 - source.spread, hasLimit ? NAMED : 0);
  return { pair, matches, source, target, score: Math.sqrt(ofSources * ofTargets) * selectivity };
}

/** Within larger categories that do as well, or nearly, a suggestion for smaller ones says nothing. */
function dropCovered(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(
    (one, at) =>
      !candidates.some(
        (other, place) =>
          place !== at &&
          isWithin(one.pair, other.pair) &&
          (place < at || !isWithin(other.pair, one.pair)) &&
          other.score >= NEARLY * one.score,
      ),
  );
}
const NEARLY = 0.8;
const PART = 0.8;

/** By products: a category such as Sale holds those of others. */
function isWithin([a, b]: Pair, [c, d]: Pair): boolean {
  const straight = isPart(a, c) && isPart(b, d);
  return straight || (isPart(a, d) && isPart(b, c));
}

const isPart = (part: Category, whole: Category) =>
  (part.shared.get(whole.path) ?? 0) >= PART * part.products.length;

function describe({ pair, matches, source, target }: Candidate): RelationSuggestion {
  const [from, to] = pair;
  const draft = draftRelation(pair, matches);
  const side = ({ path, products }: Category, { withPartner }: MatchedSide) => ({
    ...{ category: path, products: products.length, withPartner },
  });
  return {
    ...{ kind: 'relation', id: idOf('relation', [draft.source, draft.target, draft.match]), draft },
    evidence: {
      ...{ source: side(from, source), target: side(to, target) },
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

function draftRelation([from, to]: Pair, matches: readonly SuggestedMatch[]): RelationDraft {
  const [source = '', target = ''] = [from.path.at(-1), to.path.at(-1)];
  return {
    ...{ name: `${source} – ${target}`.slice(0, 255), tag: 'accessories', twoWay: true, enabled: true },
    ...{ source: { category: from.path }, target: { category: to.path } },
    match: matches.map((match) => ({
      ...{ target: match.target.name, operator: match.operator, source: match.source.name },
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
        .filter((one) => one.targets > 0)
        .sort((a, b) => b.sources * b.targets - a.sources * a.targets)
        .slice(0, EXAMPLES);
    });
}

function countTexts({ products }: Category, attribute: Attribute): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { values } of products)
    for (const { text } of values.get(attribute) ?? []) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
