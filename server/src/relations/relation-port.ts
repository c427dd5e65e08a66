import type { Relation, RelationDefinition } from './relation.ts';
import type { RelateInput } from './relation-reader.ts';
import type { BuildPage, SavedRelation } from './relation-store.ts';

/** Where relations and their join index are kept: with the catalog, so that both change in one instant. */
export interface RelationStore {
  list(projectId: number): Promise<readonly Relation[]>;
  find(projectId: number, id: number): Promise<Relation | undefined>;
  /** Creates or, with an id, replaces. @returns undefined when there is none to replace */
  save(
    projectId: number,
    saved: { id: number | undefined; definition: RelationDefinition; at: number },
  ): Promise<SavedRelation | undefined>;
  /** @returns whether it was there */
  remove(projectId: number, id: number): Promise<boolean>;
  /** Follows the ontology as it is. @returns relations whose index must be made */
  bind(projectId: number): Promise<readonly number[]>;
  buildPage(
    projectId: number,
    page: { relationId: number; after: { build: number; document: number }; limit: number },
  ): Promise<BuildPage>;
  /** @returns whether there may be more to remove */
  dropBuilds(projectId: number): Promise<boolean>;
  /** @returns `{"tags":[…]}` for each identifier, in the order asked, out of memory where it can be */
  relate(wanted: RelateInput): Promise<readonly Uint8Array[]>;
}
