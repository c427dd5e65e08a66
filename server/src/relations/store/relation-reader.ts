import type { Attribute } from '../../catalog/catalog.ts';
import type { Operation, StopFlag } from '../../storage/storage.ts';
import type { CatalogRelations, RelateInput } from '../answers/answers.ts';
import { bindRule, isListed, type RelationDefinition, ruleOf } from '../definitions/definitions.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { CatalogMark } from '../port.ts';
import type { RelationView } from '../search/search.ts';
import {
  type ExplainInput,
  explainRelation,
  type KeptColumns,
  type ProductRelation,
  type ProductRelationsInput,
  type RelationSurvey,
  RuleMembers,
  readingLimit,
  relateProduct,
  type SurveyedCatalog,
  type SurveyedRelation,
  type SurveyTime,
  surveyRelation,
  type TriedCatalog,
  toSearched,
  tryOnColumns,
  WorkLimit,
} from '../search/search.ts';
import { createSharedLists } from './shared-lists.ts';

/** A request, with the state of the catalog that its caller has just read. */
export type MetRelateInput = RelateInput & CatalogMark;

/** A question with its time limit. */
export interface Limited {
  readonly limitMs: number;
}

/** Work on a project's catalog. */
export interface LimitedWork {
  readonly projectId: number;
  readonly limit: WorkLimit;
  /** Whether it must see what was just written: a replica may lag. */
  readonly isFresh?: boolean;
}

/** Where the threads that answer relations read catalogs. */
export interface RelationCatalogs {
  /** Runs the work on one state of the catalog; again when the view lacked something. */
  answer<Result>(
    asked: { readonly input: MetRelateInput; readonly limit: WorkLimit },
    work: (relations: CatalogRelations, view: RelationView) => Result,
  ): Promise<Result>;
  /** Runs the work on one state of the catalog, which lasts until the work ends. */
  inspect<Result>(on: LimitedWork, work: (catalog: InspectedCatalog) => Promise<Result>): Promise<Result>;
}

export interface InspectedCatalog extends SurveyedCatalog, TriedCatalog {
  listAttributes(): Promise<readonly Attribute[]>;
  /** @returns a relation that is well configured and built, whether or not it is enabled */
  findBuilt(id: number): Promise<ServedRelation | undefined>;
  listBuilt(): Promise<readonly ServedRelation[]>;
  countList(build: number): Promise<{ readonly sources: number; readonly pairs: number }>;
}

type Asked<Input> = Input & Limited;

/**
 * The operations of the threads that answer relations, each on one state of the catalog. When its time is up, a survey
 * returns what it has, and a question about one product is refused.
 */
export function readerOperations(catalogs: RelationCatalogs, kept: KeptColumns): Record<string, Operation> {
  const surveyed = ({ limitMs: searchMs }: Limited, stop: StopFlag | undefined) => ({
    limit: new WorkLimit(Number.POSITIVE_INFINITY, stop),
    searchMs,
  });
  return {
    relate: ({ limitMs, ...input }: Asked<MetRelateInput>, stop) =>
      catalogs.answer({ input, limit: new WorkLimit(limitMs, stop) }, (relations, view) =>
        relations.relate(view, input),
      ),
    tryRelation(asked: Asked<TriedRelation>, stop) {
      const { projectId, definition, id, hasCards = false } = asked;
      const time = { ...surveyed(asked, stop), hasCards };
      if (isListed(definition)) {
        return catalogs.inspect({ projectId, limit: time.limit }, async (catalog) => {
          const present = id === undefined ? undefined : await catalog.findBuilt(id);
          const build = present && isListed(present.definition) ? present.build : NO_LIST;
          const bound = { rule: ruleOf(definition), attributes: [] };
          const listed = { ...definition, isListed: true, build, bound };
          return { output: await surveyLinks(catalog, listed, time) };
        });
      }
      return catalogs.inspect({ projectId, limit: time.limit, isFresh: true }, async (catalog) => {
        const result = bindRule(ruleOf(definition), await catalog.listAttributes());
        if ('problem' in result) return { output: result };
        const tried = { ...definition, bound: result.bound };
        const limit = readingLimit(time);
        const columns = await kept.read(projectId, catalog, limit);
        const read =
          columns === undefined ? await RuleMembers.read(catalog, tried.bound, { limit }) : { columns };
        const share = createSharedLists().of(read.columns);
        return { output: await tryOnColumns({ ...read, catalog, share }, tried, time) };
      });
    },
    surveyRelation(asked: Asked<{ projectId: number; id: number }>, stop) {
      const { projectId, id } = asked;
      const time = surveyed(asked, stop);
      return catalogs.inspect({ projectId, limit: time.limit }, async (catalog) => {
        const relation = await catalog.findBuilt(id);
        if (relation === undefined) return { output: undefined };
        const known = { ...relation, isListed: isListed(relation.definition) };
        const survey = known.isListed ? surveyLinks : surveyRelation;
        return { output: await survey(catalog, known, time) };
      });
    },
    relateProduct: ({ limitMs, ...input }: Asked<ProductRelationsInput>, stop) =>
      catalogs.inspect(
        { projectId: input.projectId, limit: new WorkLimit(limitMs, stop) },
        async (catalog) => ({ output: await relateProductToAll(catalog, input) }),
      ),
    explainRelation: ({ limitMs, ...input }: Asked<ExplainInput>, stop) =>
      catalogs.inspect(
        { projectId: input.projectId, limit: new WorkLimit(limitMs, stop) },
        async (catalog) => {
          const relation = await catalog.findBuilt(input.id);
          return {
            output: relation && (await catalog.read((view) => explainRelation(view, relation, input))),
          };
        },
      ),
  };
}

interface TriedRelation {
  readonly projectId: number;
  readonly definition: RelationDefinition;
  /** Of the relation whose links are taken. */
  readonly id?: number;
  /** Whether products are described too. */
  readonly hasCards?: boolean;
}

/** The build of no relation. */
const NO_LIST = 0;

/** The survey of a relation of links, with its size. */
async function surveyLinks(
  catalog: InspectedCatalog,
  surveyed: SurveyedRelation,
  time: SurveyTime,
): Promise<RelationSurvey> {
  const survey = await surveyRelation(catalog, surveyed, time);
  return { ...survey, links: await catalog.countList(surveyed.build) };
}

/** Relation by relation: a view keeps everything it fetched. */
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
