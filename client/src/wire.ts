/** Written by `npm run wire` from docs/openapi.json. Not to be changed by hand. */
import type { Filter, RowFilter } from './filter.ts';

export type ApiKey = {
  id: number;
  name: string;
  scope: Scope;
  /** read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: everything within the scope */
  access: "read" | "write" | "manage";
  /** only related products and fit, for a page whose visitors can see the key */
  page?: true;
  /** of the value, to identify the key */
  firstCharacters: string;
  /** epoch milliseconds */
  createdAt: number;
  lastUsedAt: number | null;
  /** the last use in the deprecated ?apiKey= */
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
  /** why a full update gave the attribute its type; set by the service, ignored in a PUT */
  reason?: string;
  /** resets the type to automatic: the next full update judges the values again */
  typing?: "automatic";
};

export type AttributeCoverage = {
  id: number | null;
  name: string;
  type: string | null;
  unitName?: string;
  /** products with a value */
  withValue: number;
  /** products with a fact */
  withFact: number;
  values: Array<{
    value: string;
    count: number;
  }>;
  /** at most 5,000 are counted */
  distinctValues: number;
  hasMoreValues: boolean;
  problems: Array<{
    code: string;
    message: string;
    /** of values */
    count: number;
    examples: Array<{
      identifier: string;
      value: string;
    }>;
  }>;
};

export type AttributeDraft = {
  attribute: Attribute;
  /** ids of the deleted attributes, whose keys the attribute takes over */
  deleted?: Array<number>;
};

export type AttributeEffect = {
  /** in the catalog */
  products: number;
  /** true: only a sample of the products was counted */
  sampled: boolean;
  /** products that were counted */
  sampledProducts: number;
  /** products with a value under the attribute, before or after */
  withValue: number;
  /** values that make a fact before and after */
  kept: number;
  gained: {
    /** of values */
    count: number;
    examples: Array<{
      identifier: string;
      value: string;
    }>;
  };
  lost: {
    /** of values */
    count: number;
    examples: Array<{
      identifier: string;
      value: string;
    }>;
  };
  problems: Array<{
    code: string;
    message: string;
    /** of values */
    count: number;
    examples: Array<{
      identifier: string;
      value: string;
    }>;
  }>;
  /** with renameTo: the definitions that name the attribute */
  uses?: Array<AttributeUse>;
};

export type AttributeSuggestion = {
  /** derived from the subject, so the same suggestion always has the same id */
  id: string;
  kind: "attribute";
  dismissed: boolean;
  evidence: {
    /** null if the ontology does not have the key */
    typeNow: string | null;
    /** with a value */
    products: number;
    values: number;
    /** values that would make a fact */
    fits: number;
    distinctMisfits: number;
    misfits: Array<{
      value: string;
      /** number of products */
      count: number;
      identifiers: Array<string>;
    }>;
    examples: Array<{
      value: string;
      /** number of products */
      count: number;
      identifiers: Array<string>;
    }>;
  };
  /** the body of POST …/ontology/preview */
  draft: AttributeDraft;
};

export type AttributeUse = {
  kind: "relation" | "channel" | "pipeline" | "project";
  id: number;
  name: string;
  /** whether it uses the new name; a pipeline keeps the former name, which remains a synonym */
  isRenamed: boolean;
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
  /** the subject and the event, such as api-key.created */
  action: string;
  /** the changed object */
  subject: Record<string, unknown>;
  /** the details of the change */
  details: Record<string, unknown>;
};

export type BuildCounts = {
  /** products of the catalog */
  products: number;
  /** products that the filter excluded, or that are only for some groups of customers */
  filtered: number;
  /** products that are in the files */
  rows: number;
  /** products that lack what the format requires */
  leftOut: number;
  /** related products, of all rows */
  related: number;
  /** related products of all rows that were not named because they are not in the files */
  relatedLeftOut: number;
  /** files of rows */
  files: number;
  /** bytes of these files */
  bytes: number;
  /** with changes: unchanged rows, which are not in the files */
  unchanged?: number;
  /** with changes: rows of removed products */
  removed?: number;
};

export type CatalogPoint = {
  /** when the step begins, epoch milliseconds */
  at: number;
  /** in all catalogs together, at the end of the step */
  products: number;
  created: number;
  changed: number;
  deleted: number;
  /** tasks that ended */
  tasks: number;
  failedTasks: number;
};

export type CellProblem = {
  field: string;
  column?: string;
  reason: string;
};

export type ChangedAttribute = {
  attribute: SentAttribute;
  /** ids of other attributes that the change deletes, so that their keys are free */
  deleted?: Array<number>;
};

export type Channel = {
  id: number;
  name: string;
  format: ChannelFormat;
  /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
  filter: Filter;
  /** the format's fields, in the order of the columns; default: suggested from the ontology */
  mapping?: Record<string, ChannelSource>;
  relations: Array<ChannelRelation>;
  trigger: ChannelTrigger;
  destinations: Array<ChannelDestination>;
  /** a build has only rows that changed since the previous build, and rows of removed products; default false */
  changes?: boolean;
  /** a build that loses more of the published rows fails; default 30 */
  maxDeletePercent?: number;
  /** a build fails if it leaves out more of the products that the filter takes, because they lack what the format requires; default 100 */
  maxLeftOutPercent?: number;
  /** the published address; no key is needed to read it */
  url: string;
  /** epoch milliseconds */
  createdAt: number;
  /** epoch milliseconds */
  updatedAt: number;
  /** of a schedule: when the next build is due, epoch milliseconds */
  nextBuildAt?: number;
  /** null until the first build */
  published: PublishedFeed | null;
  lastBuild: LastBuild | null;
};

export type ChannelBuild = {
  task: Task;
  startedBy: "manual" | "schedule" | "change";
  /** null until the build has counted */
  counts: BuildCounts | null;
};

export type ChannelDefinition = {
  name: string;
  format: ChannelFormat;
  /** default: every product */
  filter?: Filter;
  /** the format's fields, in the order of the columns; default: suggested from the ontology */
  mapping?: Record<string, ChannelSource>;
  relations?: Array<ChannelRelation>;
  /** default manual */
  trigger?: ChannelTrigger;
  /** servers and buckets that receive every build, in addition to the address; default none */
  destinations?: Array<ChannelDestination>;
  /** a build has only rows that changed since the previous build, and rows of removed products; default false */
  changes?: boolean;
  /** a build that loses more of the published rows fails; default 30 */
  maxDeletePercent?: number;
  /** a build fails if it leaves out more of the products that the filter takes, because they lack what the format requires; default 100 */
  maxLeftOutPercent?: number;
  id?: number;
  url?: string;
  createdAt?: number;
  updatedAt?: number;
  nextBuildAt?: number;
  published?: unknown;
  lastBuild?: unknown;
};

export type ChannelDestination = SftpDestination | S3Destination;

export type ChannelFormat = {
  type: "google-merchant" | "openai" | "shopify-csv" | "woocommerce-csv" | "magento-csv" | "csv" | "ndjson" | "json-ld" | "etim-xchange" | "ucp";
  /** google-merchant: tsv, xml; openai: jsonl, csv; shopify-csv: csv; woocommerce-csv: csv; magento-csv: csv; csv: csv; ndjson: ndjson; json-ld: jsonl; etim-xchange: json; ucp: ndjson; default: the first */
  variant?: string;
  /** default none; gzip for openai as jsonl */
  compression?: "gzip" | "none";
};

export type ChannelPreview = {
  fileName: string;
  columns: Array<string>;
  /** the mapping that was sent, or else the suggested one */
  mapping: Record<string, ChannelSource>;
  /** the first products that the filter takes */
  rows: Array<{
    identifier: string;
    values: Record<string, Array<string>>;
    related: Array<{
      as: string;
      identifiers: Array<string>;
    }>;
    problems: Array<FieldProblem>;
    /** the product lacks what the format requires */
    isLeftOut: boolean;
  }>;
  /** required fields that products lack */
  missing: Array<{
    field: string;
    /** number of products that lack the field, of the products that were read */
    products: number;
    /** identifiers of the first of these products */
    identifiers: Array<string>;
    message: string;
  }>;
  looked: {
    products: number;
    /** products that the filter took */
    taken: number;
    leftOut: number;
  };
  /** the beginning of the file */
  text: string;
};

export type ChannelRelation = {
  /** the tag of relations; either tag or id */
  tag?: string;
  /** the id of one relation; either tag or id */
  id?: number;
  /** the role of the related products */
  as: "accessory" | "required_part" | "substitute" | "often_bought_with" | "part_of_set" | "different_brand";
  /** maximum number of related products per relation and product; default 10 */
  limit?: number;
};

export type ChannelSource = {
  attribute?: string;
  field?: "identifier" | "groupIdentifier" | "name" | "productUrl" | "image" | "images" | "additionalImages" | "category" | "categoryPath" | "categories";
  constant?: string;
  /** text with names of attributes or fields in braces, such as {Price} EUR; write {{ and }} for literal braces */
  template?: string;
  /** a JSONata expression that sees only the product; time and memory are limited */
  expression?: string;
};

export type ChannelToTry = {
  name?: string;
  format?: ChannelFormat;
  /** default: every product */
  filter?: Filter;
  /** the format's fields, in the order of the columns; default: suggested from the ontology */
  mapping?: Record<string, ChannelSource>;
  relations?: Array<ChannelRelation>;
  /** default manual */
  trigger?: ChannelTrigger;
  /** a preview delivers nothing */
  destinations?: Array<ChannelDestination>;
  /** a build has only rows that changed since the previous build, and rows of removed products; default false */
  changes?: boolean;
  /** a build that loses more of the published rows fails; default 30 */
  maxDeletePercent?: number;
  /** a build fails if it leaves out more of the products that the filter takes, because they lack what the format requires; default 100 */
  maxLeftOutPercent?: number;
  id?: number;
  url?: string;
  createdAt?: number;
  updatedAt?: number;
  nextBuildAt?: number;
  published?: unknown;
  lastBuild?: unknown;
};

export type ChannelTrigger = {
  type: "manual" | "schedule" | "change";
  /** schedule: the same form as in a pipeline */
  cron?: string;
  /** schedule: such as Europe/Berlin */
  timeZone?: string;
  /** change: minimum time between two builds; default 300 */
  minSecondsBetween?: number;
};

export type Commit = {
  /** never reused */
  id: number;
  /** epoch milliseconds */
  at: number;
  kind: "commit" | "delete";
  /** null: an earlier version of the service made the commit */
  author: {
    type: "key" | "user" | "command" | "pipeline";
    /** of a key or user */
    id: number | null;
    /** the name at the time of the commit */
    name: string;
  } | null;
  /** null: an earlier version of the service made the commit */
  catalogVersion: number | null;
  /** products */
  created: number;
  changed: number;
  deleted: number;
  /** null: the task has been deleted */
  taskId: string | null;
  /** the origin of the task */
  origin: string | null;
};

export type CommitChange = {
  productId: number;
  identifier: string;
  kind: "created" | "changed" | "deleted";
  /** upload shape; null: the product did not exist */
  before: unknown | null;
  /** upload shape; null: the product did not exist */
  after: unknown | null;
  /** true: an update changed the product again; `after` is the state that the next undoable commit found, or the present state */
  changedSince: boolean;
};

export type Computation = {
  times?: number;
  plus?: number | string;
};

export type ConsoleSession = {
  id: number;
  /** the session of this request */
  isCurrent: boolean;
  /** epoch milliseconds */
  createdAt: number;
  /** epoch milliseconds, accurate to the minute */
  usedAt: number;
  /** epoch milliseconds */
  expiresAt: number;
  /** the network address of the browser; null if unknown */
  address: string | null;
  /** the name of the browser, at most 255 characters; null if unknown */
  userAgent: string | null;
};

export type Coverage = {
  /** in the catalog */
  products: number;
  /** true: only a sample of the products was counted */
  sampled: boolean;
  /** products that were counted */
  sampledProducts: number;
  /** of the ontology */
  attributes: Array<AttributeCoverage>;
  /** keys without an attribute, the most frequent first */
  unknown: Array<AttributeCoverage>;
};

export type DataPoint = {
  /** an integer of up to 53 bits */
  id: number;
  conceptIdName: string;
  key: string;
  type: "PASS_ON";
  value: string;
  isCategory: boolean;
  parsedValue?: number;
  unit?: string;
};

export type DescribedValue = {
  key: string;
  /** as uploaded */
  value: string;
  userGroups?: Array<string>;
  /** as uploaded */
  row?: string | number;
  /** null: the ontology has no such attribute */
  attribute: string | null;
  fact: {
    attributeId: number;
    /** up to 53 bits */
    valueId: number;
    type: string;
    /** in the unit of the attribute */
    number?: number;
    unit?: string;
  } | null;
  /** the reason why there is no fact */
  code?: string;
  message?: string;
};

export type DirectorySource = {
  type: "directory";
  /** path below RELATA_IMPORT_DIR/<projectId>/, with *, ? and ** for folders, such as ** /*.csv */
  pattern: string;
  /** all matching files in the order of their names (default), or only the newest one */
  take?: "all" | "newest";
  /** which file to read from a zip archive with several files: a pattern with *, ? and ** */
  entry?: string;
};

export type DuplicateSuggestion = {
  /** derived from the subject, so the same suggestion always has the same id */
  id: string;
  kind: "duplicate";
  dismissed: boolean;
  evidence: {
    kept: {
      id: number | null;
      name: string;
      type: string | null;
      products: number;
    };
    dropped: {
      id: number | null;
      name: string;
      type: string | null;
      products: number;
    };
    /** the number of products that have both attributes */
    withBoth: number;
    /** how many values of the dropped attribute the kept one has too */
    sharedValues: number;
    /** the number of values of the dropped attribute */
    values: number;
    examples: Array<{
      value: string;
      kept: number;
      dropped: number;
    }>;
    misfits: Array<{
      value: string;
      /** number of products */
      count: number;
      identifiers: Array<string>;
    }>;
  };
  /** the body of POST …/ontology/preview */
  draft: AttributeDraft;
};

