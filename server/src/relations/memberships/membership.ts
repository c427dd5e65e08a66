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

/** A relation that gives answers, with the rule that its index was made by. */
export interface ServedRelation {
  readonly id: number;
  /** As stored; the index may be that of the previous definition. */
  readonly definition: RelationDefinition;
  /** The settings that the index was made for: the definition may have others by now. */
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  /** Whether a person lists what goes with what. */
  readonly isListed: boolean;
  readonly build: number;
  readonly bound: BoundRule;
}

/**
 * On which side of which relation a product is, and what the join index must know about it. Pure: the same
 * upload and rule always give the same membership.
 */
export interface Membership {
  readonly build: number;
  readonly side: Side;
  /** Bytes in base64: the position of the product in the relation's order. */
  readonly rank: string;
  /**
   * For each match that is not an equality the decisive value, as bytes in base64: if the target must be less, its
   * smallest and the source's largest, and so on; for an inequality its only value, or null if there are several.
   */
  readonly compared: readonly (string | null)[];
  /** Bytes in base64, one for each combination of values of the equalities; empty if it can match nothing. */
  readonly keys: readonly string[];
  /**
   * For a rule with an index of its own: the values that it compares, JSON in base64. `compared` then has the
   * columns of each key in turn.
   */
  readonly values?: string;
}

/** A value, alone or with its row. */
type PackedValue = Comparable | readonly [Comparable, string];

