// runs: deep (not on postgres: the rights of callers, which are decided above the stores)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { asWriter, commandAuthor } from '../../src/projects/projects.ts';
import { addUser, signUpOwner } from '../support/people.ts';
import { byUrl } from '../support/pipelines/pipeline-project.ts';
import { shareService } from '../support/shared-service.ts';
import type { TestService } from '../support/test-service.ts';

/**
 * Requests every route of docs/openapi.json with every credential. SECURITY.md, "Who may call what", lists the rights.
 */

const readText = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

interface Route {
  readonly method: string;
  readonly path: string;
  readonly takesProjectId: boolean;
}

const routes: readonly Route[] = listRoutes();

function listRoutes(): Route[] {
  type Operation = { parameters?: { name: string; in: string }[] };
  const { paths } = JSON.parse(readText('docs/openapi.json')) as {
    paths: Record<string, Record<string, Operation>>;
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [] }]) => ({
      method: method.toUpperCase(),
      path,
      takesProjectId: parameters.some(
        (parameter) => parameter.name === 'projectId' && parameter.in === 'query',
      ),
    })),
  );
}

/** Deletions come last, because other requests need the deleted things. Triggers are called by their original ids. */
const ORDER = [
  ...['GET ', 'POST /etl-triggers/', 'POST ', 'PUT ', 'PATCH ', 'DELETE '],
  ...['DELETE /management/sessions', 'DELETE /management/session'],
];
const orderOf = ({ method, path }: Route) =>
  ORDER.indexOf(`${method} ${path}`) + 1 ||
  ORDER.findIndex((start) => `${method} ${path}`.startsWith(start)) + 1;

interface Row {
  readonly patterns: readonly string[];
  readonly allowed: ReadonlySet<string>;
  readonly scope: string;
}

const SCOPES = ['any', 'project', 'project-group', 'account'];
/** Access and scope are varied independently. */
const KEYS = [
  ['project', 'page'],
  ['project', 'read'],
  ['project', 'write'],
  ['project', 'manage'],
  ['project-group', 'manage'],
  ['account', 'write'],
  ['account', 'manage'],
] as const;
const COLUMNS = ['nobody', 'page', 'read', 'write', 'manage', 'scope', 'viewer', 'editor', 'owner'];

const table: readonly Row[] = readTable();

