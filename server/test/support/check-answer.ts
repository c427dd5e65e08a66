import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import type { ApiSchema, OpenApiDocument } from '../../openapi/document.ts';

/** A JSON answer and the request that it belongs to. */
export interface CheckedAnswer {
  readonly method: string;
  /** The path as requested, with its query. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

const DOCUMENT = new URL('../../../docs/openapi.json', import.meta.url);
/** Statuses of unknown paths and methods, such as OPTIONS from another origin. */
const NO_OPERATION: ReadonlySet<number> = new Set([400, 401, 404, 405]);
const ERROR = '#/components/schemas/Error';

/** Read at the first answer, so test files without one do not need the time. */
let cachedDocument: ReturnType<typeof readDocument> | undefined;

/** @throws AssertionError if docs/openapi.json does not describe the answer and every field in it */
export function checkAnswer({ method, path, status, body }: CheckedAnswer): void {
  cachedDocument ??= readDocument();
  const call = `${method} ${path} ${status}`;
  const check = cachedDocument.compile(
    findSchema(cachedDocument.document, { method, path, status, asked: call }),
  );
  if (check(body)) return;
  const { instancePath, message, params } = check.errors?.[0] ?? {};
  const field = JSON.stringify(params);
  assert.fail(`${call} does not match docs/openapi.json: ${instancePath || '/'} ${message} ${field}`);
}

/** @returns a reference to the schema of the answer */
function findSchema(
  { paths }: OpenApiDocument,
  { method, path, status, asked: call }: Omit<CheckedAnswer, 'body'> & { readonly asked: string },
): string {
  const template = findTemplate(Object.keys(paths), path);
  const operation = paths[template ?? '']?.[method.toLowerCase()];
  if (template === undefined || operation === undefined) {
    assert.ok(NO_OPERATION.has(status), `${call}: docs/openapi.json has no such operation`);
    return ERROR;
  }
  const range = `${Math.floor(status / 100)}XX`;
  const documentedStatus = [String(status), range].find((key) => operation.responses[key] !== undefined);
  assert.ok(documentedStatus, `${call}: the operation has no such status in docs/openapi.json`);
  const { schema } = operation.responses[documentedStatus]?.content?.['application/json'] ?? {};
  assert.ok(schema, `${call}: docs/openapi.json has no JSON answer there`);
  const pointer = [
    'paths',
    template,
    method.toLowerCase(),
    'responses',
    documentedStatus,
    'content',
    'application/json',
  ];
  return schema.$ref ?? `#/${pointer.map(escapePart).join('/')}/schema`;
}

/** Escapes a part of a JSON pointer in a URL. */
const escapePart = (name: string) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));

/** If two match, the one with fewer parameters wins. */
function findTemplate(templates: readonly string[], path: string): string | undefined {
  const requestedParts = path.split('?', 1)[0]?.split('/') ?? [];
  const fitting = templates.filter((template) => {
    const parts = template.split('/');
    return (
      parts.length === requestedParts.length &&
      parts.every((part, index) => part.startsWith('{') || part === requestedParts[index])
    );
  });
  return fitting.sort((a, b) => a.split('{').length - b.split('{').length)[0];
}

/** Schemas are compiled on first use, because compiling all takes 0.3 s, half the time of optimised ones. */
function readDocument() {
  const document = JSON.parse(readFileSync(DOCUMENT, 'utf8'), closeObject) as OpenApiDocument;
  const ajv = new Ajv({
    strict: false,
    validateSchema: false,
    validateFormats: false,
    code: { optimize: false },
  });
  ajv.addSchema(document, 'openapi');
  const compiled = new Map<string, ValidateFunction>();
  const compile = (reference: string): ValidateFunction => {
    const check = compiled.get(reference) ?? ajv.compile({ $ref: `openapi${reference}` });
    compiled.set(reference, check);
    return check;
  };
  return { document, compile };
}

/** Fields missing from the document are an error here, although clients must accept new ones from later versions. */
function closeObject(_: string, schema: unknown): unknown {
  const { properties, additionalProperties } = (schema ?? {}) as ApiSchema;
  return properties !== undefined && additionalProperties === undefined && isSchema(schema)
    ? { ...(schema as object), additionalProperties: false }
    : schema;
}

/** A property may be called `properties`. */
const isSchema = (schema: unknown): boolean => (schema as ApiSchema).type === 'object';
