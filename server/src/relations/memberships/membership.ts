import { createHash } from 'node:crypto';
import type { DerivedFrom, PlacedDocument } from '../../catalog/catalog.ts';
import {
  COMPARISONS,
  type Comparable,
  type ComparedAttribute,
  compareValues,
  type Operator,
  type OwnField,
  type ProductView,
  readComparable,
} from '../../catalog/filters/filters.ts';
import {
  attributeOf,
  type BoundRule,
  COMPARISONS_PER_RULE,
  type CompiledMatch,
  type CompiledRule,
  compileRule,
  type Side,
} from '../definitions/definitions.ts';

/**
 * On which sides of which relations a product stands, and what the join index must know of it there. Pure: the same
 * upload and the same rule give the same membership for ever.
 */
export interface Membership {
  readonly build: number;
  readonly side: Side;
  /** Bytes in base64: where the product stands in the relation's order. */
  readonly rank: string;
  /**
   * For each match that is no equality the value that decides, as bytes in base64: where the target must be less, its
   * smallest and the source's largest, and so on; of an inequality the only value, null when there are several.
   */
  readonly compared: readonly (string | null)[];
  /** Bytes in base64, one for each combination of values of the equalities; none: it can match nothing. */
  readonly keys: readonly string[];
}

/** A rule whose index is there or is being made. */
export interface BuildRule {
  readonly build: number;
  readonly bound: BoundRule;
}

/**
 * Combinations of several values in several equalities; beyond it a product's further ones are left out. One product
 * with 2,000 values of two attributes would otherwise make four million rows.
 */
const KEYS_PER_PRODUCT = 2_000;
const CACHED_VALUES = 20_000;

/** An attribute that rules use, with what its values were read as: most values of a catalog repeat. */
interface ReadAttribute {
  readonly attribute: ComparedAttribute;
  readonly read: Map<string, Comparable | undefined>;
}

type OwnAttribute = ComparedAttribute & { readonly field: OwnField };

/** The rules of one catalog, made ready to look at many products. */
export class Memberships {
  private readonly rules: readonly EncodedRule[];
  private readonly byKey = new Map<string, ReadAttribute[]>();
  /** Fields of products that rules use. */
  private readonly own: readonly OwnAttribute[];

  constructor(builds: readonly BuildRule[]) {
    const shared = new Map<string, ComparedAttribute>();
    this.rules = builds.map(({ build, bound }) => ({
      build,
      rule: compileRule({ ...bound, attributes: bound.attributes.map((one) => shareAttribute(shared, one)) }),
      ...{ ranks: new Map(), compared: new Map(), keys: new Map() },
    }));
    const matched = this.rules.flatMap(({ rule }) =>
      rule.matches.flatMap(({ source, target }) => [source, target]),
    );
    this.own = [...new Set(matched)].filter((one): one is OwnAttribute => one.field !== undefined);
    const computed = matched.filter(({ term }) => term !== undefined);
    for (const attribute of [...shared.values(), ...computed]) {
      const read = { attribute, read: new Map<string, Comparable | undefined>() };
      for (const key of attribute.keys) this.byKey.set(key, [...(this.byKey.get(key) ?? []), read]);
    }
  }

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** Keys of an upload under which rules look. */
  get keys(): ReadonlySet<string> {
    return new Set(this.byKey.keys());
  }

  /** @returns by rule, the source side first */
  of(product: DerivedFrom): Membership[] {
    return this.ofView(this.view(product));
  }

  ofView(view: ProductView): Membership[] {
    const memberships: Membership[] = [];
    for (const rule of this.rules) {
      for (const side of SIDES)
        if (rule.rule.isOn[side](view)) memberships.push(describeMember(rule, side, view));
    }
    return memberships;
  }

  view(product: DerivedFrom): ProductView {
    const { identifier, categories, attributes } = product;
    const values = new Map(
      this.own.map((own): [ComparedAttribute, Comparable[]] => [own, [product[own.field]]]),
    );
    for (const { key, value } of attributes) {
      for (const one of this.byKey.get(key) ?? []) addValue(values, one.attribute, readCached(one, value));
    }
    return {
      identifier,
      categories: categories.map(({ path }) => path),
      valuesOf: (attribute) => values.get(attribute) ?? [],
    };
  }
}

function addValue(
  values: Map<ComparedAttribute, Comparable[]>,
  attribute: ComparedAttribute,
  value: Comparable | undefined,
): void {
  if (value === undefined) return;
  const known = values.get(attribute);
  if (known === undefined) values.set(attribute, [value]);
  else known.push(value);
}

