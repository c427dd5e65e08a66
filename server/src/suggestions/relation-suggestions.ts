import {
  areComparable,
  COMPARISONS,
  type Comparable,
  compareValues,
  toCompared,
} from '../catalog/filters/filters.ts';
import { type Attribute, dimensionOf, type Ontology } from '../catalog/ontology/ontology.ts';
import { countEach } from '../kernel/count-each.ts';
import { findEdge } from '../kernel/find-edge.ts';
import { foldName, idOf, readLimit, wordsOf } from './attribute-names.ts';
import {
  type CatalogSample,
  type Category,
  type ComparedProduct,
  type ComparedValue,
  listCategories,
} from './catalog-sample.ts';
import type { RelationDraft, RelationSuggestion, SharedValue } from './suggestion-schemas.ts';

/**
 * Pairs of categories whose products share the values of an attribute: most of them, and each with few of the
 * others. In a good relation nearly every source has results, but only a few.
 */

/** Share of sources with results; an owner would not accept more without. */
const SOURCES = 0.9;
/** Share of targets with results. */
const TARGETS = 0.6;
/**
 * The largest share of all targets that one source may have: most of them for a standard such as DDR5, which half of
 * the products follow, and nearly all if products list several values. A rule that holds for all pairs means nothing.
 */
const SPREAD = { plain: 0.5, standard: 0.75, listed: 0.9, limit: 0.97 } as const;
/** The least score of a named limit, unless the limit excludes hardly anything. */
const NAMED = 0.8;
const NEARLY_ALL = 0.96;
/** The largest share of the targets that an added match may leave; a named limit is more surely meant and may leave more. */
const NARROWS = { equals: 0.8, lessOrEqual: 0.98, greaterOrEqual: 0.98 } as const;
/** The least share of the products with results that it must leave. */
const KEEPS = 0.95;
/** Largest share of products on both sides, of the smaller one. */
const OVERLAP = 0.05;
const MATCHES = 4;
/** Product visits over all tried matches: about 4 s of processor time. The largest categories come first. */
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
  return dropSiblings(dropCovered(candidates.sort(compareCandidates)))
    .slice(0, SHOWN)
    .map(describe);
}

/** Saws and sanders have a dust port of the same size because hoses do: both fit the hoses, but not each other. */
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

/** For the same products, the narrower category is more informative. */
const compareCandidates = (a: Candidate, b: Candidate) => b.score - a.score || depthOf(b) - depthOf(a);
const depthOf = ({ pair: [a, b] }: Candidate) => a.path.length + b.path.length;

/** Each pair of categories that share hardly a product once, the largest first. */
function listPairsApart(categories: readonly Category[]): Pair[] {
  return categories
    .flatMap((a, at) => categories.slice(at + 1).map((b): Pair => [a, b]))
    .filter(([a, b]) => (a.shared.get(b.path) ?? 0) <= OVERLAP * b.products.length)
    .sort((one, other) => sizeOf(other) - sizeOf(one));
}

const sizeOf = ([a, b]: Pair) => a.products.length + b.products.length;

/** The best match, with others that narrow it; the side with more partners is the source. @returns one or none */
function findBest(possible: readonly (readonly [Pair, readonly SuggestedMatch[]])[]): Candidate[] {
  return possible
    .flatMap(([pair, matches]) => narrow(pair, matches) ?? [])
    .sort((one, other) => other.matches.length - one.matches.length || compareCandidates(one, other))
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
      .filter((one) => isNarrower(one, source) && keepsMost(one, wider))
      .sort(compareCandidates)[0];
    if (more === undefined) break;
    best = more;
  }
  return best;
}

const isNarrower = ({ matches, source }: Candidate, wider: MatchedSide) =>
  source.spread <= NARROWS[matches.at(-1)?.operator ?? 'equals'] * wider.spread;

/** A limit may exclude targets that exceed it for every source. */
const keepsMost = (one: Candidate, wider: Candidate) =>
  one.source.withPartner >= KEEPS * wider.source.withPartner &&
  (one.matches.at(-1)?.operator !== 'equals' || one.target.withPartner >= KEEPS * wider.target.withPartner);

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

