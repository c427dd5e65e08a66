import type { Derive, PlacedDocument } from '../../catalog/catalog.ts';
import { among, own, type Program, rows, sql } from '../../storage/storage.ts';
import {
  type ExtendedDocument,
  Memberships,
  type PlacedRow,
  packDerived,
  unpackMemberships,
} from '../memberships/memberships.ts';
import { listBuildNumbers, listBuilds } from './definition-store.ts';

/** The join index, written beside the documents that it is derived from. */

/** Adds to documents memberships that they do not have yet, as an engine writes them. */
export type ExtendIndex = (extended: readonly ExtendedDocument[]) => Program<void>;

/** The compiled rules of a list of builds. */
export interface OpenedBuilds {
  readonly builds: string;
  readonly derive: Derive;
}

/** @returns `known`, if the builds are still the same */
export function* openBuilds(known: OpenedBuilds | undefined): Program<OpenedBuilds> {
  const builds = yield* listBuildNumbers();
  if (known?.builds === builds) return known;
  const memberships = new Memberships(yield* listBuilds());
  const { keys } = memberships;
  const derive: Derive = (read) => {
    if (memberships.isEmpty) return '';
    const product = read(keys);
    return packDerived(product.groupIdentifier, memberships.of(product));
  };
  return { builds, derive };
}

/** @returns what was derived for these documents, by document; those without anything are left out */
export function* findMemberships(documents: readonly number[]): Program<ReadonlyMap<number, PlacedRow>> {
  const found = yield* rows<PlacedDocument & { readonly group: string; readonly packed: string }>(
    sql`select document_id as id, product_id as "productId", group_identifier as "group", memberships as packed
      from relation_document where ${own()} and document_id ${among(documents)}`,
  );
  return new Map(found.map((row) => [row.id, { ...row, memberships: unpackMemberships(row.packed) }]));
}
