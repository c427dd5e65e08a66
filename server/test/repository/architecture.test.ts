// runs: deep
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/**
 * Tests the checks of the architecture: each rule must refuse a violation planted for it. The house below is
 * small and satisfies every rule.
 */
const repository = fileURLToPath(new URL('../../..', import.meta.url));

type Files = Readonly<Record<string, string>>;

const readsEnvironment = 'export const readConfig = () => process.env;\n';

const house: Files = {
  'kernel/errors.ts': `export const code = 'token_missing';`,
  'storage/storage.ts': `import { sql } from 'kysely';
    import { code } from '../kernel/errors.ts';
    import { open } from './sqlite/sqlite.ts';
    export const storage = [sql, code, open];`,
  'storage/sqlite/sqlite.ts': `import { DatabaseSync } from 'node:sqlite';
    export const open = DatabaseSync;`,
  'http/server/server.ts': `import fastify from 'fastify';
    export type Routes = () => void;
    export const server = fastify;`,
  'formats/formats.ts': `import { read } from './csv/read-csv.ts';
    import { write } from './csv/write-csv.ts';
    export const formats = [read, write];`,
  'formats/csv/read-csv.ts': `import { split } from './split-csv.ts';
    export const read = split;`,
  'formats/csv/write-csv.ts': 'export const write = 1;',
  'formats/csv/split-csv.ts': 'export const split = 1;',
  'events/events.ts': 'export const events = 1;',
  'tasks/tasks.ts': `import { storage } from '../storage/storage.ts';
    export const tasks = storage;`,
  'catalog/catalog.ts': `import { tasks } from '../tasks/tasks.ts';
    import type { Routes } from '../http/server/server.ts';
    import { readName } from './products/products.ts';
    import { findProduct } from './store/store.ts';
    export type { Product } from './port.ts';
    export const catalog: [unknown, unknown, unknown, Routes?] = [tasks, findProduct, readName];`,
  'catalog/port.ts': 'export type Product = string;',
  'catalog/products/products.ts': `export { readName } from './name.ts';`,
  'catalog/products/name.ts': `import type { Product } from '../port.ts';
    export const readName = (product: Product) => product;`,
  'catalog/updates/updates.ts': `import { readName } from '../products/products.ts';
    export const update = readName;`,
  'catalog/store/store.ts': `import { findProduct } from './sqlite/sqlite.ts';
    import { findRow } from './postgres/postgres.ts';
    export { findProduct, findRow };`,
  'catalog/store/sqlite/sqlite.ts': `export { findProduct } from './product-store.ts';`,
  'catalog/store/sqlite/product-store.ts': `import { sql } from 'kysely';
    import type { Product } from '../../port.ts';
    export const findProduct = (product: Product) => [sql, product];`,
  'catalog/store/postgres/postgres.ts': `export { findRow } from './product-store.ts';`,
  'catalog/store/postgres/product-store.ts': `import { sql } from 'kysely';
    export const findRow = sql;`,
  'catalog/catalog-routes.ts': `import { server } from '../http/server/server.ts';
    import { catalog } from './catalog.ts';
    export const catalogRoutes = () => [server, catalog];`,
  'catalog/catalog.test.ts': `import 'fastify';
    import 'kysely';
    import { server } from '../http/server/server.ts';
    import { open } from '../storage/sqlite/sqlite.ts';
    export const rules = [server, open];`,
  'relations/relations.ts': `import { catalog } from '../catalog/catalog.ts';
    import { readName } from '../catalog/products/products.ts';
    export const relations = [catalog, readName];`,
  'channels/channels.ts': `import { relations } from '../relations/relations.ts';
    export const channels = relations;`,
  'transfer/transfer.ts': `import { DatabaseSync } from 'node:sqlite';
    export const listOwned = DatabaseSync;`,
  'backup/backup.ts': `import { DatabaseSync } from 'node:sqlite';
    import { listOwned } from '../transfer/transfer.ts';
    export const backup = [DatabaseSync, listOwned];`,
  'config.ts': readsEnvironment,
  'app/app.ts': `import { catalogRoutes } from '../catalog/catalog-routes.ts';
    import { readConfig } from '../config.ts';
    import { server } from '../http/server/server.ts';
    import { relations } from '../relations/relations.ts';
    export const app = [catalogRoutes, readConfig, server, relations];`,
  'app/threads/ingest-worker.ts': `import { catalog } from '../../catalog/catalog.ts';
    export const ingest = catalog;`,
  'cli/cli.ts': `import { app } from '../app/app.ts';
    import { storage } from '../storage/storage.ts';
    export const commands = [app, storage];`,
  'main.ts': `import { commands } from './cli/cli.ts';
    export const run = commands;`,
  'server/test/support/service.ts': 'export const service = 1;',
  'server/test/catalog/lookup.test.ts': `import '../support/service.ts';`,
  'bench/support/statistics.ts': 'export const median = 1;',
  'bench/ingest/ingest.ts': `import { median } from '../support/statistics.ts';
    export const ingest = median;`,
  'client/src/wire.ts': 'export const wire = 1;',
  'client/src/client.ts': `import { wire } from './wire.ts';
    export const client = wire;`,
  'client/test/client.test.ts': `import 'node:fs';
    import '../src/client.ts';`,
  'console/src/main.tsx': `import '@relata/client';
    import 'react';
    import './screens.tsx';`,
  'console/src/screens.tsx': `import './products/products.tsx';`,
  'console/src/parts/button.tsx': 'export const button = 1;',
  'console/src/products/products.tsx': `import { button } from '../parts/button.tsx';
    export const products = button;`,
  'console/test/flows.test.ts': `import 'node:fs';
    import '../src/main.tsx';`,
};

