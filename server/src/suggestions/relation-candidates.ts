import { type Attribute, type Comparable, dimensionOf } from '../catalog/catalog.ts';
import { foldName, readLimit, wordsOf } from './attribute-names.ts';
import type { Category } from './comparable-sample.ts';
import { canCompare, type SuggestedMatch } from './pair-matches.ts';

/** Which attributes of two categories may be compared, before anything is counted. */

/** Of the products of a category: an attribute that fewer have is not what relates them. */
const HAS = 0.8;
/** Of the categories: an attribute of more is one of every product, such as a brand. */
const GENERAL = 0.4;
/** With fewer categories an attribute of all of them is one of every product; with even fewer nobody can tell. */
const MANY = 8;
const FEW = 3;
const DISTINCT = 60;
/** Things fit by size, thread, voltage or count; weight, price and power only happen to be equal. */
const FITTING = new Set([undefined, 'length', 'voltage', 'angle']);

const shareWith = ({ values, products }: Category, attribute: Attribute): number =>
  (values.get(attribute)?.products ?? 0) / products.length;

/** The attributes by which products of a category are told from those of others. */
export interface Profile {
  /** Those that nearly all have. */
  readonly often: ReadonlySet<Attribute>;
  /** Those that many have; empty where nobody can tell them from those of every product. */
  readonly some: ReadonlySet<Attribute>;
  readonly lastWord: string | undefined;
}

export type Profiles = ReadonlyMap<Category, Profile>;
type Pair = readonly [source: Category, target: Category];

export function profileCategories(categories: readonly Category[]): Profiles {
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
export function listMatches(pair: Pair, profiles: Profiles): SuggestedMatch[] {
  return [...listEqual(pair, profiles), ...listLimits(pair, profiles)];
}

function listEqual([source, target]: Pair, profiles: Profiles): SuggestedMatch[] {
  const others = profiles.get(target)?.often;
  return [...(profiles.get(source)?.often ?? [])]
    .filter((one) => others?.has(one) && canFit(one) && isSelective(one, [source, target]))
    .map((one): SuggestedMatch => ({ target: one, operator: 'equals', source: one }));
}

function canFit(attribute: Attribute): boolean {
  const { type, unitName, unitAliases, name } = attribute;
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

/** The attribute of that name; in the category of that name, its only one of such numbers: Maximum memory of Memory. */
function findLimited(
  { limiting, of }: { limiting: Attribute; of: string },
  target: Category,
  profiles: Profiles,
): Attribute | undefined {
  const measured = [...(profiles.get(target)?.often ?? [])].filter(
    (one) => one.type === 'NUMERIC_ATTRIBUTE' && one !== limiting && canCompare(one, limiting),
  );
  const named = measured.find(({ name }) => foldName(name) === of);
  const isNamed = singular(foldName(target.path.at(-1) ?? '')) === singular(of);
  const hasUnit = limiting.unitName !== undefined;
  return named ?? (isNamed && hasUnit && measured.length === 1 ? measured[0] : undefined);
}

const singular = (name: string) => name.replace(/s$/, '');

const ALIKE = 0.5;

/**
 * Whether two categories hold things of one kind, by what they are called (wired and wireless network cards) or by the
 * attributes that they have: nobody looks for the one to the other.
 */
export function areAlike([a, b]: Pair, profiles: Profiles): boolean {
  const [ofA, ofB] = [profiles.get(a), profiles.get(b)];
  if (ofA === undefined || ofB === undefined) return false;
  const shared = ofA.some.intersection(ofB.some).size;
  return ofA.lastWord === ofB.lastWord || (shared >= 2 && shared >= ALIKE * ofA.some.union(ofB.some).size);
}

/** Of a few values each has half of the products; of many hardly two have one in common. Years are no size. */
function isSelective(attribute: Attribute, [source, target]: Pair): boolean {
  const [ofSource, ofTarget] = [source, target].map(({ values }) => values.get(attribute)?.byValue);
  if (ofSource === undefined || ofTarget === undefined) return false;
  if (ofSource.size > DISTINCT && ofTarget.size > DISTINCT) return false;
  const shared = [...ofSource.keys()].filter((value) => ofTarget.has(value));
  const isYear = (value: Comparable) => typeof value === 'number' && value >= 1900 && value <= 2100;
  return shared.length >= 3 && shared.length <= DISTINCT && !shared.every(isYear);
}