const SIDES = ['source', 'target'] as const;

/** Rules that use the same attribute in the same way share what was read of it. */
function shareAttribute(
  shared: Map<string, ComparedAttribute>,
  attribute: ComparedAttribute,
): ComparedAttribute {
  const signature = JSON.stringify(attribute);
  const known = shared.get(signature) ?? attribute;
  shared.set(signature, known);
  return known;
}

function readCached({ read, attribute }: ReadAttribute, value: string): Comparable | undefined {
  const known = read.get(value);
  if (known !== undefined || read.has(value)) return known;
  const comparable = readComparable(value, attribute);
  if (read.size >= CACHED_VALUES) read.clear();
  read.set(value, comparable);
  return comparable;
}

/** A rule with what values of its products were encoded as: most repeat, and to encode one takes a microsecond and more. */
interface EncodedRule {
  readonly build: number;
  readonly rule: CompiledRule;
  readonly ranks: KnownBytes;
  readonly compared: KnownBytes;
  readonly keys: KnownBytes;
}

/** Bytes in base64 by the value, or by the names of several values: a map has either. */
type KnownBytes = Map<Comparable | undefined, string>;

function encodeOnce(
  known: KnownBytes,
  values: readonly (Comparable | undefined)[],
  encode: () => Buffer,
): string {
  // One value is nearly always all there is: to name it would take longer than to encode it.
  const name = values.length === 1 ? values[0] : values.map(nameValue).join('\0');
  const before = known.get(name);
  if (before !== undefined) return before;
  const encoded = encode().toString('base64');
  if (known.size >= CACHED_VALUES) known.clear();
  known.set(name, encoded);
  return encoded;
}

/** No text holds a NUL, and a number is none of the texts that look like it. */
const nameValue = (value: Comparable | undefined) => (typeof value === 'string' ? `"${value}` : `${value}`);

function describeMember(encoded: EncodedRule, side: Side, view: ProductView): Membership {
  const { build, rule } = encoded;
  const { matches, equalities, comparisons, sort } = rule;
  const best = sort.map(({ attribute, direction }) => extremeOf(view.valuesOf(attribute), direction));
  const rank = encodeOnce(encoded.ranks, best, () =>
    encodeRank(best.map((value, at) => ({ value, direction: sort[at]?.direction ?? 'asc' }))),
  );
  const isMatchable = matches.every((match) => view.valuesOf(attributeOf(match, side)).length > 0);
  if (!isMatchable) return { build, side, rank, compared: [], keys: [] };
  const combined = combine(equalities.map((match) => listKeyed(match, side, view)));
  return {
    ...{ build, side, rank },
    compared: comparisons.map((match) => {
      const value = pickDecisive(view.valuesOf(attributeOf(match, side)), match.operator, side);
      return value === undefined ? null : encodeOnce(encoded.compared, [value], () => encodeValue(value));
    }),
    keys: combined.map((key) => encodeOnce(encoded.keys, key, () => encodeKey(key))),
  };
}

/** @returns the values that equal ones of the other side; those of a table stand with the source */
function listKeyed(match: CompiledMatch, side: Side, view: ProductView): readonly Comparable[] {
  const { partners } = match;
  const values = view.valuesOf(attributeOf(match, side));
  if (side === 'target' || partners === undefined) return listDistinct(values);
  return listDistinct(values.flatMap((value) => [value, ...(partners.get(value) ?? [])]));
}

const listDistinct = <Value>(values: readonly Value[]) => (values.length < 2 ? values : [...new Set(values)]);

function extremeOf(values: readonly Comparable[], direction: 'asc' | 'desc'): Comparable | undefined {
  let [best] = values;
  for (const value of values) {
    if (best === undefined) return undefined;
    const order = compareValues(value, best);
    if (direction === 'asc' ? order < 0 : order > 0) best = value;
  }
  return best;
}

/** Of several values the one that any pair could hold with, if one does. */
function pickDecisive(values: readonly Comparable[], operator: Operator, side: Side): Comparable | undefined {
  if (operator === 'notEquals') return new Set(values).size === 1 ? values[0] : undefined;
  const wantsLess = operator === 'less' || operator === 'lessOrEqual';
  return extremeOf(values, wantsLess === (side === 'target') ? 'asc' : 'desc');
}