export type Error = {
  status: "failure";
  /** the HTTP status */
  code: number;
  /** one word for programs; the list is closed */
  reason: "answer_not_kept" | "answer_too_large" | "answers_unread" | "attempt_ended" | "bad_request" | "body_encoding" | "body_not_json" | "body_not_unpacked" | "body_slow" | "body_stalled" | "body_too_large" | "catalog_damaged" | "catalog_foreign" | "changed_meanwhile" | "channel_budget_used" | "channel_building" | "channel_busy" | "channel_rows_left_out" | "channel_served" | "channel_shrunk" | "channel_undelivered" | "channel_unfit" | "company_sign_in_absent" | "confirm_missing" | "console_missing" | "csrf_refused" | "delete_guard" | "deletes_not_exact" | "email_taken" | "expectation_failed" | "format_unreadable" | "full_update_arriving" | "full_update_batch_failed" | "full_update_empty" | "full_update_ended" | "full_update_foreign" | "full_update_in_doubt" | "full_update_incomplete" | "full_update_missing" | "full_update_other" | "full_update_replaced" | "full_update_started" | "group_not_empty" | "headers_too_large" | "host_refused" | "idempotency_key_reused" | "key_beyond_own" | "last_owner" | "link_ended" | "links_of_rule" | "mapping_unfit" | "memory_exceeded" | "method_not_allowed" | "no_known_identifier" | "no_products" | "no_role" | "not_found" | "not_ready" | "not_signed_in" | "nothing_to_restore" | "origin_refused" | "passkey_refused" | "password_wrong" | "payload_damaged" | "pipeline_busy" | "pipeline_file_missing" | "pipeline_running" | "pipeline_too_soon" | "product_invalid" | "products_too_few" | "project_required" | "provider_refused" | "provider_unavailable" | "query_invalid" | "question_too_long" | "rate_limited" | "relation_not_ready" | "request_invalid" | "request_timeout" | "role_of_groups" | "role_refused" | "rows_rejected" | "schema_moved" | "scope_refused" | "search_absent" | "search_not_ready" | "search_too_broad" | "search_too_long" | "secret_key_missing" | "secret_unreadable" | "sign_in_limited" | "sign_in_refused" | "sign_in_unstored" | "source_unreadable" | "standby" | "storage_failed" | "storage_full" | "superseded" | "table_exists" | "table_in_use" | "task_ended" | "task_taking_effect" | "task_uploading" | "token_missing" | "too_many_identifiers" | "too_many_looks" | "too_many_pipelined" | "too_many_products" | "too_many_waits" | "unexpected" | "uri_too_long" | "webhook_refused" | "webhook_token_missing";
  message: string;
  requestId?: string;
  details?: Array<string>;
  /** one element per bad product */
  validation?: Array<ProductViolation>;
};

export type ExplainedMatch = {
  target: string;
  operator: string;
  source: string;
  /** the computation on the values, as defined */
  targetTerm?: Computation;
  /** the computation on the values, as defined */
  sourceTerm?: Computation;
  missing?: string;
  table?: string;
  targetValues: Array<string>;
  sourceValues: Array<string>;
  /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
  say: string;
  /** of a match that fails: the value that the target would need */
  advice?: string;
  /** of a match that fails: the value that the source would need; changing one of the two suffices */
  sourceAdvice?: string;
  holds: boolean;
};

export type Facet = {
  attribute: string;
  type: string;
  unitName?: string;
  /** products with a value */
  count: number;
  values: Array<{
    value: string;
    count: number;
  }>;
  /** of a numeric attribute, in its unit */
  min?: number;
  max?: number;
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
  /** as uploaded */
  row?: string | number;
};

export type FieldProblem = {
  field: string;
  code: string;
  value?: string;
  message: string;
};

export type FitAnswer = {
  status: "success";
  verdict: "fits" | "does_not_fit" | "unknown" | "no_rule";
  pairs: Array<PairVerdict>;
  totals: Array<TotalVerdict>;
  /** pairs of identifiers that no constraint judged */
  withoutRule: Array<Array<string>>;
  unknownIdentifiers: Array<string>;
  alternatives: Array<{
    insteadOf: string;
    products: Array<{
      identifier: string;
      groupId: string;
      sxId: number;
      name: string;
      brand: string;
      category: string;
      image: string;
      link: string;
      /** 1,000,000 for the best product, and one less for each following product */
      relevance: number;
    }>;
    /** why there are no alternatives, or why the search ended early */
    reason?: string;
  }>;
  /** epoch milliseconds: the latest change of any of the products */
  lastUpdateTs: number | null;
  receipt: {
    /** version of the catalog */
    version: number;
    relations: Array<{
      id: number;
      /** the ETag of the relation */
      revision: string;
    }>;
    /** SHA-256 of the answer as JSON without this member, with members sorted by name and no white space */
    hash: string;
  };
};

export type FitQuestion = {
  /** the project; not needed by a key that can access exactly one */
  projectId?: number;
  /** the quantities of a repeated identifier are added up */
  items: Array<{
    identifier: string;
    /** default 1 */
    quantity?: number;
  }>;
  /** judge only by constraints with one of these tags */
  tags?: Array<string> | null;
  /** judge only by the constraints with these ids */
  relations?: Array<number> | null;
  /** how many alternatives to return for each product that does not fit; default 0 */
  alternatives?: number | null;
  locale?: string | null;
};

export type FoundList = {
  /** the part of the mapping, such as attributes.Socket */
  field: string;
  column: string;
  /** the value for split; for targets, the value for separator */
  separator: string;
  /** the number of different values */
  values: number;
  message: string;
};

export type FoundProduct = {
  id: number;
  identifier: string;
  groupId: string;
  name: string;
  /** the first LARGE image, otherwise the first image; may be empty */
  image: string;
  /** the first THUMB or SMALL image, otherwise the same as `image`; may be empty */
  thumbnail: string;
  /** path of the main category; may be empty */
  category: Array<string>;
  /** epoch milliseconds */
  lastUpdateTs: number;
  link: string;
};

export type Health = {
  status: "ok";
};

export type HttpSource = {
  type: "http";
  /** http:// or https://, without credentials */
  url: string;
  /** sent with the request, and dropped on a redirect to another origin. Answers show *** in place of each value; a *** that is sent back keeps the value as long as the origin of the URL stays the same */
  headers?: Record<string, string>;
  /** which file to read from a zip archive with several files: a pattern with *, ? and ** */
  entry?: string;
};

export type Invitation = {
  id: number;
  email: string;
  /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
  role: "owner" | "editor" | "viewer" | "none";
  /** the roles in project groups and projects, in addition to `role` */
  roles: Array<{
    scope: {
      type: "project-group" | "project";
      id: number;
    };
    role: "editor" | "viewer";
  }>;
  /** epoch milliseconds */
  createdAt: number;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** epoch milliseconds */
  expiresAt: number;
};

export type KeptRequest = {
  requestId: string;
  kind: "failed" | "slow";
  /** when it was answered, epoch milliseconds */
  at: number;
  method: string;
  /** path and query; secrets are masked */
  url: string;
  status: number;
  reason: string | null;
  message: string | null;
  details: Array<string>;
  ms: number;
  by: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** its first 1,024 characters with secrets masked; null if there was none, a file, or an unreadable body */
  body: string | null;
  /** the size of the body as it was sent */
  bodyBytes: number;
  isBodyWhole: boolean;
};

export type KeptRequests = {
  /** newest first */
  items: Array<KeptRequest>;
  /** when this process began to keep requests, epoch milliseconds */
  since: number;
  /** false if other processes may have answered further requests */
  isWhole: boolean;
};

export type KeyStatistics = {
  /** epoch milliseconds, at the boundary of a step */
  from: number;
  /** epoch milliseconds, at the boundary of a step */
  to: number;
  /** seconds */
  step: number;
  /** a point for each step with requests */
  requests: Array<RequestPoint>;
};

export type LastBuild = {
  taskId: string;
  taskStatus: "PENDING" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELLED";
  startedBy: "manual" | "schedule" | "change";
  /** epoch milliseconds */
  startTime: number;
  finishTime: number | null;
  /** warnings for readers of the task, a sentence each */
  warnings?: Array<string>;
  /** only on a failed task */
  error?: {
    code: string;
    message: string;
    details: Array<string>;
  };
  /** null until the build has counted */
  counts: BuildCounts | null;
};

export type LastRun = {
  taskId: string;
  taskStatus: "PENDING" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELLED";
  startedBy: "manual" | "upload" | "schedule" | "webhook";
  /** epoch milliseconds */
  startTime: number;
  finishTime: number | null;
  /** null until the run has counted */
  counts: RunCounts | null;
};

export type ManagedProject = {
  id: number;
  name: string;
  projectGroupId: number;
  locale: string;
  tags: Array<string>;
  settings: {
    /** the delete guard refuses a full update that would delete more of the products */
    maxDeletePercent: number;
    /** how many commits and deletes can be undone */
    keptCommits: number;
    /** for how many days commits and deletes can be undone; null: without a limit */
    keptDays: number | null;
    /** the attribute with the brand */
    brandAttribute: string;
    /** the attribute with the price */
    priceAttribute: string;
    /** refuse or skip the invalid products of a request */
    onInvalid: "refuse" | "skip";
  };
  /** epoch milliseconds */
  createdAt: number;
  /** only in the list of deleted projects */
  deletedAt?: number;
};

export type MappedAttribute = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
  /** the user groups that the values of this column are meant for */
  userGroups?: Array<string>;
};

export type MappedColumn = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
};

export type MappedImage = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
  /** default LARGE for the first image of a product and ALTERNATIVE for the others */
  type?: "SMALL" | "LARGE" | "THUMB" | "ALTERNATIVE";
};

export type MappedImages = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
  /** default LARGE for the first image of a product and ALTERNATIVE for the others */
  type?: "SMALL" | "LARGE" | "THUMB" | "ALTERNATIVE";
} | Array<MappedImage>;

export type MappedKeyValues = {
  column: string;
  /** separator of two attributes; default: a comma */
  separator?: string;
  /** separator of key and value; default: = */
  assign?: string;
  /** separator of several values of an attribute */
  split?: string;
  /** the source may lack the column */
  optional?: boolean;
};

export type MappedPath = {
  from: MappedColumn;
  /** separator of the levels of a path; without it a path has one level */
  separator?: string;
};

export type MappedPaths = {
  from: MappedColumn;
  /** separator of the levels of a path; without it a path has one level */
  separator?: string;
} | Array<MappedPath>;

export type MappedTargets = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
} | Array<MappedColumn>;

export type MappedValues = string | {
  column?: string;
  /** true: the source may lack the column; default false: a missing column ends the run */
  optional?: boolean;
  /** joined to one text; empty columns are skipped */
  columns?: Array<string>;
  /** the text between columns; default: one space */
  join?: string;
  constant?: string;
  /** a JSONata expression that sees only the row; time and memory are limited */
  expression?: string;
  /** removes white space at both ends; default false */
  trim?: boolean;
  /** replaces every occurrence, one replacement after another */
  replace?: Array<{
    from: string;
    /** with regex: $1 to $9 are groups, $& the whole match, $$ a dollar sign */
    to: string;
    /** default false: from is plain text. true: from is a pattern of RE2, without look-around and back-references */
    regex?: boolean;
  }>;
  /** splits a text into several values at this separator */
  split?: string;
  case?: "upper" | "lower";
  /** turns 1.299,00 into 1299.00; a text that is not such a number rejects the row */
  number?: {
    /** the decimal separator of the source */
    decimal: "comma" | "point";
    /** the separator of thousands; default: the other one of comma and point, a space or an apostrophe; empty: none */
    group?: string;
  };
  /** added to each value after one space, unless the value ends with it */
  unit?: string;
  /** the value if the source has none */
  default?: string;
  /** the user groups that the values of this column are meant for */
  userGroups?: Array<string>;
} | Array<MappedAttribute>;

export type Mapping = {
  identifier?: MappedColumn;
  groupIdentifier?: MappedColumn;
  name?: MappedColumn;
  productUrl?: MappedColumn;
  images?: MappedImages;
  /** each value of the column is a path; split separates several paths in one cell */
  categories?: MappedPaths;
  /** "*": all columns not used otherwise, each under its own name; or columns by the key of the attribute, where the key "*" with the value "*" adds all columns not used otherwise */
  attributes?: string | Record<string, MappedValues>;
  /** columns whose cells contain attributes with their keys, such as color=red,size=M */
  keyValues?: Array<MappedKeyValues>;
  /** columns that "*" ignores */
  ignore?: Array<string>;
  /** Which rows the run takes: {"all":[RowFilter…]}, {"any":[…]}, {"not":RowFilter}, {"expression": JSONata that gives true or false} or {"column": MappedColumn, "operator", "value"?}; at most 100 conditions, depth 10. Operators: equals, notEquals, less, lessOrEqual, greater, greaterOrEqual, between, in, contains, startsWith, matches, exists. If the value is a number, the column is compared as a number, otherwise as text. between and in take a list, matches takes a pattern of RE2, and exists takes no value. contains ignores case. A column without a value satisfies no condition. */
  filter?: RowFilter;
  /** mode partial: keep (default): an empty cell of an attribute does not change the attribute; remove: it removes the attribute. In all other modes, empty cells are not sent */
  emptyCells?: "keep" | "remove";
  source?: MappedColumn;
  targets?: MappedTargets;
  /** mode links: the quantity of each target; as many columns as targets has */
  quantity?: MappedTargets;
  /** mode table: the value of the target */
  target?: MappedColumn;
  /** mode links: the separator of several targets in one cell */
  separator?: string;
};

export type Match = {
  /** the name of an attribute; or {"field":…} for a field that every product has (its name alone suffices if no attribute has that name); or {"attribute","times"?,"plus"?} for a computed value */
  target: MatchedValue;
  operator: "equals" | "notEquals" | "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
  /** the name of an attribute; or {"field":…} for a field that every product has (its name alone suffices if no attribute has that name); or {"attribute","times"?,"plus"?} for a computed value */
  source: MatchedValue;
  /** fails (default): the match fails if the target or the source has no value; passes: it holds then */
  missing?: "fails" | "passes";
  /** only with equals: a table whose pairs also match (§12.9) */
  table?: string;
};

export type MatchElement = {
  /** the name of an attribute; or {"field":…} for a field that every product has (its name alone suffices if no attribute has that name); or {"attribute","times"?,"plus"?} for a computed value */
  target?: MatchedValue;
  operator?: "equals" | "notEquals" | "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
  /** the name of an attribute; or {"field":…} for a field that every product has (its name alone suffices if no attribute has that name); or {"attribute","times"?,"plus"?} for a computed value */
  source?: MatchedValue;
  /** fails (default): the match fails if the target or the source has no value; passes: it holds then */
  missing?: "fails" | "passes";
  /** only with equals: a table whose pairs also match (§12.9) */
  table?: string;
  /** 2 to 8 matches; one of them must hold */
  any?: Array<Match>;
  /** 2 to 6 matches; one row of the target must satisfy all of them with one row of the source */
  together?: Array<Match>;
};

export type MatchedValue = string | {
  field?: "identifier" | "groupIdentifier" | "name";
  attribute?: string;
  /** only for a numeric attribute: a factor, used as an exact decimal */
  times?: number;
  /** added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension */
  plus?: number | string;
};

export type McpError = {
  jsonrpc: "2.0";
  id: string | number | null;
  error: {
    code: number;
    message: string;
    data?: unknown;
  };
};

export type McpMessage = {
  jsonrpc: "2.0";
};

