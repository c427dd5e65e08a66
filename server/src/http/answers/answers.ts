/** The door of answers: refusals with their status and text, answers kept for an `Idempotency-Key`, ETags. */

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { type TNumberOptions, type TProperties, type TSchema, Type } from 'typebox';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { namesTag } from '../../kernel/entity-tag.ts';
import { type FailureCode, type FailureFacts, ServiceError } from '../../kernel/errors.ts';
import { REFUSALS } from '../../kernel/refusals.ts';
import type { ExpectedStates } from '../../storage/storage.ts';
import { translateSqliteError } from '../../storage/storage.ts';

export { type AnswerOnce, createAnswerOnce, type RecordAnswer } from './answer-once.ts';
export { dropAnswersBefore } from './answer-store.ts';
export { digestRequest } from './request-digest.ts';

/** Source: docs/interface §8. */
const DETAILS = { most: 100, bytes: 32 * 1024 };

/**
 * Refusals that end the connection, because the next bytes on it belong to an unread body, or to requests of a sender
 * that does not wait for answers.
 */
const ENDS_CONNECTION: ReadonlySet<FailureCode> = new Set([
  'body_stalled',
  'body_slow',
  'body_too_large',
  'too_many_pipelined',
]);

/** Delays for faults that an operator must fix. An earlier retry would only add to the load. */
const RETRY_SECONDS: Partial<Record<FailureCode, number>> = {
  storage_full: 60,
  catalog_damaged: 60,
  catalog_foreign: 60,
};

/** Reasons that are not codes of refusals: faults of the service, and requests that reach no route. */
const OTHER_REASONS = ['unexpected', 'request_timeout'] as const;

/** The closed list of reasons for a failure. Source: docs/interface §7.7. */
export type Reason = FailureCode | (typeof OTHER_REASONS)[number];
export const REASONS = [...(Object.keys(REFUSALS) as FailureCode[]), ...OTHER_REASONS].sort();

/** The body of every error answer. Source: docs/interface §7.1. */
export interface FailureBody {
  readonly status: 'failure';
  readonly code: number;
  readonly reason: Reason;
  readonly message: string;
  readonly requestId?: string;
  readonly details?: readonly string[];
  readonly validation?: FailureFacts['validation'];
}

/** @returns the text of a refusal with its values filled in, as on the wire and in a failed task */
export function describeRefusal(error: ServiceError): { status: number; message: string } {
  const { status, message } = REFUSALS[error.code];
  const fill = (_: string, digit: string) => String(error.facts.values?.[Number(digit) - 1] ?? '');
  return { status, message: message.replace(/\$(\d)/g, fill) };
}

export function replyWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toRefusal(error, projectOf(request));
  const send = (body: FailureBody) => {
    request.failure = body;
    return reply.code(body.code).type('application/json; charset=utf-8').send(JSON.stringify(body));
  };
  const status = 'failure';
  if (refusal === undefined) {
    request.log.error({ err: error }, 'unexpected error; the request is answered 500');
    const requestId = request.id;
    return send({ status, code: 500, reason: 'unexpected', message: 'Internal Server Error', requestId });
  }
  logFault(request, refusal);
  const { retryAfterSeconds, allow, validation } = refusal.facts;
  // The details of all refusals are limited here, because each line may repeat a part of the request.
  const details = boundLines(refusal.facts.details ?? [], DETAILS);
  const retry = retryAfterSeconds ?? RETRY_SECONDS[refusal.code];
  if (retry !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retry)));
  if (allow !== undefined) reply.header('allow', allow.join(', '));
  if (ENDS_CONNECTION.has(refusal.code)) reply.header('connection', 'close');
  const { status: code, message } = describeRefusal(refusal);
  if (code === 401) reply.header('www-authenticate', 'Bearer');
  return send({
    // The first member, because some clients show only the beginning of a body.
    ...(validation && { validation }),
    status,
    code,
    reason: refusal.code,
    message,
    requestId: request.id,
    ...(details.length > 0 && { details }),
  });
}

const projectOf = (request: FastifyRequest) => (request as Partial<FastifyRequest>).project?.id;

/** Logs faults that an operator must fix. */
function logFault(request: FastifyRequest, refusal: ServiceError): void {
  const { code, facts } = refusal;
  if (code === 'storage_failed')
    request.log.error({ err: refusal }, 'the disk reports errors; the request is answered 503');
  // If there is no cause, the catalog was already marked as damaged, and the log says so.
  if (code === 'catalog_damaged' && facts.cause !== undefined)
    request.log.error(
      { err: refusal, project: projectOf(request) },
      'reading a catalog file failed; the request is answered 503',
    );
}

