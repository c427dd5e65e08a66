import type { DerivedBatch, DerivedFrom, DerivedSource } from '../../catalog/catalog.ts';
import type { Comparable, ComparedAttribute, Operator, ProductTest } from '../../catalog/filters/filters.ts';
import type { DerivedColumns, ProductPacker } from '../../catalog/products/documents/documents.ts';
import { SIDES, type Side } from '../relation-definitions/relation-definitions.ts';
import {
  attributeOf,
  type BoundRule,
  type CompiledMatch,
  type CompiledRule,
  compileRule,
  type ReadValues,
  readFrom,
} from '../rules/rules.ts';
import { encodeKey, encodeRank, encodeValue } from './index-key.ts';
import { createColumns, type DescribedMember, SideMembers } from './member-columns.ts';
import { type Membership, packValues } from './membership.ts';
import { type LookedAt, NO_NUMBERS, NumberedProduct, type ReadAttribute } from './numbered-product.ts';
import { Encodings, NONE, Tuples, UNKNOWN, weigh } from './numbering.ts';
import {
  ENTRIES_PER_PRODUCT,
  extremeOf,
  listEntries,
  listKeyed,
  pickDecisive,
  planIndex,
  type RuleIndex,
} from './rule-index.ts';

/** A rule whose index is complete or being built. */
export interface BuildRule {
  readonly build: number;
  readonly bound: BoundRule;
}

/**
 * How many numbers the values of a catalog may take before numbering starts again. A long text counts as
 * several.
 */
const MOST_NUMBERS = 100_000;

/**
 * The rules of one catalog, prepared for many products. They derive the sides of relations that a product is
 * on, and the data that the join index stores about it. Pure: the same upload and rule always give the same
 * result.
 */
export class Memberships {
  private readonly rules: readonly CompiledBuild[];
  private current: NumberedRules | undefined;

  constructor(builds: readonly BuildRule[]) {
    const shared = new Map<string, ComparedAttribute>();
    this.rules = builds.map(({ build, bound }) => {
      // Rules that use an attribute in the same way share its read values.
      const attributes = bound.attributes.map((attribute) =>
        shared.getOrInsert(JSON.stringify(attribute), attribute),
      );
      const rule = compileRule({ ...bound, attributes });
      return { build, rule, index: planIndex(rule), attributes };
    });
  }

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** The upload keys that the rules read. */
  get keys(): ReadonlySet<string> {
    return this.numbered.product.keys;
  }

  /** @returns the memberships by rule, with the source side first */
  of(product: DerivedFrom): Membership[] {
    const { sides, product: view } = this.numbered;
    view.look(view.openOne(product), 0);
    return sides.filter(({ test }) => test(view)).map((side) => side.describe(view).toMembership());
  }

  /** @param report receives products for which only the first combinations of values count in a build */
  openBatch(source: DerivedSource, report: Report): DerivedBatch {
    return new MembershipBatch(this.numbered, source, report);
  }

  /** Replaced only between batches, because a batch needs the same numbers until its end. */
  private get numbered(): NumberedRules {
    if (this.current === undefined || this.current.size > MOST_NUMBERS)
      this.current = new NumberedRules(this.rules);
    return this.current;
  }
}

type Report = (identifier: string, build: number) => void;

interface CompiledBuild {
  readonly build: number;
  readonly rule: CompiledRule;
  readonly index: RuleIndex | undefined;
  readonly attributes: readonly ComparedAttribute[];
}

/** The rules, with numbers for the values that have been read and encoded. */
class NumberedRules {
  readonly sides: readonly RuleSide[];
  readonly product: NumberedProduct;
  private readonly sized: readonly { readonly size: number }[];

  constructor(rules: readonly CompiledBuild[]) {
    this.product = new NumberedProduct(rules.flatMap(({ rule, attributes }) => listRead(rule, attributes)));
    const read = this.product.attributes;
    const compared = new Encodings();
    const ranks = new Map<string, Encodings>();
    this.sides = rules.flatMap((compiled) => {
      // Relations with the same sorting share the numbers of their ranks.
      const shared = ranks.getOrInsertComputed(JSON.stringify(compiled.rule.sort), () => new Encodings());
      return SIDES.map((side) => new RuleSide(compiled, side, { read, ranks: shared, compared }));
    });
    this.sized = [...read.values(), compared, ...ranks.values(), ...this.sides.map(({ keys }) => keys)];
  }

