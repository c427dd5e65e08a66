import { type SearchedRelation, SharedLists } from '../matching/matching.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import {
  isIndexed,
  isListed,
  type RelationDefinition,
  ruleOf,
} from '../relation-definitions/relation-definitions.ts';
import type { InProject, InspectedCatalog } from '../relation-store/relation-store.ts';
import { bindRule, listTables } from '../rules/rules.ts';
import {
  type ColumnCache,
  listWords,
  RuleMembers,
  readingLimit,
  type SurveyCache,
  type SurveyTime,
  surveyRelation,
  surveyTotal,
  tryOnColumns,
} from '../surveys/surveys.ts';

/**
 * The health of stored relations and of definitions that are only tried. Each kind of relation has its own
 * survey.
 */

/** The time limits of a survey, with the caches of the thread. */
export interface SurveyParts extends SurveyTime {
  readonly surveys: SurveyCache;
  readonly columns: ColumnCache;
}

export interface TriedRelation extends InProject {
  readonly definition: RelationDefinition;
  /** The id of the relation whose links a tried relation of links uses. */
  readonly id?: number | undefined;
  /** Whether the survey adds cards, which describe products. */
  readonly hasCards?: boolean | undefined;
  /** The locale of the sentences on cards. */
  readonly locale: string;
}

/** A build number that no relation has, so its list is empty. */
const NO_LIST = 0;

export async function tryRelation(
  catalog: InspectedCatalog,
  { projectId, definition, id, hasCards = false, locale }: TriedRelation,
  { columns: cached, ...parts }: SurveyParts,
) {
  const cards = hasCards ? { locale } : undefined;
  const time = { ...parts, ...(cards && { cards }) };
  const rule = ruleOf(definition);
  if (isListed(definition)) {
    const present = id === undefined ? undefined : await catalog.findBuilt(id);
    const build = present?.isListed ? present.build : NO_LIST;
    const tried = { ...definition, isListed: true, build, bound: { rule, attributes: [] } };
    return surveyLinks(catalog, tried, time);
  }
  const result = bindRule(rule, await catalog.listAttributes(), await catalog.findTables(listTables(rule)));
  if ('problem' in result) return result;
  const tried = { ...definition, bound: result.bound };
  const limit = readingLimit(time);
  if (!isIndexed(definition)) return surveyTotal(catalog, tried.bound, { limit, cards });
  const words = listWords(rule.source, rule.target);
  const columns = await cached.read(projectId, catalog, { limit, words });
  const read = columns === undefined ? await RuleMembers.read(catalog, tried.bound, { limit }) : { columns };
  const share = new SharedLists().of(read.columns);
  return tryOnColumns({ ...read, catalog, share }, tried, time);
}

export async function surveyStored(
  catalog: InspectedCatalog,
  { projectId, id }: InProject & { readonly id: number },
  { surveys, ...time }: SurveyParts,
) {
  const relation = await catalog.findBuilt(id);
  if (relation === undefined) return undefined;
  const name = `${projectId} ${id} ${relation.build}`;
  return surveys.read(name, catalog.version, () => surveyBuilt(catalog, relation, time));
}

async function surveyBuilt(catalog: InspectedCatalog, relation: ServedRelation, time: SurveyTime) {
  if (relation.definition.kind === 'total')
    return surveyTotal(catalog, relation.bound, { limit: readingLimit(time) });
  return relation.isListed ? surveyLinks(catalog, relation, time) : surveyRelation(catalog, relation, time);
}

/** The survey of a relation of links, with the size of its list. */
async function surveyLinks(catalog: InspectedCatalog, surveyed: SearchedRelation, time: SurveyTime) {
  const survey = await surveyRelation(catalog, surveyed, time);
  return { ...survey, links: await catalog.countList(surveyed.build) };
}
