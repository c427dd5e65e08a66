/** Counts of what an ontology makes of a catalog, and of what the service did. Source: docs/interface.md §11.6, §14.7. */

/** Why values make no fact. */
export interface ValueProblem {
  code: string;
  message: string;
  count: number;
  examples: { identifier: string; value: string }[];
}

/** How often values of one upload key stand in the catalog. */
export interface KeyCoverage {
  name: string;
  /** Products with a value. */
  withValue: number;
  /** The most frequent ones. */
  values: { value: string; count: number }[];
  distinctValues: number;
  hasMoreValues: boolean;
}

export interface AttributeCoverage extends KeyCoverage {
  id: number;
  type: string;
  unitName?: string;
  /** Products with a fact. */
  withFact: number;
  problems: ValueProblem[];
}

/** How the ontology fits the catalog; counts are of the products that were looked at. */
export interface OntologyCoverage {
  products: number;
  sampled: boolean;
  sampledProducts: number;
  attributes: AttributeCoverage[];
  /** Keys that the ontology does not know. */
  unknown: KeyCoverage[];
}

/** What a changed attribute would do. */
export interface OntologyPreview {
  products: number;
  sampled: boolean;
  sampledProducts: number;
  withValue: number;
  kept: number;
  gained: { count: number; examples: { identifier: string; value: string }[] };
  lost: { count: number; examples: { identifier: string; value: string }[] };
  problems: ValueProblem[];
}

/** Requests within one step of time. */
export interface RequestPoint {
  at: number;
  requests: number;
  /** Answered 4xx, but for 429. */
  refused: number;
  limited: number;
  failed: number;
  slow: number;
  meanMs: number;
}

/** The catalogs of an account at the end of one step of time, and what changed within it. */
export interface CatalogPoint {
  at: number;
  products: number;
  created: number;
  changed: number;
  deleted: number;
  tasks: number;
  failedTasks: number;
}

/** A request that failed or was slow. */
export interface NotedRequest {
  at: number;
  requestId: string;
  projectId: number | null;
  apiKeyId: number | null;
  method: string;
  route: string;
  status: number;
  ms: number;
}

/** A span of time in steps; a step without an event has no point. */
export interface Span {
  from: number;
  to: number;
  /** Seconds. */
  step: number;
}

export interface AccountStatistics extends Span {
  requests: RequestPoint[];
  catalogs: CatalogPoint[];
  noted: NotedRequest[];
}

export interface ApiKeyStatistics extends Span {
  requests: RequestPoint[];
}

/** Which span; a day up to now when nothing is said. */
export interface SpanQuery {
  readonly from?: number;
  readonly to?: number;
  readonly step?: 60 | 3600 | 86400;
}