/** Whether a product has several values on average. */
function isListed({ values }: Category, attribute: Attribute): boolean {
  const { products = 0, byValue } = values.get(attribute) ?? {};
  const all = [...(byValue?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  return all >= 1.5 * products;
}

/** Letters with digits or capitals, as DDR5, M42, LGA 1700 and mATX: names of standards, but not of colours or materials. */
const STANDARD = /^(?=.*\p{L})(?=.*(?:\d|\p{Lu}{2}))[\p{L}\d .,/+-]{2,30}$/u;

function isStandard({ values }: Category, attribute: Attribute): boolean {
  const byValue = [...(values.get(attribute)?.byValue.keys() ?? [])];
  const named = byValue.filter((value) => typeof value === 'string' && STANDARD.test(value));
  return byValue.length > 0 && named.length * 2 > byValue.length;
}

/** A suggestion for smaller categories is redundant if larger ones do as well, or nearly. */
function dropCovered(candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(
    (one, at) =>
      !candidates.some(
        (other, place) =>
          place !== at &&
          isWithin(one.pair, other.pair) &&
          (place < at || !isWithin(other.pair, one.pair)) &&
          other.score >= 0.8 * one.score,
      ),
  );
}

/** By products: a category such as Sale holds those of others. */
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

/** The most likely kind of relation: a limit, a standard that both follow, or equal values. */
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
        .filter((one) => one.targets > 0)
        .sort((a, b) => b.sources * b.targets - a.sources * a.targets)
        .slice(0, EXAMPLES);
    });
}

const countTexts = ({ products }: Category, attribute: Attribute): Map<string, number> =>
  countEach(products.flatMap(({ values }) => (values.get(attribute) ?? []).map(({ text }) => text)));

/** Chooses the attributes of two categories to compare, before anything is counted. */

/** Share of a category's products: a rarer attribute is not what relates them. */
const HAS = 0.8;
/** Share of the categories: an attribute of more is general, such as a brand. */
const GENERAL = 0.4;
/** With fewer categories, only an attribute of all of them is general; with even fewer it cannot be told. */
const MANY = 8;
const FEW = 3;
/** The least share of values, of the side that has fewer, that must be shared. */
const SHARED = 0.3;
/** Maker, appearance and audience are often equal, but relate nothing. */
const LOOKS =
  /^(?:brand|marke|maker|manufacturer|hersteller|vendor|supplier|lieferant|colou?r|farbe|material|year|jahr|country|land|warranty|garantie|condition|zustand|suitable|for|gender|geschlecht|audience|zielgruppe|season|saison)$/;
/** Things fit by size, thread, voltage or count; weight, price and power are only equal by chance. */
const FITTING = new Set([undefined, 'length', 'voltage', 'angle']);

const shareWith = ({ values, products }: Category, attribute: Attribute): number =>
  (values.get(attribute)?.products ?? 0) / products.length;

/** The attributes that distinguish products of a category from those of others. */
interface Profile {
  /** Attributes that nearly all have. */
  readonly often: ReadonlySet<Attribute>;
  /** Attributes that many have; empty if they cannot be told from general ones. */
  readonly some: ReadonlySet<Attribute>;
  readonly lastWord: string | undefined;
}

type Profiles = ReadonlyMap<Category, Profile>;

function profileCategories(categories: readonly Category[]): Profiles {
  const leaves = categories.filter(({ isLeaf }) => isLeaf);
  const general = listGeneral(leaves);
  const having = (category: Category, share: number) =>
    [...category.values.keys()].filter((one) => !general.has(one) && shareWith(category, one) >= share);
  const profileOf = (category: Category): Profile => ({
    often: new Set(having(category, HAS)),
    some: new Set(leaves.length < MANY ? [] : having(category, HAS / 2)),
    lastWord: wordsOf(category.path.at(-1) ?? '').at(-1),
  });
  return new Map(categories.map((category) => [category, profileOf(category)]));
}

/** @returns the attributes of products of any kind; none if there are too few kinds to tell */
function listGeneral(leaves: readonly Category[]): Set<Attribute> {
  const had = leaves.flatMap((leaf) =>
    [...leaf.values.keys()].filter((one) => shareWith(leaf, one) >= HAS / 2),
  );
  const least = leaves.length < MANY ? Math.max(FEW, leaves.length) : GENERAL * leaves.length;
  return new Set([...countEach(had)].filter(([, count]) => count >= least).map(([one]) => one));
}

/** @returns matches by equal values, and by the limits that the source names */
const listMatches = (pair: Pair, profiles: Profiles): SuggestedMatch[] => [
  ...listEqual(pair, profiles),
  ...listLimits(pair, profiles),
];

