/**
 * The status and the text of every refusal, by code. `$1`, `$2`, … in a text are replaced by the values of the error.
 * Source: docs/interface §7.4.
 */
const TEXTS = {
  400: {
    password_wrong: 'The current password is wrong',
    link_ended: 'The link is not valid: it was used or replaced, or has expired',
    attempt_ended: 'This sign-in has ended or began in another window: begin it again in this window',
    project_required: 'The query parameter projectId is required',
    bad_request: 'Bad Request',
    query_invalid: 'Your query params are not valid',
    request_invalid: 'Your body params are not valid',
    product_invalid: 'Your body params are not valid',
    body_not_json: 'The body is not valid JSON',
    body_not_unpacked: 'The body is not valid $1',
    too_many_products:
      'The request has $1 products, but at most $2 are accepted: send several smaller requests',
    too_many_identifiers:
      'The request has $1 identifiers, but at most $2 are accepted: send several smaller requests',
    no_products: 'You have to send at least one product',
    no_known_identifier: 'You have to send at least one known product identifier to delete products',
    full_update_missing: 'No full update is open: initiate one first',
    full_update_other:
      'The open full update is $1, not $2: send the id of the open one, or initiate a new one',
    full_update_replaced:
      'Full update $1, which you initiated, was replaced by full update $2 of another key or user: initiate a new one, and let only one program at a time update a project',
    full_update_foreign:
      'Full update $1 is open, but another key or user initiated it: initiate your own, or name this one with fullUpdateId=$1',
    full_update_ended:
      'The first request with this Idempotency-Key belongs to full update $1, which is no longer open: send the request with a new key',
    full_update_empty: 'The full update has no products: upload at least one batch',
    full_update_batch_failed: 'The last batch of the full update failed: send it again before the commit',
    full_update_in_doubt:
      'A refused batch of the full update may not be recorded: send the last batch again, or state the number of accepted batches or products in the request',
    full_update_incomplete:
      'The full update has $1 $2, but the request states $3: send the missing ones, or initiate a new full update',
    full_update_started: 'This full update was already started by task $1: initiate a new one',
    delete_guard:
      'The last full update has been rejected because the number of products was significantly lower than before.',
    deletes_not_exact:
      'The $1 would delete $2 $3, but allowDeletes is $4: send allowDeletes=$2 to confirm these deletes',
    nothing_to_restore: 'There is no commit or delete left to undo',
    search_too_broad:
      'More than $1 products match, which is too many to sort by an attribute: narrow the search',
    search_too_long:
      'The search took longer than $1 seconds: request fewer results, or narrow the search or relation',
    confirm_missing: 'Deleting a project needs the query parameter confirm with its exact name',
    memory_exceeded:
      'The request needed more memory than the $1 MiB of a thread: request less at a time, or send smaller products',
    answer_too_large: 'The answer would be larger than $1 MiB: request fewer products at a time',
    pipeline_file_missing: 'This pipeline reads an uploaded file: send a file to /upload',
    source_unreadable: 'The source cannot be read',
    format_unreadable: 'The file cannot be read in the format of the pipeline',
    mapping_unfit: 'The mapping does not fit the source',
    rows_rejected: 'Rows were rejected, so the run changed nothing',
    products_too_few:
      'The source has $1 products, but this pipeline requires at least $2, so the run changed nothing',
    channel_served: 'A channel of the format $1 is served live and never built',
    channel_unfit: 'The channel does not fit the catalog, so nothing was published',
    channel_rows_left_out:
      'Too many products lack a field that the format requires, so nothing was published',
    channel_shrunk:
      'The build has $1 rows, too few compared with the $2 published ones, so nothing was published',
    channel_undelivered: 'The build was published but not delivered to every destination',
  },
  401: {
    token_missing: 'No token set',
    scope_refused: 'You are not allowed to access the requested resource',
    not_signed_in: 'You are not signed in',
    sign_in_refused: 'The e-mail address or the password is wrong',
    provider_refused: 'The sign-in provider did not sign you in',
    passkey_refused: 'The passkey was not accepted: begin again with the password',
    key_beyond_own: 'You are not allowed to access the requested resource',
    webhook_token_missing: 'Missing authorization header',
    webhook_refused: 'Wrong authentication credentials',
  },
  403: {
    csrf_refused:
      'A request with a console session needs the header X-CSRF-Token with the csrfToken of the session',
    host_refused: 'The Host header does not name this service: behind a proxy, set RELATA_PUBLIC_URL',
    origin_refused: 'The request comes from another origin',
    role_refused: 'Your role does not allow this',
    no_role: 'Your company account has no role in this service',
  },
  404: {
    company_sign_in_absent: 'Sign-in with company accounts is not configured',
    not_found: 'Not Found',
    search_absent:
      'There is no search at this address: shops search at /search and /search/suggestions, other programs at /search/products',
    console_missing: 'The console is not built: run npm ci && npm run build, then restart the service',
  },
  405: { method_not_allowed: 'Method Not Allowed' },
  408: {
    body_stalled: 'No byte of the body arrived for $1 seconds',
    body_slow: 'The body arrived too slowly: send at least 1 MiB a minute, and all of it within $1 seconds',
  },
  409: {
    email_taken: 'A user with this e-mail address already exists',
    role_of_groups:
      'The groups of the company account determine the role of this user: change the groups at the sign-in provider',
    last_owner: 'An account needs an owner who signs in with a password',
    table_exists: 'The table $1 already exists',
    table_in_use: 'Relations use the table $1: change or delete them first',
    links_of_rule: 'The relation $1 is a rule: only a relation of links has links',
    relation_not_ready: 'The relation has no results yet: try again when it is built',
    task_ended: 'The task has already ended',
    task_uploading: 'An upload cannot be cancelled: initiate a new full update instead',
    task_taking_effect: 'The task is already taking effect',
    group_not_empty: 'The project group still has projects, or deleted projects that can be restored',
    answer_not_kept:
      'The first request with this Idempotency-Key was done, but its answer was too large to store: read the present state',
    pipeline_busy: 'The pipeline is running: wait for its run, or cancel it first',
    secret_unreadable:
      'A stored secret cannot be decrypted: add its key to RELATA_SECRET_KEYS, or enter the secret again',
    channel_busy: 'The channel is being built: wait for the build, or cancel it first',
  },
  412: {
    changed_meanwhile: 'The resource was changed since it was read: read it again, then repeat the change',
  },
  413: { body_too_large: 'The body is larger than $1 MiB' },
  414: { uri_too_long: 'URI Too Long' },
  415: { body_encoding: 'Content-Encoding must be gzip, zstd, br or absent' },
  417: { expectation_failed: 'Expectation Failed' },
  422: {
    idempotency_key_reused:
      'This Idempotency-Key was used with another request within 24 hours: send a new key',
  },
  429: {
    sign_in_limited: 'Too many attempts with a password: try again later',
    rate_limited: 'Too Many Requests',
    too_many_looks: 'Too Many Requests',
    channel_budget_used:
      'The callers of this channel together may read $1 MiB and use $2 s a minute, with $3 requests at a time: try again later',
    too_many_pipelined: 'Too Many Requests',
    too_many_waits: 'Too Many Requests',
    answers_unread: 'Too Many Requests',
    pipeline_running: 'Too Many Requests',
    pipeline_too_soon: 'Too Many Requests',
    channel_building: 'Too Many Requests',
  },
  431: { headers_too_large: 'Request Header Fields Too Large' },
  500: {
    payload_damaged: 'The disk has damaged or lost the stored payload $1: send it again',
  },
  503: {
    sign_in_unstored:
      'The disk is full, so signing in with a password is not possible: free some space, or use an API key',
    provider_unavailable: 'The sign-in provider cannot be reached: try again later',
    full_update_arriving: '$1 still arriving: commit when every upload is answered',
    search_not_ready: 'The index of search is being built: try again in a few seconds',
    secret_key_missing:
      'The service has no key to encrypt secrets: set RELATA_SECRET_KEYS and restart it, or send no secrets',
    catalog_damaged:
      'The catalog of project $1 is damaged, or is being checked after a failed read: if this persists, restore it from a backup (docs/operating/backup.md, "A damaged catalog")',
    question_too_long:
      'The request took longer than $1 seconds and was stopped: try again later, or request less at a time',
    catalog_foreign:
      'The catalog file of project $1 belongs to another project or installation, so it is not served: restore the project from a backup (docs/operating/backup.md, "A catalog file of another project")',
    storage_failed: 'The disk reports errors, so nothing of this request was stored',
    schema_moved:
      'A newer version of the service has migrated the database, so this process no longer writes: send changes to the newer version',
    standby: 'This service is a standby and accepts no changes: send them to the service that writes',
    superseded: 'Another service was promoted and writes instead of this one: send changes to that service',
    not_ready: 'Service Unavailable',
  },
  507: { storage_full: 'The disk is full, so nothing of this request was stored' },
} satisfies Record<number, Readonly<Record<string, string>>>;

type Texts = typeof TEXTS;
type Code = { [Status in keyof Texts]: keyof Texts[Status] }[keyof Texts];

export const REFUSALS = Object.fromEntries(
  Object.entries(TEXTS).flatMap(([status, texts]) =>
    Object.entries(texts).map(([code, message]) => [code, { status: Number(status), message }]),
  ),
) as Readonly<Record<Code, { readonly status: number; readonly message: string }>>;
