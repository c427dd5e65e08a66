import type { DerivedFrom, PlacedDocument } from '../../catalog/catalog.ts';
import {
  COMPARISONS,
  type Comparable,
  type ComparedAttribute,
  type Operator,
  type OwnField,
  type ProductView,
  readComparable,
} from '../../catalog/filters/filters.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  attributeOf,
  type BoundRule,
  COMPARISONS_PER_RULE,
  type CompiledRule,
  compileRule,
  judgeElement,
  type ReadValues,
  readFrom,
  type Side,
} from '../definitions/definitions.ts';
import { encodeKey, encodeRank, encodeValue, UNMATCHED_KEY } from './index-key.ts';
import {
  ENTRIES_PER_PRODUCT,
  extremeOf,
  type IndexEntry,
  listEntries,
  listKeyed,
  listProbes,
  type Probe,
  pickDecisive,
  planIndex,
  type RuleIndex,
} from './rule-index.ts';

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
  /**
   * Of a rule with an index of its own: what it compares, JSON in base64. `compared` then has the columns of each
   * key, one behind another.
   */
  readonly values?: string;
}

/** A rule whose index is there or is being made. */
export interface BuildRule {
  readonly build: number;
  readonly bound: BoundRule;
}

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
      ...compileIndexed({
        ...bound,
        attributes: bound.attributes.map((one) => shareAttribute(shared, one)),
      }),
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
    const rows = new Map<ComparedAttribute, (string | undefined)[]>();
    for (const { key, value, row } of attributes) {
      for (const one of this.byKey.get(key) ?? []) {
        const count = addValue(values, one.attribute, readCached(one, value));
        if (row === undefined || count === 0) continue;
        const known = rows.get(one.attribute) ?? [];
        known[count - 1] = String(row);
        rows.set(one.attribute, known);
      }
    }
    return {
      identifier,
      categories: categories.map(({ path }) => path),
      valuesOf: (attribute) => values.get(attribute) ?? [],
      rowsOf: (attribute) => rows.get(attribute),
    };
  }
}

/** @returns how many the attribute has by now; 0 for a text that is no value of it */
function addValue(
  values: Map<ComparedAttribute, Comparable[]>,
  attribute: ComparedAttribute,
  value: Comparable | undefined,
): number {
  if (value === undefined) return 0;
  const known = values.get(attribute);
  if (known !== undefined) return known.push(value);
  values.set(attribute, [value]);
  return 1;
}

const SIDES = ['source', 'target'] as const;

function compileIndexed(bound: BoundRule): Pick<EncodedRule, 'rule' | 'index'> {
  const rule = compileRule(bound);
  return { rule, index: planIndex(rule) };
}

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
  readonly index: RuleIndex | undefined;
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
  if (encoded.index !== undefined) return describeIndexed(encoded, encoded.index, { side, rank, view });
  const isMatchable = matches.every((match) => view.valuesOf(attributeOf(match, side)).length > 0);
  if (!isMatchable) return { build, side, rank, compared: [], keys: [] };
  const combined = combine(
    equalities.map((match) => listKeyed(match, side, view.valuesOf(attributeOf(match, side)))),
  );
  return {
    ...{ build, side, rank },
    compared: comparisons.map((match) => {
      const value = pickDecisive(view.valuesOf(attributeOf(match, side)), match.operator, side);
      return value === undefined ? null : encodeOnce(encoded.compared, [value], () => encodeValue(value));
    }),
    keys: combined.map((key) => encodeOnce(encoded.keys, key, () => encodeKey(key))),
  };
}

function describeIndexed(
  encoded: EncodedRule,
  index: RuleIndex,
  { side, rank, view }: { side: Side; rank: string; view: ProductView },
): Membership {
  const read = readFrom(view);
  const entries = listEntries(index, side, read).map((entry) => encodeEntry(index, entry, encoded));
  return {
    ...{ build: encoded.build, side, rank },
    compared: entries.flatMap(({ compared }) => compared),
    keys: entries.map(({ key }) => key),
    values: packValues(index, side, read),
  };
}

