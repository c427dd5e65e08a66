import type { PlacedDocument } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import { COMPARISONS_PER_RULE } from '../definitions/definitions.ts';
import { UNMATCHED_KEY } from './member-key.ts';
import { type Membership, packMemberships, unpackMemberships } from './membership.ts';

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

/** @returns the row of each key of each membership; a membership without one has a row that matches nothing */
export function listMembers(
  { id, productId }: PlacedDocument,
  { group, memberships }: PlacedMemberships,
): MemberRow[] {
  return memberships.flatMap(({ build, side, rank, compared, keys }) => {
    const row = {
      ...{ build, side: sideNumber(side), rank: Buffer.from(rank, 'base64'), productId, document: id, group },
      compared: compared.map(decode),
    } as const;
    return keysOf(keys).map((key) => ({ ...row, key }));
  });
}

/**
 * @returns the rows as they lie in the index, list by list. A row beside the one before takes half of one at a random place:
 * 50,000 products with 150,000 rows take the embedded store 24 in place of 28 µs each, and a larger catalog saves more.
 */
export const sortMembers = (members: readonly MemberRow[]): MemberRow[] =>
  [...Map.groupBy(members, listOf).values()].flatMap((list) =>
    list
      .map((row) => ({ row, rank: row.rank.toString('latin1') }))
      .sort((a, b) => (a.rank < b.rank ? -1 : Number(a.rank > b.rank)))
      .map(({ row }) => row),
  );

const listOf = ({ build, side, key }: MemberRow) => `${build} ${side} ${key.toString('latin1')}`;

const decode = (base64: string | null) => (base64 === null ? null : Buffer.from(base64, 'base64'));

const keysOf = (keys: readonly string[]) =>
  keys.length === 0 ? [UNMATCHED_KEY] : keys.map((key) => Buffer.from(key, 'base64'));

/** Two lines of JSON: the group, and the memberships as they are kept. */
export function packDerived(group: string, memberships: readonly Membership[]): string {
  return memberships.length === 0 ? '' : `${JSON.stringify(group)}\n${packMemberships(memberships)}`;
}

export function unpackDerived(derived: string): PlacedMemberships & { readonly packed: string } {
  const end = derived.indexOf('\n');
  const packed = derived.slice(end + 1);
  return { group: JSON.parse(derived.slice(0, end)), memberships: unpackMemberships(packed), packed };
}
