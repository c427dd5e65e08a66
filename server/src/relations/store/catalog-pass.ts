import type { Attribute } from '../../catalog/catalog.ts';
import { compileRule, isListed } from '../definitions/definitions.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { PresentUpload, SearchedRelation, WantedRelated } from '../search/search.ts';

/** A relation that answers. */
export interface PassedRelation {
  readonly id: number;
  readonly tag: string;
  readonly searched: SearchedRelation;
}

export interface PassedProduct {
  readonly productId: number;
  readonly identifier: string;
}

/** One state of a catalog, for whoever reads all of it with what goes with its products. */
export interface CatalogPass {
  readonly version: number;
  readonly attributes: readonly Attribute[];
  readonly relations: readonly PassedRelation[];
  /** @returns those that are there, in no order */
  findUploads(identifiers: readonly string[]): Promise<readonly PresentUpload[]>;
  /** @returns products by id, above `after` */
  listUploads(after: number, limit: number): Promise<readonly PresentUpload[]>;
  /**
   * @param products  by id
   * @returns for each product and each relation wanted identifiers, best first
   */
  listRelated(
    products: readonly PassedProduct[],
    wanted: readonly WantedRelated[],
  ): Promise<readonly (readonly (readonly string[])[])[]>;
}

/** Where a thread of its own reads whole catalogs; the state lasts until the work ends. */
export interface CatalogPasses {
  pass<Result>(projectId: number, work: (pass: CatalogPass) => Promise<Result>): Promise<Result>;
}

/** @returns those that are enabled, ready to be searched */
export const toPassed = (relations: readonly ServedRelation[]): PassedRelation[] =>
  relations
    .filter(({ definition }) => definition.enabled)
    .map(({ id, definition, build, bound, twoWay, excludeSameGroup }) => ({
      ...{ id, tag: definition.tag },
      searched: {
        ...{ build, twoWay, excludeSameGroup, isListed: isListed(definition) },
        operators: compileRule(bound).comparisons.map(({ operator }) => operator),
      },
    }));