export type MissingValues = {
  /** attributes with the most verdicts first */
  items: Array<{
    attribute: string;
    /** products on a side of a constraint that lack a value it needs */
    products: number;
    /** pairs whose verdict may be unknown because of missing values */
    verdicts: number;
    /** ids of the constraints that need the attribute */
    relations: Array<number>;
  }>;
};

export type NewApiKey = {
  id: number;
  name: string;
  scope: Scope;
  /** read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: everything within the scope */
  access: "read" | "write" | "manage";
  /** only related products and fit, for a page whose visitors can see the key */
  page?: true;
  /** of the value, to identify the key */
  firstCharacters: string;
  /** epoch milliseconds */
  createdAt: number;
  lastUsedAt: number | null;
  /** the last use in the deprecated ?apiKey= */
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
  /** the value; shown once, so a repeated request with the same Idempotency-Key has none */
  key?: string;
};

export type NewInvitation = {
  id: number;
  email: string;
  /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
  role: "owner" | "editor" | "viewer" | "none";
  /** the roles in project groups and projects, in addition to `role` */
  roles: Array<{
    scope: {
      type: "project-group" | "project";
      id: number;
    };
    role: "editor" | "viewer";
  }>;
  /** epoch milliseconds */
  createdAt: number;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** epoch milliseconds */
  expiresAt: number;
  /** to send to the person; shown once, so a repeated request with the same Idempotency-Key has none */
  link?: string;
};

export type NewWebhookEndpoint = {
  id: number;
  url: string;
  events: Array<string>;
  scope: Scope;
  enabled: boolean;
  /** why the service switched it off; null if it is on or a person switched it off */
  switchedOff: {
    /** epoch milliseconds */
    at: number;
    reason: string;
  } | null;
  /** the first failed attempt since the last success; null if the last attempt succeeded */
  failingSince: number | null;
  /** until when former secrets also sign */
  overlapEndsAt: number | null;
  /** epoch milliseconds */
  createdAt: number;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** epoch milliseconds */
  updatedAt: number;
  /** shown once, so a repeated request with the same Idempotency-Key has none */
  secret?: string;
};

export type NotedRequest = {
  /** epoch milliseconds */
  at: number;
  requestId: string;
  projectId: number | null;
  apiKeyId: number | null;
  method: string;
  /** the pattern of the path */
  route: string;
  status: number;
  ms: number;
};

export type Ontology = {
  mode: "automatic" | "own";
  /** names of the project for units, each with a spelling of the table of units: {"Daumen":"in"} */
  unitAliases?: Record<string, string>;
  attributes: Array<Attribute>;
};

export type PairVerdict = {
  source: string;
  target: string;
  relation: {
    id: number;
    name: string;
    tag: string;
  };
  verdict: "fits" | "does_not_fit" | "unknown";
  match: Array<{
    target?: string;
    operator?: string;
    source?: string;
    /** the computation on the values, as defined */
    targetTerm?: Computation;
    /** the computation on the values, as defined */
    sourceTerm?: Computation;
    missing?: string;
    table?: string;
    targetValues?: Array<string>;
    sourceValues?: Array<string>;
    /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
    say?: string;
    /** of a match that fails: the value that the target would need */
    advice?: string;
    /** of a match that fails: the value that the source would need; changing one of the two suffices */
    sourceAdvice?: string;
    holds: boolean;
    any?: Array<{
      target: string;
      operator: string;
      source: string;
      /** the computation on the values, as defined */
      targetTerm?: Computation;
      /** the computation on the values, as defined */
      sourceTerm?: Computation;
      missing?: string;
      table?: string;
      targetValues: Array<string>;
      sourceValues: Array<string>;
      /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
      say: string;
      /** of a match that fails: the value that the target would need */
      advice?: string;
      /** of a match that fails: the value that the source would need; changing one of the two suffices */
      sourceAdvice?: string;
      holds: boolean;
      verdict: "fits" | "does_not_fit" | "unknown";
    }>;
    together?: Array<{
      target: string;
      operator: string;
      source: string;
      /** the computation on the values, as defined */
      targetTerm?: Computation;
      /** the computation on the values, as defined */
      sourceTerm?: Computation;
      missing?: string;
      table?: string;
      targetValues: Array<string>;
      sourceValues: Array<string>;
      /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
      say: string;
      /** of a match that fails: the value that the target would need */
      advice?: string;
      /** of a match that fails: the value that the source would need; changing one of the two suffices */
      sourceAdvice?: string;
      holds: boolean;
      verdict: "fits" | "does_not_fit" | "unknown";
    }>;
    verdict: "fits" | "does_not_fit" | "unknown";
  }>;
  /** missing values that leave the verdict unknown */
  missing: Array<{
    identifier: string;
    attribute: string;
  }>;
};

export type Passkey = {
  id: number;
  name: string;
  /** where it was added; browsers use it only there */
  host: string;
  /** epoch milliseconds */
  createdAt: number;
  /** the last sign-in with this passkey */
  usedAt: number | null;
};

export type PasskeyOptions = {
  /** works once, within 5 minutes */
  challenge: string;
  rp: {
    id: string;
    name: string;
  };
  user: {
    id: string;
    name: string;
    displayName: string;
  };
  pubKeyCredParams: Array<{
    type: "public-key";
    alg: number;
  }>;
  /** milliseconds */
  timeout: number;
  attestation: "none";
  authenticatorSelection: {
    residentKey: "discouraged";
    userVerification: "discouraged";
  };
  excludeCredentials: Array<{
    id: string;
    type: "public-key";
    transports: Array<string>;
  }>;
};

export type PasskeyWanted = {
  passkey: {
    /** works once, within 5 minutes */
    challenge: string;
    rpId: string;
    /** milliseconds */
    timeout: number;
    userVerification: "discouraged";
    allowCredentials: Array<{
      id: string;
      type: "public-key";
      transports: Array<string>;
    }>;
  };
};

export type Pipeline = {
  id: number;
  name: string;
  source: PipelineSource;
  format: PipelineFormat;
  /** Which column becomes which part of a product. A column is its name, or an object with exactly one of column, columns, constant and expression, and with transformations in the order of their use. identifier is always required, and name in the modes full and incremental. Mode partial changes only what is mapped, and mode delete uses only the identifier. Mode links takes source, targets, quantity and separator instead, and mode table takes source and target. */
  mapping?: Mapping;
  mode: "full" | "incremental" | "partial" | "delete" | "links" | "table";
  /** mode links: the relation whose links are replaced */
  relationId?: number;
  /** mode table: the table that is replaced or created */
  tableName?: string;
  trigger: PipelineTrigger;
  /** delete guard of the modes full, delete and links; default 30 */
  maxDeletePercent?: number;
  /** stop (default): the first rejected row ends the run; continue: rejected rows are skipped; a number from 0 to 1: rejected rows are skipped unless their share of the rows is larger */
  onRejectedRow?: "stop" | "continue" | number;
  /** a run that finds fewer products changes nothing; default 1 */
  minProducts?: number;
  /** epoch milliseconds */
  createdAt: number;
  /** epoch milliseconds */
  updatedAt: number;
  /** of a schedule: when the next run is due, epoch milliseconds */
  nextRunAt?: number;
  lastRun: LastRun | null;
};

export type PipelineDefinition = {
  name: string;
  source: PipelineSource;
  format: PipelineFormat;
  /** Which column becomes which part of a product. A column is its name, or an object with exactly one of column, columns, constant and expression, and with transformations in the order of their use. identifier is always required, and name in the modes full and incremental. Mode partial changes only what is mapped, and mode delete uses only the identifier. Mode links takes source, targets, quantity and separator instead, and mode table takes source and target. */
  mapping?: Mapping;
  /** default full; only full creates the attributes of an automatic ontology */
  mode?: "full" | "incremental" | "partial" | "delete" | "links" | "table";
  /** mode links: the relation whose links are replaced */
  relationId?: number;
  /** mode table: the table that is replaced or created */
  tableName?: string;
  trigger: PipelineTrigger;
  /** delete guard of the modes full, delete and links; default 30 */
  maxDeletePercent?: number;
  /** stop (default): the first rejected row ends the run; continue: rejected rows are skipped; a number from 0 to 1: rejected rows are skipped unless their share of the rows is larger */
  onRejectedRow?: "stop" | "continue" | number;
  /** a run that finds fewer products changes nothing; default 1 */
  minProducts?: number;
  id?: number;
  createdAt?: number;
  updatedAt?: number;
  nextRunAt?: number;
  lastRun?: unknown;
};

export type PipelineFormat = {
  type: "csv";
  /** default: detected among ",", ";", "\t", "|" */
  delimiter?: string;
  /** default: detected; "" if quotes have no special meaning */
  quote?: "\"" | "'" | "";
  /** default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "iso-8859-1" | "iso-8859-2" | "iso-8859-15" | "macintosh" | "shift_jis" | "euc-jp" | "gb18030" | "big5" | "euc-kr";
  /** first row that may contain the names of the columns; default: the first row that is not a title; 0: no row names them, and they are Column 1, Column 2, … */
  headerRow?: number;
} | {
  type: "tsv";
  /** default: detected; "" if quotes have no special meaning */
  quote?: "\"" | "'" | "";
  /** default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "iso-8859-1" | "iso-8859-2" | "iso-8859-15" | "macintosh" | "shift_jis" | "euc-jp" | "gb18030" | "big5" | "euc-kr";
  /** first row that may contain the names of the columns; default: the first row that is not a title; 0: no row names them, and they are Column 1, Column 2, … */
  headerRow?: number;
} | {
  type: "json";
  /** keys that lead to the list, also through other lists, such as data.products; $ for the root; default: the list whose elements look most like products */
  path?: string;
} | {
  type: "ndjson";
} | {
  type: "xml";
  /** name of the repeated element, or its path, such as catalog/products/product; default: detected */
  record?: string;
} | {
  type: "xlsx";
  /** name or number from 1; default: the first sheet that is not hidden */
  sheet?: string | number;
  /** first row that may contain the names of the columns; default: the first row that is not a title; 0: no row names them, and they are Column 1, Column 2, … */
  headerRow?: number;
} | {
  type: "google-merchant";
  /** default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "iso-8859-1" | "iso-8859-2" | "iso-8859-15" | "macintosh" | "shift_jis" | "euc-jp" | "gb18030" | "big5" | "euc-kr";
} | {
  type: "shopify-csv";
  /** default: detected among ",", ";", "\t", "|" */
  delimiter?: string;
  /** default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "iso-8859-1" | "iso-8859-2" | "iso-8859-15" | "macintosh" | "shift_jis" | "euc-jp" | "gb18030" | "big5" | "euc-kr";
} | {
  type: "woocommerce-csv";
  /** default: detected among ",", ";", "\t", "|" */
  delimiter?: string;
  /** default: detected by the byte order mark, else UTF-8, else windows-1252; a byte order mark takes precedence over this option */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1250" | "windows-1251" | "windows-1252" | "iso-8859-1" | "iso-8859-2" | "iso-8859-15" | "macintosh" | "shift_jis" | "euc-jp" | "gb18030" | "big5" | "euc-kr";
} | {
  type: "magento-csv";
  /** default: detected among ",", ";", "\t", "|" */
  delimiter?: string;
} | {
  type: "bmecat";
  /** such as deu or de, for catalogs with texts in several languages; default: the language of the catalog */
  language?: string;
} | {
  type: "etim-xchange";
  /** such as en-GB, the language of the name and the address; default: that of the first description */
  language?: string;
} | {
  type: "native";
};

export type PipelinePreview = {
  /** detected properties of the file: encoding, delimiter, path, record, sheet, feed */
  found: Record<string, string>;
  /** in the order of their first appearance */
  columns: Array<string>;
  /** the first rows of the source */
  rows: Array<{
    number: number;
    values: Record<string, unknown>;
    product?: Record<string, unknown>;
    problems?: Array<CellProblem>;
    isFiltered?: boolean;
  }>;
  suggestion: {
    /** Which column becomes which part of a product. A column is its name, or an object with exactly one of column, columns, constant and expression, and with transformations in the order of their use. identifier is always required, and name in the modes full and incremental. Mode partial changes only what is mapped, and mode delete uses only the identifier. Mode links takes source, targets, quantity and separator instead, and mode table takes source and target. */
    mapping: Mapping;
    reasons: Array<{
      field: string;
      column: string;
      by: "format" | "name" | "values";
      /** low: check it before you import */
      confidence: "high" | "medium" | "low";
      /** the reason, in words */
      reason: string;
    }>;
    /** set if the file is written in another format than the one with which it was read */
    format?: {
      type: string;
      reason: string;
    };
  };
  /** columns that the mapping takes as single values although their cells look like lists */
  lists: Array<FoundList>;
  /** problems that a person would notice in the products of the first 1,000 rows */
  warnings: Array<{
    field: string;
    message: string;
  }>;
  catalog?: PreviewCatalog;
};

export type PipelineRun = {
  task: Task;
  startedBy: "manual" | "upload" | "schedule" | "webhook";
  /** null until the run has counted */
  counts: RunCounts | null;
};

export type PipelineSource = HttpSource | UploadSource | DirectorySource | SftpSource | S3Source;

export type PipelineToTry = {
  name?: string;
  source: PipelineSource;
  format: PipelineFormat;
  /** Which column becomes which part of a product. A column is its name, or an object with exactly one of column, columns, constant and expression, and with transformations in the order of their use. identifier is always required, and name in the modes full and incremental. Mode partial changes only what is mapped, and mode delete uses only the identifier. Mode links takes source, targets, quantity and separator instead, and mode table takes source and target. */
  mapping?: Mapping;
  /** default full; only full creates the attributes of an automatic ontology */
  mode?: "full" | "incremental" | "partial" | "delete" | "links" | "table";
  /** mode links: the relation whose links are replaced */
  relationId?: number;
  /** mode table: the table that is replaced or created */
  tableName?: string;
  trigger?: PipelineTrigger;
  /** delete guard of the modes full, delete and links; default 30 */
  maxDeletePercent?: number;
  /** stop (default): the first rejected row ends the run; continue: rejected rows are skipped; a number from 0 to 1: rejected rows are skipped unless their share of the rows is larger */
  onRejectedRow?: "stop" | "continue" | number;
  /** a run that finds fewer products changes nothing; default 1 */
  minProducts?: number;
  id?: number;
  createdAt?: number;
  updatedAt?: number;
  nextRunAt?: number;
  lastRun?: unknown;
  /** the stored pipeline that supplies the masked headers of the source */
  pipelineId?: number;
  /** for an upload source */
  file?: {
    name: string;
    /** up to 8 MiB */
    base64: string;
    /** the file continues after these bytes; not for xlsx and zip */
    isBeginning?: boolean;
  };
  /** also returns the catalog that the rows would make; for the modes full and incremental */
  catalog?: boolean;
};

