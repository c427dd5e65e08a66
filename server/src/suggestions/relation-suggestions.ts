import {
  areComparable,
  COMPARISONS,
  type Comparable,
  compareValues,
  toCompared,
} from '../catalog/filters/filters.ts';
import { type Attribute, dimensionOf, type Ontology } from '../catalog/ontology/ontology.ts';
import { findEdge } from '../relations/search/search.ts';
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
 * Categories whose products share the values of an attribute: most of them, and each with few of the others. A good relation
 * is one that nearly every source has results in, and a few only.
 */

/** Of the sources; more would be without results than an owner accepts. */
const SOURCES = 0.9;
/** Of the targets. */
const TARGETS = 0.6;
/**
 * Of all targets that one source may have: most of them by a standard such as DDR5, which half of the products follow, and
 * nearly all where products list several values. A rule that holds for all pairs tells nothing.
 */
const SPREAD = { plain: 0.5, standard: 0.75, listed: 0.9, limit: 0.97 } as const;
/** What the names of a limit and of what it limits count for at least, unless the limit excludes hardly anything. */
const NAMED = 0.8;
const NEARLY_ALL = 0.96;
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
  return dropSiblings(dropCovered(candidates.sort(compareCandidates)))
    .slice(0, SHOWN)
    .map(describe);
}

/** Saws and sanders have a dust port of the same size because hoses do: they take the same, and not each other. */
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

