import type { ApiContent, ApiOperation, ApiParameter, ApiSchema } from './document.ts';

/**
 * Converts schemas of routes for the document. Some checks of the service are not part of a standard validator, so the
 * document expresses them by standard keywords.
 */

/**
 * The meaning of our own keyword `isText`: neither NUL nor half a surrogate pair. Source: docs/interface §2.3 rule 9.
 */
const TEXT = '^[^\\u0000\\ud800-\\udfff]*$';
/** The spellings of a flag in a query. Source: docs/interface §4.3 rule 1. */
const FLAG = '^(?:1|0|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$';

interface RouteSchema extends ApiSchema {
  readonly isText?: boolean;
  /** Bounds that the route checks itself, because their refusals have special texts. */
  readonly documented?: Partial<ApiSchema>;
}

const SINGLE = ['items', 'additionalProperties', 'propertyNames', 'if', 'then', 'else'] as const;
const LISTED = ['anyOf', 'oneOf', 'allOf'] as const;
const NAMED = ['properties', 'patternProperties'] as const;

const isSchema = (value: unknown): value is RouteSchema => typeof value === 'object' && value !== null;

export function describeSchema({ isText, documented, ...schema }: RouteSchema): ApiSchema {
  const inner: Record<string, unknown> = { ...schema };
  for (const name of SINGLE) if (isSchema(inner[name])) inner[name] = describeSchema(inner[name]);
  for (const name of LISTED)
    if (Array.isArray(inner[name])) inner[name] = (inner[name] as RouteSchema[]).map(describeSchema);
  for (const name of NAMED) {
    const named = inner[name] as Readonly<Record<string, RouteSchema>> | undefined;
    if (named === undefined) continue;
    inner[name] = Object.fromEntries(
      Object.entries(named).map(([key, member]) => [key, describeSchema(member)]),
    );
  }
  return { ...inner, ...(isText && inner.pattern === undefined && { pattern: TEXT }), ...documented };
}

function describeParameter({ schema, ...parameter }: ApiParameter): ApiParameter {
  if (schema === undefined) return parameter;
  const isFlag = parameter.in === 'query' && schema.type === 'boolean';
  const spelt = isFlag ? { anyOf: [schema, { type: 'string', pattern: FLAG }] } : describeSchema(schema);
  return { ...parameter, schema: spelt };
}

function describeContent(content: ApiContent): ApiContent {
  const described = Object.entries(content).map(
    ([type, { schema, ...media }]) =>
      [type, { ...media, ...(schema && { schema: describeSchema(schema) }) }] as const,
  );
  return Object.fromEntries(described);
}

/** @returns the operation with its schemas in the form of the document */
export function describeSchemas(operation: ApiOperation): ApiOperation {
  const { parameters, requestBody, responses } = operation;
  const answers = Object.entries(responses).map(
    ([status, { content, ...response }]) =>
      [status, { ...response, ...(content && { content: describeContent(content) }) }] as const,
  );
  return {
    ...operation,
    ...(parameters && { parameters: parameters.map(describeParameter) }),
    ...(requestBody && { requestBody: { ...requestBody, content: describeContent(requestBody.content) } }),
    responses: Object.fromEntries(answers),
  };
}