/** @returns the values that a rule with an index of its own compares, in the form of a membership */
export function packValues({ attributes }: RuleIndex, side: Side, read: ReadValues): string {
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

/** The judgement of a source and a target that are on their sides already. */
export interface PairJudgement {
  readonly holds: boolean;
  /** Attributes without a value that it is assumed to hold by. */
  readonly assumed: readonly string[];
}

/** @returns a function that judges members of the other side; the product's own values are read once */
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

/** A search in the index, as if a product with only this key were opposite. */
export interface EncodedProbe {
  readonly opposite: Membership;
  readonly operators: readonly Operator[];
}

type EncodedProbes = Readonly<Record<'strict' | 'loose', readonly EncodedProbe[]>>;

const probed = new WeakMap<Membership, EncodedProbes>();

/** @returns the searches that find matching members, see `Probes`; the same object for the same membership */
export function findProbes(index: RuleIndex, member: Membership): EncodedProbes {
  return probed.getOrInsertComputed(member, () => encodeProbes(index, member));
}

function encodeProbes(index: RuleIndex, member: Membership): EncodedProbes {
  const { build, side, rank } = member;
  const { strict, loose } = listProbes(index, side, readValuesOf(index, member));
  const encode = ({ key, columns, operators }: Probe): EncodedProbe => {
    const compared = Array.from({ length: index.width }, (_, at) => {
      const value = columns[at] ?? null;
      return value === null ? null : encodeValue(value).toString('base64');
    });
    const opposite = { build, side, rank, compared, keys: [encodeKey(key).toString('base64')] };
    return { opposite, operators };
  };
  return { strict: strict.map(encode), loose: loose.map(encode) };
}

/**
 * Whether a source and a target match that are on their sides already. `operators` are those of the rule's
 * comparisons. Source: docs/interface §12.3 rule 1.
 */
export function isMatch(source: Membership, target: Membership, operators: readonly Operator[]): boolean {
  if (!source.keys.some((key) => target.keys.includes(key))) return false;
  return operators.every((operator, at) => {
    const [left, right] = [target.compared[at] ?? null, source.compared[at] ?? null];
    // Only inequalities lack one: of several values, one differs from whatever the other side has.
    if (left === null || right === null) return true;
    return COMPARISONS[operator](Buffer.compare(Buffer.from(left, 'base64'), Buffer.from(right, 'base64')));
  });
}

/** @returns builds in which only the first combinations of a product's values count, each once */
export const listCutBuilds = (memberships: readonly Membership[]): number[] => [
  ...new Set(memberships.filter(({ keys }) => keys.length >= ENTRIES_PER_PRODUCT).map(({ build }) => build)),
];

export const describeCut = (identifier: string, relationId: number): ReportLine => ({
  identifier,
  code: 'combinations_cut',
  count: ENTRIES_PER_PRODUCT,
  message: `relation ${relationId} takes the first ${ENTRIES_PER_PRODUCT.toLocaleString('en-US')} combinations of its values; what only others match is not found`,
});

/** Memberships in the form stored beside a product's document. */
export const packMemberships = (memberships: readonly Membership[]): string =>
  JSON.stringify(
    memberships.map(({ build, side, rank, compared, keys, values }): PackedMembership => {
      const packed = [build, sideNumber(side), rank, compared, keys] as const;
      return values === undefined ? packed : [...packed, values];
    }),
  );

/** PostgreSQL reads it too: the statements of `postgres/membership-store.ts` rely on the positions of its parts. */
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

/** Whether stored memberships include one of the side. */
export const isMember = (packed: string, build: number, side: Side): boolean =>
  packed.includes(`[${build},${sideNumber(side)},`);

/** @returns one membership; of a text only its part is parsed, as base64 contains no brackets */
export function unpackMember(packed: string | readonly PackedMembership[], build: number, side: Side) {
  const place = sideNumber(side);
  if (typeof packed !== 'string') {
    const found = packed.find((one) => one[0] === build && one[1] === place);
    return found && toMembership(found);
  }
  const start = packed.indexOf(`[${build},${place},`);
  if (start < 0) return undefined;
  // The keys and the rest follow the compared values.
  const end = [1, 2, 3].reduce((at) => packed.indexOf(']', at) + 1, start);
  return toMembership(JSON.parse(packed.slice(start, end)) as PackedMembership);
}

/** The rows of the join index for a document, in whichever store. */
export interface MemberRow {
  readonly build: number;
  readonly side: 0 | 1;
  readonly key: Buffer;
  readonly rank: Buffer;
  readonly productId: number;
  readonly document: number;
  readonly group: string;
  /** For the first of `COMPARED_COLUMNS`; the others have none. */
  readonly compared: readonly (Buffer | null)[];
}

export const COMPARED_COLUMNS = Array.from({ length: COMPARISONS_PER_RULE }, (_, at) => `c${at + 1}`);

export const sideNumber = (side: Side): 0 | 1 => (side === 'source' ? 0 : 1);

/** What members become when their products have ids. */
export interface GroupedDocument extends PlacedDocument {
  readonly group: string;
}

/** A document with what was derived for it. */
export interface PlacedRow extends GroupedDocument {
  readonly memberships: readonly Membership[];
}

const UNMATCHED = UNMATCHED_KEY.toString('base64');

/**
 * @returns the row of each key of each membership, in index order, list by list; a membership without a key has a
 * row that matches nothing. A row beside the previous one takes half the time of one at a random place: 50,000
 * products with 150,000 rows take the embedded store 24 instead of 28 µs each, and a larger catalog saves more.
 */
export function listMembers(placed: Iterable<PlacedRow>): MemberRow[] {
  const index = new IndexRows();
  for (const one of placed) for (const membership of one.memberships) index.add(one, membership);
  return index.list();
}

/** @returns the compared values of the entry with the key at the index */
function comparedAt({ compared, keys, values }: Membership, at: number): Membership['compared'] {
  if (values === undefined) return compared;
  const width = compared.length / Math.max(1, keys.length);
  return compared.slice(at * width, (at + 1) * width);
}

const compareMembers = (a: MemberRow, b: MemberRow) =>
  Buffer.compare(a.rank, b.rank) || a.productId - b.productId || a.document - b.document;

/** Rows by the list that they belong to: the members of a side with the same key. */
class IndexRows {
  private readonly sides = new Map<number, Map<string, MemberRow[]>>();
  /** By their base64. Most are in many rows, and a buffer for each would be the largest part of a batch in memory. */
  private readonly decoded = new Map<string, Buffer>();

  add({ id: document, productId, group }: PlacedRow, membership: Membership): void {
    const { build, keys } = membership;
    const side = sideNumber(membership.side);
    const lists = this.sides.getOrInsertComputed(2 * build + side, () => new Map<string, MemberRow[]>());
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
      [...lists.values()].flatMap((rows) => rows.sort(compareMembers)),
    );
  }

  private decode(base64: string): Buffer {
    const bytes = this.decoded.get(base64) ?? Buffer.from(base64, 'base64');
    this.decoded.set(base64, bytes);
    return bytes;
  }
}

/** @param derived the group, a NUL and the stored memberships: no group contains a NUL (docs/interface §2.3) */
export function splitDerived(derived: string): { readonly group: string; readonly packed: string } {
  const end = derived.indexOf('\0');
  return { group: derived.slice(0, end), packed: derived.slice(end + 1) };
}