function readTable(): Row[] {
  const lines = readText('SECURITY.md').split('\n');
  const first = lines.findIndex((line) => line.startsWith('| Routes |'));
  const rows = lines.slice(first + 2, lines.indexOf('', first));
  return rows.map((line) => {
    const [, routesCell = '', ...cells] = line.split('|').map((cell) => cell.trim());
    return {
      patterns: [...routesCell.matchAll(/`([^`]+)`/g)].map(([, pattern]) => pattern ?? ''),
      allowed: new Set(COLUMNS.filter((_, index) => cells[index] === 'yes')),
      scope: cells[COLUMNS.indexOf('scope')] ?? '',
    };
  });
}

const fits = ({ method, path }: Route, pattern: string) =>
  new RegExp(
    `^${pattern
      .replace(/^\*/, '\\w+')
      .replaceAll(/[{}./]/g, '\\$&')
      .replaceAll(/(?<!\\w)\*/g, '.*')}$`,
  ).test(`${method} ${path}`);

const findRow = (route: Route) =>
  table.find(({ patterns }) => patterns.some((pattern) => fits(route, pattern)));

/** A part of the names that strangers must not see. */
const OURS = 'Ours 4711';

interface Answered {
  readonly status: number;
  readonly text: string;
}

interface Credential {
  readonly name: string;
  /** The column of the table. Undefined for a stranger, who has none. */
  readonly column: string | undefined;
  readonly scope: string;
  ask(method: string, path: string, body: unknown): Promise<Answered>;
}

let project: { id: number; groupId: number };
let credentials: readonly Credential[];
/** Values of path parameters. */
let values: Readonly<Record<string, unknown>>;

shareService({}, async (running) => {
  const id = await running.createProject(OURS);
  const { body } = await running.call('GET', `/management/projects/${id}`);
  project = { id, groupId: body.projectGroupId };
  const owner = await signUpOwner(running);
  credentials = [...(await makeKeys(running)), ...(await makeUsers(owner))];
  values = await makeObjects(running, owner);
});

async function makeKeys(running: TestService): Promise<Credential[]> {
  const other = await running.createProject('Other');
  const account = await running.app.projects.createAccount('Other');
  const foreign = await running.app.access.createKey(asWriter(commandAuthor(account.id, 'test')), {
    name: 'Key',
    scope: { type: 'account' },
  });
  const asking = (key: string | null, whose: Omit<Credential, 'ask'>): Credential => ({
    ...whose,
    async ask(method, path, body) {
      const answer = await running.call(method, path, { key, ...(body !== undefined && { body }) });
      return { status: answer.status, text: JSON.stringify(answer.body) };
    },
  });
  const make = async (scope: { type: string; id?: number }, access: string) =>
    (
      await running.call('POST', '/management/api-keys', {
        body: { name: 'Key', scope, ...(access === 'page' ? { page: true } : { access }) },
      })
    ).body.key;
  const ofOther = await make({ type: 'project', id: other }, 'manage');
  const stranger = { column: undefined, scope: '' };
  const keys = [
    asking(null, { name: 'nobody', column: 'nobody', scope: 'any' }),
    asking(foreign.value, { ...stranger, name: 'another account' }),
    asking(ofOther, { ...stranger, name: 'another project' }),
  ];
  for (const [name, access] of KEYS) {
    const id = { project: project.id, 'project-group': project.groupId, account: undefined }[name];
    const key = await make({ type: name, ...(id !== undefined && { id }) }, access);
    keys.push(asking(key, { name: `${name} key, ${access}`, column: access, scope: name }));
  }
  return keys;
}

async function makeUsers(owner: Awaited<ReturnType<typeof signUpOwner>>): Promise<Credential[]> {
  const people = { viewer: await addUser(owner, 'viewer'), editor: await addUser(owner, 'editor'), owner };
  return Object.entries(people).map(([name, { browser }]) => ({
    name,
    column: name,
    scope: 'account',
    async ask(method, path, body) {
      const answer = await browser.call(method, path, { ...(body !== undefined && { body }) });
      return { status: answer.status, text: JSON.stringify(answer.body) };
    },
  }));
}

async function makeObjects(running: TestService, owner: Awaited<ReturnType<typeof signUpOwner>>) {
  const projectPath = `/management/projects/${project.id}`;
  const make = async (path: string, body: object) => {
    const answer = await running.call('POST', path, { body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  };
  const task = await running.loadCatalog([{ identifier: OURS }], project.id);
  const rule = { name: OURS, tag: 'ours', source: { all: [] }, target: { all: [] } };
  const trigger = { type: 'webhook', minSecondsBetween: 0 };
  const pipeline = await make(
    `${projectPath}/pipelines`,
    byUrl('https://shop.example/a.csv', { name: OURS, trigger }),
  );
  const spare = await addUser(owner, 'viewer');
  return {
    '/management/project-groups/{id}': project.groupId,
    '/management/projects/{id}': project.id,
    '/management/api-keys/{id}': (await make('/management/api-keys', bodies()['POST /management/api-keys']))
      .id,
    '/management/users/{id}': spare.id,
    '/management/webhook-endpoints/{id}': (
      await make('/management/webhook-endpoints', bodies()['POST /management/webhook-endpoints'])
    ).id,
    '/tasks/{id}': task.id,
    '{identifier}': encodeURIComponent(OURS),
    '{relationId}': (await make(`${projectPath}/relations`, rule)).id,
    '{pipelineId}': pipeline.id,
    '{triggerId}': new URL(pipeline.trigger.url).pathname.split('/').at(-1),
    '{channelId}': (await make(`${projectPath}/channels`, { name: OURS, format: { type: 'ndjson' } })).id,
  };
}

/**
 * Bodies of the routes whose scope is in the body. On other routes an empty body suffices, because it is refused only
 * after the credential is checked.
 */
const bodies = () => ({
  'POST /management/project-groups': { name: 'Group' },
  'POST /management/projects': { name: OURS, projectGroupId: project.groupId, locale: 'de-DE' },
  'POST /management/api-keys': { name: OURS, scope: { type: 'project', id: project.id }, access: 'read' },
  'POST /management/invitations': { email: 'guest@shop.example', role: 'viewer' },
  'POST /management/webhook-endpoints': {
    url: 'https://shop.example/ours',
    events: ['task.finished'],
    scope: { type: 'project', id: project.id },
  },
});

async function askRoute(route: Route, { ask }: Credential): Promise<Answered & { isOurs: boolean }> {
  const { method, path, takesProjectId } = route;
  let filledPath = path;
  for (const [name, value] of Object.entries(values))
    filledPath = filledPath.replace(
      name,
      name.startsWith('/') ? name.replace('{id}', String(value)) : String(value),
    );
  filledPath = filledPath.replace('{projectId}', String(project.id)).replaceAll(/\{\w+\}/g, '999999');
  const query = takesProjectId ? `?projectId=${project.id}` : '';
  const own = route.path === '/management/sessions' ? '?others=true' : query;
  const body = (bodies() as Record<string, object>)[`${method} ${path}`];
  const sent = method === 'GET' || method === 'DELETE' ? undefined : (body ?? {});
  const isOurs =
    filledPath !== path || takesProjectId || (body !== undefined && JSON.stringify(body).includes(OURS));
  return { ...(await ask(method, `${filledPath}${own}`, sent)), isOurs };
}

const REFUSALS = new Set([401, 403]);

/** @returns whether the answer matches the row */
function isRight(row: Row, { column, scope }: Credential, answer: Answered & { isOurs: boolean }): boolean {
  if (column === undefined) return row.allowed.has('nobody') || isHidden(answer);
  const isInScope = SCOPES.indexOf(scope) >= SCOPES.indexOf(row.scope);
  return (row.allowed.has(column) && isInScope) !== REFUSALS.has(answer.status);
}

/** Whether the answer reveals nothing to strangers, who may request only their own things. */
const isHidden = ({ status, text, isOurs }: Answered & { isOurs: boolean }) =>
  isOurs ? REFUSALS.has(status) || status === 404 : !text.includes(OURS);

test('every route has exactly one row of the table, and every pattern matches a route', () => {
  const without = routes.filter((route) => findRow(route) === undefined);
  assert.deepEqual(without, [], 'SECURITY.md lists who may call it');
  const patterns = table.flatMap((row) => row.patterns.map((pattern) => ({ row, pattern })));
  const idle = patterns.filter(
    ({ row, pattern }) => !routes.some((route) => fits(route, pattern) && findRow(route) === row),
  );
  assert.deepEqual(
    idle.map(({ pattern }) => pattern),
    [],
  );
  for (const { scope } of table) assert.ok(SCOPES.includes(scope), scope);
});

test('each credential has exactly the access that the table lists, and strangers see no data of the account', async () => {
  const wrong: string[] = [];
  for (const route of routes.toSorted((a, b) => orderOf(a) - orderOf(b))) {
    const row = findRow(route);
    assert.ok(row);
    for (const credential of credentials) {
      const answer = await askRoute(route, credential);
      if (!isRight(row, credential, answer))
        wrong.push(`${route.method} ${route.path}: ${credential.name} got ${answer.status}`);
    }
  }
  assert.deepEqual(wrong, []);
});
