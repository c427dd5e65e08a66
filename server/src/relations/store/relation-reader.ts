import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { listUploads, readOntology } from '../../catalog/store/store.ts';
import type { PayloadFiles } from '../../storage/payloads/payloads.ts';
import type { Program } from '../../storage/storage.ts';
import { type Budget, shareText } from '../../storage/threads/threads.ts';
import type { CatalogRelations, MetRelateInput } from '../answers/answers.ts';
import {
  bindRule,
  isIndexed,
  isListed,
  listTables,
  type RelationDefinition,
  type RelationSurvey,
  ruleOf,
  type Side,
} from '../definitions/definitions.ts';
import {
  answerFit,
  ConstraintCache,
  type FitInput,
  type FitParts,
  NegativeValues,
  type SignedPage,
  surveyMissing,
} from '../fit/fit.ts';
import type { SentLinks } from '../links/links.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import {
  ColumnCache,
  type ExplainInput,
  explainRelation,
  type ListBasis,
  listWords,
  type ProductRelation,
  type ProductRelationsInput,
  type RelatedList,
  type RelatedSearch,
  type RelationView,
  RuleMembers,
  readingLimit,
  relateProduct,
  type SearchedRelation,
  type ShareLists,
  type StoredUpload,
  type SurveyedCatalog,
  type SurveyTime,
  surveyRelation,
  surveyTotal,
  type TriedCatalog,
  tryOnColumns,
} from '../search/search.ts';
import { listBuilt, listRelations } from './definition-store.ts';
import { acceptLinks, countList } from './link-store.ts';
import { findNewestDocument, hasAnyDocument, listSigned } from './signed-store.ts';
import { countMembers, findUploads, listCut, sampleMembers } from './survey-store.ts';
import { findTables } from './table-store.ts';

/** A question with the time for its search. */
interface Limited {
  readonly limitMs: number;
}

/** Where the threads that answer relations read catalogs. */
export interface RelationCatalogs {
  readonly payloads: PayloadFiles;
  /** Includes what was just written. */
  read<Result>(projectId: number, program: Program<Result>, budget: Budget): Promise<Result>;
  /** Runs the work on one state of the catalog, again if the view lacked something. */
  answer<Result>(
    request: { readonly input: MetRelateInput; readonly limit: Budget },
    work: (relations: CatalogRelations, view: RelationView) => Result,
  ): Promise<Result>;
  /**
   * Runs the work on one state of the catalog, which lasts until the work ends. `isFresh`: it must see what was
   * just written, as a replica may lag.
   */
  inspect<Result>(
    on: InProject & { readonly limit: Budget; readonly isFresh?: boolean },
    work: (catalog: InspectedCatalog) => Promise<Result>,
  ): Promise<Result>;
}

/** Runs programs on one state of a catalog. */
type Perform = <Result>(program: Program<Result>) => Promise<Result>;

export type InspectedCatalog = ReturnType<typeof toInspected>;

/** @returns the reads of a question, each of which the budget of the question has to allow */
export const toInspected = (
  budget: Budget,
  perform: Perform,
  { version, read }: Pick<SurveyedCatalog & TriedCatalog, 'version' | 'read'>,
) => ({ version, read, ...budget.meter(listReads(perform)) });

const listReads = (perform: Perform) => ({
  countMembers: (build: number, side: Side) => perform(countMembers(build, side)),
  sampleMembers: (build: number, side: Side, every: number) => perform(sampleMembers(build, side, every)),
  listCut: (build: number) => perform(listCut(build)),
  listUploads: (after: number, limit: number) => perform(listUploads(after, limit)),
  findUploads: (identifiers: readonly string[]) => perform(findUploads(identifiers)),
  listAttributes: async () => (await perform(readOntology())).attributes,
  listRelations: () => perform(listRelations()),
  findTables: (names: readonly string[]) => perform(findTables(names)),
  findNewestDocument: () => perform(findNewestDocument()),
  listSigned: (page: SignedPage) => perform(listSigned(page)),
  hasAnyDocument: (documents: readonly number[]) => perform(hasAnyDocument(documents)),
  /** @returns a well configured, built relation, whether or not it is enabled */
  findBuilt: async (id: number) => (await perform(listBuilt())).find((relation) => relation.id === id),
  listBuilt: () => perform(listBuilt()),
  countList: (build: number) => perform(countList(build)),
});

