/** Written by `npm run wire` from docs/openapi.json. Not to be changed by hand. */
import type { Filter } from './filter.ts';

export type ApiKey = {
  id: number;
  name: string;
  scope: {
    type: "account";
  } | {
    type: "project-group" | "project";
    id: number;
  };
  /** read: projects and lookups; write: also updates and tasks; manage: all that the scope allows */
  access: "read" | "write" | "manage";
  /** of the value, to tell keys apart */
  firstCharacters: string;
  /** epoch milliseconds */
  createdAt: number;
  lastUsedAt: number | null;
  /** last use by the deprecated ?apiKey= */
  usedInUrlAt: number | null;
  expiresAt: number | null;
  rateLimit: {
    requestsPerMinute: number;
  } | null;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
};

export type Attribute = {
  id?: number;
  name: string;
  type: "TEXT_ATTRIBUTE" | "NUMERIC_ATTRIBUTE" | "BOOLEAN_ATTRIBUTE" | "DATE_ATTRIBUTE" | "UNTYPED_ATTRIBUTE";
  unitName?: string;
  decimal?: "point" | "comma";
  synonyms?: Array<string>;
};

export type AuditEntry = {
  id: number;
  /** epoch milliseconds */
  at: number;
  actor: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  projectId: number | null;
  /** subject and what happened to it, as api-key.created */
  action: string;
  /** what was changed */
  subject: Record<string, unknown>;
  /** how it was changed */
  details: Record<string, unknown>;
};

export type DataPoint = {
  /** up to 53 bits */
  id: number;
  conceptIdName: string;
  key: string;
  type: "PASS_ON";
  value: string;
  isCategory: boolean;
  parsedValue?: number;
  unit?: string;
};

export type Error = {
  status: "failure";
  /** the HTTP status */
  code: number;
  message: string;
  requestId?: string;
  details?: Array<string>;
  /** one element per bad product */
  validation?: Array<unknown>;
};

export type Fact = {
  attributeId: number;
  attribute: string;
  /** up to 53 bits */
  valueId: number;
  /** as uploaded */
  value: string;
  type: string;
  userGroups?: Array<string>;
};

export type Health = {
  status: "ok";
};

export type ManagedProject = {
  id: number;
  name: string;
  projectGroupId: number;
  locale: string;
  tags: Array<string>;
  settings: {
    /** delete guard of full updates */
    maxDeletePercent: number;
    /** commits and deletes that can be undone */
    keptCommits: number;
    /** the attribute that is the brand */
    brandAttribute: string;
  };
  /** epoch milliseconds */
  createdAt: number;
  /** only in the list of deleted projects */
  deletedAt?: number;
};

export type NewApiKey = {
  id: number;
  name: string;
  scope: {
    type: "account";
  } | {
    type: "project-group" | "project";
    id: number;
  };
  /** read: projects and lookups; write: also updates and tasks; manage: all that the scope allows */
  access: "read" | "write" | "manage";
  /** of the value, to tell keys apart */
  firstCharacters: string;
  /** epoch milliseconds */
  createdAt: number;
  lastUsedAt: number | null;
  /** last use by the deprecated ?apiKey= */
  usedInUrlAt: number | null;
  expiresAt: number | null;
  rateLimit: {
    requestsPerMinute: number;
  } | null;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** the value: shown in this answer and never again */
  key: string;
};

export type Ontology = {
  mode: "automatic" | "own";
  attributes: Array<Attribute>;
};

export type Product = {
  id: number;
  identifier: string;
  groupId: string;
  name: string;
  link: string;
  images: Array<{
    url: string;
    type: string;
  }>;
  categories: Array<{
    path: Array<string>;
    categoryId: number;
  }>;
  facts: Array<Fact>;
  /** epoch milliseconds */
  lastUpdateTs: number;
};

export type Project = {
  id: number;
  name: string;
  "project-group-id": number;
  "project-group-name": string;
  /** language and country, as de-DE */
  locale: string;
  language: string;
  country: string;
  tags: Array<string>;
};

