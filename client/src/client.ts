/**
 * The entry point of the client for browsers and Node, with types from the OpenAPI document of Relata. The client sends
 * requests, repeats them after temporary failures, and reports refusals. It never caches answers.
 */

import { createChannels } from './channels.ts';
import { createCommits } from './commits.ts';
import { createApiKeys, createInstallation, createOntology, createProjects } from './management.ts';
import { createPipelines } from './pipelines.ts';
import { createProducts } from './products.ts';
import { createRelations } from './relations.ts';
import { createSession, createUsers } from './session.ts';
import { createShop } from './shop.ts';
import { createSuggestions } from './suggestions.ts';
import { createTasks } from './tasks.ts';
import { type ClientOptions, createTransport } from './transport.ts';
import { createWebhookEndpoints } from './webhooks.ts';

export type { ChannelPlace } from './channels.ts';
export type { Choice, ChoiceOption, FeedField, FeedFormat } from './choice.ts';
export { choices, feedFormats } from './choices.ts';
export type { CommitChangesQuery, CommitPlace } from './commits.ts';
export type { Condition, Filter, Operator } from './filter.ts';
export type { SpanQuery } from './management.ts';
export type { Tagged } from './page.ts';
export type { PipelinePlace } from './pipelines.ts';
export type {
  ExtractedValue,
  ListedProduct,
  PartialProduct,
  ProductPage,
  ProductRelation,
  RelationSide,
  UploadProduct,
} from './product.ts';
export type {
  CategoryListQuery,
  FindQuery,
  ProductListQuery,
} from './products.ts';
export type {
  FullUpdateOptions,
  FullUpdateResult,
  PushOptions,
  PushResult,
  PushState,
} from './push.ts';
export { RelataError, TaskError, UnreachableError } from './relata-error.ts';
export type { FitQuestion, LinkLine, LinkTarget, RelatedQuery, RelationPlace } from './relations.ts';
export type { PartRole, Role } from './session.ts';
export type { ShopQuestion, SuggestionsQuery } from './shop.ts';
export type { Suggestion, SuggestionKind, SuggestionQuery } from './suggestions.ts';
export type { ReportLine, TaskListQuery } from './tasks.ts';
export type { AnswerOf, BodyOf, CallOptions, ClientOptions, InputOf, OperationName } from './transport.ts';
export type { FullUpdatePreview } from './updates.ts';
export type { EventType } from './webhooks.ts';
export type {
  ApiKey,
  Attribute,
  AttributeCoverage,
  AttributeDraft,
  AttributeEffect,
  AttributeSuggestion,
  AttributeUse,
  AuditEntry,
  BuildCounts,
  CatalogPoint,
  CellProblem,
  ChangedAttribute,
  Channel,
  ChannelBuild,
  ChannelDefinition,
  ChannelDestination,
  ChannelFormat,
  ChannelPreview,
  ChannelRelation,
  ChannelSource,
  ChannelToTry,
  ChannelTrigger,
  Commit,
  CommitChange,
  Computation,
  ConsoleSession,
  Coverage,
  DataPoint,
  DescribedValue,
  DirectorySource,
  DuplicateSuggestion,
  Error,
  ExplainedMatch,
  Facet,
  Fact,
  FieldProblem,
  FitAnswer,
  FoundList,
  FoundProduct,
  Health,
  HttpSource,
  Invitation,
  KeptRequest,
  KeptRequests,
  KeyStatistics,
  LastBuild,
  LastRun,
  ManagedProject,
  MappedAttribute,
  MappedColumn,
  MappedImage,
  MappedImages,
  MappedKeyValues,
  MappedPath,
  MappedPaths,
  MappedTargets,
  MappedValues,
  Mapping,
  Match,
  MatchElement,
  MatchedValue,
  McpError,
  McpMessage,
  MissingValues,
  NewApiKey,
  NewInvitation,
  NewWebhookEndpoint,
  NotedRequest,
  Ontology,
  Operations,
  PairVerdict,
  Passkey,
  PasskeyOptions,
  PasskeyWanted,
  Pipeline,
  PipelineDefinition,
  PipelineFormat,
  PipelinePreview,
  PipelineRun,
  PipelineSource,
  PipelineToTry,
  PipelineTrigger,
  PreviewCatalog,
  Product,
  ProductChange,
  ProductInAFullOrIncrementalUpdate,
  ProductInAPartialUpdate,
  ProductRelations,
  ProductViolation,
  Project,
  ProjectGroup,
  ProjectList,
  PublishedFeed,
  Readiness,
  RelatedProducts,
  RelatedProductsOfMany,
  RelatedReason,
  Relation,
  RelationDefinition,
  RelationExplanation,
  RelationSuggestion,
  RelationSurvey,
  RequestPoint,
  RestoreEffect,
  Root,
  RunCounts,
  S3Destination,
  S3Source,
  Scope,
  SentAttribute,
  SentOntology,
  SftpDestination,
  SftpSource,
  ShopProduct,
  ShopSearch,
  ShopSuggestions,
  SignedIn,
  SignInWays,
  StartedBuild,
  Statistics,
  Suggestions,
  SurveyCard,
  TableProduct,
  Task,
  TotalVerdict,
  TriggeredPipeline,
  UcpAnswer,
  UploadSource,
  User,
  ValueTable,
  ValueTableDefinition,
  WebhookDelivery,
  WebhookEndpoint,
} from './wire.ts';

/** Method and path of every operation. */
export { operations } from './wire.ts';

export type Relata = ReturnType<typeof createRelata>;

/** A client of one installation, with one key or with the session of the signed-in user of the browser. */
export function createRelata(options: ClientOptions = {}) {
  const transport = createTransport(options);
  return {
    /** Every operation by its name in the OpenAPI document. */
    call: transport.call,
    projects: createProjects(transport),
    apiKeys: createApiKeys(transport),
    products: createProducts(transport),
    commits: createCommits(transport),
    tasks: createTasks(transport),
    ontology: createOntology(transport),
    relations: createRelations(transport),
    shop: createShop(transport),
    suggestions: createSuggestions(transport),
    pipelines: createPipelines(transport),
    channels: createChannels(transport),
    webhookEndpoints: createWebhookEndpoints(transport),
    session: createSession(transport),
    users: createUsers(transport),
    installation: createInstallation(transport),
  };
}
