import { readTagged } from './page.ts';
import { choose, type ProjectChoice } from './project-choice.ts';
import type { AnswerOf, BodyOf, CallOptions, Transport } from './transport.ts';
import type { RelationDefinition, ValueTableDefinition } from './wire.ts';

export interface RelatedQuery extends ProjectChoice {
  readonly includeRelations?: readonly { id: number; limit?: number }[];
  readonly includeTags?: readonly { tag: string; limitPerRelation?: number }[];
  readonly explain?: boolean;
  /** Names the attributes without a value by which a product is related. */
  readonly assumed?: boolean;
  /** The locale of the sentences of `explain`, such as en-GB. Default: the locale of the project. */
  readonly locale?: string;
}

/** The products to be used together. Source: docs/interface §12.10. */
export type FitQuestion = Omit<BodyOf<'postSearchRelationsFit'>, 'projectId'>;

const PATH = '/management/projects/{id}/relations';

/** Relations between products: definitions and answers. Source: docs/interface §4.8, §12. */
export function createRelations(transport: Transport) {
  return {
    ...createAnswers(transport),
    ...createDefinitions(transport),
    ...createQuestions(transport),
    ...createLinks(transport),
    tables: createTables(transport),
  };
}

function createAnswers({ sendJson, call }: Transport) {
  const related = (query: RelatedQuery) => ({
    ...choose(query.projectId),
    ...(query.includeRelations && { includeRelations: query.includeRelations }),
    ...(query.includeTags && { includeTags: query.includeTags }),
    ...(query.explain && { explain: true }),
    ...(query.assumed && { assumed: true }),
    ...(query.locale && { locale: query.locale }),
  });
  return {
    /** @returns the products related to one product */
    relatedTo: (identifier: string, query: RelatedQuery = {}) =>
      sendJson<AnswerOf<'postSearchRelationsResult'>>({
        method: 'GET',
        path: '/search/relations/result',
        query: { identifier, ...related(query) },
        ...(query.signal && { signal: query.signal }),
      }),

    /** @returns the products related to each of many products, by identifier */
    relatedToMany: (identifiers: readonly string[], query: RelatedQuery = {}) =>
      sendJson<AnswerOf<'postSearchRelationsBulkResults'>>({
        method: 'POST',
        path: '/search/relations/bulk-results',
        body: { identifiers, ...related(query) },
        ...(query.signal && { signal: query.signal }),
      }),

    /**
     * @param question the identifiers of the products, or a question with quantities, tags and other fields
     * @returns whether the products can be used together, pair by pair, with reasons
     */
    fit: (question: FitQuestion | readonly string[], { projectId, ...options }: ProjectChoice = {}) => {
      const body = 'items' in question ? question : { items: question.map((identifier) => ({ identifier })) };
      return call('postSearchRelationsFit', { query: choose(projectId), body }, options);
    },
  };
}

/** Tables of values that match. Source: docs/interface §12.9. */
function createTables({ call, request }: Transport) {
  return {
    /** @returns a page of tables by name, beginning at `cursor`, which is the `nextCursor` of the previous page */
    list: (
      projectId: number,
      { cursor, ...options }: CallOptions & { readonly cursor?: string | undefined } = {},
    ) =>
      call(
        'getManagementProjectsByIdTables',
        { path: { id: projectId }, ...(cursor !== undefined && { query: { cursor } }) },
        options,
      ),

    get: (projectId: number, name: string, options: CallOptions = {}) =>
      readTagged<AnswerOf<'getManagementProjectsByIdTablesByName'>>(
        { request },
        `/management/projects/${projectId}/tables/${encodeURIComponent(name)}`,
        options,
      ),

    create: (projectId: number, table: ValueTableDefinition, options: CallOptions = {}) =>
      call('postManagementProjectsByIdTables', { path: { id: projectId }, body: table }, options),

    put: (projectId: number, table: ValueTableDefinition, options: CallOptions = {}) =>
      call(
        'putManagementProjectsByIdTablesByName',
        { path: { id: projectId, name: table.name }, body: table },
        options,
      ),

    delete: (projectId: number, name: string, options: CallOptions = {}) =>
      call('deleteManagementProjectsByIdTablesByName', { path: { id: projectId, name } }, options),
  };
}

