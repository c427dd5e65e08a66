import type { Comparable } from '../catalog/filters/filters.ts';
import type { Attribute } from '../catalog/ontology/ontology.ts';
import { dimensionOf } from '../catalog/ontology/units/units.ts';
import { countEach } from '../kernel/count-each.ts';
import { foldName, readLimit, wordsOf } from './attribute-names.ts';
import type { Category } from './catalog-sample.ts';
import { canCompare, type Pair, type SuggestedMatch } from './matched-products.ts';

/** Chooses which attributes of two categories are compared, before anything is counted. */

/**
 * The least share of a category's products that have the attribute. A rarer attribute does not relate the
 * category.
 */
const HAS = 0.8;
/** The least share of the categories that have a general attribute, such as a brand. */
const GENERAL = 0.4;
/**
 * With fewer categories than `MANY`, only an attribute of all of them is general. With fewer than `FEW`, no
 * attribute is.
 */
const MANY = 8;
const FEW = 3;
/** The least share of common values, among the values of the side that has fewer. */
const SHARED = 0.3;
/** Maker, appearance and audience are often equal, but they do not relate products. */
const LOOKS =
  /^(?:brand|marke|maker|manufacturer|hersteller|vendor|supplier|lieferant|colou?r|farbe|material|year|jahr|country|land|warranty|garantie|condition|zustand|suitable|for|gender|geschlecht|audience|zielgruppe|season|saison)$/;
/** Products fit by size, thread, voltage or count. Equal weights, prices and powers are coincidence. */
const FITTING = new Set([undefined, 'length', 'voltage', 'angle']);

const shareWith = ({ values, products }: Category, attribute: Attribute): number =>
  (values.get(attribute)?.products ?? 0) / products.length;

/** The attributes that distinguish the products of a category from those of others. */
interface Profile {
  /** Attributes that nearly all products have. */
  readonly often: ReadonlySet<Attribute>;
  /** Attributes that many products have. Empty if they cannot be distinguished from general attributes. */
  readonly some: ReadonlySet<Attribute>;
  readonly lastWord: string | undefined;
}

type Profiles = ReadonlyMap<Category, Profile>;

export function profileCategories(categories: readonly Category[]): Profiles {
  const leaves = categories.filter(({ isLeaf }) => isLeaf);
  const general = listGeneral(leaves);
  const having = (category: Category, share: number) =>
    [...category.values.keys()].filter(
      (attribute) => !general.has(attribute) && shareWith(category, attribute) >= share,
    );
  const profileOf = (category: Category): Profile => ({
    often: new Set(having(category, HAS)),
    some: new Set(leaves.length < MANY ? [] : having(category, HAS / 2)),
    lastWord: wordsOf(category.path.at(-1) ?? '').at(-1),
  });
  return new Map(categories.map((category) => [category, profileOf(category)]));
}

/** @returns the attributes that products of any kind have; none if there are too few kinds to decide */
function listGeneral(leaves: readonly Category[]): Set<Attribute> {
  const attributesOfLeaves = leaves.flatMap((leaf) =>
    [...leaf.values.keys()].filter((attribute) => shareWith(leaf, attribute) >= HAS / 2),
  );
  const least = leaves.length < MANY ? Math.max(FEW, leaves.length) : GENERAL * leaves.length;
  return new Set(
    [...countEach(attributesOfLeaves)].filter(([, count]) => count >= least).map(([attribute]) => attribute),
  );
}

/** @returns matches by equal values, and matches by the limits that attributes of the source state */
export const listMatches = (pair: Pair, profiles: Profiles): SuggestedMatch[] => [
  ...listEqual(pair, profiles),
  ...listLimits(pair, profiles),
];

function listEqual([source, target]: Pair, profiles: Profiles): SuggestedMatch[] {
  const targetAttributes = [...(profiles.get(target)?.often ?? [])].filter(canFit);
  return [...(profiles.get(source)?.often ?? [])]
    .filter(canFit)
    .flatMap((ofSource) =>
      targetAttributes
        .filter(
          (ofTarget) =>
            isSelective([ofSource, ofTarget], [source, target]) &&
            mayBeSame([ofSource, ofTarget], [source, target]),
        )
        .map((ofTarget): SuggestedMatch => ({ target: ofTarget, operator: 'equals', source: ofSource })),
    );
}

/**
 * Whether two attributes may mean the same. They are one attribute, or one name is a short form of the other
 * (CPU socket, Socket), or their values are the same codes.
 */
function mayBeSame([a, b]: AttributePair, [source, target]: Pair): boolean {
  if (a === b) return true;
  if (!canCompare(a, b)) return false;
  const [wordsOfA, wordsOfB] = [new Set(wordsOf(a.name)), new Set(wordsOf(b.name))];
  if (wordsOfA.isSubsetOf(wordsOfB) || wordsOfB.isSubsetOf(wordsOfA)) return true;
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  // A list of compatible values also has values of products that the shop does not sell.
  const isFit = [a, b].some(({ name }) => wordsOf(name).some((word) => FITS.test(word)));
  const most = isFit ? Math.min(ofSource.size, ofTarget.size) : Math.max(ofSource.size, ofTarget.size);
  if (shared.length < 0.8 * most) return false;
  if (a.type === 'NUMERIC_ATTRIBUTE') return areSizes(shared, [a, b]);
  const isWhole = shared.length === ofSource.union(ofTarget).size;
  return isStandard(source, a) && isStandard(target, b)
    ? areCodes(shared, isWhole)
    : isFit && shared.length >= 3;
}

