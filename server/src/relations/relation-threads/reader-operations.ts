import { type Budget, shareText } from '../../storage/threads/threads.ts';
import { CatalogRelations, type RelateRequest } from '../answering/answering.ts';
import {
  answerFit,
  ConstraintCache,
  type FitInput,
  type FitParts,
  NegativeValues,
  surveyMissing,
} from '../fit/fit.ts';
import type { SentLinks } from '../links/links.ts';
import {
  type ExplainInput,
  explainRelation,
  type ProductRelation,
  type ProductRelationsInput,
  relateProduct,
} from '../matching/matching.ts';
import { isListed } from '../relation-definitions/relation-definitions.ts';
import {
  acceptLinks,
  type InProject,
  type InspectedCatalog,
  type OpenRelationCatalogs,
} from '../relation-store/relation-store.ts';
import { ColumnCache, readingLimit, SurveyCache } from '../surveys/surveys.ts';
import { type SurveyParts, surveyStored, type TriedRelation, tryRelation } from './relation-health.ts';

/** A question with the time limit of its search. */
interface Limited {
  readonly limitMs: number;
}

/** The inputs of an operation besides its question. */
type Parts = FitParts & SurveyParts;

/** Wraps an operation so that it runs on one state of a catalog. */
type Inspect = <Request extends InProject, Result>(
  work: (catalog: InspectedCatalog, request: Request, parts: Parts) => Promise<Result>,
) => (request: Request & Limited, budget: Budget) => Promise<Result>;

/** How long questions of one kind may take, and whether they must read the newest state. */
interface InspectTerms {
  readonly limitOf: typeof readingLimit;
  readonly isFresh?: boolean;
}

/**
 * The operations of the threads that answer relations; each reads one state of the catalog. When the time is
 * up, a survey returns what it has, while a question about one product is refused.
 */
export function readerOperations(openCatalogs: OpenRelationCatalogs, columns = new ColumnCache()) {
  const catalogs = openCatalogs<CatalogRelations>((rules, earlier) => new CatalogRelations(rules, earlier));
  const cached = {
    constraints: new ConstraintCache(),
    negatives: new NegativeValues(),
    surveys: new SurveyCache(),
    columns,
  };
  const inspecting =
    ({ limitOf, isFresh = false }: InspectTerms): Inspect =>
    (work) =>
    (request, budget) => {
      const { projectId, limitMs: searchMs } = request;
      const limit = limitOf({ limit: budget, searchMs });
      const parts = { limit, searchMs, ...cached };
      return catalogs.inspect({ projectId, limit, isFresh }, (catalog) => work(catalog, request, parts));
    };
  const question = inspecting({ limitOf: ({ limit, searchMs }) => limit.within(searchMs) });
  const survey = inspecting({ limitOf: ({ limit }) => limit });
  const freshSurvey = inspecting({ limitOf: ({ limit }) => limit, isFresh: true });
  return {
    relate({ limitMs, ...input }: RelateRequest & Limited, budget: Budget) {
      const { projectId, version, scale } = input;
      const describePrefetch = (relations: CatalogRelations) => relations.describePrefetch(input);
      const request = { projectId, version, scale, limit: budget.within(limitMs), describePrefetch };
      return catalogs.answer(request, (relations, view) => relations.relate(view, input));
    },
    relateProduct: question(relateProductToAll),
    explainRelation: question(async (catalog, pair: ExplainInput) => {
      const relation = await catalog.findBuilt(pair.id);
      return relation && catalog.read((view) => explainRelation(view, relation, pair));
    }),
    judgeFit: question(async (catalog, input: FitInput, parts) =>
      shareText(await answerFit(catalog, input, parts)),
    ),
    surveyRelation: survey(surveyStored),
    tryRelation: (request: TriedRelation & Limited, budget: Budget) =>
      (isListed(request.definition) ? survey : freshSurvey)(tryRelation)(request, budget),
    surveyMissing: inspecting({ limitOf: readingLimit })((catalog, { projectId }: InProject, parts) =>
      surveyMissing(catalog, projectId, parts),
    ),
    acceptLinks: (sent: SentLinks & InProject, budget: Budget) => acceptLinks(catalogs, sent, budget),
  };
}

export type ReaderOperations = ReturnType<typeof readerOperations>;

/** Reads one relation after another, because a view retains everything that it fetched. */
async function relateProductToAll(catalog: InspectedCatalog, input: ProductRelationsInput) {
  const results: ProductRelation[] = [];
  if ((await catalog.read((view) => view.findUpload(input.identifier))) === undefined) return undefined;
  for (const relation of await catalog.listBuilt()) {
    // Prefetches both directions, like a two-way relation that finds nothing, because the answer always has
    // both.
    const searches = [{ relation: { ...relation, twoWay: true }, limit: input.limit }];
    const related = await catalog.read((view) => relateProduct(view, relation, input), searches);
    if (related !== undefined) results.push(related);
  }
  return results;
}