/** Converts any thrown value to a refusal. Undefined means a bug. */
function toRefusal(thrown: unknown, projectId: number | undefined): ServiceError | undefined {
  const error = translateSqliteError(thrown, projectId);
  if (error instanceof ServiceError) return error;
  const { code, validation, validationContext } = (error ?? {}) as Partial<FastifyError>;
  if (validation !== undefined) {
    const details = describeSchemaErrors(validation);
    const isOfBody = validationContext === 'body';
    return new ServiceError(isOfBody ? 'request_invalid' : 'query_invalid', { details, cause: error });
  }
  const isUnreadable = code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH';
  return isUnreadable ? new ServiceError('not_found') : undefined;
}

interface Schema {
  readonly [keyword: string]: unknown;
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface SchemaError {
  readonly keyword?: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** The violated schema, as the validator of bodies reports it. */
  readonly parentSchema?: Schema;
}

/** Lists each mistake with its path, for the details of a refusal. Adds what the validator's message omits. */
export function describeSchemaErrors(reported: readonly SchemaError[]): string[] {
  const errors = joinChoices(reported);
  const forms = errors.find(isOfForms)?.parentSchema;
  if (forms === undefined) return errors.map(describe);
  const inside = errors.filter(({ instancePath }) => instancePath !== '');
  if (inside.length > 0) return inside.map(describe);
  return [`must be ${forms.anyOf?.map(({ type }) => type).join(' or ')}: ${forms.description}`];
}

/**
 * Joins the mistakes of a choice of values into one mistake that lists all values, because the validator reports each
 * value and the choice itself.
 */
function joinChoices(errors: readonly SchemaError[]): SchemaError[] {
  const choices = errors.filter(({ keyword }) => keyword === 'const');
  const byPath = Map.groupBy(choices, ({ instancePath }) => instancePath);
  const reported = new Set<string>();
  return errors.flatMap((error) => {
    const allowedValues = byPath.get(error.instancePath)?.map(({ params }) => params?.allowedValue);
    if (allowedValues === undefined || !OF_CHOICES.has(error.keyword)) return [error];
    if (reported.has(error.instancePath)) return [];
    reported.add(error.instancePath);
    const message = 'must be equal to one of the allowed values';
    return [{ instancePath: error.instancePath, keyword: 'enum', message, params: { allowedValues } }];
  });
}

const OF_CHOICES: ReadonlySet<string | undefined> = new Set(['const', 'type', 'anyOf']);

/**
 * Whether an error reports that a body fits none of its forms. The validator then also reports the mistakes of each
 * form, even of forms that the caller does not mean.
 */
const isOfForms = ({ keyword, instancePath, parentSchema }: SchemaError) =>
  keyword === 'anyOf' && instancePath === '' && parentSchema?.description !== undefined;

function describe(error: SchemaError): string {
  const { keyword, instancePath, message = '', params = {} } = error;
  const { additionalProperty, allowedValues, tag } = params;
  const listed = Array.isArray(allowedValues) ? allowedValues.join(', ') : undefined;
  const values = keyword === 'discriminator' ? listKinds(error) : listed;
  if (params.error === 'mapping') return `${instancePath}/${tag} must be one of: ${values}`;
  const more = additionalProperty ?? values;
  return `${instancePath} ${message}${more === undefined ? '' : `: ${more}`}`;
}

/** An object that has several forms, distinguished by one of its fields. */
const listKinds = ({ params = {}, parentSchema }: SchemaError) =>
  parentSchema?.oneOf
    ?.map(({ properties }) => properties?.[String(params.tag)])
    .flatMap((kind) => kind?.enum ?? [kind?.const])
    .join(', ');

/** A nullable value. The description states what null means. */
export const orNull = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** A word of a closed list. */
export const oneOf = <const Words extends readonly string[]>(words: Words, description?: string) =>
  Type.Unsafe<Words[number]>({
    type: 'string',
    enum: words,
    ...(description !== undefined && { description }),
  });

/** An object without other members than the named ones. */
export const closedObject = <Members extends TProperties>(members: Members) =>
  Type.Object(members, { additionalProperties: false });

/** The same, with a name in docs/openapi.json. */
export const closedAs = <Members extends TProperties>(title: string, members: Members) =>
  Type.Object(members, { additionalProperties: false, title });

/** A schema with a name in docs/openapi.json. */
export const titled = <Members extends TProperties>(title: string, members: Members) =>
  Type.Object(members, { title });

/** Source: docs/interface §7.3. */
const ProductViolation = titled('ProductViolation', {
  product: orNull(
    Type.Object({ identifier: orNull(Type.String()), index: Type.Integer() }),
    'null for the body as a whole, and for the number of further bad products',
  ),
  schemaErrors: Type.Array(Type.String()),
  errors: Type.Array(Type.String()),
});

/** Source: docs/interface §7.1. */
export const ErrorAnswer = titled('Error', {
  status: Type.Literal('failure'),
  code: Type.Integer({ description: 'the HTTP status' }),
  reason: oneOf(REASONS, 'one word for programs; the list is closed'),
  message: Type.String(),
  requestId: Type.Optional(Type.String()),
  details: Type.Optional(Type.Array(Type.String())),
  validation: Type.Optional(Type.Array(ProductViolation, { description: 'one element per bad product' })),
});

/** The largest exact integer. Beyond it numbers are inexact, and databases reject much larger ones. */
const maximum = Number.MAX_SAFE_INTEGER;

export const Id = Type.Integer({ minimum: 1, maximum });

/** A project id in a query. The id 0 is refused like a project that does not exist. */
export const projectIdOf = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }));

