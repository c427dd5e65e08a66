import type { Job } from './test-schedule.ts';

/**
 * The runner's knowledge about test files. PostgreSQL runs every file that gets a store, except those whose rules are above
 * the port: both stores would give the same answers. The test of a store belongs in another file.
 */
export const RULES_ABOVE_THE_STORES: Readonly<Record<string, string>> = {
  'test/access/access-table.test.ts': 'who may call what, which is decided above the stores',
  'test/access/interface-users.test.ts': 'what users may do; access.test.ts asks both stores',
  'test/agents/mcp-conformance.test.ts': 'a protocol over what other tests ask both stores',
  'test/agents/interface-agents.test.ts': 'a protocol over what other tests ask both stores',
  'test/channels/interface-channel-destinations.test.ts':
    'what goes to other machines; of stored secrets see pipeline-secrets.test.ts',
  'test/channels/channel-formats.test.ts': 'what a format makes of products',
  'test/channels/etim-xchange.test.ts':
    'what a format makes of products; of relations see channel-related.test.ts',
  'test/channels/shop-lists.test.ts': 'what a format makes of relations; see channel-related.test.ts',
  'test/clients/php-client.test.ts': 'a client, which sees answers and no store',
  'test/durability/backup.test.ts': 'PostgreSQL is backed up with its own tools',
  'test/durability/damaged-backup.test.ts': 'PostgreSQL is backed up with its own tools',
  'test/durability/file-modes.test.ts': 'PostgreSQL keeps its own files',
  'test/durability/newer-files.test.ts': 'the versions of files; of PostgreSQL see postgres-schema.test.ts',
  'test/pipelines/feed-files.test.ts': 'what a format makes of a file',
  'test/catalog/interface-legacy-items.test.ts':
    'what bodies of another form become, before anything is stored',
  'test/catalog/long-reports.test.ts':
    'how reports pass between threads; of their rows see interface-tasks.test.ts',
  'test/pipelines/interface-pipeline-runs.test.ts': 'what a run says; pipeline-runs.test.ts stores runs',
  'test/pipelines/interface-remote-sources.test.ts': 'what is read from other machines, before it is stored',
  'test/pipelines/pipeline-catalog.test.ts':
    'what formats make of rows; real-catalog.test.ts stores as many, pipeline-runs.test.ts runs',
  'test/pipelines/pipeline-limits.test.ts': 'what a source may send, before anything is stored',
  'test/repository/demo.test.ts': 'the products and pipelines of the demo, which serves the embedded store',
  'test/repository/helm-chart.test.ts': 'what a chart renders, and the paths of health checks',
  'test/service/body-budget.test.ts': 'memory of bodies, before anything is stored',
  'test/service/command-line.test.ts': 'a client, which sees answers and no store',
  'test/service/connectors.test.ts': 'what connectors send, which the interface files ask both stores',
  'test/service/hostile-requests.test.ts': 'requests that no route lets through to a store',
  'test/service/hostile-bodies.test.ts': 'bodies that a parsing thread refuses',
  'test/service/interface-errors.test.ts': 'what is refused before a store is asked, and in which words',
  'test/clients/python-client.test.ts': 'a client, which sees answers and no store',
  'test/agents/fit-questions.test.ts': 'a protocol over what interface-fit.test.ts asks both stores',
  'test/pipelines/pipeline-schedules.test.ts': 'when a pipeline runs; pipeline-runs.test.ts stores runs',
  'test/service/long-addresses.test.ts': 'addresses that are refused before the store is read',
  'test/service/long-answers.test.ts': 'how long answers are sent; of rows see interface-lookup.test.ts',
  'test/service/interface-no-body.test.ts': 'bodies that are refused before a route is asked',
  'test/relations/lens-mounts.test.ts':
    'what a database of lenses says of rules; of their statements see interface-tables.test.ts and the oracles',
  'test/relations/relation-work.test.ts':
    'how much work a question may be, which is counted above the stores',
  'test/service/traces.test.ts':
    'spans, which are made above the stores; the column of tasks is in all tests of tasks',
};