/**
 * Each violation adds these lines to a file of the house, or adds the file. All are planted together for one run of the
 * tool. Each violation therefore needs its own file, or a rule that no other violation of the file breaks.
 */
const violations: readonly { rule: string; refused: string; file: string; lines: string }[] = [
  {
    refused: 'R1: a folder that imports from its right',
    rule: 'catalog-imports-left-only',
    file: 'catalog/facts.ts',
    lines: `import '../relations/relations.ts';`,
  },
  {
    refused: 'R1: a folder that imports a type from its right',
    rule: 'catalog-imports-left-only',
    file: 'catalog/fact-types.ts',
    lines: `import type { relations } from '../relations/relations.ts'; export type Facts = typeof relations;`,
  },
  {
    refused: 'R1: an import that knows the outputs',
    rule: 'pipelines-imports-left-only',
    file: 'pipelines/outgoing.ts',
    lines: `import '../channels/channels.ts';`,
  },
  {
    refused: 'R1: a room that imports the app',
    rule: 'tasks-imports-left-only',
    file: 'tasks/task-runner.ts',
    lines: `import '../app/app.ts';`,
  },
  {
    refused: 'R1: the outbox that imports its sender',
    rule: 'events-imports-left-only',
    file: 'events/outbox-store.ts',
    lines: `import '../webhooks/webhooks.ts';`,
  },
  {
    refused: 'R1: a connection to an address that imports the sent content',
    rule: 'outbound-imports-left-only',
    file: 'outbound/outbound.ts',
    lines: `import '../events/events.ts';`,
  },
  {
    refused: 'R1: a format that imports code that fills a catalog',
    rule: 'formats-imports-left-only',
    file: 'formats/catalog-format.ts',
    lines: `import '../catalog/catalog.ts';`,
  },
  {
    refused: 'R2: a format that reaches inside another',
    rule: 'through-the-door',
    file: 'formats/json/read-json.ts',
    lines: `import '../csv/split-csv.ts';`,
  },
  {
    refused: 'R1: webhooks that import the move of a store',
    rule: 'webhooks-imports-left-only',
    file: 'webhooks/webhooks.ts',
    lines: `import '../transfer/transfer.ts';`,
  },
  {
    refused: 'R1: a move of a store that imports a backup',
    rule: 'transfer-imports-left-only',
    file: 'transfer/transfer.ts',
    lines: `import '../backup/backup.ts';`,
  },
  {
    refused: 'R1: an app that imports a command',
    rule: 'app-imports-left-only',
    file: 'app/app.ts',
    lines: `import '../cli/cli.ts';`,
  },
  {
    refused: 'R1: a command that imports the entry of a thread',
    rule: 'thread-entries-are-started',
    file: 'cli/demo.ts',
    lines: `import '../app/threads/ingest-worker.ts';`,
  },
  {
    refused: 'R1: a folder that reads the settings itself',
    rule: 'settings-are-handed-over',
    file: 'tasks/lease.ts',
    lines: `import '../config.ts';`,
  },
  {
    refused: 'R1: settings that use a folder',
    rule: 'config-knows-no-room',
    file: 'config.ts',
    lines: `import './storage/storage.ts';`,
  },
  {
    refused: 'R1: a folder outside the order',
    rule: 'every-file-has-a-place',
    file: 'lib/text.ts',
    lines: `import '../kernel/errors.ts';`,
  },
  {
    refused: 'R1: the use of a folder outside the order',
    rule: 'every-file-has-a-place',
    file: 'catalog/text.ts',
    lines: `import '../lib/text.ts';`,
  },
  {
    refused: 'R2: a folder that reaches inside another',
    rule: 'through-the-door',
    file: 'relations/related-search.ts',
    lines: `import '../catalog/products/name.ts';`,
  },
  {
    refused: 'R2: an app that reaches inside a folder',
    rule: 'through-the-door',
    file: 'app/app.ts',
    lines: `import '../catalog/port.ts';`,
  },
  {
    refused: 'R2: a thread that reaches inside a room',
    rule: 'through-the-door',
    file: 'app/threads/ingest-worker.ts',
    lines: `import '../../catalog/port.ts';`,
  },
  {
    refused: 'R2: a room that reaches inside a room within it',
    rule: 'through-the-door',
    file: 'catalog/names.ts',
    lines: `import './products/name.ts';`,
  },
  {
    refused: 'R2: a room within that reaches inside its neighbour',
    rule: 'through-the-door',
    file: 'catalog/updates/names.ts',
    lines: `import '../products/name.ts';`,
  },
  {
    refused: 'R2: a room that reaches inside an engine of another room',
    rule: 'through-the-door',
    file: 'relations/names.ts',
    lines: `import '../catalog/store/sqlite/product-store.ts';`,
  },
  {
    refused: 'R1: a room within that imports from its right',
    rule: 'rooms-within-import-left-only',
    file: 'catalog/products/batch.ts',
    lines: `import '../updates/updates.ts';`,
  },
  {
    refused: 'R1: a room within that imports a type from its right',
    rule: 'rooms-within-import-left-only',
    file: 'catalog/products/batch-types.ts',
    lines: `import type { update } from '../updates/updates.ts'; export type Batch = typeof update;`,
  },
  {
    refused: 'R1: a folder within a room that no line names',
    rule: 'every-room-within-has-a-place',
    file: 'catalog/misc/text.ts',
    lines: `import '../port.ts';`,
  },
  {
    refused: 'R1: a folder within a room that has no rooms within',
    rule: 'every-room-within-has-a-place',
    file: 'tasks/misc/text.ts',
    lines: `import '../tasks.ts';`,
  },
  {
    refused: 'R2: PostgreSQL that imports from SQLite',
    rule: 'engines-apart',
    file: 'catalog/store/postgres/commit-store.ts',
    lines: `import '../sqlite/sqlite.ts';`,
  },
  {
    refused: 'R2: SQLite that imports from PostgreSQL',
    rule: 'engines-apart',
    file: 'catalog/store/sqlite/commit-store.ts',
    lines: `import type { findRow } from '../postgres/postgres.ts'; export type Row = typeof findRow;`,
  },
  {
    refused: 'R2: a file of SQLite without its twin of PostgreSQL',
    rule: 'engines-have-twins',
    file: 'catalog/store/sqlite/undo-store.ts',
    lines: `import '../../port.ts';`,
  },
  {
    refused: 'R1: tests of one subject that import those of another',
    rule: 'tests-share-support',
    file: 'server/test/relations/search.test.ts',
    lines: `import '../catalog/lookup.test.ts';`,
  },
  {
    refused: 'R1: support of tests that imports a test',
    rule: 'tests-share-support',
    file: 'server/test/support/rows.ts',
    lines: `import '../catalog/lookup.test.ts';`,
  },
  {
    refused: 'R1: support of measurements that imports a measurement',
    rule: 'rooms-within-import-left-only',
    file: 'bench/support/rounds.ts',
    lines: `import '../ingest/ingest.ts';`,
  },
  {
    refused: 'R1: parts of the console that import a feature',
    rule: 'rooms-within-import-left-only',
    file: 'console/src/parts/card.tsx',
    lines: `import '../products/products.tsx';`,
  },
  {
    refused: 'R2: parts of the console that know the screens',
    rule: 'views-are-opened-by-screens',
    file: 'console/src/parts/menu.tsx',
    lines: `import '../screens.tsx';`,
  },
  {
    refused: 'R2: the use of routes outside the app',
    rule: 'routes-are-wired-by-the-app',
    file: 'relations/membership.ts',
    lines: `import '../catalog/catalog-routes.ts';`,
  },
  {
    refused: 'R3: shared endpoints that a file other than a route uses',
    rule: 'http-lives-in-routes',
    file: 'relations/relation-kind.ts',
    lines: `import '../http/server/server.ts';`,
  },
  ...['kysely', 'pg', 'node:sqlite'].map((module, index) => ({
    refused: `R3: ${module} outside a store`,
    rule: 'sql-lives-in-stores',
    file: `catalog/sql-${index}.ts`,
    lines: `import '${module}';`,
  })),
  {
    refused: 'R3: a value of kysely beside a type of it',
    rule: 'sql-lives-in-stores',
    file: 'catalog/query.ts',
    lines: `import type { Kysely } from 'kysely'; import { sql } from 'kysely';
      export const query: [unknown, Kysely<unknown>?] = [sql];`,
  },
  {
    refused: 'R3: fastify outside the routes',
    rule: 'fastify-lives-in-routes',
    file: 'catalog/server.ts',
    lines: `import 'fastify';`,
  },
  {
    refused: 'R3: an app that builds the server itself',
    rule: 'fastify-lives-in-routes',
    file: 'app/app.ts',
    lines: `import '@fastify/cors';`,
  },
  {
    refused: 'R3: the use of the server outside the routes',
    rule: 'http-lives-in-routes',
    file: 'catalog/listen.ts',
    lines: `import '../http/server/server.ts';`,
  },
  {
    refused: 'R4: two files that need each other',
    rule: 'no-cycles',
    file: 'catalog/store/sqlite/product-store.ts',
    lines: `import '../../catalog.ts';`,
  },
  {
    refused: 'R4: a file whose types come from the file that needs it',
    rule: 'no-cycles',
    file: 'relations/relations.ts',
    lines: `import type { channels } from '../channels/channels.ts';`,
  },
  {
    refused: 'R4: a port whose types come from a room that uses the types of the port',
    rule: 'no-cycles',
    file: 'catalog/port.ts',
    lines: `import type { readName } from './products/products.ts'; export type Read = typeof readName;`,
  },
  {
    refused: 'R4: a server that imports the source of the client',
    rule: 'server-stands-alone',
    file: 'catalog/wire.ts',
    lines: `import '../../../client/src/wire.ts';`,
  },
  {
    refused: 'R4: a command that imports the source of the client',
    rule: 'server-stands-alone',
    file: 'cli/feed/wire.ts',
    lines: `import '../../../../client/src/wire.ts';`,
  },
  {
    refused: 'R4: a server that uses the package of the client',
    rule: 'server-stands-alone',
    file: 'catalog/ask.ts',
    lines: `import '@relata/client';`,
  },
  ...['../../server/src/kernel/errors.ts', 'react', 'node:fs'].map((module, index) => ({
    refused: `R4: a client that imports ${module}`,
    rule: 'client-stands-alone',
    file: `client/src/use-${index}.ts`,
    lines: `import '${module}';`,
  })),
  ...['../../server/src/kernel/errors.ts', '../../client/src/wire.ts', '@relata/server'].map(
    (module, index) => ({
      refused: `R4: a console that imports ${module}`,
      rule: 'console-uses-the-package',
      file: `console/src/use-${index}.ts`,
      lines: `import '${module}';`,
    }),
  ),
  {
    refused: 'a console that uses a module of Node in the browser',
    rule: 'console-needs-no-test',
    file: 'console/src/read.ts',
    lines: `import 'node:fs';`,
  },
  {
    refused: 'a service that imports a test',
    rule: 'service-needs-no-test',
    file: 'catalog/example.ts',
    lines: `import './catalog.test.ts';`,
  },
  ...['api', 'sdk-trace'].map((name) => ({
    refused: `R3: a folder that makes its own spans with the ${name} of OpenTelemetry`,
    rule: 'traces-live-in-one-file',
    file: `catalog/${name}-spans.ts`,
    lines: `import '@opentelemetry/${name}';`,
  })),
  ...['node:fs', 'fastify', '../config.ts'].map((module, index) => ({
    refused: `a kernel that imports ${module}`,
    rule: 'kernel-is-pure',
    file: `kernel/impure-${index}.ts`,
    lines: `import '${module}';`,
  })),
];

