import type { FastifyReply, FastifyRequest } from 'fastify';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { type FailureCode, type FailureFacts, ServiceError } from '../../kernel/errors.ts';
import { REFUSALS } from '../../kernel/refusals.ts';
import { translateSqliteError } from '../../storage/storage.ts';

/** Source: docs/interface.md §8. */
const DETAILS = { most: 100, bytes: 32 * 1024 };

/** What follows on the connection is the rest of an unread body, or requests without a waiting sender. */
const ENDS_CONNECTION: ReadonlySet<FailureCode> = new Set([
  'body_stalled',
  'body_slow',
  'body_too_large',
  'too_many_pipelined',
]);

/** Of what an operator has to mend: sending it again sooner only adds to it. */
const RETRY_SECONDS: Partial<Record<FailureCode, number>> = { storage_full: 60, catalog_damaged: 60 };

/** Failures that no code stands for: those of the service, and of requests that reach no route. */
const OTHER_REASONS = ['unexpected', 'request_timeout'] as const;

/** The closed list of what a failure may be called. Source: docs/interface.md §7.7. */
export type Reason = FailureCode | (typeof OTHER_REASONS)[number];
export const REASONS = [...(Object.keys(REFUSALS) as FailureCode[]), ...OTHER_REASONS].sort();

/** The body of every error answer. Source: docs/interface.md §7.1. */
export interface FailureBody {
  readonly status: 'failure';
  readonly code: number;
  readonly reason: Reason;
  readonly message: string;
  readonly requestId?: string;
  readonly details?: readonly string[];
  readonly validation?: FailureFacts['validation'];
}

/** @returns the text of a refusal with its values filled in, as the wire and a failed task show it. */
export function describeRefusal(error: ServiceError): { status: number; message: string } {
  const { status, message } = REFUSALS[error.code];
  const fill = (_: string, place: string) => String(error.facts.values?.[Number(place) - 1] ?? '');
  return { status, message: message.replace(/\$(\d)/g, fill) };
}

export function replyWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = toRefusal(error, projectOf(request));
  if (refusal === undefined) {
    request.log.error({ err: error }, 'unexpected error');
    const body: FailureBody = {
      status: 'failure',
      code: 500,
      reason: 'unexpected',
      message: 'Internal Server Error',
      requestId: request.id,
    };
    request.failure = body;
    return reply.code(500).type('application/json; charset=utf-8').send(JSON.stringify(body));
  }
  logFault(request, refusal);
  const { retryAfterSeconds, allow, validation } = refusal.facts;
  // In one place for all refusals: each of their lines may repeat what was sent.
  const details = boundLines(refusal.facts.details ?? [], DETAILS);
  const retry = retryAfterSeconds ?? RETRY_SECONDS[refusal.code];
  if (retry !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retry)));
  if (allow !== undefined) reply.header('allow', allow.join(', '));
  if (ENDS_CONNECTION.has(refusal.code)) reply.header('connection', 'close');
  const { status, message } = describeRefusal(refusal);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  const body: FailureBody = {
    // First: some clients show no more than the beginning of a body.
    ...(validation && { validation }),
    status: 'failure',
    code: status,
    reason: refusal.code,
    message,
    requestId: request.id,
    ...(details.length > 0 && { details }),
  };
  request.failure = body;
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
}

const projectOf = (request: FastifyRequest) => (request as Partial<FastifyRequest>).project?.id;

/** What an operator has to mend. */
function logFault(request: FastifyRequest, refusal: ServiceError): void {
  const { code, facts } = refusal;
  if (code === 'storage_failed') request.log.error({ err: refusal }, 'the disk reports errors');
  // Without a cause it was known before, and is in the log.
  if (code === 'catalog_damaged' && facts.cause !== undefined)
    request.log.error({ err: refusal, project: projectOf(request) }, 'the file of a catalog cannot be read');
}

/** Reads a refusal out of whatever was thrown; undefined means a bug. */
function toRefusal(thrown: unknown, projectId: number | undefined): ServiceError | undefined {
  const error = translateSqliteError(thrown, projectId);
  if (error instanceof ServiceError) return error;
  if (isSchemaError(error)) {
    const details = describeSchemaErrors(error.validation);
    const code = error.validationContext === 'body' ? 'request_invalid' : 'query_invalid';
    return new ServiceError(code, { details, cause: error });
  }
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH') {
    return new ServiceError('not_found');
  }
  return undefined;
}

function isSchemaError(error: unknown): error is {
  validation: Parameters<typeof describeSchemaErrors>[0];
  validationContext?: string;
} {
  return error instanceof Error && 'validation' in error && Array.isArray(error.validation);
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
  /** What was broken, as the validator of bodies tells. */
  readonly parentSchema?: Schema;
}

/** Each mistake with its place, for the details of a refusal; what the message of the validator leaves out is added. */
export function describeSchemaErrors(reported: readonly SchemaError[]): string[] {
  const errors = joinChoices(reported);
  const forms = errors.find(isOfForms)?.parentSchema;
  if (forms === undefined) return errors.map(describe);
  const inside = errors.filter(({ instancePath }) => instancePath !== '');
  if (inside.length > 0) return inside.map(describe);
  return [`must be ${forms.anyOf?.map(({ type }) => type).join(' or ')}: ${forms.description}`];
}

/** Every value of a choice tells that it is another one, and the choice that none fits: one mistake, with all values. */
function joinChoices(errors: readonly SchemaError[]): SchemaError[] {
  const values = new Map<string, unknown[]>();
  for (const { keyword, instancePath, params } of errors) {
    if (keyword !== 'const') continue;
    values.set(instancePath, [...(values.get(instancePath) ?? []), params?.allowedValue]);
  }
  const reported = new Set<string>();
  return errors.flatMap((error) => {
    const allowedValues = values.get(error.instancePath);
    if (allowedValues === undefined || !OF_CHOICES.has(error.keyword)) return [error];
    if (reported.has(error.instancePath)) return [];
    reported.add(error.instancePath);
    const message = 'must be equal to one of the allowed values';
    return [{ instancePath: error.instancePath, keyword: 'enum', message, params: { allowedValues } }];
  });
}

const OF_CHOICES: ReadonlySet<string | undefined> = new Set(['const', 'type', 'anyOf']);

/** Of a body in none of its forms: each form has told its mistakes, also those that the caller does not mean. */
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

/** The kinds of an object that one of its fields tells apart. */
const listKinds = ({ params = {}, parentSchema }: SchemaError) =>
  parentSchema?.oneOf
    ?.map(({ properties }) => properties?.[String(params.tag)])
    .flatMap((kind) => kind?.enum ?? [kind?.const])
    .join(', ');