/** Tests of the interface that take too long for `npm test`; tests next to their subjects that do are in LATER. */
export const DEEP_FIRST: readonly string[] = [
  'test/relations/interface-relation-index.test.ts',
  'test/service/interface-operations.test.ts',
];

/** Random tests that `npm test` runs with few cases, and `npm run test:deep` again with more. */
export const TRIES_MORE: readonly string[] = [
  'src/catalog/ingest/scan/body-scan.test.ts',
  'src/catalog/store/catalog-store.test.ts',
];

/**
 * Files that only `npm run test:long` runs: what takes longest, of which others show the most important part. `npm ci` and a
 * build are what `.ci/run` begins with. The interface outside the catalog and relations stores its rows by statements that are the same for
 * both stores (`control` in `storage/`).
 */
export const LATER: Readonly<
  Record<
    'embedded' | 'postgres' | 'console',
    { readonly files: readonly string[]; readonly folders?: RegExp }
  >
> = {
  embedded: {
    files: [
      'src/http/server/answer-encoding.test.ts',
      'src/pipelines/formats/format-memory.test.ts',
      'src/pipelines/formats/xlsx/xlsx.test.ts',
      'src/pipelines/mapping/mapping-rows.test.ts',
      'src/relations/store/sqlite/member-runs.test.ts',
      'test/pipelines/pipeline-catalog.test.ts',
      'test/pipelines/pipeline-crash.test.ts',
      'test/service/command-line.test.ts',
      'test/service/first-start.test.ts',
      'test/service/hostile-bodies.test.ts',
      'test/service/long-answers.test.ts',
    ],
  },
  postgres: {
    files: [
      'test/catalog/real-catalog.test.ts',
      'test/durability/chaos.test.ts',
      'test/durability/disk-full.test.ts',
      'test/durability/failed-batch.test.ts',
      'test/pipelines/pipeline-crash.test.ts',
      'test/relations/interface-relation-index.test.ts',
      'test/relations/relations-oracle.test.ts',
    ],
    folders: /^test\/(?!catalog\/|relations\/)\w+\/interface-/,
  },
  console: {
    files: [
      '../console/test/channels.test.ts',
      '../console/test/drafts.test.ts',
      '../console/test/edits.test.ts',
      '../console/test/manners.test.ts',
      '../console/test/pipelines.test.ts',
      '../console/test/products.test.ts',
      '../console/test/session.test.ts',
      '../console/test/views.test.ts',
    ],
  },
};

/** Files that run before with fewer cases, and in `npm run test:long` with all. */
export const WITH_ALL_CASES: readonly string[] = [
  'src/catalog/ingest/scan/body-scan.test.ts',
  'test/durability/sqlite-continuous-backup.test.ts',
  'test/durability/sqlite-power-cut.test.ts',
  'test/relations/sqlite-kept-lists.test.ts',
];

/** The schema, an update, a lookup and a relation. */
export const POSTGRES_SMOKE: readonly string[] = [
  'test/postgres/postgres-schema.test.ts',
  'test/catalog/interface-full-update.test.ts',
  'test/catalog/interface-lookup.test.ts',
  'test/relations/interface-relations.test.ts',
];

export const CONSOLE_SMOKE: readonly string[] = [
  'safety.test.ts',
  'size.test.ts',
  'tasks.test.ts',
  'texts.test.ts',
];

/** Files that look at their process, or change it: what it holds, or its processor time. */
export const OWN_PROCESS: readonly string[] = [
  'src/http/server/query.test.ts',
  'src/pipelines/mapping/mapping-rows.test.ts',
  'src/pipelines/sources/http-source.test.ts',
  'src/pipelines/sources/unpack.test.ts',
  'src/storage/byte-cache.test.ts',
  'test/catalog/long-reports.test.ts',
  'test/pipelines/pipeline-limits.test.ts',
  'test/service/anonymous-answers.test.ts',
  'test/service/long-addresses.test.ts',
  'test/service/parsed-texts.test.ts',
  'test/service/serving-thread.test.ts',
  'test/suggestions/suggestion-rules.test.ts',
];

/** `seconds`: when run alone, on the slower store. */
type Work = Pick<Job, 'kind' | 'seconds'>;

