/**
 * Every file of the service that parses JSON. The serving thread parses neither uploads nor answers of threads, because
 * parsing a product of 2 MB takes 10 to 20 ms. `npm run house` refuses a file that is not listed, or that parses in
 * more places than listed. A new place either runs in a thread or parses small texts, and its group names the thread or
 * the size.
 */

interface Group {
  /** The thread that runs these files, or the texts that they parse and their size. */
  readonly why: string;
  /** The number of places, by file in `server/src`. */
  readonly places: Readonly<Record<string, number>>;
}

/** The serving thread never parses at these places. */
const IN_THREADS: readonly Group[] = [
  {
    why: 'parsing threads: bodies, stored uploads and notes on batches; the serving thread runs their check for bodies of up to 64 KiB and 256 KiB (ARCHITECTURE.md, "Threads")',
    places: {
      'catalog/ingest/batch-notes.ts': 1,
      'catalog/ingest/checked-body.ts': 1,
      'catalog/ingest/ingest-thread.ts': 2,
      'catalog/ingest/legacy-items.ts': 1,
      'catalog/ingest/packing.ts': 1,
      'catalog/ingest/report-writer.ts': 1,
      'catalog/ingest/scan/attribute-scan.ts': 1,
      'catalog/ingest/scan/scan.ts': 1,
      'catalog/ingest/scan/scanned-products.ts': 2,
      'catalog/products/product-check.ts': 1,
      'http/bodies/json-body.ts': 1,
      'kernel/json-scan.ts': 1,
    },
  },
  {
    why: 'threads that answer relations and searches: uploads, and what these threads have answered',
    places: {
      'agents/reading/product-reading.ts': 1,
      'agents/reading/relation-reading.ts': 1,
      'channels/ucp/ucp-compatibility.ts': 1,
      'relations/answering/catalog-relations.ts': 2,
      'relations/answering/related-answers.ts': 1,
      'relations/fit/alternatives.ts': 1,
      'relations/fit/fit-answer.ts': 1,
      'relations/fit/missing-values.ts': 1,
      'relations/fit/negative-values.ts': 1,
      'relations/matching/product-relations.ts': 2,
      'relations/matching/related-search.ts': 1,
      'relations/matching/relation-explain.ts': 2,
      'relations/relation-store/postgres/view-store.ts': 3,
      'relations/surveys/column-cache.ts': 1,
      'relations/surveys/rule-members.ts': 1,
      'relations/surveys/survey-cards.ts': 2,
      'relations/surveys/total-survey.ts': 1,
      'relations/surveys/tried-columns.ts': 1,
      'search/hits/found-groups.ts': 2,
      'search/hits/hit-list.ts': 1,
      'search/hits/search-index.ts': 1,
      'search/shop/shop-plan.ts': 1,
    },
  },
  {
    why: 'the thread that makes answers, for lookups and for agents',
    places: { 'catalog/lookup/long-answers.ts': 1 },
  },
  {
    why: 'writing threads: uploads, lists of identifiers and of links, rows of the index, members of relations',
    places: {
      'catalog/store/commit-store.ts': 1,
      'relations/links/link-lines.ts': 2,
      'relations/memberships/membership.ts': 3,
      'relations/relation-store/build-store.ts': 2,
      'relations/relation-store/sqlite/membership-store.ts': 3,
      'search/index-store/index-walk-store.ts': 2,
    },
  },
  { why: 'the thread of a build of a channel', places: { 'channels/builds/feed-changes.ts': 1 } },
  { why: 'the thread of a run of a pipeline', places: { 'pipelines/runs/catalog-sketch.ts': 1 } },
  {
    why: 'whole uploads, of lists of channels, only in threads',
    places: { 'catalog/products/documents/stored-upload.ts': 4 },
  },
  {
    why: 'commands and the thread that sends the backup: no requests are served there',
    places: {
      'backup/backup-manifest.ts': 1,
      'backup/files/local-state.ts': 1,
      'backup/target/backup-target.ts': 1,
      'backup/target/objects.ts': 1,
      'backup/timeline/leases.ts': 1,
      'cli/demo/demo.ts': 2,
      'cli/feed/catalog-commands.ts': 1,
      'cli/feed/connection.ts': 1,
      'cli/feed/document-commands.ts': 1,
      'transfer/move-tables.ts': 1,
      'transfer/owned-payloads.ts': 3,
    },
  },
];