export type ProjectGroup = {
  id: number;
  name: string;
  /** epoch milliseconds */
  createdAt: number;
};

export type ProjectList = {
  status: "success";
  data: {
    /** by id */
    projects: Array<Project>;
  };
};

export type RelatedProducts = {
  tags: Array<{
    tag: string;
    relations: Array<{
      name: string;
      id: number;
      matchType: "FIRST_WAY" | "SECOND_WAY";
      searchResult: Array<{
        identifier: string;
        groupId: string;
        sxId: number;
        name: string;
        brand: string;
        category: string;
        image: string;
        link: string;
        /** 1,000,000 for the best, one less for each behind it */
        relevance: number;
        explain?: unknown;
      }>;
    }>;
  }>;
};

export type RelatedProductsOfMany = {
  tags: Array<{
    tag: string;
    relations: Array<{
      name: string;
      id: number;
      matchType: "FIRST_WAY" | "SECOND_WAY";
      localization: {
        names: Array<{
          locale: string;
          name: string;
        }>;
      };
      searchResult: Array<Array<{
        identifier: string;
        groupId: string;
        sxId: number;
        dataPoints: Array<DataPoint>;
        image: string;
        name: string;
        images: Array<{
          url: string;
          type: string;
        }>;
        link: string;
        head: boolean;
        /** 1,000,000 for the best, one less for each behind it */
        relevance: number;
        explain?: unknown;
      }>>;
    }>;
  }>;
};

export type Relation = {
  name: string;
  tag: string;
  description?: string;
  /** default false */
  twoWay?: boolean;
  /** default true */
  enabled?: boolean;
  /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
  source: Filter;
  /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
  target: Filter;
  /** target attribute, operator, source attribute */
  match?: Array<{
    target: string;
    operator: "equals" | "notEquals" | "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
    source: string;
  }>;
  sort?: Array<{
    attribute: string;
    direction: "asc" | "desc";
  }>;
  names?: Array<{
    locale: string;
    name: string;
  }>;
  /** default true */
  excludeSameGroup?: boolean;
  id: number;
  state: "building" | "ready" | "misconfigured";
  misconfigured: boolean;
  /** why it cannot work */
  problem?: string;
  /** epoch milliseconds */
  createdAt: number;
  /** epoch milliseconds */
  updatedAt: number;
};

export type RelationDefinition = {
  name: string;
  tag: string;
  description?: string;
  /** default false */
  twoWay?: boolean;
  /** default true */
  enabled?: boolean;
  /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
  source: Filter;
  /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
  target: Filter;
  /** target attribute, operator, source attribute */
  match?: Array<{
    target: string;
    operator: "equals" | "notEquals" | "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
    source: string;
  }>;
  sort?: Array<{
    attribute: string;
    direction: "asc" | "desc";
  }>;
  names?: Array<{
    locale: string;
    name: string;
  }>;
  /** default true */
  excludeSameGroup?: boolean;
  id?: number;
  state?: string;
  misconfigured?: boolean;
  problem?: string;
  createdAt?: number;
  updatedAt?: number;
};

