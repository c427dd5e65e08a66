import { type Page, paging, readTagged } from './page.ts';
import type { BodyOf, CallOptions, QueryOf, Transport } from './transport.ts';
import type { Ontology, SentAttribute, SentOntology } from './wire.ts';

/** The time span. Default: the last day. Source: docs/interface §14.7. */
export type SpanQuery = CallOptions & QueryOf<'getManagementApiKeysByIdStatistics'>;

const spanOf = ({ from, to, step }: SpanQuery) => ({
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
  ...(step !== undefined && { step }),
});

/** Project groups, projects and their audit log. Source: docs/interface §4.1, §14.2, §14.4. */
export function createProjects({ call }: Transport) {
  return {
    /** The projects in the scope of the key, in the form for connectors. */
    reached: async (options: CallOptions = {}) => (await call('getProjects', {}, options)).data.projects,
    /** Whether the key is valid and has access to this project. */
    checkCredentials: (projectId?: number, options: CallOptions = {}) =>
      call('getProjectCheckCredentials', { query: projectId === undefined ? {} : { projectId } }, options),

    list: ({ deleted, ...page }: Page & { readonly deleted?: boolean } = {}) =>
      call('getManagementProjects', { query: { ...paging(page), ...(deleted && { deleted }) } }, page),
    get: (id: number, options: CallOptions = {}) =>
      call('getManagementProjectsById', { path: { id } }, options),
    create: (project: BodyOf<'postManagementProjects'>, options: CallOptions = {}) =>
      call('postManagementProjects', { body: project }, options),
    change: (id: number, change: BodyOf<'patchManagementProjectsById'>, options: CallOptions = {}) =>
      call('patchManagementProjectsById', { path: { id }, body: change }, options),
    /** Deletes a project. It can be restored for 30 days. */
    delete: (id: number, name: string, options: CallOptions = {}) =>
      call('deleteManagementProjectsById', { path: { id }, query: { confirm: name } }, options),
    restore: (id: number, options: CallOptions = {}) =>
      call('postManagementProjectsByIdRestore', { path: { id } }, options),

    listGroups: (page: Page = {}) => call('getManagementProjectGroups', { query: paging(page) }, page),
    getGroup: (id: number, options: CallOptions = {}) =>
      call('getManagementProjectGroupsById', { path: { id } }, options),
    createGroup: (name: string, options: CallOptions = {}) =>
      call('postManagementProjectGroups', { body: { name } }, options),
    renameGroup: (id: number, name: string, options: CallOptions = {}) =>
      call('patchManagementProjectGroupsById', { path: { id }, body: { name } }, options),
    deleteGroup: (id: number, options: CallOptions = {}) =>
      call('deleteManagementProjectGroupsById', { path: { id } }, options),

    /** Its last requests that failed or were slow. Source: docs/interface §14.9. */
    keptRequests: (
      id: number,
      { kind, ...options }: CallOptions & { readonly kind?: 'failed' | 'slow' | undefined } = {},
    ) => call('getManagementProjectsByIdRequests', { path: { id }, query: kind ? { kind } : {} }, options),

    /** The audit log, newest first. */
    auditLog: ({ projectId, ...page }: Page & { readonly projectId?: number } = {}) =>
      call(
        'getManagementAuditLog',
        { query: { ...paging(page), ...(projectId !== undefined && { projectId }) } },
        page,
      ),
  };
}

/** API keys. Source: docs/interface §5.2, §14.2. */
export function createApiKeys({ call }: Transport) {
  return {
    list: (page: Page = {}) => call('getManagementApiKeys', { query: paging(page) }, page),
    get: (id: number, options: CallOptions = {}) =>
      call('getManagementApiKeysById', { path: { id } }, options),
    /** Only this answer contains the value, as `key`. */
    create: (key: BodyOf<'postManagementApiKeys'>, options: CallOptions = {}) =>
      call('postManagementApiKeys', { body: key }, options),
    change: (id: number, change: BodyOf<'patchManagementApiKeysById'>, options: CallOptions = {}) =>
      call('patchManagementApiKeysById', { path: { id }, body: change }, options),
    /** Creates a new value. The old one works during the overlap. */
    rotate: (id: number, overlapSeconds = 0, options: CallOptions = {}) =>
      call('postManagementApiKeysByIdRotate', { path: { id }, body: { overlapSeconds } }, options),
    delete: (id: number, options: CallOptions = {}) =>
      call('deleteManagementApiKeysById', { path: { id } }, options),
    /** Requests, and refusals by the rate limit, over time. Source: docs/interface §14.7. */
    statistics: (id: number, span: SpanQuery = {}) =>
      call('getManagementApiKeysByIdStatistics', { path: { id }, query: spanOf(span) }, span),
  };
}

export interface SampleOptions extends CallOptions {
  /** `even`, the default: an even sample of a large catalog. */
  readonly sample?: 'even' | 'all' | undefined;
}

/** Attributes with their types and units. Source: docs/interface §11. */
export function createOntology({ call, request }: Transport) {
  const path = (projectId: number) => `/management/projects/${projectId}/ontology`;
  return {
    get: (projectId: number, options: CallOptions = {}) =>
      readTagged<Ontology>({ request }, path(projectId), options),
    /** The list is complete, so attributes that it leaves out are removed. Starts a re-extraction. */
    put: (projectId: number, ontology: SentOntology, options: CallOptions = {}) =>
      call('putManagementProjectsByIdOntology', { path: { id: projectId }, body: ontology }, options),
    /**
     * The share of the catalog that each attribute covers, its values and its problems. `sample`: `all` counts every
     * product of a catalog with more than 50,000. Source: docs/interface §11.6.
     */
    coverage: (
      projectId: number,
      {
        category,
        sample,
        ...options
      }: SampleOptions & { readonly category?: readonly string[] | undefined } = {},
    ) =>
      call(
        'getManagementProjectsByIdOntologyCoverage',
        {
          path: { id: projectId },
          query: {
            ...(category?.length && { category: JSON.stringify(category) }),
            ...(sample && { sample }),
          },
        },
        options,
      ),
    /** The effect of a changed attribute. `deleted`: ids of attributes that the change removes. */
    preview: (
      projectId: number,
      attribute: SentAttribute,
      { deleted, sample, ...options }: SampleOptions & { readonly deleted?: readonly number[] } = {},
    ) =>
      call(
        'postManagementProjectsByIdOntologyPreview',
        {
          path: { id: projectId },
          query: sample ? { sample } : {},
          body: { attribute, ...(deleted && { deleted: [...deleted] }) },
        },
        options,
      ),
  };
}

/** The service itself. Source: docs/interface §10.3, §14.7. */
export function createInstallation({ call }: Transport) {
  return {
    live: (options: CallOptions = {}) => call('getHealthLive', {}, options),
    ready: (options: CallOptions = {}) => call('getHealthReady', {}, options),
    /** In the format of Prometheus; needs an account key. */
    metrics: (options: CallOptions = {}) => call('getMetrics', {}, options),
    openApi: (options: CallOptions = {}) => call('getOpenapiJson', {}, options),
    /** Requests, catalogs, and failed or slow requests over time. */
    statistics: ({ projectId, ...span }: SpanQuery & { readonly projectId?: number } = {}) =>
      call(
        'getManagementStatistics',
        { query: { ...spanOf(span), ...(projectId !== undefined && { projectId }) } },
        span,
      ),
  };
}