function listEqual([source, target]: Pair, profiles: Profiles): SuggestedMatch[] {
  const others = [...(profiles.get(target)?.often ?? [])].filter(canFit);
  return [...(profiles.get(source)?.often ?? [])]
    .filter(canFit)
    .flatMap((one) =>
      others
        .filter(
          (other) => isSelective([one, other], [source, target]) && mayBeSame([one, other], [source, target]),
        )
        .map((other): SuggestedMatch => ({ target: other, operator: 'equals', source: one })),
    );
}

/** One attribute, or two: one a shorter form of the other (CPU socket, Socket), or with the same codes as values. */
function mayBeSame([a, b]: AttributePair, [source, target]: Pair): boolean {
  if (a === b) return true;
  if (!canCompare(a, b)) return false;
  const [wordsOfA, wordsOfB] = [new Set(wordsOf(a.name)), new Set(wordsOf(b.name))];
  if (wordsOfA.isSubsetOf(wordsOfB) || wordsOfB.isSubsetOf(wordsOfA)) return true;
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  // A list of what something fits includes others that the shop does not have.
  const isFit = [a, b].some(({ name }) => wordsOf(name).some((word) => FITS.test(word)));
  const most = isFit ? Math.min(ofSource.size, ofTarget.size) : Math.max(ofSource.size, ofTarget.size);
  if (shared.length < 0.8 * most) return false;
  if (a.type === 'NUMERIC_ATTRIBUTE') return areSizes(shared, [a, b]);
  const isWhole = shared.length === ofSource.union(ofTarget).size;
  return isStandard(source, a) && isStandard(target, b)
    ? areCodes(shared, isWhole)
    : isFit && shared.length >= 3;
}

/** Two suffice if there are no others, unless they are short like A+ and EU. */
const areCodes = (shared: readonly Comparable[], isWhole: boolean) =>
  shared.length >= 3 || (shared.length === 2 && isWhole && shared.every((code) => String(code).length > 4));

/** Words by which a name refers to the other thing. */
const FITS =
  /^(?:fits?|compatible|compatibility|accepts?|suitable|geeignet|works|stackable|mountable|kompatibel|kompatibilität|passt|passend)$/;
const SIZES = /^(?:size|diameter|größe|grösse|durchmesser)$/;

/**
 * Standard sizes are unevenly spaced, as 160, 165, 190 and 216 mm; sizes in steps of 10 mm are often equal by
 * chance. Three of them suffice if both names mention a size.
 */
function areSizes(shared: readonly Comparable[], [a, b]: AttributePair): boolean {
  if (a.unitName === undefined || shared.length < 3) return false;
  const numbers = shared.map(Number).sort((one, other) => one - other);
  const steps = numbers.slice(1).map((one, at) => one - (numbers[at] ?? 0));
  const least = Math.min(...steps);
  const isEven = steps.every((step) => Math.abs(step / least - Math.round(step / least)) < 1e-6);
  if (!isEven) return shared.length > 3;
  return [a, b].every(({ name }) => SIZES.test(wordsOf(name).at(-1) ?? ''));
}

type AttributePair = readonly [ofSource: Attribute, ofTarget: Attribute];

const keysOf = ({ values }: Category, attribute: Attribute): ReadonlySet<Comparable> =>
  new Set(values.get(attribute)?.byValue.keys());

function canFit(attribute: Attribute): boolean {
  const { type, unitName, unitAliases, name } = attribute;
  if (wordsOf(name).every((word) => LOOKS.test(word))) return false;
  if (type === 'TEXT_ATTRIBUTE' || type === 'UNTYPED_ATTRIBUTE') return true;
  if (type !== 'NUMERIC_ATTRIBUTE' || readLimit(name) !== undefined) return false;
  return unitName === undefined || FITTING.has(dimensionOf(unitName, unitAliases) ?? unitName);
}

/** A match by a limit that the name of the source's attribute states: Maximum tyre width, at least the Tyre width. */
function listLimits([source, target]: Pair, profiles: Profiles): SuggestedMatch[] {
  return [...(profiles.get(source)?.often ?? [])].flatMap((limiting) => {
    const limit = readLimit(limiting.name);
    if (limit === undefined || limit.of === '' || limiting.type !== 'NUMERIC_ATTRIBUTE') return [];
    const limited = findLimited({ limiting, of: limit.of }, target, profiles);
    const operator = limit.bound === 'most' ? 'lessOrEqual' : 'greaterOrEqual';
    return limited === undefined ? [] : [{ target: limited, operator, source: limiting }];
  });
}