/** Source: docs/interface §4.10. */
export const ProjectQuery = Type.Object({
  projectId: projectIdOf('the project; not needed by a key that can access exactly one'),
});

/** For paths below a project. */
export const ProjectParams = Type.Object({ id: Id });

/** Every list is paged. Source: docs/interface §8. */
export const ListQuery = pageQuery({ default: 100 });

function pageQuery(limit: TNumberOptions) {
  const description = 'nextCursor of the previous page';
  return Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, ...limit })),
    cursor: Type.Optional(Type.String({ maxLength: 2048, description })),
  });
}

/** Checks only the form that `type` names, so that mistakes are reported for that form alone. */
export function byType<Value>({ anyOf }: { readonly anyOf: readonly TSchema[] }, title: string) {
  const discriminator = { propertyName: 'type' };
  return Type.Unsafe<Value>({ type: 'object', title, required: ['type'], discriminator, oneOf: anyOf });
}

/** The answer to a request that reports only success. */
export const successAnswer = { status: 'success' } as const;
export const DoneAnswer = Type.Object({ status: Type.Literal(successAnswer.status) });

/** For a list that is returned in full unless a page is requested. */
export const PageQuery = pageQuery({ description: 'elements of a page; default: all of them' });

/**
 * @returns a page of elements in the order of `placeOf`
 * @throws query_invalid for a cursor that this list never returned
 */
export function cutPage<Element>(
  all: readonly Element[],
  { limit = all.length, cursor }: { limit?: number; cursor?: string },
  placeOf: (element: Element, index: number) => number,
): { page: Element[]; nextCursor: string | null } {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor))
    throw new ServiceError('query_invalid', '/cursor must be the nextCursor of the previous page');
  const after = cursor === undefined ? -1 : Number(cursor);
  const rest = all
    .map((element, index) => ({ element, place: placeOf(element, index) }))
    .filter(({ place }) => place > after);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = rest.length > page.length && last !== undefined ? String(last.place) : null;
  return { page: page.map(({ element }) => element), nextCursor };
}

/** Documents the header of a route that calls `readIfMatch`. Source: docs/interface §7.6. */
export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      description: 'the ETag of the state to replace; 412 if the present state has another one',
    }),
  ),
});

/** An entity tag without its quotes, and the comma after it. Source: RFC 9110 §8.8.3. */
const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/;

/**
 * @returns the states that a change may replace. A weak tag names no state, so it never matches.
 * @throws query_invalid for a header that is not a list of entity tags
 */
export function readIfMatch(request: FastifyRequest): ExpectedStates {
  const header = request.headers['if-match']?.trim();
  if (header === undefined || header === '' || header === '*') return undefined;
  const marks: string[] = [];
  for (let remaining = header; remaining !== ''; ) {
    const match = TAG.exec(remaining);
    if (match === null) {
      throw new ServiceError('query_invalid', 'If-Match must be * or ETags, such as "abc"');
    }
    if (match[1] === undefined) marks.push(match[2] ?? '');
    remaining = remaining.slice(match[0].length);
  }
  return marks;
}

/** Whether the caller of a GET already has this answer. Source: docs/interface §7.6 rule 6. */
export function hasAlready(request: FastifyRequest, reply: FastifyReply): boolean {
  const header = request.headers['if-none-match']?.trim();
  const mark = reply.getHeader('etag');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead || !header || mark === undefined || reply.statusCode !== 200) return false;
  return namesTag(header, mark);
}

/** Sends the ETag of the returned state. */
export function sendMark(reply: FastifyReply, mark: string): void {
  reply.header('etag', `"${mark}"`);
}

export const Instant = Type.Integer({ description: 'epoch milliseconds' });

/** A name chosen by people. Databases reject NUL. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' });

export const pageOf = <Element extends TSchema>(element: Element, description?: string) =>
  Type.Object({
    items: Type.Array(element, description === undefined ? {} : { description }),
    nextCursor: orNull(Type.String(), 'null when nothing follows'),
  });
