import type { PlacedDocument } from '../../catalog/catalog.ts';
import { COMPARISONS, type Comparable, type Operator } from '../../catalog/filters/filters.ts';
import type { ReportLine } from '../../tasks/tasks.ts';
import {
  COMPARISONS_PER_RULE,
  type RelationDefinition,
  type Side,
} from '../relation-definitions/relation-definitions.ts';
import { type BoundRule, judgeElement, type ReadValues } from '../rules/rules.ts';
import { encodeKey, encodeValue, UNMATCHED_KEY } from './index-key.ts';
import { ENTRIES_PER_PRODUCT, listProbes, type Probe, type RuleIndex } from './rule-index.ts';

/** A relation that gives answers, with the rule of its index. */
export interface ServedRelation {
  readonly id: number;
  /** The stored definition. The index may still be that of the previous definition. */
  readonly definition: RelationDefinition;
  /** The settings of the index; the stored definition may already have others. */
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  /** Whether the relation is a list of links. */
  readonly isListed: boolean;
  readonly build: number;
  readonly bound: BoundRule;
}

/**
 * A side of a relation that a product is on, with the data that the join index stores about the product.
 * Pure: the same upload and rule always give the same membership.
 */
export interface Membership {
  readonly build: number;
  readonly side: Side;
  /** The position of the product in the order of the relation: bytes in base64. */
  readonly rank: string;
  /**
   * The decisive value for each match that is not an equality: bytes in base64. If the target must be less,
   * that is the smallest value of the target and the largest of the source. For an inequality it is the only
   * value, or null if there are several.
   */
  readonly compared: readonly (string | null)[];
  /**
   * A key for each combination of values of the equalities: bytes in base64. Empty if the product can match
   * nothing.
   */
  readonly keys: readonly string[];
  /**
   * Only for a rule with an index of its own: the values that it compares, as JSON in base64. `compared` then
   * has a group of columns for each key.
   */
  readonly values?: string;
}

/** A value, or a value with its row. */
type PackedValue = Comparable | readonly [Comparable, string];

/** @returns the values that a rule with an index of its own compares, in their packed form */
export function packValues({ attributes }: RuleIndex, side: Side, read: ReadValues): string {
  const values = attributes[side].map((attribute) =>
    read(attribute).map(
      ({ comparable, row }): PackedValue => (row === undefined ? comparable : [comparable, row]),
    ),
  );
  return Buffer.from(JSON.stringify(values)).toString('base64');
}

/** @returns a function that reads the values stored with a membership */
function readValuesOf({ attributes }: RuleIndex, { side, values = '' }: Membership): ReadValues {
  const packed = JSON.parse(Buffer.from(values, 'base64').toString()) as PackedValue[][];
  return (attribute) =>
    (packed[attributes[side].indexOf(attribute)] ?? []).map((packedValue) =>
      typeof packedValue === 'object'
        ? { comparable: packedValue[0], row: packedValue[1] }
        : { comparable: packedValue },
    );
}

/** The judgement of a source and a target. Both are known to be on their sides. */
export interface PairJudgement {
  readonly holds: boolean;
  /** The attributes without a value; the pair is assumed to match by them. */
  readonly assumed: readonly string[];
}

/**
 * @returns a function that judges members of the other side. It unpacks the member's own values only once.
 */
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

/** A search in the index, as if a product with only this key were on the opposite side. */
export interface EncodedProbe {
  readonly opposite: Membership;
  readonly operators: readonly Operator[];
}

type EncodedProbes = Readonly<Record<'strict' | 'loose', readonly EncodedProbe[]>>;

const probed = new WeakMap<Membership, EncodedProbes>();

/**
 * @returns the searches that find matching members, see `Probes`. The same membership gives the same object.
 */
export function findProbes(index: RuleIndex, member: Membership): EncodedProbes {
  return probed.getOrInsertComputed(member, () => encodeProbes(index, member));
}

function encodeProbes(index: RuleIndex, member: Membership): EncodedProbes {
  const { build, side, rank } = member;
  const { strict, loose } = listProbes(index, side, readValuesOf(index, member));
  const encode = ({ key, columns, operators }: Probe): EncodedProbe => {
    const compared = Array.from({ length: index.width }, (_, column) => {
      const value = columns[column] ?? null;
      return value === null ? null : encodeValue(value).toString('base64');
    });
    const opposite = { build, side, rank, compared, keys: [encodeKey(key).toString('base64')] };
    return { opposite, operators };
  };
  return { strict: strict.map(encode), loose: loose.map(encode) };
}

/**
 * Whether a source and a target match. Both are known to be on their sides, and `operators` are those of the
 * rule's comparisons. Source: docs/interface §12.3 rule 1.
 */
export function isMatch(source: Membership, target: Membership, operators: readonly Operator[]): boolean {
  if (!source.keys.some((key) => target.keys.includes(key))) return false;
  return operators.every((operator, column) => {
    const [left, right] = [target.compared[column] ?? null, source.compared[column] ?? null];
    // Only an inequality has null here: one of several values differs from any value of the other side.
    if (left === null || right === null) return true;
    return COMPARISONS[operator](Buffer.compare(Buffer.from(left, 'base64'), Buffer.from(right, 'base64')));
  });
}

/** @returns the builds in which only the first combinations of the product's values count */
export const listCutBuilds = (memberships: readonly Membership[]): number[] => [
  ...new Set(memberships.filter(({ keys }) => keys.length >= ENTRIES_PER_PRODUCT).map(({ build }) => build)),
];

