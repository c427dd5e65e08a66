/**
 * Generates the OpenAPI document from the routes and their schemas. `npm run openapi` writes it to docs/openapi.json,
 * which the service serves. A running service does not generate it.
 */
import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import swagger from '@fastify/swagger';
import type { FastifyContextConfig, FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { ErrorAnswer } from '../src/http/answers/answers.ts';
import { describeHeaders, HEADERS, IDEMPOTENCY_KEY } from './answer-headers.ts';
import type { ApiContent, ApiOperation, ApiSchema, OpenApiDocument } from './document.ts';
import { describeSchemas } from './documented-schemas.ts';

/** The chapters of the interface. A route without tags belongs to the chapter with the longest matching path. */
const chapters = [
  { name: 'Projects', paths: ['/projects', '/project/'], description: 'The projects that a key reaches.' },
  {
    name: 'Product lookup',
    paths: ['/product-service/'],
    description: 'Products and their facts by identifier.',
  },
  { name: 'Product updates', paths: ['/products'], description: 'Incremental and partial updates, deletes.' },
  {
    name: 'Full update',
    paths: ['/products/batch/'],
    description: 'Initiate, upload in batches, commit, restore.',
  },
  { name: 'Tasks', paths: ['/tasks'], description: 'The states and outcomes of accepted updates.' },
  { name: 'Related products', paths: ['/search/'], description: 'Products that go with other products.' },
  { name: 'Pipelines', paths: [], description: 'Update a catalog from files, by hand or on a schedule.' },
  {
    name: 'Channels',
    paths: ['/channels/'],
    description: 'Publish a catalog with its related products as files.',
  },
  { name: 'Webhook', paths: ['/etl-triggers/'], description: 'Starts a pipeline from outside.' },
  {
    name: 'Management',
    paths: ['/management/'],
    description: 'Project groups, projects with their settings, and keys.',
  },
  {
    name: 'Sign in',
    paths: [
      '/management/session',
      '/management/links/check',
      '/management/owner',
      '/management/invitations/accept',
    ],
    description: 'Console sessions, which are used in place of a key.',
  },
  {
    name: 'Users',
    paths: ['/management/users', '/management/invitations'],
    description: 'The users of the console and their roles.',
  },
  { name: 'Service', paths: ['/'], description: 'Health, metrics and this description.' },
] as const;

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key in the header: `Authorization: Bearer KEY`. Recommended.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'query',
    name: 'apiKey',
    description:
      'Deprecated: the API key in the URL. Answers have a `Deprecation` header. Send the key in the header instead.',
    'x-deprecated': true,
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'relata_session',
    description:
      'The console session of a user; over https the cookie is `__Host-relata_session`. A request other than GET also needs the header `X-CSRF-Token`.',
  },
} as const;

/**
 * Collects the routes that are added from now on, so call it before the first route is added.
 * @param version the version of the package in the document
 */
export async function documentServer(server: FastifyInstance, version: string): Promise<void> {
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Relata',
        version,
        description:
          'Product catalogs: upload products, look them up, and find the products that go with them.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: chapters.map(({ name, description }) => ({ name, description })),
      components: { securitySchemes },
    },
    // OpenAPI 3.1 has the keyword `const`; only 3.0 needs an enum with one value.
    convertConstToEnum: false,
    transform: ({ schema, url, route }) => ({ url, schema: describeRoute(schema, url, route) }),
    transformObject: (documents) => {
      if (!('openapiObject' in documents)) throw new Error('an OpenAPI document was expected');
      return finishDocument(documents.openapiObject as unknown as OpenApiDocument) as object;
    },
  });
}

/** @returns the document of a server whose routes are complete */
export function describeServer(server: FastifyInstance): OpenApiDocument {
  return server.swagger() as unknown as OpenApiDocument;
}

const withUrlKey: Security = [{ bearer: [] }, { apiKey: [] }, { session: [] }];
/** Guards that require no credential. */
const OPEN: ReadonlySet<string> = new Set(['none', 'sign-in']);

type Guard = NonNullable<FastifyContextConfig['guard']>;
type Security = { [scheme: string]: readonly string[] }[];