test('a house that keeps every rule passes, and the check reads every file', async (t) => {
  const { failed, output } = await cruise(await build(t, house));

  assert.equal(failed, false, output);
  // If dependency-cruiser cannot load TypeScript, it passes with "0 modules cruised".
  const modules = Number(/\((\d+) modules/.exec(output)?.[1]);
  assert.ok(modules >= Object.keys(house).length, output);
});

test('the check refuses', async (t) => {
  const planted: Record<string, string> = { ...house };
  for (const { file, lines } of violations) planted[file] = `${lines}\n${planted[file] ?? ''}`;
  const { failed, output } = await cruise(await build(t, planted));
  assert.equal(failed, true, output);

  // "error <rule>: <from> → <to>"; a cycle continues on the next lines, and may begin at any of its files.
  const reports = output.split(/^ {2}error /m);
  for (const { refused, rule, file } of violations) {
    await t.test(`${refused} (${rule})`, () => {
      const named = reports.some(
        (report) =>
          report.startsWith(`${rule}: ${placeOf(file)} `) ||
          (rule === 'no-cycles' && report.startsWith(rule) && report.includes(`server/src/${file} →`)),
      );
      assert.ok(named, output);
    });
  }
});

/** Each is a file that `server/house/json-parses.ts` does not list, or lists with fewer places. */
const parsingFiles: Files = {
  'catalog/lookup/fresh.ts': `export const read = (text: string) => JSON.parse(text);`,
  'channels/taken.ts': `const { parse } = JSON; export const read = (text: string) => parse(text);`,
  'relations/named.ts': `export const read = (text: string) => JSON['parse'](text);`,
  'tasks/global.ts': `export const read = (text: string) => globalThis.JSON.parse(text);`,
  'webhooks/fetched.ts': `export const read = (answer: Response) => answer.json();`,
  'projects/audit-store.ts': `export const read = (text: string) => [1, 2, 3, 4].map(() => JSON.parse(text));
    export const again = [JSON.parse('1'), JSON.parse('2'), JSON.parse('3')];`,
};
const harmless: Files = {
  'catalog/written.ts': `/** JSON.parse */ export const written = JSON.stringify({ JSON: 'JSON.parse(text)' });`,
};

test('the house refuses a file that parses JSON and is not listed, even through an alias of the parser', async (t) => {
  const directory = await build(t, { ...parsingFiles, ...harmless });
  const { failed, output } = await run(directory, CHECK_PARSES, [join(directory, 'server/src')]);
  assert.equal(failed, true, output);
  for (const file of Object.keys(parsingFiles))
    assert.match(output, new RegExp(`no-json-parse-on-the-serving-thread: ${file} parses JSON in`), output);
  assert.doesNotMatch(output, /written\.ts parses/);
});

test('every file of the service that parses JSON is listed', async () => {
  const { failed, output } = await run(repository, CHECK_PARSES, []);
  assert.equal(failed, false, output);
});

test('the house refuses two files of one name, except twins of the engines', async (t) => {
  const directory = await build(t, {
    'catalog/rules.ts': '',
    'relations/rules.ts': '',
    'catalog/store/sqlite/product-store.ts': '',
    'catalog/store/postgres/product-store.ts': '',
    'storage/sqlite/sqlite.ts': '',
    'catalog/store/sqlite/sqlite.ts': '',
  });
  const { failed, output } = await run(directory, CHECK_NAMES, [join(directory, 'server/src')]);
  assert.equal(failed, true, output);
  assert.match(output, /base-names-are-unique: catalog\/rules\.ts and relations\/rules\.ts share a name/);
  assert.doesNotMatch(output, /product-store|sqlite\.ts/);
});

test('the house refuses a comment and a page that name a file which does not exist', async (t) => {
  const directory = await build(t, {
    ...house,
    'catalog/rules.ts':
      '/** As `store/sqlite/product-store.ts` does, and no longer `store/gone-store.ts`. */\nexport const a = 1;\n',
    'docs/page.md': 'See [the port](../server/src/catalog/port.ts), `kernel/lost.ts` and `<type>.ts`.\n',
  });
  const { failed, output } = await run(directory, CHECK_PATHS, [directory]);
  assert.equal(failed, true, output);
  assert.match(output, /server\/src\/catalog\/rules\.ts names store\/gone-store\.ts, which does not exist/);
  assert.match(output, /docs\/page\.md names kernel\/lost\.ts, which does not exist/);
  assert.doesNotMatch(output, /product-store|port\.ts|type/);
});

test('the house refuses an unlisted long function and every function of over 100 lines', async (t) => {
  const linesOf = (count: number) => '  work();\n'.repeat(count - 2);
  const directory = await build(t, {
    'catalog/fits.ts': `export function fits() {\n${linesOf(60)}}\n`,
    'catalog/long.ts': `export const makeLong = () => ({\n  run: () => {\n${linesOf(61)}  },\n});\n`,
    'console/src/longest.tsx': `export function Longest() {\n${linesOf(101)}}\n`,
  });
  const { failed, output } = await run(directory, CHECK_LENGTHS, [directory]);
  assert.equal(failed, true, output);
  assert.match(
    output,
    /functions-fit-on-a-screen: server\/src\/catalog\/long\.ts run has 61 lines; shorten it/,
  );
  assert.match(
    output,
    /functions-fit-on-a-screen: console\/src\/longest\.tsx Longest has 101 lines, more than 100/,
  );
  assert.doesNotMatch(output, /fits\.ts/);
});

test('the house refuses a log message that contains a value, and a field that is named like an id', async (t) => {
  const directory = await build(t, {
    'catalog/constant.ts': `const TEXTS = { full: 'the disk is full', away: 'the disk is away' };
      const text = 'a task failed; retrying in 5 s';
      export function write({ logger, request }, isFull, task) {
        logger.warn({ task: task.id, requestId: request.id }, text);
        request.log.info(isFull ? TEXTS.full : TEXTS['away']);
      }`,
    'catalog/template.ts': `export const a = (logger, id) => logger.info({}, \`task \${id} failed\`);`,
    'catalog/joined.ts': `export const a = (parts, id) => parts.logger.warn({}, 'failed task ' + id);`,
    'catalog/passed.ts': `export const a = (request, text) => request.log.error({ err: 1 }, text);`,
    'catalog/named.ts': `export const a = (logger, id) => logger.error({ projectId: id }, 'failed');`,
    'catalog/forwarded.ts': `export const a = (logger, err) => logTrouble(logger, \`\${err}\`, { err, taskId: 1 });`,
  });
  const { failed, output } = await run(directory, CHECK_LOGS, [join(directory, 'server/src')]);
  assert.equal(failed, true, output);
  for (const name of ['template', 'joined', 'passed', 'forwarded'])
    assert.match(
      output,
      new RegExp(`log-messages-are-constant: catalog/${name}\\.ts:1 logs a message that is`),
    );
  assert.match(output, /named\.ts:1 logs the field projectId; name it project/);
  assert.match(output, /forwarded\.ts:1 logs the field taskId; name it task/);
  assert.doesNotMatch(output, /constant\.ts/);
});

test('files of the service have unique names, long functions have a reason, and log messages are constant', async () => {
  for (const check of [CHECK_NAMES, CHECK_LENGTHS, CHECK_LOGS]) {
    const { failed, output } = await run(repository, check, []);
    assert.equal(failed, false, output);
  }
});

test('a kept rule is not reported beside a broken one', async (t) => {
  const planted = { ...house, 'catalog/facts.ts': `import '../relations/relations.ts';` };
  const { output } = await cruise(await build(t, planted));
  assert.match(output, /\b1 dependency violations/);
});

test('process.env may be read in config.ts', async (t) => {
  const { failed, output } = await lint(await build(t, { 'config.ts': readsEnvironment }));
  assert.equal(failed, false, output);
});

test('process.env outside config.ts is refused', async (t) => {
  const planted = { 'config.ts': readsEnvironment, 'catalog/product.ts': readsEnvironment };
  const { failed, output } = await lint(await build(t, planted));

  assert.equal(failed, true, output);
  assert.match(output, /server\/src\/catalog\/product\.ts\S* lint\/style\/noProcessEnv/);
  assert.doesNotMatch(output, /server\/src\/config\.ts/);
});

/** @returns a temporary directory with these files in `server/src`, checked by the configuration of this repository. */
async function build(t: TestContext, files: Files): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'relata-house-'));
  t.after(() => rm(directory, { recursive: true }));

  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'));
  for (const config of ['.dependency-cruiser.mjs', '.gitignore', 'biome.json']) {
    await copyFile(join(repository, config), join(directory, config));
  }
  const sources = Object.entries(files).map(([file, text]) => [placeOf(file), text] as const);
  for (const [file, text] of sources) {
    await mkdir(join(directory, dirname(file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
  return directory;
}

/** Most files of the small house are those of the server. */
const placeOf = (file: string) =>
  /^(?:client|console|bench|docs|server)\//.test(file) ? file : join('server/src', file);

interface Outcome {
  readonly failed: boolean;
  readonly output: string;
}

function cruise(directory: string): Promise<Outcome> {
  return run(directory, 'dependency-cruiser/bin/dependency-cruiser.mjs', [
    '--config',
    '.dependency-cruiser.mjs',
    'server',
    'client',
    'console',
    'bench',
  ]);
}

function lint(directory: string): Promise<Outcome> {
  return run(directory, '@biomejs/biome/bin/biome', ['ci', '--error-on-warnings', '--colors=off', 'server']);
}

/** These come from the folder of packages. */
const CHECK_PARSES = '../server/house/check-json-parses.ts';
const CHECK_NAMES = '../server/house/check-base-names.ts';
const CHECK_PATHS = '../server/house/check-named-paths.ts';
const CHECK_LENGTHS = '../server/house/check-function-lengths.ts';
const CHECK_LOGS = '../server/house/check-log-messages.ts';

function run(directory: string, tool: string, args: readonly string[]): Promise<Outcome> {
  const command = [join(repository, 'node_modules', tool), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: directory }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, output: stdout + stderr });
    });
  });
}