function combine(lists: readonly (readonly Comparable[])[]): (readonly Comparable[])[] {
  if (lists.every((values) => values.length === 1)) return [lists.flat()];
  let combined: (readonly Comparable[])[] = [[]];
  for (const values of lists) {
    const longer: (readonly Comparable[])[] = [];
    for (const start of combined) for (const value of values) longer.push([...start, value]);
    combined = longer.slice(0, KEYS_PER_PRODUCT);
  }
  return combined;
}

/**
 * Whether a source and a target match, both on their sides already. `operators` are those of the rule's comparisons.
 * Source: docs/interface.md §12.3 rule 1.
 */
export function isMatch(source: Membership, target: Membership, operators: readonly Operator[]): boolean {
  if (!source.keys.some((key) => target.keys.includes(key))) return false;
  return operators.every((operator, at) => {
    const [left, right] = [target.compared[at] ?? null, source.compared[at] ?? null];
    // Only inequalities have none: several values, of which one differs from whatever the other side has.
    if (left === null || right === null) return true;
    return COMPARISONS[operator](Buffer.compare(Buffer.from(left, 'base64'), Buffer.from(right, 'base64')));
  });
}

/** Memberships as they are kept beside a product's document. */
export function packMemberships(memberships: readonly Membership[]): string {
  return JSON.stringify(memberships.map(packMembership));
}

export const packMembership = ({ build, side, rank, compared, keys }: Membership): PackedMembership => [
  build,
  side === 'source' ? 0 : 1,
  rank,
  compared,
  keys,
];

/** PostgreSQL reads it too: the statements of `postgres/search-store.ts` know the places of its parts. */
export type PackedMembership = readonly [
  number,
  0 | 1,
  string,
  readonly (string | null)[],
  readonly string[],
];

export const unpackMemberships = (packed: string): Membership[] =>
  (JSON.parse(packed) as PackedMembership[]).map(toMembership);

const toMembership = ([build, side, rank, compared, keys]: PackedMembership): Membership => ({
  build,
  side: side === 0 ? 'source' : 'target',
  rank,
  compared,
  keys,
});

/** @returns one membership; of a text only its part is parsed: no brackets stand within base64 */
export function unpackMember(
  packed: string | readonly PackedMembership[],
  build: number,
  side: Side,
): Membership | undefined {
  const place = side === 'source' ? 0 : 1;
  if (typeof packed !== 'string') {
    const found = packed.find((one) => one[0] === build && one[1] === place);
    return found && toMembership(found);
  }
  const start = packed.indexOf(`[${build},${place},`);
  if (start < 0) return undefined;
  return toMembership(JSON.parse(packed.slice(start, packed.indexOf(']]', start) + 2)) as PackedMembership);
}

/**
 * Values as bytes that a store compares from the left: equal keys are equal values, ranks and compared values sort as
 * the values do. Numbers take 8 bytes; text is UTF-8 up to a NUL, which no value holds (docs/interface.md §2.3). What an
 * index holds is bounded: a row of PostgreSQL's takes 2,704 bytes in all (nbtree, a third of a page).
 */

const PRESENT = Buffer.from([0]);
const MISSING = Buffer.from([1]);

/** The key of a product that is on the side but that no other product can match. */
export const UNMATCHED_KEY = Buffer.from([0]);
const MATCHED = Buffer.from([1]);
const HASHED = Buffer.from([2]);

/** A longer key is its SHA-256: keys are compared for equality and nothing else. */
const KEY_BYTES = 512;

/** Of a text, so much decides where a product stands; 8 sorts and the longest key then fit an index row. */
export const RANK_TEXT_BYTES = 256;

/** Of one value for each equality of a rule. */
export function encodeKey(values: readonly Comparable[]): Buffer {
  const key = Buffer.concat([MATCHED, ...values.map(encodeValue)]);
  if (key.length <= KEY_BYTES) return key;
  return Buffer.concat([HASHED, createHash('sha256').update(key).digest()]);
}

/** Where a product stands among others: its value for each sort; without one it is last, whatever the direction. */
export function encodeRank(
  values: readonly { readonly value: Comparable | undefined; readonly direction: 'asc' | 'desc' }[],
): Buffer {
  return Buffer.concat(
    values.flatMap(({ value, direction }) => {
      if (value === undefined) return [MISSING];
      const bytes = typeof value === 'number' ? encodeNumber(value) : encodeStart(value);
      if (direction === 'desc') for (let at = 0; at < bytes.length; at += 1) bytes[at] = ~(bytes[at] ?? 0);
      return [PRESENT, bytes];
    }),
  );
}