export type PipelineTrigger = {
  type: "manual";
} | {
  type: "schedule";
  /** minute, hour, day of the month, month, day of the week */
  cron: string;
  /** such as Europe/Berlin */
  timeZone: string;
} | {
  type: "webhook";
  /** minimum time between two accepted calls; default 3600 */
  minSecondsBetween?: number;
  /** the last part of the URL; set by the service */
  id?: string;
  /** the complete URL, for copying; set by the service */
  url?: string;
};

export type PreviewCatalog = {
  /** rows that were read */
  rows: number;
  /** whether the source has no further rows */
  isWhole: boolean;
  /** number of different identifiers */
  products: number;
  filtered: number;
  rejected: {
    count: number;
    examples: Array<{
      row: number;
      reason: string;
    }>;
  };
  /** the most frequent first, up to 200 */
  categories: Array<{
    path: Array<string>;
    products: number;
  }>;
  hasMoreCategories: boolean;
  /** the most frequent first, up to 500 */
  attributes: Array<{
    name: string;
    type: string;
    unitName?: string;
    decimal?: string;
    /** the reason for this type, in words */
    reason: string;
    /** products that have a value */
    products: number;
    examples: Array<string>;
  }>;
  hasMoreAttributes: boolean;
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

export type ProductChange = {
  commit: Commit;
  productId: number;
  identifier: string;
  kind: "created" | "changed" | "deleted";
  /** upload shape; null: the product did not exist */
  before: unknown | null;
  /** upload shape; null: the product did not exist */
  after: unknown | null;
  /** true: an update changed the product again; `after` is the state that the next undoable commit found, or the present state */
  changedSince: boolean;
};

export type ProductRelations = {
  relations: Array<{
    id: number;
    name: string;
    tag: string;
    enabled: boolean;
    state: "building" | "ready" | "misconfigured";
    asSource: {
      /** whether the product is on this side of the relation */
      stands: boolean;
      results: Array<{
        identifier: string;
        groupId: string;
        name: string;
        image: string;
        /** the first THUMB or SMALL image, otherwise the same as `image` */
        thumbnail: string;
        category: Array<string>;
        explain: RelatedReason;
      }>;
    } | null;
    asTarget: {
      /** whether the product is on this side of the relation */
      stands: boolean;
      results: Array<{
        identifier: string;
        groupId: string;
        name: string;
        image: string;
        /** the first THUMB or SMALL image, otherwise the same as `image` */
        thumbnail: string;
        category: Array<string>;
        explain: RelatedReason;
      }>;
    } | null;
  }>;
};

export type ProductViolation = {
  /** null for the body as a whole, and for the number of further bad products */
  product: {
    identifier: string | null;
    index: number;
  } | null;
  schemaErrors: Array<string>;
  errors: Array<string>;
};

export type Project = {
  id: number;
  name: string;
  "project-group-id": number;
  "project-group-name": string;
  /** language and country, such as de-DE */
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
    /** ordered by id */
    projects: Array<Project>;
  };
  /** only for a page; null on the last one */
  nextCursor?: string | null;
};

export type PublishedFeed = {
  /** epoch milliseconds */
  builtAt: number;
  catalogVersion: number;
  rows: number;
  files: Array<{
    name: string;
    url: string;
    rows: number;
    sizeBytes: number;
    sha256: string;
  }>;
};

export type Readiness = {
  status: "ok";
  /** problems that an operator has to fix; requests are served nevertheless */
  problems?: Array<string>;
  /** the state of the continuous backup, if there is one */
  backup?: {
    /** how far the target is behind; 0 if it has everything */
    behindSeconds: number;
    /** the instant of the last change that was sent, or that a standby has; null if there is none since the start */
    lastInstant: string | null;
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
        /** 1,000,000 for the best product, and one less for each following product */
        relevance: number;
        /** attributes without a value that the product was assumed to match by (§12.3) */
        assumed?: Array<string>;
        explain?: RelatedReason;
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
        /** 1,000,000 for the best product, and one less for each following product */
        relevance: number;
        /** attributes without a value that the product was assumed to match by (§12.3) */
        assumed?: Array<string>;
        explain?: RelatedReason;
      }>>;
    }>;
  }>;
};