export interface InProject {
  readonly projectId: number;
}

/** What an operation has besides its question. */
type Parts = FitParts & SurveyTime & { readonly surveys: SurveyCache };

/**
 * The operations of the threads that answer relations, each on one state of the catalog. When its time is up,
 * a survey returns what it has, and a question about one product is refused.
 */
export function readerOperations(catalogs: RelationCatalogs, columns = new ColumnCache()) {
  const constraints = new ConstraintCache();
  const negatives = new NegativeValues();
  const surveys = new SurveyCache();
  const inspecting =
    ({ limitOf, isFresh = false }: { limitOf: typeof readingLimit; isFresh?: boolean }) =>
    <Request extends InProject, Result>(
      work: (catalog: InspectedCatalog, request: Request, parts: Parts) => Promise<Result>,
    ) =>
    (request: Request & Limited, budget: Budget) => {
      const { projectId, limitMs: searchMs } = request;
      const limit = limitOf({ limit: budget, searchMs });
      const parts = { limit, searchMs, constraints, negatives, columns, surveys };
      return catalogs.inspect({ projectId, limit, isFresh }, (catalog) => work(catalog, request, parts));
    };
  const question = inspecting({ limitOf: ({ limit, searchMs }) => limit.within(searchMs) });
  const survey = inspecting({ limitOf: ({ limit }) => limit });
  const freshSurvey = inspecting({ limitOf: ({ limit }) => limit, isFresh: true });
  return {
    relate: ({ limitMs, ...input }: MetRelateInput & Limited, budget: Budget) =>
      catalogs.answer({ input, limit: budget.within(limitMs) }, (relations, view) =>
        relations.relate(view, input),
      ),
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

export interface TriedRelation extends InProject {
  readonly definition: RelationDefinition;
  /** The relation whose links are used. */
  readonly id?: number | undefined;
  /** Whether products are described too. */
  readonly hasCards?: boolean | undefined;
  /** Of the sentences on these. */
  readonly locale: string;
}

/** A build that no relation has. */
const NO_LIST = 0;

async function tryRelation(
  catalog: InspectedCatalog,
  { projectId, definition, id, hasCards = false, locale }: TriedRelation,
  { columns: cached, ...parts }: Parts,
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
  const share = createSharedLists().of(read.columns);
  return tryOnColumns({ ...read, catalog, share }, tried, time);
}

async function surveyStored(
  catalog: InspectedCatalog,
  { projectId, id }: InProject & { readonly id: number },
  { surveys, ...time }: Parts,
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

/** The survey of a relation of links, with its size. */
async function surveyLinks(catalog: InspectedCatalog, surveyed: SearchedRelation, time: SurveyTime) {
  const survey = await surveyRelation(catalog, surveyed, time);
  return { ...survey, links: await catalog.countList(surveyed.build) };
}

/** Relation by relation, as a view retains everything it fetched. */
async function relateProductToAll(catalog: InspectedCatalog, input: ProductRelationsInput) {
  const found: ProductRelation[] = [];
  if ((await catalog.read((view) => view.findUpload(input.identifier))) === undefined) return undefined;
  for (const relation of await catalog.listBuilt()) {
    // In both directions, whatever the relation answers, as a two-way relation does if it finds nothing.
    const searches = [{ relation: { ...relation, twoWay: true }, limit: input.limit }];
    const related = await catalog.read((view) => relateProduct(view, relation, input), searches);
    if (related !== undefined) found.push(related);
  }
  return found;
}

export interface PassedProduct {
  readonly productId: number;
  readonly identifier: string;
}

/** One state of a catalog, for a pass over all of it with related products. */
export interface CatalogPass extends Pick<TriedCatalog, 'version' | 'findUploads'> {
  readonly attributes: readonly Attribute[];
  /** The relations that give answers. */
  readonly relations: readonly ServedRelation[];
  /** @returns products by id, after `after`; fewer than `limit` where their uploads are large, and none at the end */
  listUploads(after: number, limit: number): Promise<readonly StoredUpload[]>;
  /**
   * @param products by id
   * @returns, for each product and each requested relation, what it leads to
   */
  listRelated(
    products: readonly PassedProduct[],
    searches: readonly RelatedSearch[],
  ): Promise<readonly (readonly RelatedList[])[]>;
}

/** Where a dedicated thread reads whole catalogs; the state lasts until the work ends. */
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

/** Limits in characters, of all remembered surveys and of a single one: most have 5,000. */
const SURVEYS = { most: 8 * 1024 * 1024, longest: 1024 * 1024 };

/** Surveys of stored relations, which take up to seconds and stay valid until their catalog changes. */
export class SurveyCache {
  private readonly cached = new Map<string, { readonly version: number; readonly survey: RelationSurvey }>();
  /** Includes replaced ones, until all are dropped. */
  private characters = 0;

  /** @param version of the catalog. @returns the survey of this version, from `make` unless it is remembered */
  async read(name: string, version: number, make: () => Promise<RelationSurvey>): Promise<RelationSurvey> {
    const known = this.cached.get(name);
    if (known?.version === version) return known.survey;
    const survey = await make();
    const { length } = JSON.stringify(survey);
    if (survey.endedEarly === true || length > SURVEYS.longest) return survey;
    if (this.characters + length > SURVEYS.most) {
      this.cached.clear();
      this.characters = 0;
    }
    this.characters += length;
    this.cached.set(name, { version, survey });
    return survey;
  }
}

interface SharedList {
  readonly list: readonly unknown[];
  readonly weight: number;
  isRequested: boolean;
  /** Whether it would be the same if it were made now. */
  holds(): boolean;
  forget(): void;
}

/**
 * Lists that products of a catalog share. When there are too many, the one that was made first is dropped,
 * but one that was requested since goes behind the others (CLOCK). `of`: an object that represents the version, or
 * those in which `watch` says of each list whether it holds.
 * @param most approximate bytes over all catalogs
 */
export function createSharedLists(most = 32 * 1024 * 1024): {
  of(version: object, watch?: (basis?: ListBasis) => () => boolean): ShareLists;
} {
  const catalogs = new WeakMap<object, Map<string, SharedList>>();
  const queue = new Set<SharedList>();
  // Stays at the first one: a new iterator would pass all places of dropped ones anew.
  const first = queue.values();
  let weight = 0;

  function makeRoom(added: number): void {
    while (weight + added > most && queue.size > 0) {
      const one = first.next().value as SharedList;
      queue.delete(one);
      if (one.isRequested) {
        one.isRequested = false;
        queue.add(one);
      } else {
        one.forget();
        weight -= one.weight;
      }
    }
  }

  return {
    of(version, watch = () => () => true) {
      const known = catalogs.getOrInsertComputed(version, () => new Map<string, SharedList>());
      return (key, make, { weigh, describe }) => {
        const found = known.get(key);
        if (found?.holds()) {
          found.isRequested = true;
          return found.list as ReturnType<typeof make>;
        }
        if (found !== undefined && queue.delete(found)) weight -= found.weight;
        const list = make();
        const added = list.reduce((sum, item) => sum + weigh(item), 200);
        makeRoom(added);
        weight += added;
        const holds = watch(describe?.(list));
        const shared = { list, weight: added, isRequested: false, holds, forget: () => known.delete(key) };
        known.set(key, shared);
        queue.add(shared);
        return list;
      };
    },
  };
}
