import type { DerivedColumns } from '../../catalog/products/documents/documents.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import { UNMATCHED_KEY } from './index-key.ts';
import { type GroupedDocument, sideNumber } from './membership.ts';
import { type Encodings, NONE, Numbers } from './numbering.ts';

/**
 * The members of a batch in index order (build, side, key, rank, product), packed for the transfer from the
 * deriving to the writing thread. A list is the members of one side with one key. Each list of the batch
 * occurs once.
 */
export interface MemberColumns extends DerivedColumns {
  /**
   * Five numbers for each list: build, side (0 source, 1 target), key, number of compared columns, number of
   * members.
   */
  readonly lists: Uint32Array<ArrayBuffer>;
  /**
   * For each member, list by list: the row of its product in the batch, its rank and its compared values (0
   * if missing). Members of equal rank are in the order of their rows, because their products have no ids
   * before they are written.
   */
  readonly members: Uint32Array<ArrayBuffer>;
  /**
   * Keys, ranks and compared values have numbers from 1. Number n occupies `bytes` from `ends[n - 1]` to
   * `ends[n]`.
   */
  readonly ends: Uint32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const LIST_NUMBERS = 5;
/** How many numbers a member has before its compared values: the row and the rank. */
export const MEMBER_NUMBERS = 2;

/**
 * @param documents the documents by row; every row with members has one
 * @returns the lists. `width` is the number of compared columns, and `positions` are the start offsets of the
 * members by rank and product.
 */
export function* placeLists({ lists, members }: MemberColumns, documents: readonly GroupedDocument[]) {
  let start = 0;
  for (let list = 0; list < lists.length; list += LIST_NUMBERS) {
    const numbers = lists.subarray(list, list + LIST_NUMBERS) as Iterable<number>;
    const [build, side, key, width, count] = numbers as [number, 0 | 1, number, number, number];
    const size = MEMBER_NUMBERS + width;
    const numberAt = (position: number) => members[position] as number;
    const documentAt = (position: number) => documents[numberAt(position)] as GroupedDocument;
    const from = start;
    const positions = Array.from({ length: count }, (_, index) => from + index * size);
    positions.sort(
      (a, b) => numberAt(a + 1) - numberAt(b + 1) || documentAt(a).productId - documentAt(b).productId,
    );
    yield { build, side, key, width, positions };
    start += count * size;
  }
}

/**
 * @param documents the documents by row; every row with members has one
 * @returns the members of each list by rank and product
 */
export function* placeMembers(derived: DerivedColumns, documents: readonly GroupedDocument[]) {
  const columns = derived as MemberColumns;
  const { members, bytes } = columns;
  const encoded = listEncoded(columns, (start, end) => Buffer.from(bytes.buffer, start, end - start));
  const encodedAt = (position: number) => encoded[members[position] as number] ?? null;
  for (const { build, side, key: number, width, positions } of placeLists(columns, documents)) {
    const key = encoded[number] as Buffer;
    for (const memberPosition of positions) {
      const { id, productId, group } = documents[members[memberPosition] as number] as GroupedDocument;
      const compared: (Buffer | null)[] = [];
      for (
        let column = memberPosition + MEMBER_NUMBERS;
        column < memberPosition + MEMBER_NUMBERS + width;
        column += 1
      )
        compared.push(encodedAt(column));
      const rank = encodedAt(memberPosition + 1) as Buffer;
      yield { build, side, key, rank, productId, document: id, group, compared };
    }
  }
}

/** @returns the encoded keys, ranks and compared values, indexed by their numbers */
export const listEncoded = <Encoded>(
  { ends }: MemberColumns,
  cut: (start: number, end: number) => Encoded,
): (Encoded | null)[] =>
  Array.from(ends, (end, number) => (number === 0 ? null : cut(ends[number - 1] as number, end)));

/** How many numbers a collected member has before its compared values: row, rank and key. */
const COLLECTED_NUMBERS = 3;

/** A product on a side, in the numbers of its encodings. */
export interface DescribedMember {
  readonly rank: number;
  /** Empty if the product can match nothing. */
  readonly memberKeys: readonly number[];
  /** The compared values of the product. A rule with an index of its own has a group of them for each key. */
  readonly memberCompared: readonly number[];
  /** The distance between the compared values of two keys. */
  readonly step: number;
}

/** A side of a build, with the encodings behind the numbers of its members. */
interface DescribedSide extends Readonly<Record<'ranks' | 'keys' | 'compared', Encodings>> {
  readonly build: number;
  readonly side: Side;
  /** The number of compared columns. */
  readonly width: number;
}

/** The members of one side of a build, in the order of their rows. */
export class SideMembers {
  readonly of: DescribedSide;
  private readonly numbers = new Numbers();