function describeRoute(schema: FastifySchema | undefined, url: string, route: RouteOptions): FastifySchema {
  const { guard = 'key', access = 'read' } = route.config ?? {};
  const security: Readonly<Record<Guard, Security>> = {
    none: [],
    'sign-in': [],
    session: [{ session: [] }],
    management: [{ bearer: [] }, { session: [] }],
    own: [{ bearer: [] }],
    key: withUrlKey,
    project: withUrlKey,
  };
  return {
    ...schema,
    tags: schema?.tags ?? [chapterOf(url)],
    security: security[guard],
    ...(!OPEN.has(guard) && guard !== 'session' && { 'x-access': access }),
    ...markRoute(route),
    response: withCommonRefusals((schema?.response ?? {}) as Record<string, object>, schema, route),
  };
}

/** Adds the properties of the route that `finishOperation` needs. */
function markRoute({ config = {} }: RouteOptions) {
  const { guard = 'key', isOnce = false, hasMark = false } = config;
  const takesKey = !OPEN.has(guard) && guard !== 'session';
  return { 'x-route': { isOnce, hasMark, takesKey, takesUrlKey: guard === 'key' || guard === 'project' } };
}

function chapterOf(url: string): string {
  const fitting = chapters.flatMap(({ name, paths }) =>
    paths.filter((path) => url.startsWith(path)).map((path) => ({ name, length: path.length })),
  );
  return fitting.sort((a, b) => b.length - a.length)[0]?.name ?? 'Service';
}

/** @returns the refusals of the server's own checks, by status. Source: docs/interface §7.2. */
function listCommonRefusals(schema: FastifySchema | undefined, route: RouteOptions): Record<string, string> {
  const { guard = 'key', body } = route.config ?? {};
  const common = listGuardRefusals(guard);
  const isUnparsed = body === 'raw' || body === 'stream';
  const hasBody = schema?.body !== undefined || isUnparsed;
  if (guard === 'project' || hasBody || schema?.querystring !== undefined) {
    common[400] = 'the parameters or the body are invalid; `details` names the places';
  }
  if (schema?.params !== undefined) common[404] = 'unknown, or out of reach of the key';
  if (hasBody) common[413] = 'the body is too large';
  if (isUnparsed) common[507] = 'the disk is full, so nothing was stored';
  return common;
}

function withCommonRefusals(
  given: Record<string, object>,
  schema: FastifySchema | undefined,
  route: RouteOptions,
): Record<string, object> {
  const common = listCommonRefusals(schema, route);
  const statuses = Object.keys(given);
  const isGiven = (status: string) =>
    statuses.some((givenStatus) => givenStatus === status || /^4xx|default$/i.test(givenStatus));
  const refusals = Object.entries(common).filter(([status]) => !isGiven(status));
  return {
    ...(statuses.some((status) => status.startsWith('2'))
      ? {}
      : { 200: { type: 'null', description: 'OK' } }),
    ...given,
    ...Object.fromEntries(refusals.map(([status, description]) => [status, { ...ErrorAnswer, description }])),
    '5xx': ErrorAnswer,
  };
}

function listGuardRefusals(guard: Guard): Record<string, string> {
  const refusals: Record<string, string> = {};
  if (guard === 'none') return refusals;
  if (guard !== 'own')
    refusals[403] = 'for a console session: the role is too low, or `X-CSRF-Token` or `Origin` is wrong';
  if (guard === 'sign-in') return refusals;
  refusals[401] = 'the key or session is missing, or does not reach this';
  if (guard === 'session') return refusals;
  refusals[429] = 'the rate limit of the key is exceeded; `Retry-After` has the seconds to wait';
  return refusals;
}

function finishDocument(document: OpenApiDocument): OpenApiDocument {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const finished = Object.entries(operations).map(
      ([method, operation]) => [method, finishOperation(method, path, operation)] as const,
    );
    return [path, Object.fromEntries(finished)] as const;
  });
  return shareTitledSchemas({ ...document, paths: Object.fromEntries(paths) });
}

/** The answers that every request can have. Source: docs/interface §7. */
const RANGES: Readonly<Record<string, string>> = {
  '4XX': 'refused; `message` and `details` have the reason',
  '5XX': 'unavailable for now (503 with `Retry-After`, 507), or a fault of the service (500)',
};

