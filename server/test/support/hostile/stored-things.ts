import assert from 'node:assert/strict';
import type { OpenApiDocument } from '../../../openapi/document.ts';
import type { Answer } from './hostile-caller.ts';

/** The results of hostile requests: all of them can be read, and the service accepts them when they are sent back. */

// biome-ignore lint/suspicious/noExplicitAny: answers are read field by field.
type AnyBody = any;

export interface StoredParts {
  readonly document: OpenApiDocument;
  /** The paths of the projects to check. */
  readonly projects: readonly string[];
  /** Checks answers against the document. */
  ask(method: string, path: string, body?: object): Promise<Answer>;
}

const COLLECTIONS = ['relations', 'pipelines', 'channels'];
const ACCOUNT = [
  'project-groups',
  'projects',
  'api-keys',
  'users',
  'invitations',
  'webhook-endpoints',
  'audit-log',
];
const DEFINITIONS: Readonly<Record<string, string>> = {
  relations: 'RelationDefinition',
  pipelines: 'PipelineDefinition',
  channels: 'ChannelDefinition',
};
/** Something that it needs may be deleted: an attribute, a relation, the key of a secret. */
const REFUSED_LATER = new Set([
  'request_invalid',
  'not_found',
  'secret_unreadable',
  'pipeline_running',
  'channel_unfit',
]);

/** @returns all stored things that do not change by themselves, by path */
export async function readStored(parts: StoredParts): Promise<Map<string, unknown>> {
  const contentByPath = new Map<string, unknown>();
  for (const name of ACCOUNT) await readPages(parts, `/management/${name}`);
  for (const project of parts.projects) {
    contentByPath.set(project, await succeed(parts, project));
    contentByPath.set(`${project}/ontology`, await succeed(parts, `${project}/ontology`));
    for (const path of await listContents(parts, project))
      contentByPath.set(path, dropMoving(await succeed(parts, path)));
  }
  return contentByPath;
}

async function listContents(parts: StoredParts, project: string): Promise<string[]> {
  const paths: string[] = [];
  for (const name of COLLECTIONS) {
    const items = await readPages(parts, `${project}/${name}`);
    paths.push(...items.map(({ id }) => `${project}/${name}/${id}`));
  }
  await readPages(parts, `${project}/categories`);
  await readPages(parts, `/tasks?projectId=${project.split('/').at(-1)}`);
  const products = await readPages(parts, `${project}/products`);
  paths.push(...products.map(({ identifier }) => `${project}/products/${encodeURIComponent(identifier)}`));
  return paths;
}

/** Runs and builds change by themselves, and the port differs each time. */
function dropMoving(body: AnyBody): unknown {
  const text = JSON.stringify(body).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, 'http://service');
  const { lastRun, nextRunAt, lastBuild, nextBuildAt, published, state, ...definition } = JSON.parse(text);
  return definition;
}

async function readPages(parts: StoredParts, path: string): Promise<AnyBody[]> {
  const items: AnyBody[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `limit=1000${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page: AnyBody = await succeed(parts, `${path}${path.includes('?') ? '&' : '?'}${query}`);
    items.push(...(page.items ?? page.tasks));
    cursor = page.nextCursor ?? null;
  }
  return items;
}

async function succeed({ ask }: StoredParts, path: string): Promise<AnyBody> {
  const { status, text, body } = await ask('GET', path);
  assert.equal(status, 200, `GET ${path}: ${text.slice(0, 500)}`);
  return body;
}

/** Sends everything back as read. @returns the number of things */
export async function writeBack(parts: StoredParts, stored: ReadonlyMap<string, unknown>): Promise<number> {
  let count = 0;
  for (const [path, body] of stored) {
    const kind = path.split('/').at(-2) ?? '';
    const [method, target, sent] = describeWrite(parts, { path, kind, body });
    if (method === undefined) continue;
    const answer = await parts.ask(method, target, sent);
    const isRefused = DEFINITIONS[kind] !== undefined && REFUSED_LATER.has(answer.body?.reason);
    assert.ok(
      answer.status < 300 || isRefused,
      `${method} ${path}: ${answer.text.slice(0, 500)} ${JSON.stringify(sent).slice(0, 1_000)}`,
    );
    count += 1;
  }
  return count;
}

function describeWrite(
  { document }: StoredParts,
  { path, kind, body }: { path: string; kind: string; body: AnyBody },
): [string, string, object] | [undefined, string, object] {
  if (path.endsWith('/ontology'))
    return ['PUT', path, { mode: body.mode, unitAliases: body.unitAliases, attributes: body.attributes }];
  if (kind === 'products')
    return ['POST', `/products?projectId=${path.split('/')[3]}`, { products: [body.upload] }];
  const { properties = {} } = document.components?.schemas?.[DEFINITIONS[kind] ?? ''] ?? {};
  const fields = Object.entries(body).filter(
    ([name, value]) => Object.hasOwn(properties, name) && value !== null,
  );
  return fields.length > 0 && DEFINITIONS[kind] !== undefined
    ? ['PUT', path, Object.fromEntries(fields)]
    : [undefined, path, {}];
}
