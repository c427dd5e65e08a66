import { isDeepStrictEqual } from 'node:util';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';
import { holdsMoreThan } from '../../kernel/json-scan.ts';
import { describeSchemaErrors } from '../answers/answers.ts';

/** How bodies and parameters alike are checked. */
const CHECKS = {
  ...{ useDefaults: true, strict: false, removeAdditional: false },
  // The schemas are ours: a check of them would compile the schema of schemas, 30 ms of a start for each checker.
  ...{ meta: false, validateSchema: false },
} as const;
/** A body of up to so many values is told all its mistakes, which may be several a value; a larger one is told the first. */
const SMALL_BODY_VALUES = 2_000;
/** So often a body is checked again: of a large one, every check tells of one list. */
const MENDS = 10;

export interface SchemaCheck {
  /** @returns whether it passes; as Fastify reads it, with what is to be in its place */
  (value: unknown): boolean | { readonly value: unknown };
  errors?: ErrorObject[] | null;
}

/** @returns a check that is compiled, which takes some milliseconds, when it is first asked: many routes never are in the life of a process */
function checkLater(compile: () => ValidateFunction): SchemaCheck {
  let compiled: ValidateFunction | undefined;
  const check: SchemaCheck = (value) => {
    compiled ??= compile();
    const passes = compiled(value);
    check.errors = compiled.errors ?? null;
    return passes;
  };
  return check;
}

/**
 * A larger integer is none that the stores can hold, or that a parser of JSON keeps as it was sent.
 * @returns the schema, in which every integer has bounds, as docs/openapi.json shows them
 */
function boundIntegers<Schema>(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema === null) return schema;
  const numbers = schema as { type?: unknown; minimum?: number; maximum?: number };
  if ([numbers.type].flat().includes('integer')) {
    numbers.minimum ??= Number.MIN_SAFE_INTEGER;
    numbers.maximum ??= Number.MAX_SAFE_INTEGER;
  }
  for (const part of Object.values(schema)) boundIntegers(part);
  return schema;
}

/** The validator would convert whatever JavaScript reads as a number: `1e0`, `0x1` and ` 1` would be 1. Source: docs/interface.md §4.1. */
const DECIMAL = /^(?!-0)-?\d+$/;

/** Parameters of a URL are text, and are converted. */
export function createParameterChecks(): (schema: object) => SchemaCheck {
  const converting = new Ajv({ ...CHECKS, allErrors: true, coerceTypes: true });
  return (sent) => {
    const schema: { properties?: Record<string, { type?: unknown }> } = boundIntegers(sent);
    const integers = Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) =>
      type === 'integer' ? name : [],
    );
    const converted = checkLater(() => converting.compile(schema));
    const check: SchemaCheck = (given) => {
      const parameters = given as Record<string, unknown>;
      for (const name of integers) {
        const text = parameters[name];
        // A list is not converted, and no integer.
        if (typeof text === 'string' && !DECIMAL.test(text)) parameters[name] = [text];
      }
      const passes = converted(parameters);
      check.errors = converted.errors ?? null;
      return passes;
    };
    return check;
  };
}

/** Bodies that a parsing thread has checked. */
const checked = new WeakSet<object>();

/** A body that passed the check of its route need not pass it again. */
export function rememberChecked(body: unknown): void {
  if (typeof body === 'object' && body !== null) checked.add(body);
}

/** Of a body whose kind a field names, mistakes are told of that kind alone. */
export function createBodyChecks(): (schema: object) => SchemaCheck {
  const shared = { ...CHECKS, discriminator: true, verbose: true };
  const all = new Ajv({ ...shared, allErrors: true });
  const first = new Ajv(shared);
  return (sent) => {
    const schema = boundIntegers(sent);
    const listsAll = checkLater(() => all.compile(schema));
    const stopsAtFirst = checkLater(() => first.compile(schema));
    const check: SchemaCheck = (body) => {
      const chosen = holdsMoreThan(SMALL_BODY_VALUES, body) ? stopsAtFirst : listsAll;
      const holder = { body };
      const passes = passesMended(chosen, holder);
      check.errors = chosen.errors ?? null;
      return passes && holder.body !== body ? { value: holder.body } : passes;
    };
    return check;
  };
}

function passesMended(check: SchemaCheck, holder: { body: unknown }): boolean {
  for (let left = MENDS; left >= 0; left -= 1) {
    if (checked.has(holder.body as object) || check(holder.body)) return true;
    if (!mendObjects(holder, check.errors ?? [])) return false;
  }
  return false;
}

/** PHP writes an empty object as a list. @returns whether one stood where an object may be empty, and is one now */
function mendObjects(holder: { body: unknown }, errors: readonly ErrorObject[]): boolean {
  // Where there is a choice of forms, a list may be one of them.
  const choices = new Set(errors.filter(({ keyword }) => keyword === 'anyOf').map(placeOf));
  const lists = errors.filter((error) => isEmptyObject(error) && !choices.has(placeOf(error)));
  for (const { instancePath } of lists) {
    const names = `body${instancePath}`.split('/').map(readName);
    const last = names.pop() as string;
    let part: Record<string, unknown> = holder;
    for (const name of names) part = part[name] as typeof part;
    part[last] = {};
  }
  return lists.length > 0;
}

const readName = (name: string) => name.replaceAll('~1', '/').replaceAll('~0', '~');
const placeOf = ({ instancePath }: ErrorObject) => instancePath;

const isEmptyObject = ({ keyword, params, data, parentSchema }: ErrorObject) =>
  keyword === 'type' &&
  [params.type].flat().includes('object') &&
  Array.isArray(data) &&
  data.length === 0 &&
  (parentSchema?.required ?? []).length === 0;

/** PHP sends an empty list for an empty object. */
export const saysNothing = (body: unknown): boolean =>
  body === undefined || body === null || (Array.isArray(body) && body.length === 0);

/** Of a POST that does what a GET does: without a body, everything is in the query. Source: docs/interface.md §4 rule 9. */
export async function takeNoBody(request: FastifyRequest): Promise<void> {
  if (saysNothing(request.body)) request.body = {};
}

const checkEmpty = createBodyChecks()({ type: 'object', additionalProperties: false });

/**
 * Of a call that takes no body: what is sent would be believed to have an effect.
 * @throws request_invalid
 */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (saysNothing(body) || checkEmpty(body)) return;
  throw new ServiceError('request_invalid', { details: describeSchemaErrors(checkEmpty.errors ?? []) });
}

/**
 * Parameters may stand in the query and in the body; null is not sent.
 * @throws query_invalid where both say something else
 */
export function joinTwins<Parameters extends object>(query: Parameters, body: Parameters): Parameters {
  const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of sent) {
    const given = (query as Record<string, unknown>)[name];
    if (given === undefined || isDeepStrictEqual(given, value)) continue;
    throw new ServiceError('query_invalid', `/${name} of the query and of the body differ`);
  }
  return { ...query, ...Object.fromEntries(sent) };
}