/** @returns bytes that sort as values of one kind do */
export function encodeValue(value: Comparable): Buffer {
  return typeof value === 'number' ? encodeNumber(value) : Buffer.from(`${value}\0`);
}

/** A character may be cut: bytes are compared, and never read. */
function encodeStart(text: string): Buffer {
  const bytes = encodeValue(text);
  if (bytes.length <= RANK_TEXT_BYTES + 1) return bytes;
  const cut = Buffer.from(bytes.subarray(0, RANK_TEXT_BYTES + 1));
  cut[RANK_TEXT_BYTES] = 0;
  return cut;
}

/** IEEE 754 sorts like its bits once the sign is turned round, and all bits of a negative number. */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  if (value < 0) for (let at = 0; at < 8; at += 1) bytes[at] = ~(bytes[at] ?? 0);
  else bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}

/** The rows of the join index that stand for a document, whichever store keeps them. */
export interface MemberRow {
  readonly build: number;
  readonly side: 0 | 1;
  readonly key: Buffer;
  readonly rank: Buffer;
  readonly productId: number;
  readonly document: number;
  readonly group: string;
  /** Of the first of `COMPARED_COLUMNS`; the others have none. */
  readonly compared: readonly (Buffer | null)[];
}

export const COMPARED_COLUMNS = Array.from({ length: COMPARISONS_PER_RULE }, (_, at) => `c${at + 1}`);

export const sideNumber = (side: Side): 0 | 1 => (side === 'source' ? 0 : 1);

/** What was derived for a document. */
export interface PlacedMemberships {
  readonly group: string;
  readonly memberships: readonly Membership[];
  /** The memberships as they are kept, where they are at hand. */
  readonly packed?: string;
}

/** What was derived for a document, with the document. */
export type PlacedRow = PlacedDocument & PlacedMemberships;

const UNMATCHED = UNMATCHED_KEY.toString('base64');

/**
 * @returns the row of each key of each membership, as they lie in the index, list by list; a membership without a key has a
 * row that matches nothing. A row beside the one before takes half of one at a random place: 50,000 products with 150,000
 * rows take the embedded store 24 in place of 28 µs each, and a larger catalog saves more.
 */
export function listMembers(placed: readonly PlacedRow[]): MemberRow[] {
  const index = new IndexRows();
  for (const one of placed) for (const membership of one.memberships) index.add(one, membership);
  return index.list();
}

/** Rows by the list in which they lie: the members of a side that have the same key. */
class IndexRows {
  private readonly lists = new Map<string, { readonly row: MemberRow; readonly order: string }[]>();
  private readonly keys = new Map<string, Buffer>();

  add({ id: document, productId, group }: PlacedRow, membership: Membership): void {
    const { build, side, keys } = membership;
    const rank = Buffer.from(membership.rank, 'base64');
    const order = rank.toString('latin1');
    const compared = membership.compared.map(decode);
    for (const name of keys.length === 0 ? [UNMATCHED] : keys) {
      const key = this.decodeKey(name);
      const row = { build, side: sideNumber(side), key, rank, productId, document, group, compared };
      const list = `${build} ${side} ${name}`;
      const known = this.lists.get(list);
      if (known === undefined) this.lists.set(list, [{ row, order }]);
      else known.push({ row, order });
    }
  }

  list(): MemberRow[] {
    return [...this.lists.values()].flatMap((rows) =>
      rows.sort((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order))).map(({ row }) => row),
    );
  }

  /** Many products have one key. */
  private decodeKey(name: string): Buffer {
    const key = this.keys.get(name) ?? Buffer.from(name, 'base64');
    this.keys.set(name, key);
    return key;
  }
}

const decode = (base64: string | null) => (base64 === null ? null : Buffer.from(base64, 'base64'));

/** Two lines of JSON: the group, and the memberships as they are kept. */
export function packDerived(group: string, memberships: readonly Membership[]): string {
  return memberships.length === 0 ? '' : `${JSON.stringify(group)}\n${packMemberships(memberships)}`;
}

export function unpackDerived(derived: string): PlacedMemberships & { readonly packed: string } {
  const end = derived.indexOf('\n');
  const packed = derived.slice(end + 1);
  return { group: JSON.parse(derived.slice(0, end)), memberships: unpackMemberships(packed), packed };
}
