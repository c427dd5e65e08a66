import type { Attribute } from '../catalog/catalog.ts';
import type { Operation } from '../storage/storage.ts';
import {
  type ProductRelation,
  type ProductRelationsInput,
  relateProduct,
  toSearched,
} from './product-relations.ts';
import type { CatalogRelations, RelateInput } from './related-answers.ts';
import type { RelationView } from './related-view.ts';
import { type RelationDefinition, ruleOf } from './relation.ts';
import type { ServedRelation } from './relation-plan.ts';
import type { CatalogMark } from './relation-port.ts';
import { type ExplainInput, explainRelation } from './relation-questions.ts';
import { type SurveyedCatalog, surveyRelation, type TriedCatalog, tryRule } from './relation-survey.ts';
import { bindRule } from './rule.ts';

/** What a request asks, and what its caller has just met of the catalog. */
export type MetRelateInput = RelateInput & CatalogMark;

/** Where the threads that answer relations read catalogs. */
export interface RelationCatalogs {
  /** Does the work on one state of the catalog; more than once when the view lacked something. */
  answer<Result>(
    input: MetRelateInput,
    work: (relations: CatalogRelations, view: RelationView) => Result,
  ): Promise<Result>;
  /** One state of the catalog as long as the work takes. */
  inspect<Result>(projectId: number, work: (catalog: InspectedCatalog) => Promise<Result>): Promise<Result>;
  /** The same, with a join index that nobody else sees and that ends with the work. */
  tryOut<Result>(
    projectId: number,
    work: (catalog: TriedCatalog & { listAttributes(): Promise<readonly Attribute[]> }) => Promise<Result>,
  ): Promise<Result>;
}

export interface InspectedCatalog extends SurveyedCatalog {
  /** @returns a relation that is well configured and built, whether or not it is enabled */
  findBuilt(id: number): Promise<ServedRelation | undefined>;
  listBuilt(): Promise<readonly ServedRelation[]>;
}

/** What the threads that answer relations do: one job is one state of the catalog. */
export function readerOperations(catalogs: RelationCatalogs): Record<string, Operation> {
  return {
    relate: (input: MetRelateInput) =>
      catalogs.answer(input, (relations, view) => relations.relate(view, input)),
    tryRelation: ({ projectId, definition }: { projectId: number; definition: RelationDefinition }) =>
      catalogs.tryOut(projectId, async (catalog) => {
        const result = bindRule(ruleOf(definition), await catalog.listAttributes());
        return {
          output:
            'problem' in result ? result : await tryRule(catalog, { ...definition, bound: result.bound }),
        };
      }),
    surveyRelation: ({ projectId, id }: { projectId: number; id: number }) =>
      catalogs.inspect(projectId, async (catalog) => {
        const relation = await catalog.findBuilt(id);
        return { output: relation && (await surveyRelation(catalog, relation)) };
      }),
    relateProduct: (input: ProductRelationsInput) =>
      catalogs.inspect(input.projectId, async (catalog) => ({
        output: await relateProductToAll(catalog, input),
      })),
    explainRelation: (input: ExplainInput) =>
      catalogs.inspect(input.projectId, async (catalog) => {
        const relation = await catalog.findBuilt(input.id);
        return { output: relation && (await catalog.read((view) => explainRelation(view, relation, input))) };
      }),
  };
}

/** Relation by relation: a view holds what it fetched. */
async function relateProductToAll(
  catalog: InspectedCatalog,
  input: ProductRelationsInput,
): Promise<ProductRelation[] | undefined> {
  const found: ProductRelation[] = [];
  if ((await catalog.read((view) => view.findUpload(input.identifier))) === undefined) return undefined;
  for (const relation of await catalog.listBuilt()) {
    const searches = [{ relation: toSearched(relation), limit: input.limit }];
    const related = await catalog.read((view) => relateProduct(view, relation, input), searches);
    if (related !== undefined) found.push(related);
  }
  return found;
}
