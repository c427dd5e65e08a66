import { ServiceError } from '../kernel/errors.ts';
import type { RelatedAnswerParts } from './answering/answering.ts';
import type { FitSelection } from './fit/fit.ts';
import type { ExplainInput, ProductRelationsInput } from './matching/matching.ts';
import type { RelationChanges } from './relation-changes.ts';
import type { Explanation, Relation } from './relation-definitions/relation-definitions.ts';
import type { RelationStore, TriedRelation } from './relation-threads/relation-threads.ts';

/** A question whose locale is optional. */
type InLocale<Question> = Omit<Question, 'locale'> & { readonly locale?: string | undefined };

interface QuestionParts extends Pick<RelatedAnswerParts, 'recallLocale' | 'recallSettings'> {
  readonly store: RelationStore;
  readonly definitions: Pick<RelationChanges, 'get'>;
}

/** Questions that threads answer: about relations themselves, and about the fit of products. */
export function createRelationQuestions({ store, definitions, recallLocale, recallSettings }: QuestionParts) {
  /** Adds the locale of the project, unless the caller chose another. */
  const withLocale = async <Question extends { projectId: number; locale?: string | undefined }>(
    question: Question,
  ) => ({ ...question, locale: question.locale ?? (await recallLocale(question.projectId)) });

  return {
    /** Tries a definition on the present catalog without storing it. */
    tryDefinition: async (tried: InLocale<TriedRelation>, signal: AbortSignal) =>
      store.tryDefinition(await withLocale(tried), signal),
    /** @throws not_found, relation_not_ready while the index is being built */
    survey: async (projectId: number, id: number, signal: AbortSignal) =>
      (await store.survey({ projectId, id }, signal)) ??
      describeProblem(await definitions.get(projectId, id)),
    /** @throws not_found for the relation or a product, relation_not_ready, search_too_long */
    async explain(request: InLocale<ExplainInput>, signal: AbortSignal): Promise<Explanation> {
      const explained = await store.explain(await withLocale(request), signal);
      if (explained === undefined) return refuseUnbuilt(await definitions.get(request.projectId, request.id));
      if (!('unknown' in explained)) return explained;
      throw new ServiceError('not_found', `no product ${JSON.stringify(explained.unknown)}`);
    },

    /**
     * @returns all relations of the project, and for each built one its results for the product
     * @throws not_found
     */
    async relateProduct(request: InLocale<ProductRelationsInput>, signal: AbortSignal) {
      const related = await store.relateProduct(await withLocale(request), signal);
      if (related === undefined) throw new ServiceError('not_found');
      const byId = new Map(related.map((relation) => [relation.id, relation]));
      return (await store.list(request.projectId)).map((relation) => ({
        relation,
        related: byId.get(relation.id),
      }));
    },

    /** @returns the answer as JSON @throws request_invalid, search_too_long */
    judgeFit: async (question: FitSelection, signal: AbortSignal) =>
      store.judgeFit(
        { ...(await withLocale(question)), ...(await recallSettings(question.projectId)) },
        signal,
      ),

    /** @returns the attributes whose missing values leave verdicts unknown @throws search_too_long */
    surveyMissing: store.surveyMissing,
  };
}

function describeProblem(relation: Relation): { readonly problem: string } {
  return relation.problem === undefined ? refuseUnbuilt(relation) : { problem: relation.problem };
}

function refuseUnbuilt({ problem }: Relation): never {
  throw new ServiceError('relation_not_ready', problem ?? 'its index is being built; try again later');
}
