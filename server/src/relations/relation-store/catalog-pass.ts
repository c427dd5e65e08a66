import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { listUploads, readOntology } from '../../catalog/store/store.ts';
import type { RelatedList, RelatedSearch, StoredUpload } from '../matching/matching.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { TriedCatalog } from '../surveys/surveys.ts';
import type { Perform } from './inspected-catalog.ts';
import { listBuilt } from './relation-definition-store.ts';
import { findUploads } from './survey-store.ts';

export interface PassedProduct {
  readonly productId: number;
  readonly identifier: string;
}

/** One state of a catalog, for a pass over all its products with their related products. */
export interface CatalogPass extends Pick<TriedCatalog, 'version' | 'findUploads'> {
  readonly attributes: readonly Attribute[];
  /** The relations that give answers. */
  readonly relations: readonly ServedRelation[];
  /**
   * @returns products by id, after `after`. A page is shorter than `limit` if its uploads are large, and
   * empty at the end.
   */
  listUploads(after: number, limit: number): Promise<readonly StoredUpload[]>;
  /**
   * @param products by ascending id
   * @returns for each product and each requested relation, the products it leads to
   */
  listRelated(
    products: readonly PassedProduct[],
    searches: readonly RelatedSearch[],
  ): Promise<readonly (readonly RelatedList[])[]>;
}

/** Lets a dedicated thread read whole catalogs. The state lasts until the work ends. */
export interface CatalogPasses {
  pass<Result>(projectId: number, work: (pass: CatalogPass) => Promise<Result>): Promise<Result>;
}

export const openPass = async (
  perform: Perform,
  own: Pick<CatalogPass, 'version' | 'listRelated'> & Partial<CatalogPass>,
): Promise<CatalogPass> => ({
  attributes: (await perform(readOntology())).attributes,
  relations: (await perform(listBuilt())).filter(({ definition }) => definition.enabled),
  findUploads: (identifiers) => perform(findUploads(identifiers)),
  listUploads: (after, limit) => perform(listUploads(after, limit)),
  ...own,
});