/**
 * The attribute of that name, even if the limit also names the category (Maximum GPU length, the Length of GPUs); in the
 * category of that name, its only one with such numbers: Maximum memory of Memory, but not the memory of another category.
 */
function findLimited(
  { limiting, of }: { limiting: Attribute; of: string },
  target: Category,
  profiles: Profiles,
): Attribute | undefined {
  const measured = [...(profiles.get(target)?.often ?? [])].filter(
    (one) => one.type === 'NUMERIC_ATTRIBUTE' && one !== limiting && canCompare(one, limiting),
  );
  const isNamed = nameOfCategory(target) === singular(of);
  const isOthers = !isNamed && [...profiles.keys()].some((one) => nameOfCategory(one) === singular(of));
  if (isOthers) return undefined;
  const named =
    measured.find(({ name }) => foldName(name) === of) ??
    measured.find((one) => isLimitedPart({ one, of }, target, profiles));
  const hasUnit = limiting.unitName !== undefined;
  return named ?? (isNamed && hasUnit && measured.length === 1 ? measured[0] : undefined);
}

/** The other words of the limit are those of the category, or no category has that name and only this one has the attribute. */
function isLimitedPart({ one, of }: { one: Attribute; of: string }, target: Category, profiles: Profiles) {
  const own = new Set(wordsOf(one.name));
  const words = new Set(of.split(' '));
  if (own.size === 0 || !own.isSubsetOf(words)) return false;
  const others = [...words.difference(own)].map(singular);
  const wordsOfTarget = new Set(target.path.flatMap(wordsOf).map(singular));
  if (others.every((word) => wordsOfTarget.has(word))) return true;
  const all = [...profiles].filter(([category]) => category.isLeaf);
  const isCalled = all.some(([{ path }]) =>
    wordsOf(path.at(-1) ?? '')
      .map(singular)
      .some((word) => others.includes(word)),
  );
  return !isCalled && all.filter(([, { often }]) => often.has(one)).length === 1;
}

const nameOfCategory = ({ path }: Category): string => singular(foldName(path.at(-1) ?? ''));

const singular = (name: string) => name.replace(/s$/, '');

/**
 * Whether two categories hold things of one kind, by their names (wired and wireless network cards) or by
 * their attributes: a person with one does not look for the other.
 */
function areAlike([a, b]: Pair, profiles: Profiles): boolean {
  const [ofA, ofB] = [profiles.get(a), profiles.get(b)];
  if (ofA === undefined || ofB === undefined) return false;
  const shared = ofA.some.intersection(ofB.some).size;
  return ofA.lastWord === ofB.lastWord || (shared >= 2 && shared >= 0.5 * ofA.some.union(ofB.some).size);
}

/** With few values, each has half of the products unless they are standards; of many, some must be shared. No years. */
function isSelective([a, b]: AttributePair, [source, target]: Pair): boolean {
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  const isYear = (value: Comparable) => typeof value === 'number' && value >= 1900 && value <= 2100;
  const least = isStandard(source, a) && isStandard(target, b) ? 2 : 3;
  const isShared = shared.length >= least && shared.length >= SHARED * Math.min(ofSource.size, ofTarget.size);
  return isShared && !shared.every(isYear);
}

/** Counts the products of two categories that a match would relate. */

/** In terms of the target, as in a relation. */
interface SuggestedMatch {
  readonly target: Attribute;
  readonly operator: 'equals' | 'lessOrEqual' | 'greaterOrEqual';
  readonly source: Attribute;
}

interface MatchedSide {
  /** Products on this side that have a partner on the other one. */
  readonly withPartner: number;
  /** Share of all possible partners, from 0 to 1: selective matches have few. */
  readonly spread: number;
  /** Average number of partners, of products with any. */
  readonly partners: number;
  readonly alone: readonly ComparedProduct[];
}

/** The most combinations of a product's values that are tried. */
const COMBINATIONS = 16;

type Side = 'source' | 'target';