/**
 * Letters with digits or capitals, such as DDR5, M42, LGA 1700 and mATX. Names of standards have this form,
 * and names of colours or materials do not.
 */
const STANDARD = /^(?=.*\p{L})(?=.*(?:\d|\p{Lu}{2}))[\p{L}\d .,/+-]{2,30}$/u;

export function isStandard({ values }: Category, attribute: Attribute): boolean {
  const byValue = [...(values.get(attribute)?.byValue.keys() ?? [])];
  const named = byValue.filter((value) => typeof value === 'string' && STANDARD.test(value));
  return byValue.length > 0 && named.length * 2 > byValue.length;
}

/** Two codes suffice if there are no others and they are not short like A+ and EU. */
const areCodes = (shared: readonly Comparable[], isWhole: boolean) =>
  shared.length >= 3 || (shared.length === 2 && isWhole && shared.every((code) => String(code).length > 4));

/** Words in a name that refer to the other product. */
const FITS =
  /^(?:fits?|compatible|compatibility|accepts?|suitable|geeignet|works|stackable|mountable|kompatibel|kompatibilität|passt|passend)$/;
const SIZES = /^(?:size|diameter|größe|grösse|durchmesser)$/;

/**
 * Standard sizes have uneven steps, such as 160, 165, 190 and 216 mm. Sizes in steps of 10 mm are often equal
 * by chance. Three sizes suffice if both names mention a size.
 */
function areSizes(shared: readonly Comparable[], [a, b]: AttributePair): boolean {
  if (a.unitName === undefined || shared.length < 3) return false;
  const numbers = shared.map(Number).sort((first, second) => first - second);
  const steps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));
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

/**
 * Finds limits in the names of the source's attributes. For example, the tyre width must be at most the
 * maximum tyre width.
 */
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
 * Finds the attribute that a limit names. The limit may also name the category: Maximum GPU length limits the
 * Length of GPUs. If the limit names only the category, its only attribute with such numbers is meant:
 * Maximum memory limits products of Memory, but not the memory of another category.
 */
function findLimited(
  { limiting, of }: { limiting: Attribute; of: string },
  target: Category,
  profiles: Profiles,
): Attribute | undefined {
  const measured = [...(profiles.get(target)?.often ?? [])].filter(
    (candidate) =>
      candidate.type === 'NUMERIC_ATTRIBUTE' && candidate !== limiting && canCompare(candidate, limiting),
  );
  const isNamed = nameOfCategory(target) === singular(of);
  const isOthers =
    !isNamed && [...profiles.keys()].some((category) => nameOfCategory(category) === singular(of));
  if (isOthers) return undefined;
  const named =
    measured.find(({ name }) => foldName(name) === of) ??
    measured.find((candidate) => isLimitedPart({ candidate, of }, target, profiles));
  const hasUnit = limiting.unitName !== undefined;
  return named ?? (isNamed && hasUnit && measured.length === 1 ? measured[0] : undefined);
}

/**
 * The other words of the limit must name the category. Otherwise no category may have that name, and only
 * this category may have the attribute.
 */
function isLimitedPart(
  { candidate, of }: { candidate: Attribute; of: string },
  target: Category,
  profiles: Profiles,
) {
  const own = new Set(wordsOf(candidate.name));
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
  return !isCalled && all.filter(([, { often }]) => often.has(candidate)).length === 1;
}

const nameOfCategory = ({ path }: Category): string => singular(foldName(path.at(-1) ?? ''));

const singular = (name: string) => name.replace(/s$/, '');

/**
 * Whether two categories have products of the same kind, by their names (wired and wireless network cards) or
 * by their attributes. A person who has one does not look for the other.
 */
export function areAlike([a, b]: Pair, profiles: Profiles): boolean {
  const [ofA, ofB] = [profiles.get(a), profiles.get(b)];
  if (ofA === undefined || ofB === undefined) return false;
  const shared = ofA.some.intersection(ofB.some).size;
  return ofA.lastWord === ofB.lastWord || (shared >= 2 && shared >= 0.5 * ofA.some.union(ofB.some).size);
}

/**
 * Values must distinguish products. With few values, each has many products unless the values are standards;
 * of many values, enough must be common. Years do not count.
 */
function isSelective([a, b]: AttributePair, [source, target]: Pair): boolean {
  const [ofSource, ofTarget] = [keysOf(source, a), keysOf(target, b)];
  const shared = [...ofSource.intersection(ofTarget)];
  const isYear = (value: Comparable) => typeof value === 'number' && value >= 1900 && value <= 2100;
  const least = isStandard(source, a) && isStandard(target, b) ? 2 : 3;
  const isShared = shared.length >= least && shared.length >= SHARED * Math.min(ofSource.size, ofTarget.size);
  return isShared && !shared.every(isYear);
}