function createDefinitions({ call, request }: Transport) {
  return {
    list: async (projectId: number, options: CallOptions = {}) =>
      (await call('getManagementProjectsByIdRelations', { path: { id: projectId } }, options)).items,

    get: (projectId: number, relationId: number, options: CallOptions = {}) => {
      const path = `${PATH.replace('{id}', String(projectId))}/${relationId}`;
      return readTagged<AnswerOf<'getManagementProjectsByIdRelationsByRelationId'>>(
        { request },
        path,
        options,
      );
    },

    create: (projectId: number, definition: RelationDefinition, options: CallOptions = {}) =>
      call('postManagementProjectsByIdRelations', { path: { id: projectId }, body: definition }, options),

    /** Replaces a definition. Members that the service sets are ignored. */
    put: (
      place: { projectId: number; relationId: number },
      definition: RelationDefinition,
      options: CallOptions = {},
    ) =>
      call(
        'putManagementProjectsByIdRelationsByRelationId',
        { path: { id: place.projectId, relationId: place.relationId }, body: definition },
        options,
      ),

    delete: (projectId: number, relationId: number, options: CallOptions = {}) =>
      call(
        'deleteManagementProjectsByIdRelationsByRelationId',
        { path: { id: projectId, relationId } },
        options,
      ),

    export: (projectId: number, options: CallOptions = {}) =>
      call('getManagementProjectsByIdRelationsExport', { path: { id: projectId } }, options),

    /** The document becomes the whole list, so relations that it lacks are deleted. Tables are created or replaced. */
    import: (
      projectId: number,
      relations: readonly (RelationDefinition & { id?: number })[],
      {
        tables,
        ...options
      }: CallOptions & { readonly tables?: readonly ValueTableDefinition[] | undefined } = {},
    ) =>
      call(
        'postManagementProjectsByIdRelationsImport',
        {
          path: { id: projectId },
          body: { relations: [...relations], ...(tables && { tables: [...tables] }) },
        },
        options,
      ),
  };
}

/** The health of a definition, with reasons. Source: docs/interface §12.6. */
function createQuestions({ call }: Transport) {
  return {
    /** Tries a definition on the current catalog and stores nothing. `cards`: also describes products. */
    preview: (
      projectId: number,
      definition: RelationDefinition,
      {
        cards,
        locale,
        ...options
      }: CallOptions & { readonly cards?: boolean; readonly locale?: string } = {},
    ) =>
      call(
        'postManagementProjectsByIdRelationsPreview',
        {
          path: { id: projectId },
          query: { ...(cards && { cards }), ...(locale && { locale }) },
          body: definition,
        },
        options,
      ),

    health: (projectId: number, relationId: number, options: CallOptions = {}) =>
      call(
        'getManagementProjectsByIdRelationsByRelationIdHealth',
        { path: { id: projectId, relationId } },
        options,
      ),

    /** The missing values that leave most verdicts of constraints unknown. */
    missingValues: (projectId: number, options: CallOptions = {}) =>
      call('getManagementProjectsByIdRelationsMissingValues', { path: { id: projectId } }, options),

    /** The reason why a product is a result of another, or is not. */
    explain: (
      place: { projectId: number; relationId: number },
      pair: { source: string; target: string; locale?: string },
      options: CallOptions = {},
    ) =>
      call(
        'postManagementProjectsByIdRelationsByRelationIdExplain',
        { path: { id: place.projectId, relationId: place.relationId }, body: pair },
        options,
      ),
  };
}

export interface RelationPlace {
  readonly projectId: number;
  readonly relationId: number;
}

/** An identifier, or an object with the quantity that goes with the source. */
export type LinkTarget = string | { readonly identifier: string; readonly quantity?: number };

/** A line of a list of links, as JSON. */
export interface LinkLine {
  readonly source: string;
  readonly targets: readonly LinkTarget[];
}

/** The links of a relation of links, one `LinkLine` per line. Source: docs/interface §12.8. */
function createLinks({ request, sendJson }: Transport) {
  const toLinks = ({ projectId, relationId }: RelationPlace) =>
    `${PATH.replace('{id}', String(projectId))}/${relationId}/links`;
  return {
    /** @returns the lines, with `source` only those of this source */
    links: async (
      place: RelationPlace,
      { source, ...options }: CallOptions & { readonly source?: string } = {},
    ) => {
      const response = await request({ method: 'GET', path: toLinks(place), query: { source }, ...options });
      return response.text();
    },

    /** Replaces all links. @returns the task */
    putLinks: async (
      place: RelationPlace,
      lines: Blob | string,
      { allowDeletes, ...options }: CallOptions & { readonly allowDeletes?: number } = {},
    ) => {
      const sent = { method: 'PUT', path: toLinks(place), query: { allowDeletes }, body: lines } as const;
      type Answered = AnswerOf<'putManagementProjectsByIdRelationsByRelationIdLinks'>;
      return (await sendJson<Answered>({ ...sent, ...options })).task;
    },

    /** Replaces the links of the sources that are sent. @returns the task */
    patchLinks: async (place: RelationPlace, lines: Blob | string, options: CallOptions = {}) => {
      const sent = { method: 'PATCH', path: toLinks(place), body: lines } as const;
      type Answered = AnswerOf<'patchManagementProjectsByIdRelationsByRelationIdLinks'>;
      return (await sendJson<Answered>({ ...sent, ...options })).task;
    },
  };
}
