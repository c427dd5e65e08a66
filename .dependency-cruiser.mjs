import { existsSync, globSync } from 'node:fs';

/**
 * The architecture as a check. A room imports only from its left, and only through the file that carries its name; so do rooms
 * within a room. `server/test/repository/architecture.test.ts` plants one violation of each rule, and checks that modules were
 * seen: dependency-cruiser passes without any when it cannot load the `typescript` package.
 */
const order =
  'kernel storage http outbound formats events tasks projects definitions access statistics catalog search relations suggestions agents pipelines channels webhooks transfer backup app cli'.split(
    ' ',
  );

/** Rooms within rooms, each in its line. Files beside them, e.g. a port, may be used by all of them; a door is not. */
const lines = {
  'server/src/storage': [
    'folder',
    'migrations',
    'programs',
    'threads',
    'sqlite',
    'postgres',
    'payloads',
    'secrets',
  ],
  'server/src/http': ['answers', 'bodies', 'guards', 'server'],
  'server/src/outbound': ['s3', 'sftp'],
  'server/src/formats': [
    'streams',
    'input',
    'output',
    'csv',
    'json',
    'xml',
    'xlsx',
    'bmecat',
    'google-merchant',
    'openai',
    'shopify-csv',
    'woocommerce-csv',
    'magento-csv',
    'etim-xchange',
    'json-ld',
    'ucp',
  ],
  'server/src/access': ['keys', 'oidc', 'users'],
  'server/src/catalog': ['products', 'ontology', 'filters', 'lookup', 'browse', 'ingest', 'updates', 'store'],
  'server/src/catalog/products': ['schemas', 'documents'],
  'server/src/catalog/ontology': ['units', 'drafts', 'changes'],
  'server/src/catalog/ingest': ['scan'],
  'server/src/catalog/store': ['sqlite', 'postgres'],
  'server/src/search': ['words', 'index-store', 'hits', 'shop'],
  'server/src/agents': ['reading'],
  'server/src/relations': [
    'relation-definitions',
    'rules',
    'memberships',
    'links',
    'matching',
    'surveys',
    'fit',
    'relation-store',
    'answering',
    'relation-threads',
  ],
  'server/src/relations/relation-store': ['sqlite', 'postgres'],
  'server/src/pipelines': ['sources', 'mapping', 'pipeline-definitions', 'runs'],
  'server/src/pipelines/mapping': ['expressions', 'mapping-suggestions'],
  'server/src/channels': ['field-mapping', 'destinations', 'channel-definitions', 'builds', 'ucp'],
  'server/src/backup': ['target', 'files', 'timeline', 'restore', 'stream'],
  'server/src/app': ['threads'],
  'server/src/cli': ['demo', 'feed'],
  bench: [
    'support',
    'ingest',
    'lookup',
    'search',
    'relations',
    'postgres',
    'pipelines',
    'channels',
    'service',
    'console',
  ],
  'console/src': [
    'rules',
    'state',
    'parts',
    'ontology',
    'products',
    'relations',
    'suggestions',
    'pipelines',
    'channels',
    'updates',
    'events',
    'access',
    'account',
    'overview',
    'projects',
    'calls',
  ],
  'console/src/products': ['grid', 'finding', 'bulk', 'page'],
};

const src = '^server/src';
const test = '[.]test[.]ts$';
const routes = '-routes[.]ts$';
const rooms = order.filter((room) => room !== 'app' && room !== 'cli');
const app = `${src}/app/`;
const threadEntry = `${src}/app/threads/`;
const main = `${src}/main[.]ts$`;
/** The one file another room may import: catalog/catalog.ts, catalog/store/store.ts, …; of a format, what reads and what writes it. */
const doorOf = (room) => {
  const door = room.split('/').at(-1);
  const isFormat = room.startsWith('server/src/formats/');
  return `^${room}/${isFormat ? `(?:${door}|(?:read|write)-[^/]+)` : door}[.]ts$`;
};
const known = `${src}/(?:(?:${order.join('|')})/|(?:config|main)[.]ts$|[^/]+${test})`;
const inner = Object.entries(lines).flatMap(([room, line]) => line.map((name) => `${room}/${name}`));

