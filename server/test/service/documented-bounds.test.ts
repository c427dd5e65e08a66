// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ApiOperation, ApiSchema, OpenApiDocument } from '../../openapi/document.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';

/** Compares docs/openapi.json with the service, by requests at the limits that the document allows. */

const service = shareService();
const document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
) as OpenApiDocument;

/** Keywords of JSON Schema 2020-12 and OpenAPI 3.1 that the document uses. All others begin with `x-`. */
const KEYWORDS: ReadonlySet<string> = new Set(
  '$ref title description type const enum default format pattern minLength maxLength minimum maximum minItems maxItems'
    .concat(
      ' minProperties maxProperties deprecated properties required additionalProperties patternProperties',
    )
    .concat(' propertyNames items anyOf oneOf allOf if then else discriminator examples')
    .split(' '),
);
const NAMED = ['properties', 'patternProperties'] as const;

/** @returns the schema and all schemas in it */
function* listSchemas(schema: ApiSchema): Generator<ApiSchema> {
  yield schema;
  const named = NAMED.flatMap((name) => Object.values(schema[name] ?? {}));
  const { items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const inner = [...named, items, additionalProperties, ...anyOf, ...oneOf, ...allOf];
  for (const nested of inner) if (typeof nested === 'object') yield* listSchemas(nested);
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

function listRoots({ parameters = [], requestBody, responses }: ApiOperation): ApiSchema[] {
  const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
  const media = contents.flatMap((content) => Object.values(content ?? {}));
  return [...parameters, ...media].flatMap(({ schema }) => schema ?? []);
}

test('docs/openapi.json has only keywords of OpenAPI (§10.3)', () => {
  const roots = operations.flatMap(({ operation }) => listRoots(operation));
  const schemas = [...roots, ...Object.values(document.components?.schemas ?? {})];
  const unknown = schemas
    .flatMap((root) => [...listSchemas(root)])
    .flatMap((schema) => Object.keys(schema))
    .filter((keyword) => !KEYWORDS.has(keyword) && !keyword.startsWith('x-'));
  assert.deepEqual([...new Set(unknown)], []);
});

test('each write that accepts an Idempotency-Key names it as a parameter, and answers name their headers (§7.5, §10.3)', () => {
  const takes = ({ parameters = [] }: ApiOperation) =>
    parameters.some(({ name }) => name === 'Idempotency-Key');
  const writes = operations.filter(({ operation }) => takes(operation));
  assert.ok(writes.length > 50, `${writes.length} writes`);
  for (const { method, path } of writes) assert.notEqual(method, 'GET', path);
  for (const path of [
    '/products',
    '/products/batch/upload',
    '/products/batch/start',
    '/etl-triggers/webhook/{triggerId}',
  ]) {
    const { post } = document.paths[path] as Record<string, ApiOperation>;
    assert.ok(post && takes(post), path);
    assert.ok(post.responses['200']?.headers?.['Idempotency-Replayed'], path);
    assert.ok(post.responses['4XX']?.headers?.['Retry-After'], path);
  }
  const headers = operations.flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap((response) => Object.values(response.headers ?? {})),
  );
  const documented = document.components?.headers ?? {};
  for (const { $ref } of headers) assert.ok(documented[$ref.replace('#/components/headers/', '')], $ref);
});

test('each documented header is in an answer, and each header of an answer is documented (§10.3)', async () => {
  const catalog = await createCatalog(service());
  const once = { 'idempotency-key': `headers ${catalog.projectId}` };
  const send = () => catalog.post('/products', [{ identifier: 'A', name: 'A' }], once);
  assert.ok((await send()).headers.get('x-request-id'));
  assert.equal((await send()).headers.get('idempotency-replayed'), 'true');
  const body = { name: 'T', pairs: [['a', 'b']] };
  const made = await service().call('POST', `/management/projects/${catalog.projectId}/tables`, { body });
  assert.equal(made.status, 201);
  const { post } = document.paths['/management/projects/{id}/tables'] as Record<string, ApiOperation>;
  const documented = Object.keys(post?.responses['201']?.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of ['location', 'etag', 'x-request-id']) {
    assert.ok(made.headers.get(name), name);
    assert.ok(documented.includes(name), name);
  }
});

/** The message of a validator for a value beyond a limit. */
const BOUND =
  /must NOT have (?:more|fewer) than|must be (?:<=|>=|<|>|integer|number|boolean|string|array)|must match pattern/;
const UNBOUNDED_TEXT = 'x'.repeat(3_000);

/** @returns values at the limits that the schema of a parameter allows */
function listEdges(schema: ApiSchema): unknown[] {
  const { anyOf, enum: words, type, pattern } = schema;
  if (anyOf !== undefined) return anyOf.flatMap(listEdges);
  if (words !== undefined) return [...words];
  if (schema.const !== undefined) return [schema.const];
  if (type === 'boolean') return [true, false];
  return type === 'string' && pattern === undefined ? listTexts(schema) : listNumbers(schema);
}

const LARGEST = { integer: 2 ** 60, number: 1e300 };

function listNumbers({ type, minimum, maximum }: ApiSchema): unknown[] {
  if (type !== 'integer' && type !== 'number') return [];
  return [minimum ?? -LARGEST[type], maximum ?? LARGEST[type]];
}

function listTexts({ minLength = 0, maxLength }: ApiSchema): string[] {
  const longest = maxLength === undefined ? UNBOUNDED_TEXT : 'x'.repeat(maxLength);
  return ['x'.repeat(Math.max(minLength, Math.min(longest.length, 1))), longest];
}

/** Parameters whose text has its own syntax. Their refusals name the place in the text. */
const READERS = operations.filter(
  ({ method, path }) => method === 'GET' && !/\/(?:console|docs|channels\/\{token\}|events)/.test(path),
);

test('no validator refuses a parameter at a limit that docs/openapi.json allows (§10.3)', async () => {
  const { projectId } = await createCatalog(service());
  let sent = 0;
  const hidden: string[] = [];
  for (const { path, operation } of READERS) {
    const query = (operation.parameters ?? []).filter(
      (parameter) => parameter.in === 'query' && parameter.name !== 'wait',
    );
    for (const parameter of query)
      for (const edge of listEdges(parameter.schema ?? {})) {
        sent += 1;
        hidden.push(...(await findHiddenBounds({ path, name: parameter.name, edge, projectId })));
      }
  }
  assert.deepEqual(hidden, []);
  assert.ok(sent > 200, `${sent} requests`);
});

interface EdgeRequest {
  readonly path: string;
  readonly name: string;
  readonly edge: unknown;
  readonly projectId: number;
}

/** @returns the faults that a validator reports for a value that the document allows */
async function findHiddenBounds({ path, name, edge, projectId }: EdgeRequest): Promise<string[]> {
  const filled = path.replace('{id}', String(projectId)).replace(/\{\w+\}/g, '1');
  const project = name === 'projectId' ? '' : `&projectId=${projectId}`;
  const text = typeof edge === 'number' ? BigInt(edge).toString() : encodeURIComponent(String(edge));
  const response = await fetch(`${service().address}${filled}?${name}=${text}${project}`, {
    headers: { authorization: `Bearer ${service().key}` },
  });
  const answer = await response.text();
  if (response.status !== 400) return [];
  const { details = [] } = JSON.parse(answer) as { details?: string[] };
  return details
    .filter((line) => line.startsWith(`/${name} `) && BOUND.test(line))
    .map((line) => `${path}?${name}=${text.slice(0, 40)}: ${line}`);
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => `A${index}`);

/** Lists in bodies: the largest list that the document allows is accepted, and one element more is refused. */
const LISTS = [
  { call: 'POST /product-service/products-by-sku', list: 'identifiers', elements: texts, more: {} },
  {
    call: 'POST /search/relations/bulk-results',
    list: 'identifiers',
    elements: texts,
    more: { includeTags: [{ tag: 't', limitPerRelation: 1 }] },
  },
  { call: 'POST /products/delete', list: 'identifiers', elements: texts, more: {} },
  {
    call: 'POST /products',
    list: 'products',
    elements: (count: number) => texts(count).map((identifier) => ({ identifier, name: identifier })),
    more: {},
  },
] as const;

for (const { call, list, elements, more } of LISTS)
  test(`${call}: as many ${list} as docs/openapi.json allows are accepted, and one more is refused (§8)`, async () => {
    const catalog = await createCatalog(service());
    const [, path = ''] = call.split(' ');
    const { post } = document.paths[path] as Record<string, ApiOperation>;
    const { schema = {} } = post?.requestBody?.content['application/json'] ?? {};
    const object = [schema, ...(schema.anyOf ?? [])].find(({ type }) => type === 'object');
    const most = object?.properties?.[list]?.maxItems ?? assert.fail(`no maxItems of ${list}`);
    await catalog.load({ identifier: 'A1' });
    const send = (count: number) => catalog.post(path, { [list]: elements(count), ...more });
    assert.equal((await send(most)).status, 200);
    assertRefused(await send(most + 1), 400);
  });