  constructor(of: DescribedSide) {
    this.of = of;
  }

  get count(): number {
    return this.numbers.length / (COLLECTED_NUMBERS + this.of.width);
  }

  /** @param row the row of the product */
  add(row: number, { rank, memberKeys, memberCompared, step }: DescribedMember): void {
    const { numbers } = this;
    const { width, keys } = this.of;
    const isMatchable = memberKeys.length > 0;
    for (let index = 0; index < Math.max(1, memberKeys.length); index += 1) {
      numbers.push(row);
      numbers.push(rank);
      numbers.push(isMatchable ? (memberKeys[index] as number) : keys.add(UNMATCHED_KEY));
      for (let column = 0; column < width; column += 1)
        numbers.push(memberCompared[index * step + column] ?? NONE);
    }
  }

  /** Marks the encodings that the members use. */
  use(): void {
    const { numbers } = this;
    const { width, ranks, keys, compared } = this.of;
    for (let position = 0; position < numbers.length; ) {
      ranks.use(numbers.get(position + 1));
      keys.use(numbers.get(position + 2));
      position += COLLECTED_NUMBERS;
      for (const end = position + width; position < end; position += 1) compared.use(numbers.get(position));
    }
  }

  list(lists: Numbers, members: Numbers): void {
    const { numbers, count } = this;
    const { build, side, width, ranks, keys, compared } = this.of;
    const size = COLLECTED_NUMBERS + width;
    const rankOf = (member: number) => ranks.positions.get(numbers.get(member * size + 1));
    const keyOf = (member: number) => keys.positions.get(numbers.get(member * size + 2));
    const all = Uint32Array.from({ length: count }, (_, member) => member);
    const byRank = sortStable(all, rankOf, ranks);
    let last = 0;
    for (const member of sortStable(byRank, keyOf, keys)) {
      const key = keyOf(member);
      if (key !== last) {
        for (const number of [build, sideNumber(side), key, width, 0]) lists.push(number);
        last = key;
      }
      lists.set(lists.length - 1, lists.get(lists.length - 1) + 1);
      members.push(numbers.get(member * size));
      members.push(rankOf(member));
      for (let position = member * size + COLLECTED_NUMBERS; position < (member + 1) * size; position += 1)
        members.push(compared.positions.get(numbers.get(position)));
    }
  }
}

/** A counting sort by position; the positions of `encodings` are consecutive from `first`. */
function sortStable(
  members: Uint32Array,
  positionOf: (member: number) => number,
  { first, used }: Encodings,
) {
  const starts = new Uint32Array(used.length + 1);
  for (const member of members) {
    const offset = positionOf(member) - first + 1;
    starts[offset] = (starts[offset] as number) + 1;
  }
  for (let slot = 1; slot < starts.length; slot += 1)
    starts[slot] = (starts[slot] as number) + (starts[slot - 1] as number);
  const sorted = new Uint32Array(members.length);
  for (const member of members) {
    const bucket = positionOf(member) - first;
    const target = starts[bucket] as number;
    sorted[target] = member;
    starts[bucket] = target + 1;
  }
  return sorted;
}

/** @returns undefined if there are no members */
export function createColumns(sides: readonly SideMembers[]): MemberColumns | undefined {
  const filled = sides.filter(({ count }) => count > 0);
  if (filled.length === 0) return undefined;
  for (const side of filled) side.use();
  const used = [...new Set(filled.flatMap(({ of }) => [of.ranks, of.keys, of.compared]))];
  const texts: string[] = [];
  for (const encodings of used) for (const text of encodings.listUsed(texts.length + 1)) texts.push(text);
  const [lists, members] = [new Numbers(), new Numbers()];
  for (const side of filled) side.list(lists, members);
  for (const encodings of used) encodings.forgetUsed();
  return { lists: lists.toArray(), members: members.toArray(), ...joinBytes(texts) };
}

function joinBytes(texts: readonly string[]): Pick<MemberColumns, 'ends' | 'bytes'> {
  const ends = new Uint32Array(texts.length + 1);
  for (const [index, { length }] of texts.entries()) ends[index + 1] = (ends[index] as number) + length;
  const bytes = Buffer.from(new ArrayBuffer(ends.at(-1) ?? 0));
  bytes.write(texts.join(''), 'latin1');
  return { ends, bytes: new Uint8Array(bytes.buffer) };
}