/** @param known what values were encoded as */
function encodeEntry(
  { width }: RuleIndex,
  { key, columns }: IndexEntry,
  known: Pick<EncodedRule, 'keys' | 'compared'>,
) {
  return {
    key: encodeOnce(known.keys, key, () => encodeKey(key)),
    compared: Array.from({ length: width }, (_, at) => {
      const value = columns[at] ?? null;
      return value === null ? null : encodeOnce(known.compared, [value], () => encodeValue(value));
    }),
  };
}

/** A value alone, or with its row. */
type PackedValue = Comparable | readonly [Comparable, string];

function packValues({ attributes }: RuleIndex, side: Side, read: ReadValues): string {
  const values = attributes[side].map((attribute) =>
    read(attribute).map(
      ({ comparable, row }): PackedValue => (row === undefined ? comparable : [comparable, row]),
    ),
  );
  return Buffer.from(JSON.stringify(values)).toString('base64');
}

/** @returns the values of a membership, as they were when it was derived */
function readValuesOf({ attributes }: RuleIndex, { side, values = '' }: Membership): ReadValues {
  const packed = JSON.parse(Buffer.from(values, 'base64').toString()) as PackedValue[][];
  return (attribute) =>
    (packed[attributes[side].indexOf(attribute)] ?? []).map((one) =>
      typeof one === 'object' ? { comparable: one[0], row: one[1] } : { comparable: one },
    );
}

/** How a source and a target stand, both on their sides already. */
export interface PairJudgement {
  readonly holds: boolean;
  /** Attributes without a value that it holds by. */
  readonly assumed: readonly string[];
}

/** @returns a function that judges members of the other side; what the product itself has is read once */
export function createJudge(index: RuleIndex, member: Membership): (other: Membership) => PairJudgement {
  const own = readValuesOf(index, member);
  return (other) => {
    const across = readValuesOf(index, other);
    const read = member.side === 'source' ? { source: own, target: across } : { source: across, target: own };
    const assumed = new Set<string>();
    for (const element of index.rule.elements) {
      const judged = judgeElement(element, read);
      if (judged.truth < 1) return FAILS;
      for (const name of judged.assumed) assumed.add(name);
    }
    return { holds: true, assumed: [...assumed] };
  };
}

const FAILS: PairJudgement = { holds: false, assumed: [] };

/** Something to look for in the index: as if a product stood opposite that had this key alone. */
export interface EncodedProbe {
  readonly opposite: Membership;
  readonly operators: readonly Operator[];
}

interface EncodedProbes {
  readonly strict: readonly EncodedProbe[];
  readonly loose: readonly EncodedProbe[];
}

const probed = new WeakMap<Membership, EncodedProbes>();

/** @returns what finds the members that match, see `Probes`; the same for the same membership */
export function findProbes(index: RuleIndex, member: Membership): EncodedProbes {
  const known = probed.get(member) ?? encodeProbes(index, member);
  probed.set(member, known);
  return known;
}

function encodeProbes(index: RuleIndex, { build, side, rank, ...member }: Membership): EncodedProbes {
  const known = { keys: new Map(), compared: new Map() };
  const { strict, loose } = listProbes(index, side, readValuesOf(index, { build, side, rank, ...member }));
  const encode = (probe: Probe): EncodedProbe => {
    const { key, compared } = encodeEntry(index, probe, known);
    return { opposite: { build, side, rank, compared, keys: [key] }, operators: probe.operators };
  };
  return { strict: strict.map(encode), loose: loose.map(encode) };
}