  get size(): number {
    return this.sized.reduce((sum, { size }) => sum + size, 0);
  }
}

/** @returns all attributes that a rule reads; a computed value counts as an attribute of its own */
export const listRead = (
  { matches }: CompiledRule,
  attributes: readonly ComparedAttribute[],
): ComparedAttribute[] => [...attributes, ...matches.flatMap(({ source, target }) => [source, target])];

interface Equality {
  readonly match: CompiledMatch;
  readonly read: ReadAttribute;
  /** Whether a value equals only itself, because no table applies to this side. */
  readonly isOwn: boolean;
}

/**
 * One side of a rule. `describe` fills the fields with the membership of the current product, until the next
 * call.
 */
class RuleSide implements DescribedMember {
  readonly build: number;
  readonly width: number;
  readonly test: ProductTest;
  readonly ranks: Encodings;
  readonly compared: Encodings;
  readonly keys = new Encodings();
  readonly side: Side;
  private readonly index: RuleIndex | undefined;
  /** All attributes that the rule reads of a product. */
  readonly reads: readonly ReadAttribute[];
  private readonly matched: readonly ReadAttribute[];
  private readonly equalities: readonly Equality[];
  private readonly comparisons: readonly { readonly read: ReadAttribute; readonly operator: Operator }[];
  private readonly sorts: readonly { readonly read: ReadAttribute; readonly direction: 'asc' | 'desc' }[];
  private readonly rankTuples = new Tuples();
  private readonly keyTuples = new Tuples();
  readonly step: number;
  /** Numbers of the keys of an index of its own, by their components. */
  private readonly named = new Map<string, number>();
  private readonly comparedValues = new Map<Comparable, number>();
  private readonly head: Buffer;
  // Overwritten for each member, because a list that is emptied and refilled takes new memory each time.
  private readonly rankTuple: number[];
  private readonly keyTuple: number[];
  private readonly decided: number[];
  /** The key list of a member with a single key, which nearly all members have. */
  private readonly only = [0];

  /** The member that `describe` derived last. */
  rank = 0;
  memberKeys: readonly number[] = NO_NUMBERS;
  memberCompared: readonly number[] = NO_NUMBERS;
  values: string | undefined;

  constructor(
    { build, rule, index, attributes }: CompiledBuild,
    side: Side,
    parts: { read: NumberedProduct['attributes']; ranks: Encodings; compared: Encodings },
  ) {
    const readOf = (attribute: ComparedAttribute) => parts.read.get(attribute) as ReadAttribute;
    const sideOf = (match: CompiledMatch) => readOf(attributeOf(match, side));
    this.build = build;
    this.side = side;
    this.index = index;
    this.step = index?.width ?? 0;
    this.test = rule.isOn[side];
    this.ranks = parts.ranks;
    this.compared = parts.compared;
    this.width = index?.width ?? rule.comparisons.length;
    this.reads = listRead(rule, attributes).map(readOf);
    this.matched = rule.matches.map(sideOf);
    this.equalities = rule.equalities.map((match) => ({
      match,
      read: sideOf(match),
      isOwn: side === 'target' || match.partners === undefined,
    }));
    this.comparisons = rule.comparisons.map((match) => ({ read: sideOf(match), operator: match.operator }));
    this.sorts = rule.sort.map(({ attribute, direction }) => ({ read: readOf(attribute), direction }));
    this.rankTuple = this.sorts.map(() => NONE);
    this.keyTuple = this.equalities.map(() => NONE);
    this.decided = this.comparisons.map(() => NONE);
    this.head = Buffer.from(`[${build},${side === 'source' ? 0 : 1},`);
  }

  /** @param product a view of the current product */
  describe(product: NumberedProduct): this {
    product.read();
    this.rank = this.findRank();
    this.memberKeys = NO_NUMBERS;
    this.memberCompared = NO_NUMBERS;
    if (this.index !== undefined) this.describeEntries(this.index, readFrom(product));
    else if (this.matched.every(({ present }) => present.length > 0)) this.describeMatches();
    return this;
  }