/** The serving thread parses at these places. */
const SMALL: readonly Group[] = [
  {
    why: 'rows of the control database that the service wrote: a definition of up to 256 KiB, all others below 16 KiB',
    places: {
      'access/users/user-store.ts': 3,
      'channels/channel-definitions/channel-store.ts': 1,
      'definitions/definition-store.ts': 1,
      'definitions/sealed-definitions.ts': 1,
      'events/outbox-store.ts': 1,
      'pipelines/pipeline-definitions/pipeline-store.ts': 3,
      'projects/audit-store.ts': 3,
      'projects/project-store.ts': 2,
      'projects/resource-store.ts': 1,
      'webhooks/event-fan-out.ts': 1,
      'webhooks/webhook-store.ts': 4,
    },
  },
  {
    why: 'payloads and results of tasks, which name payload files and hold none: below 64 KiB',
    places: {
      'catalog/updates/full-update-commit.ts': 1,
      'catalog/updates/repeat-checks.ts': 1,
      'tasks/task-store.ts': 2,
      'tasks/task.ts': 1,
    },
  },
  {
    why: 'definitions of relations of a project, read once for each version of the catalog: 256 KiB each',
    places: { 'relations/relation-store/relation-definition-store.ts': 6 },
  },
  {
    why: 'tables of a project: a page of up to 4 MiB, or a single table, of up to 32 MiB',
    places: { 'relations/relation-store/table-store.ts': 1 },
  },
  {
    why: 'the ontology, and lists of ids and of category paths: read once for each revision, up to 20,000 entries',
    places: {
      'catalog/ontology/attribute.ts': 2,
      'catalog/store/postgres/lookup-store.ts': 1,
      'catalog/store/staged-store.ts': 1,
      'catalog/store/state-store.ts': 5,
      'catalog/store/undo-store.ts': 1,
    },
  },
  {
    why: 'parameters of a request, within its 128 KiB, and names in texts of up to 2,000 characters',
    places: {
      'access/users/passkeys.ts': 1,
      'catalog/products/identifiers.ts': 1,
      'kernel/secret-mask.ts': 1,
      'relations/answering/related-request.ts': 1,
    },
  },
  { why: 'one line of a report at a time, of up to 2 KB', places: { 'catalog/report-lines.ts': 2 } },
  { why: 'its own description of a request, of up to 4 KB', places: { 'statistics/recent-requests.ts': 1 } },
  {
    why: 'files of the installation, once at the start',
    places: { 'app/parts.ts': 1, 'storage/folder/last-backup.ts': 1 },
  },
  {
    why: 'answers kept for an Idempotency-Key, of up to 1 MiB unpacked, only when a caller repeats a request',
    places: { 'http/answers/answer-store.ts': 2 },
  },
  {
    why: 'answers to lookups of up to 512 KiB of uploads: only their categories, or an upload with rows or user groups (docs/decisions/0007)',
    places: { 'catalog/ontology/answer-writer.ts': 2 },
  },
  {
    why: 'a product of up to 32 KiB for its page; larger ones, fronts and surveys in the scanning thread',
    places: { 'catalog/browse/browse.ts': 4, 'catalog/store/product-list-store.ts': 2 },
  },
];

/** @returns the number of places that a file may have */
export const PLACES: ReadonlyMap<string, number> = new Map(
  [...IN_THREADS, ...SMALL].flatMap(({ places }) => Object.entries(places)),
);
