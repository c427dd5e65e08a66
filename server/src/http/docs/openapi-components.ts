import { isDeepStrictEqual } from 'node:util';
import type { ApiContent, ApiOperation, ApiSchema, OpenApiDocument } from './openapi-document.ts';

type Components = Map<string, ApiSchema>;

/**
 * Moves every schema that has a title to `components` and leaves a reference, so that a generated client has one
 * type for one thing. A description belongs to the place, not to the type, and stays. A schema that shares its title
 * with another one stays where it is.
 */
export function shareTitledSchemas(document: OpenApiDocument): OpenApiDocument {
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
    components: { ...document.components, schemas: Object.fromEntries(byName) },
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
  said: string | undefined,
): ApiContent | undefined {
  if (content === undefined) return undefined;
  const shared = Object.entries(content).map(([mediaType, media]) => {
    if (media.schema === undefined) return [mediaType, media] as const;
    const { description, ...schema } = media.schema;
    const isRepeated = description === undefined || description === said;
    return [mediaType, { ...media, schema: share(isRepeated ? schema : media.schema, components) }] as const;
  });
  return Object.fromEntries(shared);
}

function share(schema: ApiSchema, components: Components): ApiSchema {
  const inner = shareInside(schema, components);
  const { title, description, ...rest } = inner;
  if (title === undefined || !/^[A-Za-z0-9._-]+$/.test(title)) return inner;
  const component = { title, ...rest };
  const known = components.get(title);
  if (known !== undefined && !isDeepStrictEqual(known, component)) return inner;
  components.set(title, component);
  return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) };
}

function shareInside(schema: ApiSchema, components: Components): ApiSchema {
  const one = (inner: ApiSchema) => share(inner, components);
  const byName = (inner: Readonly<Record<string, ApiSchema>>) =>
    Object.fromEntries(Object.entries(inner).map(([name, value]) => [name, one(value)]));
  const { properties, patternProperties, items, anyOf, oneOf, allOf, additionalProperties } = schema;
  return {
    ...schema,
    ...(properties && { properties: byName(properties) }),
    ...(patternProperties && { patternProperties: byName(patternProperties) }),
    ...(items && { items: one(items) }),
    ...(anyOf && { anyOf: anyOf.map(one) }),
    ...(oneOf && { oneOf: oneOf.map(one) }),
    ...(allOf && { allOf: allOf.map(one) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: one(additionalProperties) }),
  };
}