  private findRank(): number {
    const { rankTuple, sorts } = this;
    for (let index = 0; index < sorts.length; index += 1) {
      const { read, direction } = sorts[index] as (typeof sorts)[number];
      const { present } = read;
      const best = present.length < 2 ? present[0] : read.pick((values) => extremeOf(values, direction));
      rankTuple[index] = (best ?? NONE) + 1;
    }
    const rank = this.rankTuples.find(rankTuple);
    if (rank !== UNKNOWN) return rank;
    const values = sorts.map(({ read, direction }, index) => ({
      direction,
      value: read.values[(rankTuple[index] as number) - 1],
    }));
    return this.rankTuples.keep(this.ranks.add(encodeRank(values)));
  }

  private describeMatches(): void {
    const { comparisons, decided } = this;
    for (let index = 0; index < comparisons.length; index += 1) {
      const { read, operator } = comparisons[index] as (typeof comparisons)[number];
      const { present } = read;
      const decisive =
        present.length === 1 ? present[0] : read.pick((values) => pickDecisive(values, operator, this.side));
      decided[index] = decisive === undefined ? NONE : read.encode(decisive, this.compared);
    }
    this.memberCompared = decided;
    this.memberKeys = this.listKeys();
  }

  private listKeys(): readonly number[] {
    const { keyTuple, equalities, only } = this;
    for (let index = 0; index < equalities.length; index += 1) {
      const list = this.listEqual(equalities[index] as Equality);
      if (list.length > 1)
        return combine(equalities.map((equality) => this.listEqual(equality))).map((key) =>
          this.findKey(key),
        );
      keyTuple[index] = list[0] as number;
    }
    only[0] = this.findKey(keyTuple);
    return only;
  }

  /** @returns the numbers of the values that count as equal for the other side */
  private listEqual({ read, match, isOwn }: Equality): readonly number[] {
    if (isOwn && read.present.length < 2) return read.present;
    return listKeyed(match, this.side, read.list()).map((value) => read.numberOf(value));
  }

  private findKey(key: readonly number[]): number {
    const keyNumber = this.keyTuples.find(key);
    if (keyNumber !== UNKNOWN) return keyNumber;
    const values = key.map((number, index) => this.equalities[index]?.read.values[number] as Comparable);
    return this.keyTuples.keep(this.keys.add(encodeKey(values)));
  }

  private describeEntries(index: RuleIndex, read: ReadValues): void {
    const entries = listEntries(index, this.side, read);
    this.memberKeys = entries.map(({ key }) => this.findNamed(key));
    this.memberCompared = entries.flatMap(({ columns }) =>
      Array.from({ length: this.width }, (_, column) => this.findCompared(columns[column] ?? null)),
    );
    this.values = packValues(index, this.side, read);
  }

  private findNamed(key: readonly Comparable[]): number {
    const name = key.map(nameValue).join('\0');
    return this.named.getOrInsertComputed(name, () => {
      this.keys.size += weigh(name);
      return this.keys.add(encodeKey(key));
    });
  }

  private findCompared(value: Comparable | null): number {
    if (value === null) return NONE;
    return this.comparedValues.getOrInsertComputed(value, (comparable) =>
      this.compared.add(encodeValue(comparable)),
    );
  }

  toMembership(): Membership {
    const { build, side, memberKeys, memberCompared, values } = this;
    return {
      build,
      side,
      rank: this.ranks.base64(this.rank),
      compared: memberCompared.map((number) => (number === NONE ? null : this.compared.base64(number))),
      keys: memberKeys.map((number) => this.keys.base64(number)),
      ...(values !== undefined && { values }),
    };
  }

  /** Writes the membership in the form of `packMemberships`. */
  write(into: ProductPacker): void {
    const { values } = this;
    put(this.head, into);
    this.ranks.quote(this.rank, into);
    put(COMPARED, into);
    addQuoted(this.memberCompared, this.compared, into);
    put(KEYS, into);
    addQuoted(this.memberKeys, this.keys, into);
    put(values === undefined ? END : Buffer.from(`],"${values}"]`), into);
  }
}

