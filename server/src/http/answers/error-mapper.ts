import type { FastifyReply, FastifyRequest } from 'fastify';
import { boundLines } from '../../kernel/bounded-lines.ts';
import { type FailureCode, type FailureFacts, ServiceError } from '../../kernel/errors.ts';
import { translateSqliteError } from '../../storage/storage.ts';

/** Source: docs/interface.md §8. */
const DETAILS = { most: 100, bytes: 32 * 1024 };

interface WireText {
  readonly status: number;
  /** `$1`, `$2`, … are filled from the failure's values. */
  readonly message: string;
}

/** The only place that knows how a refusal looks on the wire. Source: docs/interface.md §7.4. */
const onTheWire = {
  token_missing: { status: 401, message: 'No token set' },
  scope_refused: { status: 401, message: 'You are not allowed to access the requested resource' },
  not_signed_in: { status: 401, message: 'You are not signed in' },
  sign_in_refused: { status: 401, message: 'The e-mail address or the password is wrong' },
  sign_in_limited: { status: 429, message: 'Too many attempts with a password, try again later' },
  sign_in_unstored: {
    status: 503,
    message: 'The disk is full, so nobody can sign in with a password: make room, or use an API key',
  },
  password_wrong: { status: 400, message: 'The current password is wrong' },
  csrf_refused: {
    status: 403,
    message:
      'A request with a console session needs the header X-CSRF-Token with the csrfToken of the session',
  },
  origin_refused: { status: 403, message: 'The request comes from another origin' },
  role_refused: { status: 403, message: 'Your role does not allow this' },
  link_ended: { status: 400, message: 'The link is not valid: it was used or replaced, or has expired' },
  email_taken: { status: 409, message: 'There is a user with this e-mail address already' },
  company_sign_in_absent: { status: 404, message: 'Sign-in with a company account is not set up here' },
  provider_unavailable: { status: 503, message: 'The sign-in provider cannot be reached, try again later' },
  provider_refused: { status: 401, message: 'The sign-in provider did not sign you in' },
  attempt_ended: {
    status: 400,
    message: 'This sign-in has ended or began in another window, begin it again here',
  },
  no_role: { status: 403, message: 'Your company account has no role here' },
  passkey_refused: { status: 401, message: 'The passkey was not accepted, begin again with the password' },
  role_of_groups: { status: 409, message: 'The groups of the company account decide the role of this user' },
  last_owner: { status: 409, message: 'An account keeps its last owner' },
  project_required: { status: 400, message: 'The query parameter projectId is required' },
  bad_request: { status: 400, message: 'Bad Request' },
  query_invalid: { status: 400, message: 'Your query params are not valid' },
  request_invalid: { status: 400, message: 'Your body params are not valid' },
  product_invalid: { status: 400, message: 'Your body params are not valid' },
  body_not_json: { status: 400, message: 'The body is not valid JSON' },
  body_not_unpacked: { status: 400, message: 'The body is not valid $1' },
  body_encoding: { status: 415, message: 'Content-Encoding can be gzip, zstd, br or absent' },
  body_too_large: { status: 413, message: 'The body is larger than $1 MiB' },
  body_stalled: { status: 408, message: 'The body stalled for $1 seconds' },
  body_slow: {
    status: 408,
    message: 'The body came too slowly: send at least 1 MiB a minute, and all of it within $1 seconds',
  },
  too_many_products: {
    status: 400,
    message: 'The request holds $1 products, at most $2 are accepted at once',
  },
  too_many_identifiers: {
    status: 400,
    message: 'The request holds $1 identifiers, at most $2 are accepted at once',
  },
  no_products: { status: 400, message: 'You have to send at least one product' },
  no_known_identifier: {
    status: 400,
    message: 'You have to send at least one known product identifier to delete products',
  },
  full_update_missing: { status: 400, message: 'No full update is open, initiate one first' },
  full_update_other: { status: 400, message: 'The open full update is $1, not $2' },
  full_update_empty: { status: 400, message: 'The full update holds no products, upload at least one batch' },
  full_update_arriving: {
    status: 503,
    message: '$1 still arriving, commit it once every upload is answered',
  },
  full_update_batch_failed: {
    status: 400,
    message: 'The last batch of the full update failed, send it again before the commit',
  },
  full_update_in_doubt: {
    status: 400,
    message:
      'A batch of the full update may have been refused without a trace: send the last batch again, or say with batches or products how many were accepted',
  },
  full_update_incomplete: {
    status: 400,
    message: 'The full update holds $1 $2, the request says $3: send what is missing, or begin a new one',
  },
  full_update_started: { status: 400, message: 'The full update was started already by task $1' },
  delete_guard: {
    status: 400,
    message:
      'The last full update has been rejected because the number of products was significantly lower than before.',
  },
  deletes_not_exact: {
    status: 400,
    message: 'The $1 would delete $2 $3, allowDeletes says $4 and must be exactly $2',
  },
  nothing_to_restore: { status: 400, message: 'There is no commit or delete left that could be restored' },
  not_found: { status: 404, message: 'Not Found' },
  search_absent: {
    status: 404,
    message:
      'There is no search by text and no suggestions at this address: products are found under /search/products, related ones under /search/relations',
  },
  search_not_ready: {
    status: 503,
    message: 'The index of search is being made, try again in some seconds',
  },
  search_too_broad: {
    status: 400,
    message: 'More than $1 products match, narrow the search to sort it by an attribute',
  },
  console_missing: {
    status: 404,
    message: 'The console is not built here: run npm ci && npm run build, then start the service again',
  },
  method_not_allowed: { status: 405, message: 'Method Not Allowed' },
  links_of_rule: { status: 409, message: 'The relation $1 is a rule, only a relation of links has links' },
  relation_not_ready: { status: 409, message: 'The relation answers nothing yet' },
  search_too_long: {
    status: 400,
    message: 'The search took longer than $1 seconds, ask for less at once or narrow the search or relation',
  },
  task_ended: { status: 409, message: 'The task has ended already' },
  task_uploading: {
    status: 409,
    message: 'An upload cannot be cancelled, initiate a new full update instead',
  },
  task_taking_effect: { status: 409, message: 'The task is taking effect already' },
  group_not_empty: { status: 409, message: 'The project group still holds projects' },
  confirm_missing: {
    status: 400,
    message: 'Deleting a project needs the query parameter confirm with its exact name',
  },
  key_beyond_own: { status: 401, message: 'You are not allowed to access the requested resource' },
  changed_meanwhile: { status: 412, message: 'It was changed meanwhile' },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used with another request within 24 hours',
  },
  answer_not_kept: {
    status: 409,
    message:
      'The first request with this Idempotency-Key was done, its answer was too large to keep: read what there is now',
  },
  uri_too_long: { status: 414, message: 'URI Too Long' },
  headers_too_large: { status: 431, message: 'Request Header Fields Too Large' },
  rate_limited: { status: 429, message: 'Too Many Requests' },
  too_many_looks: { status: 429, message: 'Too Many Requests' },
  expectation_failed: { status: 417, message: 'Expectation Failed' },
  too_many_pipelined: { status: 429, message: 'Too Many Requests' },
  too_many_waits: { status: 429, message: 'Too Many Requests' },
  answers_unread: { status: 429, message: 'Too Many Requests' },
  answer_too_large: {
    status: 400,
    message: 'The answer would be larger than $1 MiB, ask for fewer products at once',
  },
  webhook_token_missing: { status: 401, message: 'Missing authorization header' },
  webhook_refused: { status: 401, message: 'Wrong authentication credentials' },
  pipeline_busy: { status: 409, message: 'The pipeline is running, wait for its run or cancel it first' },
  pipeline_running: { status: 429, message: 'Too Many Requests' },
  pipeline_too_soon: { status: 429, message: 'Too Many Requests' },
  pipeline_file_missing: {
    status: 400,
    message: 'The source of this pipeline is a file that is sent in, send one to /upload',
  },
  source_unreadable: { status: 400, message: 'The source cannot be read' },
  format_unreadable: { status: 400, message: 'The file cannot be read in the format of the pipeline' },
  mapping_unfit: { status: 400, message: 'The mapping does not fit the source' },
  rows_rejected: { status: 400, message: 'Rows were rejected, the run changed nothing' },
  products_too_few: {
    status: 400,
    message: 'The source holds $1 products, this pipeline requires at least $2; the run changed nothing',
  },
  secret_key_missing: {
    status: 503,
    message:
      'The service has no key to encrypt secrets with: set RELATA_SECRET_KEYS and start it again, or leave the secrets out',
  },
  secret_unreadable: {
    status: 409,
    message:
      'A stored secret cannot be decrypted: give the service the key it had (RELATA_SECRET_KEYS), or enter the secret again',
  },
  channel_busy: { status: 409, message: 'The channel is being built, wait for the build or cancel it first' },
  channel_building: { status: 429, message: 'Too Many Requests' },
  channel_unfit: { status: 400, message: 'The channel does not fit the catalog, nothing was published' },
  channel_rows_left_out: {
    status: 400,
    message: 'Too many products lack what the format requires, nothing was published',
  },
  channel_shrunk: {
    status: 400,
    message:
      'The build has $1 rows and the published one $2, which is too great a loss; nothing was published',
  },
  channel_undelivered: {
    status: 400,
    message: 'What the channel made is published, and was not delivered to every destination',
  },
  catalog_damaged: {
    status: 503,
    message:
      'The catalog of project $1 is damaged, or being checked because a read failed: restore it from a backup if this stays (docs/operating.md, "A damaged catalog")',
  },
  payload_damaged: {
    status: 500,
    message: 'The stored payload $1 is damaged, the disk has changed or lost it: send it again',
  },
  storage_full: { status: 507, message: 'The disk is full, nothing of this request was stored' },
  storage_failed: { status: 503, message: 'The disk reports errors, nothing of this request was stored' },
  schema_moved: {
    status: 503,
    message:
      'A newer version of the service has taken over the database, this process writes nothing any more',
  },
  not_ready: { status: 503, message: 'Service Unavailable' },
} satisfies Record<FailureCode, WireText>;

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
export const REASONS = [...(Object.keys(onTheWire) as FailureCode[]), ...OTHER_REASONS].sort();

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
export function describeRefusal(error: ServiceError): WireText {
  const { status, message } = onTheWire[error.code];
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