/** @returns what products of one side match on the other one; a limit is compared in addition to the equal values */
function matchSide(
  [from, to]: readonly [Category, Category],
  matches: readonly SuggestedMatch[],
  side: Side,
): MatchedSide {
  const equal = matches.filter(({ operator }) => operator === 'equals');
  const limit = matches.find(({ operator }) => operator !== 'equals');
  const index = indexSide(to.products, { equal, limit, side: side === 'source' ? 'target' : 'source' });
  const isUpper = (limit?.operator === 'lessOrEqual') === (side === 'source');
  const counts = from.products.map((product) =>
    Math.min(countPartners(product, { equal, limit, side }, { index, isUpper }), to.products.length),
  );
  const found = counts.filter((count) => count > 0);
  const partners = found.reduce((total, count) => total + count, 0) / Math.max(found.length, 1);
  return {
    withPartner: found.length,
    partners,
    spread: partners / to.products.length,
    alone: from.products.filter((_, at) => counts[at] === 0),
  };
}

/** The values of one side that are compared. */
interface Compared {
  readonly equal: readonly SuggestedMatch[];
  readonly limit: SuggestedMatch | undefined;
  readonly side: Side;
}

/** By equal values: the limited numbers, sorted, or a zero for each product. */
type SideIndex = ReadonlyMap<Comparable, Float64Array>;

function indexSide(products: readonly ComparedProduct[], compared: Compared): SideIndex {
  const numbers = new Map<Comparable, number[]>();
  for (const product of products) {
    const number = numberOf(product, compared);
    if (number === undefined) continue;
    for (const key of combine(product, compared)) numbers.getOrInsert(key, []).push(number);
  }
  return new Map([...numbers].map(([key, all]) => [key, Float64Array.from(all).sort()]));
}

/** @param others `isUpper`: the product has the upper limit of the others */
function countPartners(
  product: ComparedProduct,
  compared: Compared,
  { index, isUpper }: { readonly index: SideIndex; readonly isUpper: boolean },
): number {
  const number = numberOf(product, compared);
  if (number === undefined) return 0;
  let count = 0;
  for (const key of combine(product, compared)) {
    const others = index.get(key) ?? NO_NUMBERS;
    count += isUpper
      ? findEdge(others, (one) => one <= number)
      : others.length - findEdge(others, (one) => one < number);
  }
  return count;
}

const NO_NUMBERS = new Float64Array();

/** @returns 0 if nothing is limited, so that all are within */
function numberOf({ values }: ComparedProduct, { limit, side }: Compared): number | undefined {
  if (limit === undefined) return 0;
  const comparable = values.get(limit[side])?.[0]?.comparable;
  return typeof comparable === 'number' ? comparable : undefined;
}

/**
 * Only attributes of one kind are matched, so the keys at each place are all texts or all numbers, and no two collide.
 * @returns each combination of the values that must be equal, usually a single value; none if one is missing
 */
function combine({ values }: ComparedProduct, { equal, side }: Compared): Iterable<Comparable> {
  let keys: Comparable[] | undefined;
  for (const match of equal) {
    const its = values.get(match[side]) ?? [];
    keys = keys
      ? keys.flatMap((key) => its.map(({ comparable }) => `${key} ${JSON.stringify(comparable)}`))
      : its.map(({ comparable }) => comparable);
    if (keys.length > COMBINATIONS) keys = keys.slice(0, COMBINATIONS);
  }
  return keys && keys.length > 1 ? new Set(keys) : (keys ?? UNCOMPARED);
}

const UNCOMPARED = [''] as const;

/** @returns pairs of a source and one of its targets, up to a limit */
function listPairs([source, target]: Pair, matches: readonly SuggestedMatch[], most: number) {
  const step = Math.max(1, Math.floor(source.products.length / (most * 4)));
  const pairs = source.products
    .filter((_, at) => at % step === 0)
    .flatMap((one) => {
      const partner = target.products.find((other) => one !== other && areMatched(one, other, matches));
      return partner === undefined ? [] : [{ source: one.identifier, target: partner.identifier }];
    });
  return pairs.slice(0, most);
}

function areMatched(source: ComparedProduct, target: ComparedProduct, matches: readonly SuggestedMatch[]) {
  return matches.every(({ target: ofTarget, operator, source: ofSource }) => {
    const holds = (a: ComparedValue, b: ComparedValue) =>
      COMPARISONS[operator](compareValues(a.comparable, b.comparable));
    const others = source.values.get(ofSource) ?? [];
    return (target.values.get(ofTarget) ?? []).some((a) => others.some((b) => holds(a, b)));
  });
}

const canCompare = (a: Attribute, b: Attribute): boolean =>
  areComparable(toCompared(a, []), toCompared(b, []));
