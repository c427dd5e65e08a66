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