const [COMMA, NULL, COMPARED] = [Buffer.from(','), Buffer.from('null'), Buffer.from(',[')];
const [KEYS, END] = [Buffer.from('],['), Buffer.from(']]')];

const put = (text: Buffer, into: ProductPacker) => into.addBytes(text, 0, text.length);

/** NUL separates the values, because no text contains it. A quote distinguishes a text from a number. */
const nameValue = (value: Comparable) => (typeof value === 'string' ? `"${value}` : `${value}`);

function addQuoted(numbers: readonly number[], encodings: Encodings, into: ProductPacker): void {
  for (let index = 0; index < numbers.length; index += 1) {
    const number = numbers[index] as number;
    if (index > 0) put(COMMA, into);
    if (number === NONE) put(NULL, into);
    else encodings.quote(number, into);
  }
}

function combine(lists: readonly (readonly number[])[]): (readonly number[])[] {
  let combined: (readonly number[])[] = [[]];
  for (const numbers of lists)
    combined = combined
      .flatMap((start) => numbers.map((number) => [...start, number]))
      .slice(0, ENTRIES_PER_PRODUCT);
  return combined;
}

/** A side that products with certain categories may be on. */
interface Candidate {
  readonly side: RuleSide;
  readonly members: SideMembers;
  /** Whether the categories alone decide that the products are on the side. */
  readonly isCertain: boolean;
}

interface Candidates {
  readonly candidates: readonly Candidate[];
  /**
   * The attributes that the rules read, usually half of 13 attributes. Reading all 13 takes a quarter of
   * the time of deriving.
   */
  readonly read: ReturnType<LookedAt['choose']>;
}

/** Derives the memberships of the products of one body. */
class MembershipBatch implements DerivedBatch {
  private readonly numbered: NumberedRules;
  private readonly source: LookedAt;
  private readonly report: Report;
  private readonly members: readonly SideMembers[];
  /**
   * Candidates by categories. Most filters have only conditions on categories, and most products share their
   * categories.
   */
  private readonly candidates = new Map<DerivedFrom['categories'], Candidates>();

  constructor(numbered: NumberedRules, source: DerivedSource, report: Report) {
    this.numbered = numbered;
    this.source = numbered.product.open(source);
    this.report = report;
    this.members = numbered.sides.map((side) => new SideMembers(side));
  }

  add(row: number, batchRow: number, into: ProductPacker): void {
    const { numbered, source } = this;
    numbered.product.look(source, row);
    const { candidates, read } = this.findCandidates(source.categoriesOf(row));
    numbered.product.choose(read);
    const { product } = numbered;
    let isAny = false;
    let cut: number | undefined;
    for (const { side, members, isCertain } of candidates) {
      if (!isCertain && !side.test(product)) continue;
      members.add(batchRow, side.describe(product));
      if (isAny) put(COMMA, into);
      else into.addText(`${source.readOwn(row, 'groupIdentifier')}\0[`);
      isAny = true;
      side.write(into);
      if (side.memberKeys.length < ENTRIES_PER_PRODUCT || side.build === cut) continue;
      cut = side.build;
      this.report(source.readOwn(row, 'identifier'), cut);
    }
    if (isAny) into.addText(']');
  }

  finish(): DerivedColumns | undefined {
    return createColumns(this.members);
  }

  private findCandidates(categories: DerivedFrom['categories']): Candidates {
    const cached = this.candidates.get(categories);
    if (cached !== undefined) return cached;
    const { sides, product } = this.numbered;
    const candidates = sides.flatMap((side, index): Candidate[] => {
      product.isInspected = false;
      const isOn = side.test(product);
      if (!isOn && !product.isInspected) return [];
      return [{ side, members: this.members[index] as SideMembers, isCertain: !product.isInspected }];
    });
    const read = this.source.choose(new Set(candidates.flatMap(({ side }) => side.reads)));
    const sideCandidates = { candidates, read };
    this.candidates.set(categories, sideCandidates);
    return sideCandidates;
  }
}