/** Files that take about half a minute or more on two cores, or must run undisturbed: the longest start first. */
export const LONG_WORK: Readonly<Record<string, Work>> = {
  'test/durability/chaos.test.ts': { kind: 'waits', seconds: 80 },
  'test/durability/crash.test.ts': { kind: 'waits', seconds: 70 },
  'test/pipelines/pipeline-catalog.test.ts': { kind: 'computes', seconds: 40 },
  'test/postgres/postgres-processes.test.ts': { kind: 'waits', seconds: 160 },
  'test/repository/sqlite-plans.test.ts': { kind: 'computes', seconds: 60 },
  'test/postgres/postgres-plans.test.ts': { kind: 'computes', seconds: 30 },
  'test/postgres/postgres-lost-commits.test.ts': { kind: 'waits', seconds: 35 },
  'test/durability/backup.test.ts': { kind: 'computes', seconds: 85 },
  'test/pipelines/pipeline-crash.test.ts': { kind: 'waits', seconds: 35 },
  'test/relations/relations-oracle.test.ts': { kind: 'computes', seconds: 45 },
  'test/durability/sqlite-continuous-backup.test.ts': { kind: 'waits', seconds: 130 },
  'test/durability/disk-full.test.ts': { kind: 'waits', seconds: 40 },
  'test/durability/sqlite-failing-disk.test.ts': { kind: 'waits', seconds: 40 },
  'test/catalog/real-catalog.test.ts': { kind: 'computes', seconds: 65 },
  'test/catalog/interface-product-list.test.ts': { kind: 'computes', seconds: 60 },
  // Kills a worker used by other files of its pass.
  'test/postgres/postgres-cluster.test.ts': { kind: 'alone', seconds: 110 },
  // Measures how long a page does not respond.
  '../console/test/long-table.test.ts': { kind: 'alone', seconds: 25 },
  '../console/test/flows.test.ts': { kind: 'computes', seconds: 130 },
  '../console/test/views.test.ts': { kind: 'computes', seconds: 110 },
  '../console/test/session.test.ts': { kind: 'computes', seconds: 60 },
  '../console/test/products.test.ts': { kind: 'computes', seconds: 40 },
  '../console/test/pipelines.test.ts': { kind: 'computes', seconds: 40 },
  '../package/test/package.test.ts': { kind: 'computes', seconds: 40 },
  '../package/test/outward.test.ts': { kind: 'computes', seconds: 15 },
  'src/catalog/ingest/scan/body-scan.test.ts': { kind: 'computes', seconds: 20 },
  'src/catalog/store/catalog-store.test.ts': { kind: 'computes', seconds: 35 },
  'src/pipelines/formats/format-memory.test.ts': { kind: 'computes', seconds: 45 },
  'test/access/interface-users.test.ts': { kind: 'computes', seconds: 30 },
  'test/relations/interface-relation-index.test.ts': { kind: 'computes', seconds: 30 },
  'test/service/interface-tasks.test.ts': { kind: 'computes', seconds: 35 },
  'test/durability/sqlite-power-cut.test.ts': { kind: 'waits', seconds: 35 },
  'test/durability/damaged-backup.test.ts': { kind: 'computes', seconds: 30 },
  'test/durability/failed-batch.test.ts': { kind: 'waits', seconds: 50 },
  'src/transfer/postgres-move.test.ts': { kind: 'computes', seconds: 85 },
  'test/webhooks/webhook-dispatch.test.ts': { kind: 'waits', seconds: 30 },
  'test/webhooks/webhook-crash.test.ts': { kind: 'waits', seconds: 20 },
  'src/tasks/postgres-tasks.test.ts': { kind: 'waits', seconds: 45 },
  'src/tasks/tasks.test.ts': { kind: 'waits', seconds: 20 },
  'test/service/command-line.test.ts': { kind: 'computes', seconds: 60 },
  'test/service/first-start.test.ts': { kind: 'computes', seconds: 60 },
  'test/service/hostile-bodies.test.ts': { kind: 'computes', seconds: 85 },
  'test/service/long-answers.test.ts': { kind: 'computes', seconds: 60 },
  'test/durability/sqlite-damaged-catalog.test.ts': { kind: 'waits', seconds: 30 },
};