function combine(lists: readonly (readonly Comparable[])[]): (readonly Comparable[])[] {
  if (lists.every((values) => values.length === 1)) return [lists.flat()];
  let combined: (readonly Comparable[])[] = [[]];
  for (const values of lists) {
    const longer: (readonly Comparable[])[] = [];
    for (const start of combined) for (const value of values) longer.push([...start, value]);
    combined = longer.slice(0, ENTRIES_PER_PRODUCT);
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

/** @returns builds in which only the first combinations of a product's values count, each once */
export const listCutBuilds = (memberships: readonly Membership[]): number[] => [
  ...new Set(memberships.filter(({ keys }) => keys.length >= ENTRIES_PER_PRODUCT).map(({ build }) => build)),
];

export const describeCut = (identifier: string, relationId: number): ReportLine => ({
  ...{ identifier, code: 'combinations_cut', count: ENTRIES_PER_PRODUCT },
  message: `relation ${relationId} takes the first ${ENTRIES_PER_PRODUCT.toLocaleString('en-US')} combinations of its values; what only others match is not found`,
});

/** Memberships as they are kept beside a product's document. */
export function packMemberships(memberships: readonly Membership[]): string {
  return JSON.stringify(memberships.map(packMembership));
}

export const packMembership = ({
  build,
  side,
  rank,
  compared,
  keys,
  values,
}: Membership): PackedMembership => {
  const packed = [build, side === 'source' ? 0 : 1, rank, compared, keys] as const;
  return values === undefined ? packed : [...packed, values];
};

/** PostgreSQL reads it too: the statements of `postgres/search-store.ts` know the places of its parts. */
export type PackedMembership = readonly [
  number,
  0 | 1,
  string,
  readonly (string | null)[],
  readonly string[],
  string?,
];

export const unpackMemberships = (packed: string): Membership[] =>
  (JSON.parse(packed) as PackedMembership[]).map(toMembership);

const toMembership = ([build, side, rank, compared, keys, values]: PackedMembership): Membership => ({
  build,
  side: side === 0 ? 'source' : 'target',
  rank,
  compared,
  keys,
  ...(values !== undefined && { values }),
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
  // Behind the values that are compared, the keys and the rest.
  const end = [1, 2, 3].reduce((at) => packed.indexOf(']', at) + 1, start);
  return toMembership(JSON.parse(packed.slice(start, end)) as PackedMembership);
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
export function listMembers(placed: Iterable<PlacedRow>): MemberRow[] {
  const index = new IndexRows();
  for (const one of placed) for (const membership of one.memberships) index.add(one, membership);
  return index.list();
}

/** @returns what is compared of the entry with the key at the place */
export function comparedAt({ compared, keys, values }: Membership, at: number): Membership['compared'] {
  if (values === undefined) return compared;
  const width = compared.length / Math.max(1, keys.length);
  return compared.slice(at * width, (at + 1) * width);
}

/** Rows by the list in which they lie: the members of a side that have the same key. */
class IndexRows {
  private readonly sides = new Map<number, Map<string, MemberRow[]>>();
  /** By their base64. Most stand in many rows: a buffer for each would be the most that a batch holds in memory. */
  private readonly decoded = new Map<string, Buffer>();

  add({ id: document, productId, group }: PlacedRow, membership: Membership): void {
    const { build, keys } = membership;
    const side = sideNumber(membership.side);
    const lists = this.sides.get(2 * build + side) ?? new Map<string, MemberRow[]>();
    this.sides.set(2 * build + side, lists);
    const rank = this.decode(membership.rank);
    for (const [at, name] of (keys.length === 0 ? [UNMATCHED] : keys).entries()) {
      const compared = comparedAt(membership, at).map((one) => (one === null ? null : this.decode(one)));
      const row = { build, side, key: this.decode(name), rank, productId, document, group, compared };
      const list = lists.get(name);
      if (list === undefined) lists.set(name, [row]);
      else list.push(row);
    }
  }

  list(): MemberRow[] {
    return [...this.sides.values()].flatMap((lists) =>
      [...lists.values()].flatMap((rows) => rows.sort((a, b) => Buffer.compare(a.rank, b.rank))),
    );
  }

  private decode(base64: string): Buffer {
    const bytes = this.decoded.get(base64) ?? Buffer.from(base64, 'base64');
    this.decoded.set(base64, bytes);
    return bytes;
  }
}

/** Two lines of JSON: the group, and the memberships as they are kept. */
export function packDerived(group: string, memberships: readonly Membership[]): string {
  return memberships.length === 0 ? '' : `${JSON.stringify(group)}\n${packMemberships(memberships)}`;
}

export function unpackDerived(derived: string): PlacedMemberships & { readonly packed: string } {
  const end = derived.indexOf('\n');
  const packed = derived.slice(end + 1);
  return { group: JSON.parse(derived.slice(0, end)), memberships: unpackMemberships(packed), packed };
}