export type RelatedReason = {
  source: {
    holds: boolean;
    /** where groups are nested, as written: {holds, all | any: […]}, {holds, not: …} or {condition, holds, values} */
    filter?: unknown;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  target: {
    holds: boolean;
    /** where groups are nested, as written: {holds, all | any: […]}, {holds, not: …} or {condition, holds, values} */
    filter?: unknown;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  /** an entry for each element of the definition */
  match: Array<{
    target?: string;
    operator?: string;
    source?: string;
    /** the computation on the values, as defined */
    targetTerm?: Computation;
    /** the computation on the values, as defined */
    sourceTerm?: Computation;
    missing?: string;
    table?: string;
    targetValues?: Array<string>;
    sourceValues?: Array<string>;
    /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
    say?: string;
    /** of a match that fails: the value that the target would need */
    advice?: string;
    /** of a match that fails: the value that the source would need; changing one of the two suffices */
    sourceAdvice?: string;
    holds: boolean;
    any?: Array<ExplainedMatch>;
    together?: Array<ExplainedMatch>;
  }>;
  /** attributes without a value; the pair is assumed to match by them */
  assumed?: Array<string>;
  /** only in a relation of links: the product that lists the other one, the position in its list from 1, and the quantity */
  listed?: {
    by: string;
    position: number;
    quantity?: number;
  } | null;
};

export type Relation = {
  /** rule (default): attributes decide; links: a list decides (§12.8); total: a constraint on a sum (§12.10) */
  kind?: "rule" | "links" | "total";
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
  /** each element is a match (value of the target, operator, value of the source), a list of alternatives, or matches of one row */
  match?: Array<MatchElement>;
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
  /** default false; true: products on the two sides must satisfy the relation to fit (§12.10) */
  constraint?: boolean;
  /** only of a total: the numeric attribute whose sum over the target side is compared */
  total?: {
    attribute: string;
    /** a factor, used as an exact decimal */
    times?: number;
    /** added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension */
    plus?: number | string;
    missing?: "fails" | "passes";
  };
  operator?: "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
  /** only of a total: the attribute of the source side that the sum is compared with */
  limit?: {
    attribute: string;
    /** a factor, used as an exact decimal */
    times?: number;
    /** added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension */
    plus?: number | string;
  };
  id: number;
  state: "building" | "ready" | "misconfigured";
  misconfigured: boolean;
  /** why the relation cannot work */
  problem?: string;
  /** epoch milliseconds */
  createdAt: number;
  /** epoch milliseconds */
  updatedAt: number;
};

export type RelationDefinition = {
  /** rule (default): attributes decide; links: a list decides (§12.8); total: a constraint on a sum (§12.10) */
  kind?: "rule" | "links" | "total";
  name: string;
  tag: string;
  description?: string;
  /** default false */
  twoWay?: boolean;
  /** default true */
  enabled?: boolean;
  /** required in a rule */
  source?: Filter;
  /** required in a rule */
  target?: Filter;
  /** each element is a match (value of the target, operator, value of the source), a list of alternatives, or matches of one row */
  match?: Array<MatchElement>;
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
  /** default false; true: products on the two sides must satisfy the relation to fit (§12.10) */
  constraint?: boolean;
  /** only of a total: the numeric attribute whose sum over the target side is compared */
  total?: {
    attribute: string;
    /** a factor, used as an exact decimal */
    times?: number;
    /** added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension */
    plus?: number | string;
    missing?: "fails" | "passes";
  };
  operator?: "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
  /** only of a total: the attribute of the source side that the sum is compared with */
  limit?: {
    attribute: string;
    /** a factor, used as an exact decimal */
    times?: number;
    /** added after the factor: a number in the unit of the attribute, or a text with another unit of its dimension */
    plus?: number | string;
  };
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
    /** where groups are nested, as written: {holds, all | any: […]}, {holds, not: …} or {condition, holds, values} */
    filter?: unknown;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  target: {
    holds: boolean;
    /** where groups are nested, as written: {holds, all | any: […]}, {holds, not: …} or {condition, holds, values} */
    filter?: unknown;
    conditions: Array<{
      /** {"all":[Filter…]}, {"any":[Filter…]}, {"not":Filter}, {"attribute","operator","value"?}, {"category":["top",…]} or {"identifiers":[…]} */
      condition: Filter;
      holds: boolean;
      values: Array<string>;
    }>;
  };
  /** an entry for each element of the definition */
  match: Array<{
    target?: string;
    operator?: string;
    source?: string;
    /** the computation on the values, as defined */
    targetTerm?: Computation;
    /** the computation on the values, as defined */
    sourceTerm?: Computation;
    missing?: string;
    table?: string;
    targetValues?: Array<string>;
    sourceValues?: Array<string>;
    /** the comparison as a sentence in the locale, such as 1600 W ≥ 8 × 120 W + 100 W */
    say?: string;
    /** of a match that fails: the value that the target would need */
    advice?: string;
    /** of a match that fails: the value that the source would need; changing one of the two suffices */
    sourceAdvice?: string;
    holds: boolean;
    any?: Array<ExplainedMatch>;
    together?: Array<ExplainedMatch>;
  }>;
  /** attributes without a value; the pair is assumed to match by them */
  assumed?: Array<string>;
  /** only in a relation of links: the product that lists the other one, the position in its list from 1, and the quantity */
  listed?: {
    by: string;
    position: number;
    quantity?: number;
  } | null;
};

export type RelationSuggestion = {
  /** derived from the subject, so the same suggestion always has the same id */
  id: string;
  kind: "relation";
  dismissed: boolean;
  evidence: {
    source: {
      category: Array<string>;
      products: number;
      /** the number of products that the relation would have results for */
      withPartner: number;
    };
    target: {
      category: Array<string>;
      products: number;
      /** the number of products that the relation would have results for */
      withPartner: number;
    };
    /** the likely kind of constraint: a limit (length up to the maximum length), a standard that both sides follow (DDR5), or merely equal values */
    constraint: "limit" | "standard" | "equal";
    /** the average number of targets, of sources that have any */
    targetsPerSource: number;
    /** the most frequent values that both sides have */
    values: Array<{
      attribute: string;
      value: string;
      sources: number;
      targets: number;
    }>;
    examples: Array<{
      source: string;
      target: string;
    }>;
    /** sources without a result */
    withoutPartner: Array<{
      identifier: string;
      values: Array<string>;
    }>;
  };
  draft: RelationDefinition;
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
  /** true: only some of the sources were searched */
  sampled?: boolean;
  sampledSources?: number;
  /** the time ended before the whole sample was searched */
  endedEarly?: true;
  /** products that have more combinations of values than the limit (§12.2 rule 11) */
  cut?: {
    count: number;
    identifiers: Array<string>;
  };
  withResults?: number;
  /** the share of the searched sources that have results, from 0 to 1 */
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
  /** only of a relation of links: its size, including pairs of products that do not exist */
  links?: {
    sources: number;
    pairs: number;
  };
  /** the number of sources with 0, 1, … 9, and 10 or more groups of results */
  resultCounts?: Array<number>;
  cards?: Array<SurveyCard>;
};

export type RequestPoint = {
  /** when the step begins, epoch milliseconds */
  at: number;
  requests: number;
  /** answered 4xx, except 429 */
  refused: number;
  /** answered 429 */
  limited: number;
  /** answered 5xx */
  failed: number;
  /** took a second or more */
  slow: number;
  meanMs: number;
};

export type RestoreEffect = {
  /** commits and deletes that would be undone */
  commits: number;
  /** the id of the last commit; send it as ifLast of the restore */
  last: number;
  /** products that would exist again */
  created: number;
  /** products whose upload would be replaced */
  changed: number;
  /** products that would be deleted */
  deleted: number;
  /** products whose later changes would be overwritten */
  changedSince: number;
};

export type Root = {
  name: "Relata";
  version: string;
  console: string;
  docs: string;
  openapi: string;
  health: string;
};

export type RunCounts = {
  /** rows read */
  rows: number;
  /** products that rows made */
  products: number;
  /** rows that the filter excluded */
  filtered: number;
  /** rows that made no product */
  rejected: number;
  /** products that were created */
  created: number;
  /** products that were replaced */
  changed: number;
  /** products that did not change */
  unchanged: number;
  /** products that were deleted */
  deleted: number;
  /** the source has not changed since the last run, so the run did nothing */
  nothingNew?: boolean;
};

export type S3Destination = {
  type: "s3";
  /** https://s3.eu-central-1.amazonaws.com, https://minio.example:9000 */
  endpoint: string;
  /** if it is left out: what the endpoint says, otherwise us-east-1 */
  region?: string;
  bucket: string;
  /** the prefix of the keys, such as feeds/google; default: none */
  folder?: string;
  accessKeyId: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as the origin of the endpoint stays */
  secretAccessKey: string;
  /** true: the bucket stands in the path; false: in the host name. If it is left out: in the host name at amazonaws.com, otherwise in the path */
  forcePathStyle?: boolean;
};

export type S3Source = {
  type: "s3";
  /** https://s3.eu-central-1.amazonaws.com, https://minio.example:9000 */
  endpoint: string;
  /** if it is left out: what the endpoint says, otherwise us-east-1 */
  region?: string;
  bucket: string;
  /** key of an object, or of several objects with *, ? and ** for folders, such as export/*.csv. Several objects need the permission to list the bucket */
  key: string;
  accessKeyId: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as the origin of the endpoint stays */
  secretAccessKey: string;
  /** true: the bucket stands in the path; false: in the host name. If it is left out: in the host name at amazonaws.com, otherwise in the path */
  forcePathStyle?: boolean;
  /** all matching objects in the order of their keys (default), or only the newest one */
  take?: "all" | "newest";
  /** which file to read from a zip archive with several files: a pattern with *, ? and ** */
  entry?: string;
};

export type Scope = {
  type: "account";
} | {
  type: "project-group" | "project";
  id: number;
};

export type SentAttribute = {
  id?: number;
  name: string;
  type: "TEXT_ATTRIBUTE" | "NUMERIC_ATTRIBUTE" | "BOOLEAN_ATTRIBUTE" | "DATE_ATTRIBUTE" | "UNTYPED_ATTRIBUTE";
  unitName?: string;
  decimal?: "point" | "comma";
  synonyms?: Array<string>;
  /** why a full update gave the attribute its type; set by the service, ignored in a PUT */
  reason?: string;
  /** resets the type to automatic: the next full update judges the values again */
  typing?: "automatic";
  /** the new name; relations, channels and settings that name the attribute change too */
  renameTo?: string;
  /** with renameTo: whether the former name remains a synonym; default: true */
  keepSynonym?: boolean;
};

export type SentOntology = {
  mode: "automatic" | "own";
  /** names of the project for units, each with a spelling of the table of units: {"Daumen":"in"} */
  unitAliases?: Record<string, string>;
  attributes: Array<SentAttribute>;
};

export type SftpDestination = {
  type: "sftp";
  /** a host name or an IP address */
  host: string;
  /** 22 if it is left out */
  port?: number;
  user: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  password?: string;
  /** in place of a password, in the form of PEM or OpenSSH. Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  privateKey?: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  passphrase?: string;
  /** fingerprint of the key of the server, SHA256:…, as ssh-keyscan HOST | ssh-keygen -lf - shows it. A server with another key gets nothing */
  hostKey: string;
  /** an existing folder: absolute with a leading /, otherwise below the login folder; default: the login folder */
  folder?: string;
};

export type SftpSource = {
  type: "sftp";
  /** a host name or an IP address */
  host: string;
  /** 22 if it is left out */
  port?: number;
  user: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  password?: string;
  /** in place of a password, in the form of PEM or OpenSSH. Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  privateKey?: string;
  /** Answers show *** in its place; ***, sent back, keeps it as long as host and port stay */
  passphrase?: string;
  /** fingerprint of the key of the server, SHA256:…, as ssh-keyscan HOST | ssh-keygen -lf - shows it. A server with another key gets nothing */
  hostKey: string;
  /** a path with *, ? and ** for folders, such as export/*.csv; absolute with a leading /, otherwise below the login folder */
  path: string;
  /** all matching files in the order of their names (default), or only the newest one */
  take?: "all" | "newest";
  /** which file to read from a zip archive with several files: a pattern with *, ? and ** */
  entry?: string;
};

export type ShopProduct = {
  identifier: string;
  groupId: string;
  sxId: number;
  name: string;
  link: string;
  image: string;
  images: Array<unknown>;
  dataPoints: Array<unknown>;
  /** true for the best product of its group */
  head: boolean;
  relevance: number;
  resultSet: null;
};

export type ShopSearch = {
  status: "success";
  /** groups; an estimate for more than 5,000 products */
  totalResults: number;
  searchResults: Array<{
    type: string;
    name: string;
    totalResults: number;
    /** products */
    totalResultsVariants: number;
    totalResultsHead: number;
    totalResultsHeadVariants: number;
    results: Array<Array<ShopProduct>>;
  }>;
  interpretedQuery: {
    original: string;
    corrected: string;
    queryWasCorrected: boolean;
  };
  answerText: string;
  filterOptions: Array<unknown>;
  activeFilterOptions: Array<unknown>;
  sortingOptions: Array<unknown>;
  /** {} where nothing is active */
  activeSortingOption: unknown;
  redirect: null;
  /** the totals are estimates */
  isTotalExact?: false;
  /** how many of the products found are counted in options and suggestions */
  facetsOf?: number;
  /** there is no index yet, so only a part of the catalog was searched */
  partial?: true;
};

export type ShopSuggestions = {
  status: "success";
  query: string;
  totalResults: number;
  /** Produkte, Kategorien, Marken, Suchvorschläge */
  resultGroups: Record<string, Array<unknown>>;
  searchResults: Array<{
    type: string;
    name: string;
    totalResults: number;
    results: Array<unknown>;
  }>;
  /** the totals are estimates */
  isTotalExact?: false;
  /** how many of the products found are counted in options and suggestions */
  facetsOf?: number;
  /** there is no index yet, so only a part of the catalog was searched */
  partial?: true;
};

export type SignInWays = {
  /** the provider of the company; null if people sign in with passwords only */
  companyAccount: {
    name: string;
  } | null;
};

export type SignedIn = {
  user: {
    id: number;
    email: string;
    name: string;
    /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
    role: "owner" | "editor" | "viewer" | "none";
    /** the roles in project groups and projects, in addition to `role` */
    roles: Array<{
      scope: {
        type: "project-group" | "project";
        id: number;
      };
      role: "editor" | "viewer";
    }>;
    signsInWith: "password" | "company-account";
  };
  account: {
    id: number;
    name: string;
  };
  /** for the header `X-CSRF-Token` */
  csrfToken: string;
};

export type StartedBuild = {
  status: "success";
  message: "Channel build started";
  task: Task;
};

export type Statistics = {
  /** epoch milliseconds, at the boundary of a step */
  from: number;
  /** epoch milliseconds, at the boundary of a step */
  to: number;
  /** seconds */
  step: number;
  /** a point for each step with requests */
  requests: Array<RequestPoint>;
  /** a point for the beginning, and one for each step with changes */
  catalogs: Array<CatalogPoint>;
  /** requests that failed or were slow, newest first */
  noted: Array<NotedRequest>;
};

export type Suggestions = {
  catalogVersion: number;
  /** the number of products in the catalog */
  products: number;
  /** true: only a sample of the products was counted */
  sampled: boolean;
  /** the number of products that were counted */
  sampledProducts: number;
  /** ordered by kind, the best of each kind first; at most 20 of each kind */
  items: Array<RelationSuggestion | AttributeSuggestion | DuplicateSuggestion>;
};

export type SurveyCard = {
  source: {
    identifier: string;
    groupId: string;
    name: string;
    image: string;
    /** the first THUMB or SMALL image, otherwise the same as `image` */
    thumbnail: string;
    category: Array<string>;
  };
  results: Array<{
    identifier: string;
    groupId: string;
    name: string;
    image: string;
    /** the first THUMB or SMALL image, otherwise the same as `image` */
    thumbnail: string;
    category: Array<string>;
    explain: RelatedReason;
    variants: number;
  }>;
  nearest?: {
    identifier: string;
    groupId: string;
    name: string;
    image: string;
    /** the first THUMB or SMALL image, otherwise the same as `image` */
    thumbnail: string;
    category: Array<string>;
    explain: RelatedReason;
    variants: number;
  };
};

export type TableProduct = {
  id: number;
  identifier: string;
  groupId: string;
  name: string;
  /** the first LARGE image, otherwise the first image; may be empty */
  image: string;
  /** the first THUMB or SMALL image, otherwise the same as `image`; may be empty */
  thumbnail: string;
  /** path of the main category; may be empty */
  category: Array<string>;
  /** epoch milliseconds */
  lastUpdateTs: number;
};

export type Task = {
  /** 24 lower-case hex digits */
  id: string;
  projectId: number;
  projectName: string | null;
  origin: "LIVE-API" | "CONSOLE" | "PIPELINE" | "CHANNEL";
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
  /** warnings for readers of the task, a sentence each */
  warnings?: Array<string>;
  /** the counts of the build of a channel */
  counts?: Record<string, number>;
};

export type TotalVerdict = {
  source: string;
  relation: {
    id: number;
    name: string;
    tag: string;
  };
  verdict: "fits" | "does_not_fit" | "unknown";
  operator: "less" | "lessOrEqual" | "greater" | "greaterOrEqual";
  total: {
    attribute: string;
    times?: number;
    plus?: number | string;
    missing?: "fails" | "passes";
    /** the sum of the known values, before `times` and `plus` */
    sum: string;
    parts: Array<{
      identifier: string;
      quantity: number;
      value?: string;
    }>;
  };
  limit: {
    attribute: string;
    times?: number;
    plus?: number | string;
    values: Array<string>;
  };
  /** missing values that leave the verdict unknown */
  missing: Array<{
    identifier: string;
    attribute: string;
  }>;
};

export type TriggeredPipeline = {
  status: "success";
  message: "Pipeline triggered";
  task: Task;
};

export type UcpAnswer = Record<string, unknown>;

export type UploadSource = {
  type: "upload";
  /** which file to read from a zip archive with several files: a pattern with *, ? and ** */
  entry?: string;
};

export type User = {
  id: number;
  email: string;
  name: string;
  /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
  role: "owner" | "editor" | "viewer" | "none";
  /** the roles in project groups and projects, in addition to `role` */
  roles: Array<{
    scope: {
      type: "project-group" | "project";
      id: number;
    };
    role: "editor" | "viewer";
  }>;
  /** epoch milliseconds */
  createdAt: number;
  /** the last sign-in */
  signedInAt: number | null;
  signsInWith: "password" | "company-account";
  /** the number of passkeys */
  passkeys: number;
};

export type ValueTable = {
  name: string;
  description?: string;
  /** each pair is a value of the source and a value of the target; numbers have their unit */
  pairs: Array<Array<string>>;
  createdAt: number;
  updatedAt: number;
};

export type ValueTableDefinition = {
  name: string;
  description?: string;
  /** each pair is a value of the source and a value of the target; numbers have their unit */
  pairs: Array<Array<string>>;
  createdAt?: number;
  updatedAt?: number;
};

export type WebhookDelivery = {
  id: number;
  /** the header webhook-id: the same for each attempt and replay */
  webhookId: string;
  type: string;
  projectId: number | null;
  kind: "event" | "replay" | "test";
  status: "pending" | "delivered" | "failed";
  attempts: number;
  /** epoch milliseconds */
  createdAt: number;
  /** null before the first attempt */
  lastAttemptAt: number | null;
  /** null unless it is pending; a delivery behind another one waits for it */
  nextAttemptAt: number | null;
  /** null while it is pending */
  finishedAt: number | null;
  /** the duration of the last attempt */
  durationMs: number | null;
  request: {
    url: string;
    /** without the signature */
    headers: Record<string, string>;
    body: string;
  };
  /** the answer to the last attempt, at most 1,000 characters; null if there was none */
  answer: {
    status: number;
    body: string;
  } | null;
  /** why the last attempt failed */
  error: string | null;
};

export type WebhookEndpoint = {
  id: number;
  url: string;
  events: Array<string>;
  scope: Scope;
  enabled: boolean;
  /** why the service switched it off; null if it is on or a person switched it off */
  switchedOff: {
    /** epoch milliseconds */
    at: number;
    reason: string;
  } | null;
  /** the first failed attempt since the last success; null if the last attempt succeeded */
  failingSince: number | null;
  /** until when former secrets also sign */
  overlapEndsAt: number | null;
  /** epoch milliseconds */
  createdAt: number;
  createdBy: {
    type: "key" | "user" | "command";
    id: number | null;
    name: string;
  };
  /** epoch milliseconds */
  updatedAt: number;
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
  } | [] | null;
  attributes?: Array<{
    key: string;
    value: string | null;
    userGroups?: Array<string> | null;
    /** values of one product with the same row belong together */
    row?: string | number | null;
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
  } | [] | null;
  attributes?: Record<string, string | {
    value: string | null;
    userGroups?: Array<string> | null;
    /** values of one product with the same row belong together */
    row?: string | number | null;
  } | Array<string | {
    value: string | null;
    userGroups?: Array<string> | null;
    /** values of one product with the same row belong together */
    row?: string | number | null;
  } | null> | null> | Array<{
    key: string;
    value: string | null;
    userGroups?: Array<string> | null;
    /** values of one product with the same row belong together */
    row?: string | number | null;
  }> | null;
};

export interface Operations {
  /** Whether the process runs */
  getHealthLive: {
    answer: Health;
  };
  /** Whether requests are served */
  getHealthReady: {
    answer: Readiness;
  };
  /** Metrics of the service */
  getMetrics: {
    answer: string;
  };
  /** List the projects that the key reaches */
  getProjects: {
    query?: { projectId?: number; limit?: number; cursor?: string; };
    answer: ProjectList;
  };
  /** List project groups */
  getManagementProjectGroups: {
    query?: { limit?: number; cursor?: string; };
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
    query?: { limit?: number; cursor?: string; deleted?: boolean | string; };
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
      /** language and country, such as de-DE */
      locale: string;
      tags?: Array<string>;
      settings?: {
        /** the delete guard refuses a full update that would delete more of the products */
        maxDeletePercent?: number;
        /** how many commits and deletes can be undone */
        keptCommits?: number;
        /** for how many days commits and deletes can be undone; null: without a limit */
        keptDays?: number | null;
        /** the attribute with the brand */
        brandAttribute?: string;
        /** the attribute with the price */
        priceAttribute?: string;
        /** refuse or skip the invalid products of a request */
        onInvalid?: "refuse" | "skip";
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
      /** language and country, such as de-DE */
      locale?: string;
      tags?: Array<string>;
      settings?: {
        /** the delete guard refuses a full update that would delete more of the products */
        maxDeletePercent?: number;
        /** how many commits and deletes can be undone */
        keptCommits?: number;
        /** for how many days commits and deletes can be undone; null: without a limit */
        keptDays?: number | null;
        /** the attribute with the brand */
        brandAttribute?: string;
        /** the attribute with the price */
        priceAttribute?: string;
        /** refuse or skip the invalid products of a request */
        onInvalid?: "refuse" | "skip";
      };
    };
    answer: ManagedProject;
  };
  /** Delete a project */
  deleteManagementProjectsById: {
    path: { id: number; };
    query?: { confirm?: string; };
    answer: {
      status: "success";
    };
  };
  /** Restore a deleted project */
  postManagementProjectsByIdRestore: {
    path: { id: number; };
    answer: ManagedProject;
  };
  /** Read the audit log, newest entries first */
  getManagementAuditLog: {
    query?: { limit?: number; cursor?: string; projectId?: number; action?: string; actor?: string; from?: number; to?: number; };
    answer: {
      /** newest first */
      items: Array<AuditEntry>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Check whether a key reaches a project */
  getProjectCheckCredentials: {
    query?: { projectId?: number; };
    answer: {
      status: "success";
    };
  };
  /** List API keys */
  getManagementApiKeys: {
    query?: { limit?: number; cursor?: string; };
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
      scope: Scope;
      /** read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: everything within the scope */
      access?: "read" | "write" | "manage";
      /** only related products and fit, for a page whose visitors can see the key; its access is read */
      page?: boolean;
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
      /** read: projects, lookups, relations, reading tasks; write: also updates and cancelling tasks; manage: everything within the scope */
      access?: "read" | "write" | "manage";
      /** null: no limit */
      rateLimit?: {
        requestsPerMinute: number;
      } | null;
      /** null: the key never expires */
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
      /** for how long the old value stays valid */
      overlapSeconds?: number;
    };
    answer: NewApiKey;
  };
  /** Sign in to the console */
  postManagementSession: {
    body: {
      email: string;
      password: string;
    };
    answer: SignedIn | PasskeyWanted;
  };
  /** Read who is signed in */
  getManagementSession: {
    answer: SignedIn;
  };
  /** Sign out in this browser */
  deleteManagementSession: {
    answer: {
      status: "success";
      /** where a user with a company account also signs out of the provider */
      providerSignOutUrl?: string;
    };
  };
  /** Sign in with a passkey, after the password */
  postManagementSessionPasskey: {
    body: {
      id: string;
      /** base64url */
      clientDataJSON: string;
      /** base64url */
      authenticatorData: string;
      /** base64url */
      signature: string;
    };
    answer: SignedIn;
  };
  /** Read what an owner link or an invitation is for */
  postManagementLinksCheck: {
    body: {
      /** the last part of the link */
      token: string;
    };
    answer: {
      type: "owner" | "invitation";
      /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
      role: "owner" | "editor" | "viewer" | "none";
      /** epoch milliseconds */
      expiresAt: number;
      /** only for an invitation */
      email?: string;
    };
  };
  /** Become an owner with the link from a start of the service or from `relata owner-link` */
  postManagementOwner: {
    body: {
      /** the last part of the link */
      token: string;
      /** upper and lower case are the same */
      email: string;
      name: string;
      password: string;
    };
    answer: SignedIn;
  };
  /** Become a user with an invitation */
  postManagementInvitationsAccept: {
    body: {
      /** the last part of the link */
      token: string;
      name: string;
      password: string;
    };
    answer: SignedIn;
  };
  /** Change your own password */
  postManagementSessionPassword: {
    body: {
      current: string;
      new: string;
    };
    answer: SignedIn;
  };
  /** Read how people can sign in */
  getManagementSessionWays: {
    answer: SignInWays;
  };
  /** Begin to sign in with the company account */
  postManagementSessionCompanyAccountStart: {
    answer: {
      /** the address of the sign-in page of the provider */
      url: string;
    };
  };
  /** Sign in with the answer of the provider */
  postManagementSessionCompanyAccount: {
    body: {
      /** the query with which the browser returned to /console/, without the question mark */
      query: string;
    };
    answer: SignedIn;
  };
  /** Sign out everywhere, or everywhere else */
  deleteManagementSessions: {
    query?: { others?: boolean | string; };
    answer: {
      status: "success";
    };
  };
  /** List your own sessions */
  getManagementSessions: {
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<ConsoleSession>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** End one of your own sessions */
  deleteManagementSessionsById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** List your own passkeys */
  getManagementSessionPasskeys: {
    answer: {
      items: Array<Passkey>;
    };
  };
  /** Add the passkey that the browser created */
  postManagementSessionPasskeys: {
    body: {
      name: string;
      id: string;
      /** base64url */
      clientDataJSON: string;
      /** base64url */
      attestationObject: string;
      transports?: Array<string>;
    };
    answer: Passkey;
  };
  /** Start to add a passkey */
  postManagementSessionPasskeysStart: {
    answer: PasskeyOptions;
  };
  /** Remove one of your own passkeys */
  deleteManagementSessionPasskeysById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** Remove the passkeys of a user who lost them */
  deleteManagementUsersByIdPasskeys: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** List the users of the account */
  getManagementUsers: {
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<User>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Change the role or the name of a user */
  patchManagementUsersById: {
    path: { id: number; };
    body: {
      name?: string;
      /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
      role?: "owner" | "editor" | "viewer" | "none";
      /** the roles in project groups and projects, in addition to `role` */
      roles?: Array<{
        scope: {
          type: "project-group" | "project";
          id: number;
        };
        role: "editor" | "viewer";
      }>;
    };
    answer: User;
  };
  /** Delete a user */
  deleteManagementUsersById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** List open invitations */
  getManagementInvitations: {
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<Invitation>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Invite a person */
  postManagementInvitations: {
    body: {
      /** upper and lower case are the same */
      email: string;
      /** owner: everything; editor: everything except users and keys of the account; viewer: read access; none: no access outside of `roles` */
      role: "owner" | "editor" | "viewer" | "none";
      /** the roles in project groups and projects, in addition to `role` */
      roles?: Array<{
        scope: {
          type: "project-group" | "project";
          id: number;
        };
        role: "editor" | "viewer";
      }>;
    };
    answer: NewInvitation;
  };
  /** Withdraw an invitation */
  deleteManagementInvitationsById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** Read requests, catalog sizes and updates over time, and requests that failed or were slow */
  getManagementStatistics: {
    query?: { from?: number; to?: number; step?: 60 | 3600 | 86400; projectId?: number; };
    answer: Statistics;
  };
  /** Read the requests of an API key over time, and how many exceeded its rate limit */
  getManagementApiKeysByIdStatistics: {
    path: { id: number; };
    query?: { from?: number; to?: number; step?: 60 | 3600 | 86400; };
    answer: KeyStatistics;
  };
  /** Read the last requests of a project that failed or were slow, with the beginning of their bodies */
  getManagementProjectsByIdRequests: {
    path: { id: number; };
    query?: { kind?: "failed" | "slow"; };
    answer: KeptRequests;
  };
  /** List the tasks of a project */
  getTasks: {
    query?: { projectId?: number; status?: "PENDING" | "RUNNING" | "FINISHED" | "FAILED" | "CANCELLED"; origin?: "LIVE-API" | "CONSOLE" | "PIPELINE" | "CHANNEL"; from?: number; to?: number; limit?: number; cursor?: string; };
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
    query?: { wait?: number; };
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
    query?: { limit?: number; cursor?: string; };
    answer: {
      status: "success";
      /** oldest first */
      log: Array<{
        at: number;
        line: string;
      }>;
      /** of a page */
      nextCursor?: string | null;
    };
  };
  /** Read the report: a JSON line for each finding about a product or value */
  getTasksByIdReport: {
    path: { id: string; };
    answer: string;
  };
  /** Follow a task as server-sent events: a `task` event immediately and at every change */
  getTasksByIdEvents: {
    path: { id: string; };
    answer: string;
  };
  /** Replace products (incremental update) or change some of their fields (partial update) */
  postProducts: {
    query?: { projectId?: number; onInvalid?: "refuse" | "skip"; partial?: boolean | string; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
      /** the items of the form that Shopware 5 sends */
      nr_of_products?: number;
      /** with onInvalid=skip: the products that were skipped */
      validation?: Array<{
        product: {
          identifier: string | null;
          index: number;
        } | null;
        schemaErrors: Array<string>;
        errors: Array<string>;
      }>;
    };
  };
  /** Replace products (incremental update) or change some of their fields (partial update) */
  putProducts: {
    query?: { projectId?: number; onInvalid?: "refuse" | "skip"; partial?: boolean | string; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate | ProductInAPartialUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
      /** the items of the form that Shopware 5 sends */
      nr_of_products?: number;
      /** with onInvalid=skip: the products that were skipped */
      validation?: Array<{
        product: {
          identifier: string | null;
          index: number;
        } | null;
        schemaErrors: Array<string>;
        errors: Array<string>;
      }>;
    };
  };
  /** Delete products by identifier */
  deleteProducts: {
    query?: { projectId?: number; identifiers?: string | Array<string>; articleNumber?: string | Array<string>; };
    body: {
      identifiers: Array<string>;
    } | Array<string>;
    answer: {
      message: string;
      status: "success";
      task: Task;
    };
  };
  /** Delete products by identifier */
  postProductsDelete: {
    query?: { projectId?: number; identifiers?: string | Array<string>; articleNumber?: string | Array<string>; };
    body: {
      identifiers: Array<string>;
    } | Array<string>;
    answer: {
      message: string;
      status: "success";
      task: Task;
    };
  };
  /** Full update, step 1: begin, and discard an open one */
  postProductsBatchInitiate: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      fullUpdateId: number;
    };
  };
  /** Full update, step 2: send a batch; repeat it for each batch */
  postProductsBatchUpload: {
    query?: { projectId?: number; fullUpdateId?: number; onInvalid?: "refuse" | "skip"; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
      /** the items of the form that Shopware 5 sends */
      nr_of_products?: number;
      /** with onInvalid=skip: the products that were skipped */
      validation?: Array<{
        product: {
          identifier: string | null;
          index: number;
        } | null;
        schemaErrors: Array<string>;
        errors: Array<string>;
      }>;
    };
  };
  /** Full update, step 2: send a batch; repeat it for each batch */
  putProductsBatchUpload: {
    query?: { projectId?: number; fullUpdateId?: number; onInvalid?: "refuse" | "skip"; };
    body: {
      products: Array<ProductInAFullOrIncrementalUpdate>;
    } | Array<ProductInAFullOrIncrementalUpdate>;
    answer: {
      message: string;
      status: "success";
      task: Task;
      nrOfSent: number;
      nrOfParsed: number;
      /** the items of the form that Shopware 5 sends */
      nr_of_products?: number;
      /** with onInvalid=skip: the products that were skipped */
      validation?: Array<{
        product: {
          identifier: string | null;
          index: number;
        } | null;
        schemaErrors: Array<string>;
        errors: Array<string>;
      }>;
    };
  };
  /** Preview the commit of the open full update */
  postProductsBatchPreview: {
    query?: { projectId?: number; fullUpdateId?: number; };
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
  /** List the products that the commit of the open full update would delete */
  getProductsBatchPreviewDeleted: {
    query?: { projectId?: number; fullUpdateId?: number; limit?: number; cursor?: string; };
    answer: {
      status: "success";
      products: Array<TableProduct>;
      nextCursor: string | null;
    };
  };
  /** Full update, step 3: commit, which deletes products that were in no batch */
  postProductsBatchStart: {
    query?: { projectId?: number; fullUpdateId?: number; allowDeletes?: number; batches?: number; products?: number; };
    answer: {
      status: "success";
      data: {
        message: string;
        status: "success";
        task: Task;
      };
    };
  };
  /** Read the open full update */
  getProductsBatch: {
    query?: { projectId?: number; fullUpdateId?: number; };
    answer: {
      status: "success";
      fullUpdateId: number;
      /** accepted uploads */
      batches: number;
      /** the sum of their nrOfParsed */
      products: number;
      /** uploads that are not yet accepted or refused */
      arriving: number;
      lastBatch: "accepted" | "failed" | "in doubt";
      /** epoch milliseconds; without a batch, the time at which the full update began */
      lastBatchAt: number;
    };
  };
  /** Discard the open full update */
  deleteProductsBatch: {
    query?: { projectId?: number; fullUpdateId?: number; };
    answer: {
      status: "success";
      fullUpdateId: number;
    };
  };
  /** Read the open full update, or null */
  getManagementProjectsByIdFullUpdate: {
    path: { id: number; };
    answer: {
      /** null: no full update is open */
      fullUpdate: {
        status: "success";
        fullUpdateId: number;
        /** accepted uploads */
        batches: number;
        /** the sum of their nrOfParsed */
        products: number;
        /** uploads that are not yet accepted or refused */
        arriving: number;
        lastBatch: "accepted" | "failed" | "in doubt";
        /** epoch milliseconds; without a batch, the time at which the full update began */
        lastBatchAt: number;
      } | null;
    };
  };
  /** Undo the last commit or delete, or all back to a given commit */
  postProductsBatchRestore: {
    query?: { projectId?: number; commit?: number; ifLast?: number; };
    answer: {
      message: string;
      status: "success";
      task: Task;
    };
  };
  /** List the commits and deletes that can be undone */
  getManagementProjectsByIdCommits: {
    path: { id: number; };
    answer: {
      /** commits that can be undone, latest first */
      items: Array<Commit>;
      /** the setting of the project */
      keptCommits: number;
      /** the setting of the project; null: commits of any age */
      keptDays: number | null;
    };
  };
  /** List the products that a commit changed, before and after */
  getManagementProjectsByIdCommitsByCommitIdProducts: {
    path: { id: number; commitId: number; };
    query?: { kind?: "created" | "changed" | "deleted"; limit?: number; cursor?: string; };
    answer: {
      items: Array<CommitChange>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Preview the effect of undoing a commit and all later ones */
  getManagementProjectsByIdCommitsByCommitIdRestorePreview: {
    path: { id: number; commitId: number; };
    answer: RestoreEffect;
  };
  /** List the commits that changed a product, with the product before and after */
  getManagementProjectsByIdProductsByIdentifierCommits: {
    path: { id: number; identifier: string; };
    answer: {
      /** latest first */
      items: Array<ProductChange>;
      /** the setting of the project */
      keptCommits: number;
      /** the setting of the project; null: commits of any age */
      keptDays: number | null;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  postContent: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  putContent: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  deleteContent: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  postContentBatchInitiate: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  postContentBatchUpload: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  putContentBatchUpload: {
    query?: { projectId?: number; };
    answer: {
      message: string;
      status: "success";
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfSent?: number;
      /** absent for a body with more than 4 MiB or 20,000 pages */
      nrOfParsed?: number;
    };
  };
  /** Accept and count pages of a shop, without storing them */
  postContentBatchStart: {
    query?: { projectId?: number; };
    answer: {
      status: "success";
      data: {
        message: string;
        status: "success";
        /** absent for a body with more than 4 MiB or 20,000 pages */
        nrOfSent?: number;
        /** absent for a body with more than 4 MiB or 20,000 pages */
        nrOfParsed?: number;
      };
    };
  };
  /** Look up products by identifier */
  getProductServiceProductsBySku: {
    query?: { projectId?: number; identifiers?: string | Array<string>; };
    answer: {
      products: Array<Product>;
    };
  };
  /** Look up products by identifier, without the limits of a URL */
  postProductServiceProductsBySku: {
    query?: { projectId?: number; identifiers?: string | Array<string>; };
    body: {
      /** the project; not needed by a key that can access exactly one */
      projectId?: number;
      identifiers?: Array<string>;
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
    query?: { projectId?: number; identifiers?: string | Array<string>; includeRelations?: string; includeTags?: string; explain?: boolean | string; assumed?: boolean | string; locale?: string; };
    answer: Record<string, RelatedProductsOfMany>;
  };
  /** Related products of many products, without the limits of a URL */
  postSearchRelationsBulkResults: {
    query?: { projectId?: number; identifiers?: string | Array<string>; includeRelations?: string; includeTags?: string; explain?: boolean | string; assumed?: boolean | string; locale?: string; };
    body: {
      identifiers?: Array<string>;
      /** the project; not needed by a key that can access exactly one */
      projectId?: number;
      includeRelations?: Array<{
        id: number;
        /** the most groups to return, default 10 */
        limit?: number;
      }> | null;
      includeTags?: Array<{
        tag: string;
        /** the most groups to return for each relation, default 10 */
        limitPerRelation?: number;
      }> | null;
      explain?: boolean | null;
      assumed?: boolean | null;
      locale?: string | null;
    };
    answer: Record<string, RelatedProductsOfMany>;
  };
  /** Related products of one product */
  getSearchRelationsResult: {
    query: { projectId?: number; identifier: string; includeRelations?: string; includeTags?: string; explain?: boolean | string; assumed?: boolean | string; locale?: string; };
    answer: RelatedProducts;
  };
  /** Related products of one product, without the limits of a URL */
  postSearchRelationsResult: {
    query?: { projectId?: number; identifier?: string; includeRelations?: string; includeTags?: string; explain?: boolean | string; assumed?: boolean | string; locale?: string; };
    body: {
      identifier?: string;
      /** the project; not needed by a key that can access exactly one */
      projectId?: number;
      includeRelations?: Array<{
        id: number;
        /** the most groups to return, default 10 */
        limit?: number;
      }> | null;
      includeTags?: Array<{
        tag: string;
        /** the most groups to return for each relation, default 10 */
        limitPerRelation?: number;
      }> | null;
      explain?: boolean | null;
      assumed?: boolean | null;
      locale?: string | null;
    };
    answer: RelatedProducts;
  };
  /** List the results and the sources of a product in every relation, with the reasons */
  getManagementProjectsByIdProductsByIdentifierRelations: {
    path: { id: number; identifier: string; };
    query?: { limit?: number; locale?: string; };
    answer: ProductRelations;
  };
  /** Judge whether products can be used together, and explain why */
  postSearchRelationsFit: {
    query?: { projectId?: number; };
    body: FitQuestion;
    answer: FitAnswer;
  };
  /** List the missing values that leave the most verdicts unknown */
  getManagementProjectsByIdRelationsMissingValues: {
    path: { id: number; };
    answer: MissingValues;
  };
  /** List the relations of a project, by id */
  getManagementProjectsByIdRelations: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; tag?: string; state?: string; };
    answer: {
      items: Array<Relation>;
      nextCursor: string | null;
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
      /** the tables that the relations name */
      tables?: Array<ValueTableDefinition>;
    };
  };
  /** Replace all relations of a project by those of a document */
  postManagementProjectsByIdRelationsImport: {
    path: { id: number; };
    body: {
      relations: Array<RelationDefinition>;
      /** the tables that the relations name */
      tables?: Array<ValueTableDefinition>;
    };
    answer: {
      items: Array<Relation>;
      nextCursor: string | null;
    };
  };
  /** Read a relation; the ETag is for If-Match */
  getManagementProjectsByIdRelationsByRelationId: {
    path: { id: number; relationId: number; };
    answer: Relation;
  };
  /** Replace a relation; it gives its old answers until its new index is complete */
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
    query?: { cards?: boolean | string; locale?: string; };
    body: RelationDefinition;
    answer: RelationSurvey;
  };
  /** Survey the results of a relation on the catalog */
  getManagementProjectsByIdRelationsByRelationIdHealth: {
    path: { id: number; relationId: number; };
    answer: RelationSurvey;
  };
  /** Explain why a product is, or is not, among the results of another */
  postManagementProjectsByIdRelationsByRelationIdExplain: {
    path: { id: number; relationId: number; };
    body: {
      source: string;
      target: string;
      /** locale of the sentences (`say`, `advice`), such as en-GB; default: the locale of the project */
      locale?: string;
    };
    answer: RelationExplanation;
  };
  /** Export the links of a relation as lines, in their order */
  getManagementProjectsByIdRelationsByRelationIdLinks: {
    path: { id: number; relationId: number; };
    query?: { source?: string; };
    answer: string;
  };
  /** Replace all links of a relation, in a task */
  putManagementProjectsByIdRelationsByRelationIdLinks: {
    path: { id: number; relationId: number; };
    query?: { allowDeletes?: number; };
    body: string;
    answer: {
      status: "success";
      message: string;
      task: Task;
    };
  };
  /** Replace the links of the sources that are sent, in a task */
  patchManagementProjectsByIdRelationsByRelationIdLinks: {
    path: { id: number; relationId: number; };
    body: string;
    answer: {
      status: "success";
      message: string;
      task: Task;
    };
  };
  /** List the tables of a project, by name; large tables make a page shorter than its limit */
  getManagementProjectsByIdTables: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<ValueTable>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a table of values that go together */
  postManagementProjectsByIdTables: {
    path: { id: number; };
    body: ValueTableDefinition;
    answer: ValueTable;
  };
  /** Read a table; the ETag is for If-Match */
  getManagementProjectsByIdTablesByName: {
    path: { id: number; name: string; };
    answer: ValueTable;
  };
  /** Replace a table; relations that use it are built again */
  putManagementProjectsByIdTablesByName: {
    path: { id: number; name: string; };
    body: ValueTableDefinition;
    answer: ValueTable;
  };
  /** Delete a table that no relation uses */
  deleteManagementProjectsByIdTablesByName: {
    path: { id: number; name: string; };
    answer: {
      status: "success";
    };
  };
  /** List suggestions from the data: relations, types of attributes, duplicates */
  getManagementProjectsByIdSuggestions: {
    path: { id: number; };
    query?: { kind?: "relation" | "attribute" | "duplicate"; dismissed?: boolean | string; };
    answer: Suggestions;
  };
  /** Dismiss a suggestion permanently */
  putManagementProjectsByIdSuggestionsBySuggestionIdDismissal: {
    path: { id: number; suggestionId: string; };
    answer: {
      status: "success";
    };
  };
  /** Undo the dismissal of a suggestion */
  deleteManagementProjectsByIdSuggestionsBySuggestionIdDismissal: {
    path: { id: number; suggestionId: string; };
    answer: {
      status: "success";
    };
  };
  /** List, find or export the catalog of a project */
  getManagementProjectsByIdProducts: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; format?: "json" | "table" | "ndjson"; identifierPrefix?: string; q?: string; filter?: string; category?: string; name?: string; attribute?: string; };
    answer: {
      items: Array<unknown | TableProduct>;
      nextCursor: string | null;
    };
  };
  /** Read one product: its uploaded and extracted values, and its last change */
  getManagementProjectsByIdProductsByIdentifier: {
    path: { id: number; identifier: string; };
    answer: {
      product: Product;
      /** upload shape */
      upload: unknown;
      /** uploaded and extracted, in the order of the upload */
      values: Array<DescribedValue>;
      notExtracted: Array<{
        attribute: string;
        value: string;
        code: string;
        message: string;
      }>;
      lastChange: {
        /** epoch milliseconds */
        at: number;
        /** null: the task has been deleted */
        task: Task | null;
      };
    };
  };
  /** List the categories of a project that have products */
  getManagementProjectsByIdCategories: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; under?: string; };
    answer: {
      items: Array<{
        path: Array<string>;
      }>;
      nextCursor: string | null;
      /** false: the index is catching up with a large change, whose categories may be missing */
      isComplete: boolean;
    };
  };
  /** Search for products by words and filters, with total and facets */
  getSearchProducts: {
    query?: { projectId?: number; q?: string; filter?: string; category?: string; sort?: string; limit?: number; cursor?: string; };
    answer: {
      items: Array<FoundProduct>;
      total: number;
      /** false: there are so many products that the total is an estimate */
      isTotalExact: boolean;
      /** false: the index is catching up with a large change, whose products may be missing */
      isComplete: boolean;
      facets: Array<Facet>;
      /** how many of the first products are counted in the facets */
      facetsOf: number;
      /** there is no index yet, so only a part of the catalog was searched */
      partial?: true;
      nextCursor: string | null;
    };
  };
  /** Search for products by words and filters, with total and facets */
  getManagementProjectsByIdProductsSearch: {
    path: { id: number; };
    query?: { q?: string; filter?: string; category?: string; sort?: string; limit?: number; cursor?: string; };
    answer: {
      items: Array<FoundProduct>;
      total: number;
      /** false: there are so many products that the total is an estimate */
      isTotalExact: boolean;
      /** false: the index is catching up with a large change, whose products may be missing */
      isComplete: boolean;
      facets: Array<Facet>;
      /** how many of the first products are counted in the facets */
      facetsOf: number;
      /** there is no index yet, so only a part of the catalog was searched */
      partial?: true;
      nextCursor: string | null;
    };
  };
  /** The search of a shop connector */
  getSearch: {
    query?: { projectId?: number; query?: string; offset?: number; limit?: number; sort?: string; userGroup?: string; sessionId?: string; log?: string | boolean | number; filters?: string; sortComplex?: string; };
    answer: ShopSearch;
  };
  /** The search of a shop connector, as JSON */
  postSearchV1ByProjectId: {
    path: { projectId: number; };
    query?: { query?: string; offset?: number; limit?: number; sort?: string; userGroup?: string; sessionId?: string; log?: string | boolean | number; filters?: string; sortComplex?: string; };
    body: {
      /** words; * for all products, _#Tools#Drills for a category */
      query?: string;
      /** how many groups to skip */
      offset?: number;
      /** groups, at most 1,000; default 20 */
      limit?: number;
      /** key or name of a sorting option */
      sort?: string;
      /** accepted and ignored */
      userGroup?: string;
      /** accepted and ignored */
      sessionId?: string;
      log?: string | boolean | number;
      filters?: unknown | null;
      sortComplex?: unknown | null;
    };
    answer: ShopSearch;
  };
  /** Suggestions while a shopper types into the search of a shop */
  getSearchSuggestions: {
    query?: { projectId?: number; query?: string; limitProduct?: number; limitCategory?: number; limitBrand?: number; limitSearch?: number; limitContent?: number; userGroup?: string; sessionId?: string; log?: string | boolean | number; };
    answer: ShopSuggestions;
  };
  /** Count how the ontology fits the catalog: values, facts and problems of each attribute */
  getManagementProjectsByIdOntologyCoverage: {
    path: { id: number; };
    query?: { sample?: "even" | "all"; category?: string; };
    answer: Coverage;
  };
  /** Preview the effect of a changed attribute on the facts of the catalog */
  postManagementProjectsByIdOntologyPreview: {
    path: { id: number; };
    query?: { sample?: "even" | "all"; };
    body: ChangedAttribute;
    answer: AttributeEffect;
  };
  /** Read the ontology of a project; the ETag is for If-Match */
  getManagementProjectsByIdOntology: {
    path: { id: number; };
    answer: Ontology;
  };
  /** Replace the ontology of a project; answers use it immediately, and a task updates the report and relations */
  putManagementProjectsByIdOntology: {
    path: { id: number; };
    body: SentOntology;
    answer: Ontology;
  };
  /** List the pipelines of a project */
  getManagementProjectsByIdPipelines: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<Pipeline>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a pipeline */
  postManagementProjectsByIdPipelines: {
    path: { id: number; };
    body: PipelineDefinition;
    answer: Pipeline;
  };
  /** Try a definition on the first rows of its real source, without storing it */
  postManagementProjectsByIdPipelinesPreview: {
    path: { id: number; };
    body: PipelineToTry;
    answer: PipelinePreview;
  };
  /** Read a pipeline; the ETag is for If-Match */
  getManagementProjectsByIdPipelinesByPipelineId: {
    path: { id: number; pipelineId: number; };
    answer: Pipeline;
  };
  /** Delete a pipeline that is not running */
  deleteManagementProjectsByIdPipelinesByPipelineId: {
    path: { id: number; pipelineId: number; };
    answer: {
      status: "success";
    };
  };
  /** Replace a pipeline */
  putManagementProjectsByIdPipelinesByPipelineId: {
    path: { id: number; pipelineId: number; };
    body: PipelineDefinition;
    answer: Pipeline;
  };
  /** Give the webhook another URL; the old URL stops working */
  postManagementProjectsByIdPipelinesByPipelineIdTriggerId: {
    path: { id: number; pipelineId: number; };
    answer: Pipeline;
  };
  /** Start a run by hand */
  postManagementProjectsByIdPipelinesByPipelineIdRun: {
    path: { id: number; pipelineId: number; };
    query?: { force?: boolean | string; };
    answer: TriggeredPipeline;
  };
  /** Upload the file of an upload source, which starts a run */
  postManagementProjectsByIdPipelinesByPipelineIdUpload: {
    path: { id: number; pipelineId: number; };
    query?: { name?: string; };
    body: string;
    answer: TriggeredPipeline;
  };
  /** List the runs of a pipeline */
  getManagementProjectsByIdPipelinesByPipelineIdRuns: {
    path: { id: number; pipelineId: number; };
    query?: { limit?: number; cursor?: string; };
    answer: {
      /** newest first */
      items: Array<PipelineRun>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Start a pipeline whose trigger is a webhook */
  postEtlTriggersWebhookByTriggerId: {
    path: { triggerId: string; };
    answer: TriggeredPipeline;
  };
  /** List webhook endpoints */
  getManagementWebhookEndpoints: {
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<WebhookEndpoint>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a webhook endpoint */
  postManagementWebhookEndpoints: {
    body: {
      /** http:// or https://, without credentials; only public addresses and those of RELATA_FETCH_ALLOW */
      url: string;
      events: Array<"task.finished" | "task.failed" | "catalog.committed" | "catalog.commit_refused" | "products.changed" | "relation.changed" | "relation.unhealthy" | "channel.published" | "pipeline.failed">;
      scope: Scope;
    };
    answer: NewWebhookEndpoint;
  };
  /** Read a webhook endpoint, with an ETag for If-Match */
  getManagementWebhookEndpointsById: {
    path: { id: number; };
    answer: WebhookEndpoint;
  };
  /** Change a webhook endpoint, or switch it on or off */
  patchManagementWebhookEndpointsById: {
    path: { id: number; };
    body: {
      /** http:// or https://, without credentials; only public addresses and those of RELATA_FETCH_ALLOW */
      url?: string;
      events?: Array<"task.finished" | "task.failed" | "catalog.committed" | "catalog.commit_refused" | "products.changed" | "relation.changed" | "relation.unhealthy" | "channel.published" | "pipeline.failed">;
      /** true also switches on an endpoint that the service switched off */
      enabled?: boolean;
    };
    answer: WebhookEndpoint;
  };
  /** Delete a webhook endpoint with its deliveries */
  deleteManagementWebhookEndpointsById: {
    path: { id: number; };
    answer: {
      status: "success";
    };
  };
  /** Rotate the secret of a webhook endpoint */
  postManagementWebhookEndpointsByIdRotateSecret: {
    path: { id: number; };
    body: {
      /** for how long the former secret also signs */
      overlapSeconds?: number;
    };
    answer: NewWebhookEndpoint;
  };
  /** List deliveries, newest first */
  getManagementWebhookEndpointsByIdDeliveries: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; status?: "pending" | "delivered" | "failed"; };
    answer: {
      items: Array<WebhookDelivery>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Send an event again */
  postManagementWebhookEndpointsByIdDeliveriesByDeliveryIdReplay: {
    path: { id: number; deliveryId: number; };
    answer: WebhookDelivery;
  };
  /** Send a test event */
  postManagementWebhookEndpointsByIdTest: {
    path: { id: number; };
    answer: WebhookDelivery;
  };
  /** Call tools for agents by the Model Context Protocol (Streamable HTTP, stateless) */
  postMcp: {
    query?: { projectId?: number; };
    body: McpMessage;
    answer: unknown;
  };
  /** List the channels of a project */
  getManagementProjectsByIdChannels: {
    path: { id: number; };
    query?: { limit?: number; cursor?: string; };
    answer: {
      items: Array<Channel>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Create a channel */
  postManagementProjectsByIdChannels: {
    path: { id: number; };
    body: ChannelDefinition;
    answer: Channel;
  };
  /** Read a channel; the ETag is for If-Match */
  getManagementProjectsByIdChannelsByChannelId: {
    path: { id: number; channelId: number; };
    answer: Channel;
  };
  /** Delete a channel that is not being built, and its published files */
  deleteManagementProjectsByIdChannelsByChannelId: {
    path: { id: number; channelId: number; };
    answer: {
      status: "success";
    };
  };
  /** Replace a channel */
  putManagementProjectsByIdChannelsByChannelId: {
    path: { id: number; channelId: number; };
    body: ChannelDefinition;
    answer: Channel;
  };
  /** Give the published files another address; the old address stops working */
  postManagementProjectsByIdChannelsByChannelIdRotateUrl: {
    path: { id: number; channelId: number; };
    answer: Channel;
  };
  /** Build a channel now, and publish it */
  postManagementProjectsByIdChannelsByChannelIdBuild: {
    path: { id: number; channelId: number; };
    answer: StartedBuild;
  };
  /** List the builds of a channel */
  getManagementProjectsByIdChannelsByChannelIdBuilds: {
    path: { id: number; channelId: number; };
    query?: { limit?: number; cursor?: string; };
    answer: {
      /** newest first */
      items: Array<ChannelBuild>;
      /** null when nothing follows */
      nextCursor: string | null;
    };
  };
  /** Preview the stored channel, or a definition that is sent */
  postManagementProjectsByIdChannelsByChannelIdPreview: {
    path: { id: number; channelId: number; };
    body: ChannelToTry | null;
    answer: ChannelPreview;
  };
  /** Preview a definition */
  postManagementProjectsByIdChannelsPreview: {
    path: { id: number; };
    body: ChannelToTry;
    answer: ChannelPreview;
  };
  /** Read a published file; the address is enough, and no key is needed */
  getChannelsByTokenByFileName: {
    path: { token: string; fileName: string; };
    answer: string;
  };
  /** Search by the Universal Commerce Protocol */
  postChannelsByTokenUcpCatalogSearch: {
    path: { token: string; };
    body: unknown;
    answer: UcpAnswer;
  };
  /** Look up products by id, by the Universal Commerce Protocol */
  postChannelsByTokenUcpCatalogLookup: {
    path: { token: string; };
    body: unknown;
    answer: UcpAnswer;
  };
  /** Read one product by the Universal Commerce Protocol */
  postChannelsByTokenUcpCatalogProduct: {
    path: { token: string; };
    body: unknown;
    answer: UcpAnswer;
  };
  /** The profile that a shop puts at its own /.well-known/ucp */
  getChannelsByTokenUcpProfile: {
    path: { token: string; };
    answer: UcpAnswer;
  };
  /** The schema of the compatibility extension */
  getChannelsByTokenUcpCompatibilityJson: {
    path: { token: string; };
    answer: unknown;
  };
  /** This interface as OpenAPI */
  getOpenapiJson: {
    answer: Record<string, unknown>;
  };
  /** This interface to read */
  getDocsApi: {
    answer: string;
  };
  /** Where everything is */
  get: {
    answer: Root;
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
  postManagementSession: ['POST', '/management/session'],
  getManagementSession: ['GET', '/management/session'],
  deleteManagementSession: ['DELETE', '/management/session'],
  postManagementSessionPasskey: ['POST', '/management/session/passkey'],
  postManagementLinksCheck: ['POST', '/management/links/check'],
  postManagementOwner: ['POST', '/management/owner'],
  postManagementInvitationsAccept: ['POST', '/management/invitations/accept'],
  postManagementSessionPassword: ['POST', '/management/session/password'],
  getManagementSessionWays: ['GET', '/management/session/ways'],
  postManagementSessionCompanyAccountStart: ['POST', '/management/session/company-account/start'],
  postManagementSessionCompanyAccount: ['POST', '/management/session/company-account'],
  deleteManagementSessions: ['DELETE', '/management/sessions'],
  getManagementSessions: ['GET', '/management/sessions'],
  deleteManagementSessionsById: ['DELETE', '/management/sessions/{id}'],
  getManagementSessionPasskeys: ['GET', '/management/session/passkeys'],
  postManagementSessionPasskeys: ['POST', '/management/session/passkeys'],
  postManagementSessionPasskeysStart: ['POST', '/management/session/passkeys/start'],
  deleteManagementSessionPasskeysById: ['DELETE', '/management/session/passkeys/{id}'],
  deleteManagementUsersByIdPasskeys: ['DELETE', '/management/users/{id}/passkeys'],
  getManagementUsers: ['GET', '/management/users'],
  patchManagementUsersById: ['PATCH', '/management/users/{id}'],
  deleteManagementUsersById: ['DELETE', '/management/users/{id}'],
  getManagementInvitations: ['GET', '/management/invitations'],
  postManagementInvitations: ['POST', '/management/invitations'],
  deleteManagementInvitationsById: ['DELETE', '/management/invitations/{id}'],
  getManagementStatistics: ['GET', '/management/statistics'],
  getManagementApiKeysByIdStatistics: ['GET', '/management/api-keys/{id}/statistics'],
  getManagementProjectsByIdRequests: ['GET', '/management/projects/{id}/requests'],
  getTasks: ['GET', '/tasks'],
  getTasksById: ['GET', '/tasks/{id}'],
  postTasksByIdCancel: ['POST', '/tasks/{id}/cancel'],
  getTasksByIdLog: ['GET', '/tasks/{id}/log'],
  getTasksByIdReport: ['GET', '/tasks/{id}/report'],
  getTasksByIdEvents: ['GET', '/tasks/{id}/events'],
  postProducts: ['POST', '/products'],
  putProducts: ['PUT', '/products'],
  deleteProducts: ['DELETE', '/products'],
  postProductsDelete: ['POST', '/products/delete'],
  postProductsBatchInitiate: ['POST', '/products/batch/initiate'],
  postProductsBatchUpload: ['POST', '/products/batch/upload'],
  putProductsBatchUpload: ['PUT', '/products/batch/upload'],
  postProductsBatchPreview: ['POST', '/products/batch/preview'],
  getProductsBatchPreviewDeleted: ['GET', '/products/batch/preview/deleted'],
  postProductsBatchStart: ['POST', '/products/batch/start'],
  getProductsBatch: ['GET', '/products/batch'],
  deleteProductsBatch: ['DELETE', '/products/batch'],
  getManagementProjectsByIdFullUpdate: ['GET', '/management/projects/{id}/full-update'],
  postProductsBatchRestore: ['POST', '/products/batch/restore'],
  getManagementProjectsByIdCommits: ['GET', '/management/projects/{id}/commits'],
  getManagementProjectsByIdCommitsByCommitIdProducts: ['GET', '/management/projects/{id}/commits/{commitId}/products'],
  getManagementProjectsByIdCommitsByCommitIdRestorePreview: ['GET', '/management/projects/{id}/commits/{commitId}/restore-preview'],
  getManagementProjectsByIdProductsByIdentifierCommits: ['GET', '/management/projects/{id}/products/{identifier}/commits'],
  postContent: ['POST', '/content'],
  putContent: ['PUT', '/content'],
  deleteContent: ['DELETE', '/content'],
  postContentBatchInitiate: ['POST', '/content/batch/initiate'],
  postContentBatchUpload: ['POST', '/content/batch/upload'],
  putContentBatchUpload: ['PUT', '/content/batch/upload'],
  postContentBatchStart: ['POST', '/content/batch/start'],
  getProductServiceProductsBySku: ['GET', '/product-service/products-by-sku'],
  postProductServiceProductsBySku: ['POST', '/product-service/products-by-sku'],
  getProductServiceProductBySku: ['GET', '/product-service/product-by-sku'],
  getSearchRelationsBulkResults: ['GET', '/search/relations/bulk-results'],
  postSearchRelationsBulkResults: ['POST', '/search/relations/bulk-results'],
  getSearchRelationsResult: ['GET', '/search/relations/result'],
  postSearchRelationsResult: ['POST', '/search/relations/result'],
  getManagementProjectsByIdProductsByIdentifierRelations: ['GET', '/management/projects/{id}/products/{identifier}/relations'],
  postSearchRelationsFit: ['POST', '/search/relations/fit'],
  getManagementProjectsByIdRelationsMissingValues: ['GET', '/management/projects/{id}/relations/missing-values'],
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
  getManagementProjectsByIdRelationsByRelationIdLinks: ['GET', '/management/projects/{id}/relations/{relationId}/links'],
  putManagementProjectsByIdRelationsByRelationIdLinks: ['PUT', '/management/projects/{id}/relations/{relationId}/links'],
  patchManagementProjectsByIdRelationsByRelationIdLinks: ['PATCH', '/management/projects/{id}/relations/{relationId}/links'],
  getManagementProjectsByIdTables: ['GET', '/management/projects/{id}/tables'],
  postManagementProjectsByIdTables: ['POST', '/management/projects/{id}/tables'],
  getManagementProjectsByIdTablesByName: ['GET', '/management/projects/{id}/tables/{name}'],
  putManagementProjectsByIdTablesByName: ['PUT', '/management/projects/{id}/tables/{name}'],
  deleteManagementProjectsByIdTablesByName: ['DELETE', '/management/projects/{id}/tables/{name}'],
  getManagementProjectsByIdSuggestions: ['GET', '/management/projects/{id}/suggestions'],
  putManagementProjectsByIdSuggestionsBySuggestionIdDismissal: ['PUT', '/management/projects/{id}/suggestions/{suggestionId}/dismissal'],
  deleteManagementProjectsByIdSuggestionsBySuggestionIdDismissal: ['DELETE', '/management/projects/{id}/suggestions/{suggestionId}/dismissal'],
  getManagementProjectsByIdProducts: ['GET', '/management/projects/{id}/products'],
  getManagementProjectsByIdProductsByIdentifier: ['GET', '/management/projects/{id}/products/{identifier}'],
  getManagementProjectsByIdCategories: ['GET', '/management/projects/{id}/categories'],
  getSearchProducts: ['GET', '/search/products'],
  getManagementProjectsByIdProductsSearch: ['GET', '/management/projects/{id}/products/search'],
  getSearch: ['GET', '/search'],
  postSearchV1ByProjectId: ['POST', '/search/v1/{projectId}'],
  getSearchSuggestions: ['GET', '/search/suggestions'],
  getManagementProjectsByIdOntologyCoverage: ['GET', '/management/projects/{id}/ontology/coverage'],
  postManagementProjectsByIdOntologyPreview: ['POST', '/management/projects/{id}/ontology/preview'],
  getManagementProjectsByIdOntology: ['GET', '/management/projects/{id}/ontology'],
  putManagementProjectsByIdOntology: ['PUT', '/management/projects/{id}/ontology'],
  getManagementProjectsByIdPipelines: ['GET', '/management/projects/{id}/pipelines'],
  postManagementProjectsByIdPipelines: ['POST', '/management/projects/{id}/pipelines'],
  postManagementProjectsByIdPipelinesPreview: ['POST', '/management/projects/{id}/pipelines/preview'],
  getManagementProjectsByIdPipelinesByPipelineId: ['GET', '/management/projects/{id}/pipelines/{pipelineId}'],
  deleteManagementProjectsByIdPipelinesByPipelineId: ['DELETE', '/management/projects/{id}/pipelines/{pipelineId}'],
  putManagementProjectsByIdPipelinesByPipelineId: ['PUT', '/management/projects/{id}/pipelines/{pipelineId}'],
  postManagementProjectsByIdPipelinesByPipelineIdTriggerId: ['POST', '/management/projects/{id}/pipelines/{pipelineId}/trigger-id'],
  postManagementProjectsByIdPipelinesByPipelineIdRun: ['POST', '/management/projects/{id}/pipelines/{pipelineId}/run'],
  postManagementProjectsByIdPipelinesByPipelineIdUpload: ['POST', '/management/projects/{id}/pipelines/{pipelineId}/upload'],
  getManagementProjectsByIdPipelinesByPipelineIdRuns: ['GET', '/management/projects/{id}/pipelines/{pipelineId}/runs'],
  postEtlTriggersWebhookByTriggerId: ['POST', '/etl-triggers/webhook/{triggerId}'],
  getManagementWebhookEndpoints: ['GET', '/management/webhook-endpoints'],
  postManagementWebhookEndpoints: ['POST', '/management/webhook-endpoints'],
  getManagementWebhookEndpointsById: ['GET', '/management/webhook-endpoints/{id}'],
  patchManagementWebhookEndpointsById: ['PATCH', '/management/webhook-endpoints/{id}'],
  deleteManagementWebhookEndpointsById: ['DELETE', '/management/webhook-endpoints/{id}'],
  postManagementWebhookEndpointsByIdRotateSecret: ['POST', '/management/webhook-endpoints/{id}/rotate-secret'],
  getManagementWebhookEndpointsByIdDeliveries: ['GET', '/management/webhook-endpoints/{id}/deliveries'],
  postManagementWebhookEndpointsByIdDeliveriesByDeliveryIdReplay: ['POST', '/management/webhook-endpoints/{id}/deliveries/{deliveryId}/replay'],
  postManagementWebhookEndpointsByIdTest: ['POST', '/management/webhook-endpoints/{id}/test'],
  postMcp: ['POST', '/mcp'],
  getManagementProjectsByIdChannels: ['GET', '/management/projects/{id}/channels'],
  postManagementProjectsByIdChannels: ['POST', '/management/projects/{id}/channels'],
  getManagementProjectsByIdChannelsByChannelId: ['GET', '/management/projects/{id}/channels/{channelId}'],
  deleteManagementProjectsByIdChannelsByChannelId: ['DELETE', '/management/projects/{id}/channels/{channelId}'],
  putManagementProjectsByIdChannelsByChannelId: ['PUT', '/management/projects/{id}/channels/{channelId}'],
  postManagementProjectsByIdChannelsByChannelIdRotateUrl: ['POST', '/management/projects/{id}/channels/{channelId}/rotate-url'],
  postManagementProjectsByIdChannelsByChannelIdBuild: ['POST', '/management/projects/{id}/channels/{channelId}/build'],
  getManagementProjectsByIdChannelsByChannelIdBuilds: ['GET', '/management/projects/{id}/channels/{channelId}/builds'],
  postManagementProjectsByIdChannelsByChannelIdPreview: ['POST', '/management/projects/{id}/channels/{channelId}/preview'],
  postManagementProjectsByIdChannelsPreview: ['POST', '/management/projects/{id}/channels/preview'],
  getChannelsByTokenByFileName: ['GET', '/channels/{token}/{fileName}'],
  postChannelsByTokenUcpCatalogSearch: ['POST', '/channels/{token}/ucp/catalog/search'],
  postChannelsByTokenUcpCatalogLookup: ['POST', '/channels/{token}/ucp/catalog/lookup'],
  postChannelsByTokenUcpCatalogProduct: ['POST', '/channels/{token}/ucp/catalog/product'],
  getChannelsByTokenUcpProfile: ['GET', '/channels/{token}/ucp/profile'],
  getChannelsByTokenUcpCompatibilityJson: ['GET', '/channels/{token}/ucp/compatibility.json'],
  getOpenapiJson: ['GET', '/openapi.json'],
  getDocsApi: ['GET', '/docs/api'],
  get: ['GET', '/'],
} as const satisfies Record<keyof Operations, readonly [string, string]>;