/** A product has several values on average. */
function isListed({ values }: Category, attribute: Attribute): boolean {
  const { products = 0, byValue } = values.get(attribute) ?? {};
  const all = [...(byValue?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  return all >= 1.5 * products;
}

/** Letters with digits or capitals, as DDR5, M42, LGA 1700 and mATX: the names of standards, and no colours or materials. */
const STANDARD = /^(?=.*\p{L})(?=.*(?:\d|\p{Lu}{2}))[\p{L}\d .,/+-]{2,30}$/u;

function isStandard({ values }: Category, attribute: Attribute): boolean {
  const byValue = [...(values.get(attribute)?.byValue.keys() ?? [])];
  const named = byValue.filter((value) => typeof value === 'string' && STANDARD.test(value));
  return byValue.length > 0 && named.length * 2 > byValue.length;
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

/** What a relation of these matches most likely is: a limit, a standard that both follow, or values that are equal. */
function kindOf(pair: Pair, matches: readonly SuggestedMatch[]): 'limit' | 'standard' | 'equal' {
  if (matches.some(({ operator }) => operator !== 'equals')) return 'limit';
  return matches.some((match) => spreadKind(match, pair) === 'standard') ? 'standard' : 'equal';
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

/** Which attributes of two categories may be compared, before anything is counted. */

/** Of the products of a category: an attribute that fewer have is not what relates them. */
const HAS = 0.8;
/** Of the categories: an attribute of more is one of every product, such as a brand. */
const GENERAL = 0.4;
/** With fewer categories an attribute of all of them is one of every product; with even fewer there is no telling. */
const MANY = 8;
const FEW = 3;
/** Of the values of the side that has fewer, as many must be shared at least. */
const SHARED = 0.3;
/** Who made a thing, how it looks and whom it is for is often equal, and relates nothing. */
const LOOKS =
  /^(?:brand|marke|maker|manufacturer|hersteller|vendor|supplier|lieferant|colou?r|farbe|material|year|jahr|country|land|warranty|garantie|condition|zustand|suitable|for|gender|geschlecht|audience|zielgruppe|season|saison)$/;
/** Things fit by size, thread, voltage or count; weight, price and power only happen to be equal. */
const FITTING = new Set([undefined, 'length', 'voltage', 'angle']);

const shareWith = ({ values, products }: Category, attribute: Attribute): number =>
  (values.get(attribute)?.products ?? 0) / products.length;

/** The attributes by which products of a category are told from those of others. */
interface Profile {
  /** Those that nearly all have. */
  readonly often: ReadonlySet<Attribute>;
  /** Those that many have; empty where they cannot be told from those of every product. */
  readonly some: ReadonlySet<Attribute>;
  readonly lastWord: string | undefined;
}

type Profiles = ReadonlyMap<Category, Profile>;

function profileCategories(categories: readonly Category[]): Profiles {
  const leaves = categories.filter(({ isLeaf }) => isLeaf);
  const general = listGeneral(leaves);
  const having = (category: Category, share: number) =>
    [...category.values.keys()].filter((one) => !general.has(one) && shareWith(category, one) >= share);
  return new Map(
    categories.map((category) => [
      category,
      {
        often: new Set(having(category, HAS)),
        some: new Set(leaves.length < MANY ? [] : having(category, HAS / 2)),
        lastWord: wordsOf(category.path.at(-1) ?? '').at(-1),
      },
    ]),
  );
}

/** @returns the attributes of products of any kind; none where there are too few kinds to tell */
function listGeneral(leaves: readonly Category[]): Set<Attribute> {
  const counts = new Map<Attribute, number>();
  for (const leaf of leaves)
    for (const one of leaf.values.keys())
      if (shareWith(leaf, one) >= HAS / 2) counts.set(one, (counts.get(one) ?? 0) + 1);
  const least = leaves.length < MANY ? Math.max(FEW, leaves.length) : GENERAL * leaves.length;
  return new Set([...counts].filter(([, count]) => count >= least).map(([one]) => one));
}

/** @returns matches by equal values, and by the limits that the source names */
function listMatches(pair: Pair, profiles: Profiles): SuggestedMatch[] {
  return [...listEqual(pair, profiles), ...listLimits(pair, profiles)];
}

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

/** One attribute, or two of which one says the same in fewer words (CPU socket, Socket), or whose values are the same codes. */
function mayBeSame([a, b]: AttributePair, [source, target]: Pair): boolean {
  if (a === b) return true;
  if (!canCompare(a, b)) return false;
  const [wordsOfA, wordsOfB] = [new Set(wordsOf(a.name)), new Set(wordsOf(b.name))];
  if (wordsOfA.isSubsetOf(wordsOfB) || wordsOfB.isSubsetOf(wordsOfA)) return true;
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  // What something fits is a list with others that the shop does not have.
  const isFit = [a, b].some(({ name }) => wordsOf(name).some((word) => FITS.test(word)));
  const most = isFit ? Math.min(ofSource.size, ofTarget.size) : Math.max(ofSource.size, ofTarget.size);
  if (shared.length < 0.8 * most) return false;
  if (a.type === 'NUMERIC_ATTRIBUTE') return areSizes(shared, [a, b]);
  const isWhole = shared.length === ofSource.union(ofTarget).size;
  return isStandard(source, a) && isStandard(target, b)
    ? areCodes(shared, isWhole)
    : isFit && shared.length >= 3;
}

/** Two will do where there are no others, and they are no short ones as A+ and EU. */
const areCodes = (shared: readonly Comparable[], isWhole: boolean) =>
  shared.length >= 3 || (shared.length === 2 && isWhole && shared.every((code) => String(code).length > 4));

/** What a name says of the other thing. */
const FITS =
  /^(?:fits?|compatible|compatibility|accepts?|suitable|geeignet|works|stackable|mountable|kompatibel|kompatibilität|passt|passend)$/;
const SIZES = /^(?:size|diameter|größe|grösse|durchmesser)$/;

/**
 * Sizes of a standard are at no even distance, as 160, 165, 190 and 216 mm; what is made in steps of 10 mm is often equal. Three of
 * them may be, where both names speak of a size.
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
 * The attribute of that name, also where the limit names the category as well (Maximum GPU length, the Length of GPUs); in
 * the category of that name, its only one of such numbers: Maximum memory of Memory, and not the memory of another category.
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

/** The other words of the limit are those of the category, or no category is called so and this one alone has the attribute. */
function isLimitedPart(
  { one, of }: { one: Attribute; of: string },
  target: Category,
  profiles: Profiles,
): boolean {
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

const ALIKE = 0.5;

/**
 * Whether two categories hold things of one kind, by what they are called (wired and wireless network cards) or by the
 * attributes that they have: the one is not searched for to the other.
 */
function areAlike([a, b]: Pair, profiles: Profiles): boolean {
  const [ofA, ofB] = [profiles.get(a), profiles.get(b)];
  if (ofA === undefined || ofB === undefined) return false;
  const shared = ofA.some.intersection(ofB.some).size;
  return ofA.lastWord === ofB.lastWord || (shared >= 2 && shared >= ALIKE * ofA.some.union(ofB.some).size);
}

/** Of a few values each has half of the products, unless they are standards; of many some must be shared. Years are no size. */
function isSelective([a, b]: AttributePair, [source, target]: Pair): boolean {
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  const isYear = (value: Comparable) => typeof value === 'number' && value >= 1900 && value <= 2100;
  const least = isStandard(source, a) && isStandard(target, b) ? 2 : 3;
  const isShared = shared.length >= least && shared.length >= SHARED * Math.min(ofSource.size, ofTarget.size);
  return isShared && !shared.every(isYear);
}

/** How many products of two categories a match would relate. */

/** Read from the target, as in a relation. */
interface SuggestedMatch {
  readonly target: Attribute;
  readonly operator: 'equals' | 'lessOrEqual' | 'greaterOrEqual';
  readonly source: Attribute;
}

interface MatchedSide {
  /** Products of the side that have a partner on the other one. */
  readonly withPartner: number;
  /** Of all partners that they could have, from 0 to 1: selective matches have few. */
  readonly spread: number;
  /** Partners of those with any, on average. */
  readonly partners: number;
  readonly alone: readonly ComparedProduct[];
}

/** Combinations of several values of a product that are looked at. */
const COMBINATIONS = 16;

type Side = 'source' | 'target';

/** @returns what products of one side find on the other one; a limit is compared beside the equal values */
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
    ...{ withPartner: found.length, partners, spread: partners / to.products.length },
    alone: from.products.filter((_, at) => counts[at] === 0),
  };
}

/** What is compared of the products of one side. */
interface Compared {
  readonly equal: readonly SuggestedMatch[];
  readonly limit: SuggestedMatch | undefined;
  readonly side: Side;
}

/** By equal values: the numbers that are limited, in order, or as many zeros as there are products. */
type SideIndex = ReadonlyMap<Comparable, Float64Array>;

function indexSide(products: readonly ComparedProduct[], compared: Compared): SideIndex {
  const numbers = new Map<Comparable, number[]>();
  for (const product of products) {
    const number = numberOf(product, compared);
    if (number === undefined) continue;
    for (const key of combine(product, compared)) {
      const known = numbers.get(key);
      if (known === undefined) numbers.set(key, [number]);
      else known.push(number);
    }
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

/** @returns 0 where nothing is limited, so that all are within */
function numberOf({ values }: ComparedProduct, { limit, side }: Compared): number | undefined {
  if (limit === undefined) return 0;
  const comparable = values.get(limit[side])?.[0]?.comparable;
  return typeof comparable === 'number' ? comparable : undefined;
}

/**
 * Only attributes of one kind are matched, so that at each place all keys have texts or all have numbers: none stands for two.
 * @returns each combination of the values that must be equal, mostly one value as it is; none when one is missing
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

/** @returns a source and one of its targets, of up to so many */
function listPairs(
  [source, target]: readonly [Category, Category],
  matches: readonly SuggestedMatch[],
  most: number,
): { readonly source: string; readonly target: string }[] {
  const step = Math.max(1, Math.floor(source.products.length / (most * 4)));
  const pairs = source.products
    .filter((_, at) => at % step === 0)
    .flatMap((one) => {
      const partner = target.products.find((other) => one !== other && areMatched(one, other, matches));
      return partner === undefined ? [] : [{ source: one.identifier, target: partner.identifier }];
    });
  return pairs.slice(0, most);
}

function areMatched(
  source: ComparedProduct,
  target: ComparedProduct,
  matches: readonly SuggestedMatch[],
): boolean {
  return matches.every(({ target: ofTarget, operator, source: ofSource }) => {
    const holds = (a: ComparedValue, b: ComparedValue) =>
      COMPARISONS[operator](compareValues(a.comparable, b.comparable));
    const others = source.values.get(ofSource) ?? [];
    return (target.values.get(ofTarget) ?? []).some((a) => others.some((b) => holds(a, b)));
  });
}

const canCompare = (a: Attribute, b: Attribute): boolean =>
  areComparable(toCompared(a, []), toCompared(b, []));