/** A package by its name, whether or not it is installed. */
const packages = (...names) => `(?:^|node_modules/)(?:${names.join('|')})(?:/|$)`;
const valuesOnly = { dependencyTypesNot: ['type-only'] };

/** A workspace, by its folder or by the name of its package. */
const foreign = (name) => [`^${name}/`, packages(`@relata/${name}`)];

const leftOnly = [
  ...order.map((room, at) => ({
    name: `${room}-imports-left-only`,
    comment: 'R1: a room imports only from the rooms to its left.',
    from: { path: `${src}/${room}/` },
    to: { path: [...order.slice(at + 1).map((right) => `${src}/${right}/`), main] },
  })),
  ...Object.entries(lines).flatMap(([room, line]) =>
    line.slice(0, -1).map((name, at) => ({
      name: 'rooms-within-import-left-only',
      comment: 'R1: rooms within a room stand in one line as rooms do.',
      from: { path: `^${room}/${name}/`, pathNot: test },
      to: { path: line.slice(at + 1).map((right) => `^${room}/${right}/`) },
    })),
  ),
  {
    name: 'thread-entries-are-started',
    comment: 'R1: the entry of a thread is named by its address and imported by nobody.',
    from: { path: src },
    to: { path: threadEntry },
  },
  {
    name: 'settings-are-handed-over',
    comment: 'R1: config.ts is read by app and cli; a room gets its settings as parameters.',
    from: { path: `${src}/(?:${rooms.join('|')})/`, pathNot: test },
    to: { path: `${src}/config[.]ts$`, ...valuesOnly },
  },
  {
    name: 'config-knows-no-room',
    comment: 'R1: config.ts describes settings and does nothing with them.',
    from: { path: `${src}/config[.]ts$` },
    to: { path: src, pathNot: `${src}/kernel/` },
  },
  {
    name: 'every-file-has-a-place',
    comment: 'R1: the order cannot hold for a room or a root file that it does not name.',
    from: { path: src },
    to: { path: src, pathNot: known },
  },
  {
    name: 'every-file-has-a-place',
    comment: 'R1: the same, for a file that nothing imports.',
    from: { path: src, pathNot: known },
    to: {},
  },
  ...[
    ...order.map((room) => `server/src/${room}`),
    ...inner.filter((room) => room.startsWith('server/')),
  ].map((room) => ({
    name: 'every-room-within-has-a-place',
    comment: 'R1: a folder within a room is named in its line.',
    from: { path: `^${room}/[^/]+/`, pathNot: (lines[room] ?? []).map((name) => `^${room}/${name}/`) },
    to: {},
  })),
];

const throughTheDoor = [
  ...[...rooms.filter((room) => room !== 'kernel').map((room) => `server/src/${room}`), ...inner]
    .filter((room) => room.startsWith('server/') && room !== 'server/src/app/threads')
    .map((room) => ({
      name: 'through-the-door',
      comment:
        'R2: a room is entered through the file that carries its name, or through that of a room within; kernel is all door.',
      from: { path: '^server/src/', pathNot: [`^${room}/`, test] },
      to: {
        path: `^${room}/`,
        pathNot: [doorOf(room), ...inner.filter((one) => one.startsWith(`${room}/`)).map(doorOf), routes],
      },
    })),
  {
    name: 'routes-are-wired-by-the-app',
    comment: 'R2: only app imports the routes of a room.',
    from: { path: src, pathNot: [app, test] },
    to: { path: `${src}/.*${routes}` },
  },
  {
    name: 'engines-apart',
    comment: 'R2: neither engine imports the other; what both need stands beside them.',
    from: { path: '^(server/src/.*)/(sqlite|postgres)/', pathNot: test },
    to: { path: '^$1/(?:sqlite|postgres)/', pathNot: '^$1/$2/' },
  },
  ...globSync('server/src/*/*store/sqlite/*-store.ts')
    .filter((path) => !existsSync(path.replace('/sqlite/', '/postgres/')))
    .map((path) => ({
      name: 'engines-have-twins',
      comment:
        'R2: what SQLite has a file for, PostgreSQL has in one of the same name. It may have more, e.g. for its planner.',
      from: { path: `^${path}$` },
      to: {},
    })),
];