function finishOperation(method: string, path: string, operation: ApiOperation): ApiOperation {
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const isNameless = response.description === 'Default Response';
    const description = isNameless ? (STATUS_CODES[status] ?? RANGES[status] ?? 'OK') : response.description;
    return [status, { ...response, description }] as const;
  });
  const { 'x-route': route, ...described } = {
    operationId: operation.operationId ?? nameOperation(method, path),
    ...describeSchemas({ ...operation, responses: Object.fromEntries(responses) }),
  };
  if (route === undefined) return described;
  const { parameters = [] } = described;
  const taken = route.isOnce ? { parameters: [...parameters, IDEMPOTENCY_KEY] } : {};
  return describeHeaders({ ...described, ...taken }, route);
}

/** `get`, `/tasks/{taskId}/log` becomes `getTasksByTaskIdLog`. */
function nameOperation(method: string, path: string): string {
  const words = path.replace(/\{/g, 'by-').split(/[^A-Za-z0-9]+/);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

type Components = Map<string, ApiSchema>;

/**
 * Moves every schema with a title to `components` and replaces it by a reference, so that a generated client has one
 * type for each title. The description stays at the reference, because it describes the use and not the type. A schema
 * whose title another schema already has is not moved.
 */
function shareTitledSchemas(document: OpenApiDocument): OpenApiDocument {
  const components: Components = new Map(Object.entries(document.components?.schemas ?? {}));
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const shared = Object.entries(operations).map(
      ([method, operation]) => [method, shareInOperation(operation, components)] as const,
    );
    return [path, Object.fromEntries(shared)] as const;
  });
  const byName = [...components].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...document,
    components: { ...document.components, headers: HEADERS, schemas: Object.fromEntries(byName) },
    paths: Object.fromEntries(paths),
  };
}

function shareInOperation(operation: ApiOperation, components: Components): ApiOperation {
  const { requestBody } = operation;
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const content = shareInContent(response.content, components, response.description);
    return [status, { ...response, ...(content && { content }) }] as const;
  });
  const content = shareInContent(requestBody?.content, components, requestBody?.description);
  return {
    ...operation,
    ...(requestBody && content && { requestBody: { ...requestBody, content } }),
    responses: Object.fromEntries(responses),
  };
}

function shareInContent(
  content: ApiContent | undefined,
  components: Components,
  responseDescription: string | undefined,
): ApiContent | undefined {
  if (content === undefined) return undefined;
  const shared = Object.entries(content).map(([mediaType, media]) => {
    if (media.schema === undefined) return [mediaType, media] as const;
    const { description, ...schema } = media.schema;
    const isRepeated = description === undefined || description === responseDescription;
    return [mediaType, { ...media, schema: share(isRepeated ? schema : media.schema, components) }] as const;
  });
  return Object.fromEntries(shared);
}

function share(schema: ApiSchema, components: Components): ApiSchema {
  const inner = shareInside(schema, components);
  const { title, description, ...rest } = inner;
  if (title === undefined || !/^[A-Za-z0-9._-]+$/.test(title)) return inner;
  const component = { title, ...rest };
  const present = components.get(title);
  if (present !== undefined && !isDeepStrictEqual(present, component)) return inner;
  components.set(title, component);
  return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) };
}

function shareInside(schema: ApiSchema, components: Components): ApiSchema {
  const shareInner = (inner: ApiSchema) => share(inner, components);
  const byName = (inner: Readonly<Record<string, ApiSchema>>) =>
    Object.fromEntries(Object.entries(inner).map(([name, value]) => [name, shareInner(value)]));
  const { properties, patternProperties, items, anyOf, oneOf, allOf, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && { properties: byName(properties) }),
    ...(patternProperties && { patternProperties: byName(patternProperties) }),
    ...(items && { items: shareInner(items) }),
    ...(anyOf && { anyOf: anyOf.map(shareInner) }),
    ...(oneOf && { oneOf: oneOf.map(shareInner) }),
    ...(allOf && { allOf: allOf.map(shareInner) }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: shareInner(additionalProperties),
    }),
  };
}
