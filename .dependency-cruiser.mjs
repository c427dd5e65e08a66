/**
 * The architecture as a check. A folder imports only from its left, and only through the file that carries its
 * name. `server/test/architecture.test.ts` plants one violation of each rule.
 *
 * dependency-cruiser reads TypeScript through an installed `typescript` package. When it cannot load one it
 * cruises 0 modules and passes, so the test also checks that modules were seen.
 */
const order = [
  'kernel',
  'storage',
  'http',
  'tasks',
  'projects',
  'access',
  'statistics',
  'catalog',
  'relations',
  'pipelines',
];

const src = '^server/src';
const test = '[.]test[.]ts$';
const routes = '-routes[.]ts$';
const app = `${src}/(?:app|app-routes|stores|thread-snapshots|pipeline-parts|upkeep)[.]ts$`;
const worker = `${src}/[^/]+-worker[.]ts$`;
const cli = `${src}/cli/`;
const main = `${src}/main[.]ts$`;
/** What puts the parts together: the composition root, the entries of the worker threads, the commands. */
const composition = [app, worker, cli, main];
/** The one file another folder may import: catalog/catalog.ts, storage/storage.ts, … */
const door = `${src}/([^/]+)/\\1[.]ts$`;
const known = `${src}/(?:(?:${order.join('|')}|cli)/|(?:app|app-routes|stores|thread-snapshots|pipeline-parts|upkeep|config|main|[^/]+-worker)[.]ts$|[^/]+${test})`;

/** A package by its name, whether or not it is installed. */
const packages = (...names) => `(?:^|node_modules/)(?:${names.join('|')})(?:/|$)`;
const valuesOnly = { dependencyTypesNot: ['type-only'] };

/** A workspace, by its folder or by the name of its package. */
const foreign = (name) => [`^${name}/`, packages(`@relata/${name}`)];

const leftOnly = [
  ...order.map((folder, at) => ({
    name: `${folder}-imports-left-only`,
    comment: 'R1: a folder imports only from the folders to its left.',
    from: { path: `${src}/${folder}/` },
    to: {
      path: [...order.slice(at + 1).map((right) => `${src}/${right}/`), ...composition],
    },
  })),
  {
    name: 'app-imports-left-only',
    comment: 'R1: app.ts and the entries of the worker threads know the folders; only commands know app.ts.',
    from: { path: [app, worker] },
    to: { path: [cli, main, worker] },
  },
  {
    name: 'cli-imports-left-only',
    comment: 'R1: a command knows all but main.ts, which calls it, and the threads, which the app starts.',
    from: { path: cli },
    to: { path: [main, worker] },
  },
  {
    name: 'settings-are-handed-over',
    comment: 'R1: config.ts is read by the composition files; a folder gets its settings as parameters.',
    from: { path: `${src}/(?:${order.join('|')})/`, pathNot: test },
    to: { path: `${src}/config[.]ts$`, ...valuesOnly },
  },
  {
    name: 'config-knows-no-folder',
    comment: 'R1: config.ts describes settings and does nothing with them.',
    from: { path: `${src}/config[.]ts$` },
    to: { path: src, pathNot: `${src}/kernel/` },
  },
  {
    name: 'every-file-has-a-place',
    comment: 'R1: the order cannot hold for a folder or a root file that it does not name.',
    from: { path: src },
    to: { path: src, pathNot: known },
  },
  {
    name: 'every-file-has-a-place',
    comment: 'R1: the same, for a file that nothing imports.',
    from: { path: src, pathNot: known },
    to: {},
  },
];

const throughTheDoor = [
  {
    name: 'through-the-door',
    comment: 'R2: another folder is used through the file that carries its name; kernel is all door.',
    from: { path: `${src}/([^/]+)`, pathNot: test },
    to: { path: `${src}/[^/]+/`, pathNot: [`${src}/$1/`, `${src}/kernel/`, door, routes] },
  },
  {
    name: 'routes-are-wired-by-the-app',
    comment: 'R2: only app.ts imports the routes of a folder.',
    from: { path: src, pathNot: [app, test] },
    to: { path: `${src}/.*${routes}` },
  },
];

const technologyHasAPlace = [
  {
    name: 'sql-lives-in-stores',
    comment: 'R3: a database is reached only from *-store.ts and storage/.',
    from: { path: src, pathNot: [`${src}/storage/`, '-store[.]ts$', test] },
    to: { path: [packages('kysely', 'pg', 'pg-copy-streams'), '^(?:node:)?sqlite$'], ...valuesOnly },
  },
  {
    name: 'fastify-lives-in-routes',
    comment: 'R3: fastify, its types too, is known only to *-routes.ts and http/.',
    from: { path: src, pathNot: [`${src}/http/`, routes, test] },
    to: { path: packages('fastify', '@fastify') },
  },
  {
    name: 'http-lives-in-routes',
    comment: 'R3: the server is used only by *-routes.ts, their schemas and app.ts.',
    from: { path: src, pathNot: [`${src}/http/`, app, routes, '-schemas[.]ts$', test] },
    to: { path: `${src}/http/`, ...valuesOnly },
  },
];

export default {
  forbidden: [
    ...leftOnly,
    ...throughTheDoor,
    ...technologyHasAPlace,
    {
      name: 'no-cycles',
      comment: 'R4: no file needs itself. Types vanish at run time and may point back inside a folder.',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'server-stands-alone',
      comment: 'R4: the server never imports the source of the client or the console.',
      from: { path: '^server/' },
      to: { path: [...foreign('client'), ...foreign('console')] },
    },
    {
      name: 'client-stands-alone',
      comment:
        'R4: the client is published by itself: it imports no package, no other workspace, nothing of Node.',
      from: { path: '^client/src/', pathNot: test },
      to: { pathNot: '^client/src/' },
    },
    {
      name: 'console-uses-the-package',
      comment: 'R4: the console reaches the server through @relata/client, as a stranger would.',
      from: { path: '^console/' },
      to: { path: [...foreign('server'), '^client/'] },
    },
    {
      name: 'console-needs-no-test',
      comment: 'What a browser loads holds no test and nothing of Node.',
      from: { path: '^console/src/', pathNot: test },
      to: { path: ['^console/test/', test] },
    },
    {
      name: 'console-needs-no-test',
      comment: 'The same, of Node.',
      from: { path: '^console/src/', pathNot: test },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'service-needs-no-test',
      comment: 'The service runs without its tests and benchmarks.',
      from: { path: src, pathNot: test },
      to: { path: [test, '^server/test/', '^bench/'] },
    },
    {
      name: 'kernel-is-pure',
      comment: 'The kernel imports nothing: no folder, no package, no module of Node.',
      from: { path: `${src}/kernel/`, pathNot: test },
      to: { pathNot: `${src}/kernel/` },
    },
  ].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    // Sees imports of types, which the compiler would drop: R1 and R2 hold for them too.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The package @relata/client is what was built of it: whoever reaches its source goes another way.
    exclude: { path: '^(?:client|console)/dist/' },
  },
};