const technologyHasAPlace = [
  {
    name: 'sql-lives-in-stores',
    comment: 'R3: a database is reached only from *-store.ts, storage/, transfer/ and backup/.',
    from: {
      path: src,
      pathNot: [`${src}/(?:storage|transfer|backup)/`, '-store[.]ts$', test],
    },
    to: { path: [packages('kysely', 'pg', 'pg-copy-streams'), '^(?:node:)?sqlite$'], ...valuesOnly },
  },
  {
    name: 'fastify-lives-in-routes',
    comment: 'R3: fastify, its types too, is known only to *-routes.ts and http/.',
    from: { path: src, pathNot: [`${src}/http/`, routes, test] },
    to: { path: packages('fastify', '@fastify') },
  },
  {
    name: 'traces-live-in-one-file',
    comment: 'R3: OpenTelemetry is known only to kernel/trace.ts, and its SDK to app/traces.ts.',
    from: { path: src, pathNot: [`${src}/kernel/trace[.]ts$`, `${src}/app/traces[.]ts$`, test] },
    to: { path: packages('@opentelemetry') },
  },
  {
    name: 'http-lives-in-routes',
    comment: 'R3: the server is used only by *-routes.ts, their schemas and app.',
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
      comment:
        'R4: no file needs itself, types included: a reader would need all of a circle to understand one.',
      from: { path: src, pathNot: test },
      to: { circular: true },
    },
    {
      name: 'no-cycles',
      comment: 'R4: the same, where types may still point back.',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'server-stands-alone',
      comment: 'R4: a service never imports the client or the console.',
      from: { path: '^server/', pathNot: '^server/src/cli/(feed|demo)/' },
      to: { path: [...foreign('client'), ...foreign('console')] },
    },
    {
      name: 'server-stands-alone',
      comment:
        'R4: commands that feed a service, and the demo, reach it through the package of the client, as a stranger would.',
      from: { path: '^server/src/cli/(feed|demo)/' },
      to: { path: ['^client/', ...foreign('console')] },
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
      name: 'views-are-opened-by-screens',
      comment:
        'R2: what all views share is in rules/, state/ and parts/; only screens.tsx and app.tsx know every feature.',
      from: { path: '^console/src/(?:rules|state|parts)/' },
      to: { path: '^console/src/(?:screens|app)[.]tsx$' },
    },
    {
      name: 'tests-share-support',
      comment: 'R1: folders of tests share what is in support/ and nothing else.',
      from: { path: '^server/test/([^/]+)/' },
      to: { path: '^server/test/[^/]+/', pathNot: ['^server/test/$1/', '^server/test/support/'] },
    },
    {
      name: 'service-needs-no-test',
      comment: 'The service runs without its tests and benchmarks, and without what describes it.',
      from: { path: src, pathNot: test },
      to: { path: [test, '^server/(?:test|openapi)/', '^(?:bench|site)/'] },
    },
    {
      name: 'kernel-is-pure',
      comment:
        'The kernel imports nothing but the API of traces, and typebox for schemas: no folder, no other package, no module of Node.',
      from: { path: `${src}/kernel/`, pathNot: test },
      to: { pathNot: [`${src}/kernel/`, packages('@opentelemetry/api', 'typebox')] },
    },
  ].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    // Sees imports of types, which the compiler would drop: R1 and R2 hold for them too.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The package @relata/client is what was built of it: whoever reaches its source goes another way.
    exclude: { path: '^(?:client|console|server)/dist/' },
  },
};