export type RelationExplanation = {
  related: boolean;
  matchType: "FIRST_WAY" | "SECOND_WAY";
  /** from 1, among the first 1,000 groups */
  rank: number | null;
  /** same product or same group */
  excluded: string | null;
  source: {
    holds: boolean;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  target: {
    holds: boolean;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  match: Array<{
    target: string;
    operator: string;
    source: string;
    holds: boolean;
    targetValues: Array<string>;
    sourceValues: Array<string>;
  }>;
};

export type RelationSurvey = {
  misconfigured: boolean;
  problem?: string;
  source?: {
    products: number;
  };
  target?: {
    products: number;
  };
  /** true: only some of the sources were looked at */
  sampled?: boolean;
  sampledSources?: number;
  withResults?: number;
  /** of the sources that were looked at, from 0 to 1 */
  share?: number;
  withoutResults?: {
    count: number;
    identifiers: Array<string>;
  };
  mostReturned?: Array<{
    identifier: string;
    count: number;
  }>;
  examples?: Array<{
    source: string;
    results: Array<Array<string>>;
  }>;
};

export type Task = {
  /** 24 lower-case hex digits */
  id: string;
  projectId: number;
  projectName: string | null;
  origin: "LIVE-API" | "CONSOLE" | "PIPELINE";
  taskStatus: "PENDING" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELLED";
  /** empty for an upload */
  name: string;
  taskIncrementType: "STEP_BASED" | "ITEM_BASED";
  failure: boolean;
  /** epoch milliseconds */
  requestTime: number;
  /** epoch milliseconds */
  startTime: number;
  /** null while unfinished */
  finishTime: number | null;
  progress: number;
  logCounter: number;
  /** only on a failed task */
  error?: {
    code: string;
    message: string;
    details: Array<string>;
  };
};

export type ProductInAFullOrIncrementalUpdate = {
  identifier: string;
  name: string;
  groupIdentifier?: string | null;
  productUrl?: string | null;
  image?: string | null;
  images?: Array<{
    url: string;
    type: "SMALL" | "LARGE" | "THUMB" | "ALTERNATIVE";
  }> | null;
  categories?: Array<{
    path: Array<string>;
    priority?: number | null;
    categoryId?: number | null;
  }> | null;
  settings?: {
    includeUserGroups?: Array<string> | null;
    excludeUserGroups?: Array<string> | null;
  } | null;
  attributes?: Array<{
    key: string;
    value: string | null;
    userGroups?: Array<string> | null;
  }> | null;
};

export type ProductInAPartialUpdate = {
  identifier: string;
  name?: string | null;
  groupIdentifier?: string | null;
  productUrl?: string | null;
  image?: string | null;
  images?: Array<{
    url: string;
    type: "SMALL" | "LARGE" | "THUMB" | "ALTERNATIVE";
  }> | null;
  categories?: Array<{
    path: Array<string>;
    priority?: number | null;
    categoryId?: number | null;
  }> | null;
  settings?: {
    includeUserGroups?: Array<string> | null;
    excludeUserGroups?: Array<string> | null;
  } | null;
  attributes?: Record<string, string | Record<string, unknown> | unknown[] | null> | Array<{
    key: string;
    value: string | null;
    userGroups?: Array<string> | null;
  }> | null;
};

export interface Operations {
  /** Whether the process runs */
  getHealthLive: {
    answer: Health;
  };
  /** Whether requests are served */
  getHealthReady: {
    answer: Health;
  };
  /** Metrics of the service */
  getMetrics: {
    answer: string;
  };
  /** List the projects that the key reaches */
  getProjects: {
    query: { projectId?: number; };
    answer: ProjectList;
  };
  /** List project groups */
  getManagementProjectGroups: {
    query: { limit?: number; cursor?: string; };
    answer: {
      items: Array<ProjectGroup>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a project group */
  postManagementProjectGroups: {
    body: {
      name: string;
    };
    answer: ProjectGroup;
  };
  /** Read a project group */
  getManagementProjectGroupsById: {
    path: { id: number; };
    answer: ProjectGroup;
  };
  /** Rename a project group */
  patchManagementProjectGroupsById: {
    path: { id: number; };
    body: {
      name?: string;
    };
    answer: ProjectGroup;
  };
  /** Delete an empty project group */
  deleteManagementProjectGroupsById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** List projects */
  getManagementProjects: {
    query: { limit?: number; cursor?: string; deleted?: boolean; };
    answer: {
      items: Array<ManagedProject>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a project */
  postManagementProjects: {
    body: {
      name: string;
      projectGroupId: number;
      /** language and country, as de-DE */
      locale: string;
      tags?: Array<string>;
      settings?: {
        /** delete guard of full updates */
        maxDeletePercent?: number;
        /** commits and deletes that can be undone */
        keptCommits?: number;
        /** the attribute that is the brand */
        brandAttribute?: string;
      };
    };
    answer: ManagedProject;
  };
  /** Read a project */
  getManagementProjectsById: {
    path: { id: number; };
    answer: ManagedProject;
  };
  /** Change a project */
  patchManagementProjectsById: {
    path: { id: number; };
    body: {
      name?: string;
      projectGroupId?: number;
      /** language and country, as de-DE */
      locale?: string;
      tags?: Array<string>;
      settings?: {
        /** delete guard of full updates */
        maxDeletePercent?: number;
        /** commits and deletes that can be undone */
        keptCommits?: number;
        /** the attribute that is the brand */
        brandAttribute?: string;
      };
    };
    answer: ManagedProject;
  };
  /** Delete a project */
  deleteManagementProjectsById: {
    path: { id: number; };
    query: { confirm?: string; };
    answer: {
      status: "success";
    };
  };
  /** Bring a deleted project back */
  postManagementProjectsByIdRestore: {
    path: { id: number; };
    answer: ManagedProject;
  };
  /** Read who changed what, newest first */
  getManagementAuditLog: {
    query: { limit?: number; cursor?: string; projectId?: number; };
    answer: {
      /** newest first */
      items: Array<AuditEntry>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Check whether a key reaches a project */
  getProjectCheckCredentials: {
    query: { projectId?: number; };
    answer: {
      status: "success";
    };
  };
  /** List API keys */
  getManagementApiKeys: {
    query: { limit?: number; cursor?: string; };
    answer: {
      items: Array<ApiKey>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create an API key */
  postManagementApiKeys: {
    body: {
      name: string;
      scope: {
        type: "account";
      } | {
        type: "project-group" | "project";
        id: number;
      };
      /** read: projects and lookups; write: also updates and tasks; manage: all that the scope allows */
      access?: "read" | "write" | "manage";
      rateLimit?: {
        requestsPerMinute: number;
      } | null;
      expiresAt?: number | null;
    };
    answer: NewApiKey;
  };
  /** Read an API key */
  getManagementApiKeysById: {
    path: { id: number; };
    answer: ApiKey;
  };
  /** Change an API key */
  patchManagementApiKeysById: {
    path: { id: number; };
    body: {
      name?: string;
      /** read: projects and lookups; write: also updates and tasks; manage: all that the scope allows */
      access?: "read" | "write" | "manage";
      /** null: no limit */
      rateLimit?: {
        requestsPerMinute: number;
      } | null;
      /** null: never */
      expiresAt?: number | null;
    };
    answer: ApiKey;
  };
  /** Delete an API key */
  deleteManagementApiKeysById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** Rotate an API key */
  postManagementApiKeysByIdRotate: {
    path: { id: number; };
    body: {
      /** for so long the old value works too */
      overlapSeconds?: number;
    };
    answer: NewApiKey;
  };
  /** List the tasks of a project */
  getTasks: {
    query: { projectId?: number; status?: "PENDING" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELLED"; limit?: number; cursor?: string; };
    answer: {
      status: "success";
      /** newest first */
      tasks: Array<Task>;
      nextCursor: string | null;
    };
  };
  /** Read one task, or wait for its end */
  getTasksById: {
    path: { id: string; };
    query: { wait?: number; };
    answer: {
      status: "success";
      task: Task;
    };
  };
  /** Cancel a task that has not taken effect */
  postTasksByIdCancel: {
    path: { id: string; };
    answer: {
      status: "success";
      task: Task;
    };
  };
  /** Read the log */
  getTasksByIdLog: {
    path: { id: string; };
    answer: {
      status: "success";
      /** oldest first */
      log: Array<{
        at: number;
        line: string;
      }>;
    };
  };
  /** Read the report: a JSON line per product or value with something to say */
  getTasksByIdReport: {
    path: { id: string; };
    answer: unknown;
  };
  /** Follow a task as server-sent events: a `task` event at once and at every change */
  getTasksByIdEvents: {
    path: { id: string; };
    answer: unknown;
  };
  /** Replace products (incremental update) or change some of their fields (partial update) */
  postProducts: {
    query: { projectId?: number; partial?: "true" | "false"; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
    };
  };
  /** Delete products by identifier */
  deleteProducts: {
    query: { projectId?: number; };
    body: {
      identifiers: Array<string>;
    } | Array<string>;
    answer: {
      message: string;
      status: "success";
      task: Task;
    };
  };
  /** Full update, step 1: begin; an open one is discarded */
  postProductsBatchInitiate: {
    query: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      fullUpdateId: number;
    };
  };
  /** Full update, step 2: send a batch, again and again */
  postProductsBatchUpload: {
    query: { projectId?: number; fullUpdateId?: number; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
    };
  };
  /** What the commit of the open full update would do */
  postProductsBatchPreview: {
    query: { projectId?: number; fullUpdateId?: number; };
    answer: {
      status: "success";
      created: {
        count: number;
        identifiers: Array<string>;
      };
      changed: {
        count: number;
        identifiers: Array<string>;
      };
      unchanged: {
        count: number;
        identifiers: Array<string>;
      };
      deleted: {
        count: number;
        identifiers: Array<string>;
      };
      deletePercent: number;
    };
  };
  /** Full update, step 3: commit; products that no batch held are deleted */
  postProductsBatchStart: {
    query: { projectId?: number; fullUpdateId?: number; allowDeletes?: number; };
    answer: {
      status: "success";
      data: {
        message: string;
        status: "success";
        task: Task;
      };
    };
  };
  /** Undo the last commit or delete */
  postProductsBatchRestore: {
    query: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      task: Task;
    };
  };
  /** Look up products by identifier */
  getProductServiceProductsBySku: {
    query: { projectId?: number; identifiers?: string | Array<string>; };
    answer: {
      products: Array<Product>;
    };
  };
  /** Look up products by identifier, without the limits of a URL */
  postProductServiceProductsBySku: {
    query: { projectId?: number; identifiers?: string | Array<string>; };
    body: {
      identifiers: Array<string>;
    };
    answer: {
      products: Array<Product>;
    };
  };
  /** Look up one product */
  getProductServiceProductBySku: {
    query: { projectId?: number; identifier: string; };
    answer: Product;
  };
  /** Related products of many products */
  getSearchRelationsBulkResults: {
    query: { projectId?: number; identifiers?: string | Array<string>; includeRelations?: string; includeTags?: string; explain?: boolean; };
    answer: Record<string, RelatedProductsOfMany>;
  };
  /** Related products of many products, without the limits of a URL */
  postSearchRelationsBulkResults: {
    body: {
      identifiers: Array<string>;
      includeRelations?: Array<{
        id: number;
        /** groups to answer, default 10 */
        limit?: number;
      }> | null;
      includeTags?: Array<{
        tag: string;
        /** groups to answer of each relation, default 10 */
        limitPerRelation?: number;
      }> | null;
      explain?: boolean;
    };
    answer: Record<string, RelatedProductsOfMany>;
  };
  /** Related products of one product */
  getSearchRelationsResult: {
    query: { projectId?: number; identifier: string; includeRelations?: string; includeTags?: string; explain?: boolean; };
    answer: RelatedProducts;
  };
  /** Related products of one product, without the limits of a URL */
  postSearchRelationsResult: {
    body: {
      identifier: string;
      includeRelations?: Array<{
        id: number;
        /** groups to answer, default 10 */
        limit?: number;
      }> | null;
      includeTags?: Array<{
        tag: string;
        /** groups to answer of each relation, default 10 */
        limitPerRelation?: number;
      }> | null;
      explain?: boolean;
    };
    answer: RelatedProducts;
  };
  /** List the relations of a project, all on one page */
  getManagementProjectsByIdRelations: {
    path: { id: number; };
    query: { limit?: number; cursor?: string; };
    answer: {
      items: Array<Relation>;
      nextCursor: null;
    };
  };
  /** Create a relation; its index is made by a task */
  postManagementProjectsByIdRelations: {
    path: { id: number; };
    body: RelationDefinition;
    answer: Relation;
  };
  /** Export all relations of a project as one document */
  getManagementProjectsByIdRelationsExport: {
    path: { id: number; };
    answer: {
      relations: Array<RelationDefinition>;
    };
  };
  /** Replace all relations of a project by those of a document */
  postManagementProjectsByIdRelationsImport: {
    path: { id: number; };
    body: {
      relations: Array<RelationDefinition>;
    };
    answer: {
      items: Array<Relation>;
      nextCursor: null;
    };
  };
  /** Read a relation */
  getManagementProjectsByIdRelationsByRelationId: {
    path: { id: number; relationId: number; };
    answer: Relation;
  };
  /** Replace a relation; the old answers stay until the new ones are complete */
  putManagementProjectsByIdRelationsByRelationId: {
    path: { id: number; relationId: number; };
    body: RelationDefinition;
    answer: Relation;
  };
  /** Delete a relation */
  deleteManagementProjectsByIdRelationsByRelationId: {
    path: { id: number; relationId: number; };
    answer: {
      status: "success";
    };
  };
  /** Try a definition on the catalog without storing it */
  postManagementProjectsByIdRelationsPreview: {
    path: { id: number; };
    body: RelationDefinition;
    answer: RelationSurvey;
  };
  /** How a relation does on the catalog */
  getManagementProjectsByIdRelationsByRelationIdHealth: {
    path: { id: number; relationId: number; };
    answer: RelationSurvey;
  };
  /** Why a product is among the results of another, or is not */
  postManagementProjectsByIdRelationsByRelationIdExplain: {
    path: { id: number; relationId: number; };
    body: {
      source: string;
      target: string;
    };
    answer: RelationExplanation;
  };
  /** Read the ontology of a project */
  getManagementProjectsByIdOntology: {
    path: { id: number; };
    answer: Ontology;
  };
  /** Replace the ontology of a project; the catalog is extracted again by a task */
  putManagementProjectsByIdOntology: {
    path: { id: number; };
    body: Ontology;
    answer: Ontology;
  };
  /** List or export the catalog of a project */
  getManagementProjectsByIdProducts: {
    path: { id: number; };
    query: { limit?: number; cursor?: string; format?: "json" | "ndjson"; };
    answer: {
      items: Array<unknown>;
      nextCursor: string | null;
    };
  };
  /** Read one product: its upload, its facts and what was not extracted */
  getManagementProjectsByIdProductsByIdentifier: {
    path: { id: number; identifier: string; };
    answer: {
      product: Product;
      /** upload shape */
      upload: unknown;
      notExtracted: Array<{
        attribute: string;
        value: string;
        code: string;
        message: string;
      }>;
    };
  };
  /** This interface as OpenAPI */
  getOpenapiJson: {
    answer: Record<string, unknown>;
  };
  /** This interface to read */
  getDocs: {
    answer: string;
  };
}

export const operations = {
  getHealthLive: ['GET', '/health/live'],
  getHealthReady: ['GET', '/health/ready'],
  getMetrics: ['GET', '/metrics'],
  getProjects: ['GET', '/projects'],
  getManagementProjectGroups: ['GET', '/management/project-groups'],
  postManagementProjectGroups: ['POST', '/management/project-groups'],
  getManagementProjectGroupsById: ['GET', '/management/project-groups/{id}'],
  patchManagementProjectGroupsById: ['PATCH', '/management/project-groups/{id}'],
  deleteManagementProjectGroupsById: ['DELETE', '/management/project-groups/{id}'],
  getManagementProjects: ['GET', '/management/projects'],
  postManagementProjects: ['POST', '/management/projects'],
  getManagementProjectsById: ['GET', '/management/projects/{id}'],
  patchManagementProjectsById: ['PATCH', '/management/projects/{id}'],
  deleteManagementProjectsById: ['DELETE', '/management/projects/{id}'],
  postManagementProjectsByIdRestore: ['POST', '/management/projects/{id}/restore'],
  getManagementAuditLog: ['GET', '/management/audit-log'],
  getProjectCheckCredentials: ['GET', '/project/check-credentials'],
  getManagementApiKeys: ['GET', '/management/api-keys'],
  postManagementApiKeys: ['POST', '/management/api-keys'],
  getManagementApiKeysById: ['GET', '/management/api-keys/{id}'],
  patchManagementApiKeysById: ['PATCH', '/management/api-keys/{id}'],
  deleteManagementApiKeysById: ['DELETE', '/management/api-keys/{id}'],
  postManagementApiKeysByIdRotate: ['POST', '/management/api-keys/{id}/rotate'],
  getTasks: ['GET', '/tasks'],
  getTasksById: ['GET', '/tasks/{id}'],
  postTasksByIdCancel: ['POST', '/tasks/{id}/cancel'],
  getTasksByIdLog: ['GET', '/tasks/{id}/log'],
  getTasksByIdReport: ['GET', '/tasks/{id}/report'],
  getTasksByIdEvents: ['GET', '/tasks/{id}/events'],
  postProducts: ['POST', '/products'],
  deleteProducts: ['DELETE', '/products'],
  postProductsBatchInitiate: ['POST', '/products/batch/initiate'],
  postProductsBatchUpload: ['POST', '/products/batch/upload'],
  postProductsBatchPreview: ['POST', '/products/batch/preview'],
  postProductsBatchStart: ['POST', '/products/batch/start'],
  postProductsBatchRestore: ['POST', '/products/batch/restore'],
  getProductServiceProductsBySku: ['GET', '/product-service/products-by-sku'],
  postProductServiceProductsBySku: ['POST', '/product-service/products-by-sku'],
  getProductServiceProductBySku: ['GET', '/product-service/product-by-sku'],
  getSearchRelationsBulkResults: ['GET', '/search/relations/bulk-results'],
  postSearchRelationsBulkResults: ['POST', '/search/relations/bulk-results'],
  getSearchRelationsResult: ['GET', '/search/relations/result'],
  postSearchRelationsResult: ['POST', '/search/relations/result'],
  getManagementProjectsByIdRelations: ['GET', '/management/projects/{id}/relations'],
  postManagementProjectsByIdRelations: ['POST', '/management/projects/{id}/relations'],
  getManagementProjectsByIdRelationsExport: ['GET', '/management/projects/{id}/relations/export'],
  postManagementProjectsByIdRelationsImport: ['POST', '/management/projects/{id}/relations/import'],
  getManagementProjectsByIdRelationsByRelationId: ['GET', '/management/projects/{id}/relations/{relationId}'],
  putManagementProjectsByIdRelationsByRelationId: ['PUT', '/management/projects/{id}/relations/{relationId}'],
  deleteManagementProjectsByIdRelationsByRelationId: ['DELETE', '/management/projects/{id}/relations/{relationId}'],
  postManagementProjectsByIdRelationsPreview: ['POST', '/management/projects/{id}/relations/preview'],
  getManagementProjectsByIdRelationsByRelationIdHealth: ['GET', '/management/projects/{id}/relations/{relationId}/health'],
  postManagementProjectsByIdRelationsByRelationIdExplain: ['POST', '/management/projects/{id}/relations/{relationId}/explain'],
  getManagementProjectsByIdOntology: ['GET', '/management/projects/{id}/ontology'],
  putManagementProjectsByIdOntology: ['PUT', '/management/projects/{id}/ontology'],
  getManagementProjectsByIdProducts: ['GET', '/management/projects/{id}/products'],
  getManagementProjectsByIdProductsByIdentifier: ['GET', '/management/projects/{id}/products/{identifier}'],
  getOpenapiJson: ['GET', '/openapi.json'],
  getDocs: ['GET', '/docs'],
} as const satisfies Record<keyof Operations, readonly [string, string]>;