export const describeCut = (identifier: string, relationId: number): ReportLine => ({
  identifier,
  code: 'combinations_cut',
  count: ENTRIES_PER_PRODUCT,
  message: `relation ${relationId} uses only the first ${ENTRIES_PER_PRODUCT.toLocaleString('en-US')} combinations of the product's values and misses matches of the others`,
});

/** @returns the memberships in the form that is stored beside a document */
export const packMemberships = (memberships: readonly Membership[]): string =>
  JSON.stringify(
    memberships.map(({ build, side, rank, compared, keys, values }): PackedMembership => {
      const packed = [build, sideNumber(side), rank, compared, keys] as const;
      return values === undefined ? packed : [...packed, values];
    }),
  );

/** Also read in SQL: the statements of `postgres/membership-store.ts` depend on the order of the parts. */
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

/** Whether stored memberships include one on this side of the build. */
export const isMember = (packed: string, build: number, side: Side): boolean =>
  packed.includes(`[${build},${sideNumber(side)},`);

/**
 * @returns the membership on this side of the build. Only its part of the text is parsed: base64 contains no
 * brackets, so they delimit it.
 */
export function unpackMember(packed: string | readonly PackedMembership[], build: number, side: Side) {
  const packedSide = sideNumber(side);
  if (typeof packed !== 'string') {
    const entry = packed.find((candidate) => candidate[0] === build && candidate[1] === packedSide);
    return entry && toMembership(entry);
  }
  const start = packed.indexOf(`[${build},${packedSide},`);
  if (start < 0) return undefined;
  // The keys and the remaining parts follow the compared values.
  const end = [1, 2, 3].reduce((position) => packed.indexOf(']', position) + 1, start);
  return toMembership(JSON.parse(packed.slice(start, end)) as PackedMembership);
}

/** A row of the join index for a document, for both engines. */
export interface MemberRow {
  readonly build: number;
  readonly side: 0 | 1;
  readonly key: Buffer;
  readonly rank: Buffer;
  readonly productId: number;
  readonly document: number;
  readonly group: string;
  /** The values of the first of `COMPARED_COLUMNS`; the remaining columns are empty. */
  readonly compared: readonly (Buffer | null)[];
}

export const COMPARED_COLUMNS = Array.from({ length: COMPARISONS_PER_RULE }, (_, index) => `c${index + 1}`);

export const sideNumber = (side: Side): 0 | 1 => (side === 'source' ? 0 : 1);

/** A document with the id and group of its product. */
export interface GroupedDocument extends PlacedDocument {
  readonly group: string;
}

/** A document with the memberships derived for it. */
export interface PlacedRow extends GroupedDocument {
  readonly memberships: readonly Membership[];
}

const UNMATCHED = UNMATCHED_KEY.toString('base64');

/**
 * @returns a row for each key of each membership, in index order, list by list. A membership without a key
 * has a row that matches nothing. Adjacent rows take half the time of rows at random places: with 50,000
 * products and 150,000 rows, the embedded store takes 24 instead of 28 µs for each product. A larger catalog
 * saves more.
 */
export function listMembers(placed: Iterable<PlacedRow>): MemberRow[] {
  const index = new IndexRows();
  for (const row of placed) for (const membership of row.memberships) index.add(row, membership);
  return index.list();
}

/** @returns the compared values that belong to the key at this index */
function comparedAt({ compared, keys, values }: Membership, index: number): Membership['compared'] {
  if (values === undefined) return compared;
  const width = compared.length / Math.max(1, keys.length);
  return compared.slice(index * width, (index + 1) * width);
}

const compareMembers = (a: MemberRow, b: MemberRow) =>
  Buffer.compare(a.rank, b.rank) || a.productId - b.productId || a.document - b.document;

/** Rows by list. A list has the members of a side with the same key. */
class IndexRows {
  private readonly sides = new Map<number, Map<string, MemberRow[]>>();
  /**
   * Decoded bytes by their base64. Most bytes are in many rows, so a buffer for each row would be the largest
   * part of a batch.
   */
  private readonly decoded = new Map<string, Buffer>();

  add({ id: document, productId, group }: PlacedRow, membership: Membership): void {
    const { build, keys } = membership;
    const side = sideNumber(membership.side);
    const lists = this.sides.getOrInsertComputed(2 * build + side, () => new Map<string, MemberRow[]>());
    const rank = this.decode(membership.rank);
    for (const [index, name] of (keys.length === 0 ? [UNMATCHED] : keys).entries()) {
      const compared = comparedAt(membership, index).map((value) =>
        value === null ? null : this.decode(value),
      );
      const row = { build, side, key: this.decode(name), rank, productId, document, group, compared };
      const list = lists.get(name);
      if (list === undefined) lists.set(name, [row]);
      else list.push(row);
    }
  }

  list(): MemberRow[] {
    return [...this.sides.values()].flatMap((lists) =>
      [...lists.values()].flatMap((rows) => rows.sort(compareMembers)),
    );
  }

  private decode(base64: string): Buffer {
    const bytes = this.decoded.get(base64) ?? Buffer.from(base64, 'base64');
    this.decoded.set(base64, bytes);
    return bytes;
  }
}

/**
 * @param derived the group, a NUL and the stored memberships; no group contains a NUL (docs/interface §2.3)
 */
export function splitDerived(derived: string): { readonly group: string; readonly packed: string } {
  const end = derived.indexOf('\0');
  return { group: derived.slice(0, end), packed: derived.slice(end + 1) };
}
