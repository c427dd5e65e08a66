/**
 * The status and the text of every refusal, by code. `$1`, `$2`, … in a text are replaced by the values of the error.
 * Source: docs/interface §7.4.
 */
const TEXTS = {
  400: {
    password_wrong: 'The current password is wrong',
    link_ended: 'The link is not valid: it was used or replaced, or has expired',
    attempt_ended: 'This sign-in has ended or began in another window, begin it again here',
    project_required: 'The query parameter projectId is required',
    bad_request: 'Bad Request',
    query_invalid: 'Your query params are not valid',
    request_invalid: 'Your body params are not valid',
    product_invalid: 'Your body params are not valid',
    body_not_json: 'The body is not valid JSON',
    body_not_unpacked: 'The body is not valid $1',
    too_many_products: 'The request holds $1 products, at most $2 are accepted at once',
    too_many_identifiers: 'The request holds $1 identifiers, at most $2 are accepted at once',
    no_products: 'You have to send at least one product',
    no_known_identifier: 'You have to send at least one known product identifier to delete products',
    full_update_missing: 'No full update is open, initiate one first',
    full_update_other: 'The open full update is $1, not $2',
    full_update_replaced:
      'Full update $1, which you began, was replaced by full update $2, which another key or user began: begin a new one, and let one program at a time update a project',
    full_update_foreign:
      'Full update $1 is open, and another key or user began it: begin one of your own, or name this one with fullUpdateId=$1',
    full_update_ended:
      'The first request with this Idempotency-Key belongs to full update $1, which is no longer open: send the request with a new key',
    full_update_empty: 'The full update holds no products, upload at least one batch',
    full_update_batch_failed: 'The last batch of the full update failed, send it again before the commit',
    full_update_in_doubt:
      'A batch of the full update may have been refused without a trace: send the last batch again, or say with batches or products how many were accepted',
    full_update_incomplete:
      'The full update holds $1 $2, the request says $3: send what is missing, or begin a new one',
    full_update_started: 'The full update was started already by task $1',
    delete_guard:
      'The last full update has been rejected because the number of products was significantly lower than before.',
    deletes_not_exact: 'The $1 would delete $2 $3, allowDeletes says $4 and must be exactly $2',
    nothing_to_restore: 'There is no commit or delete left that could be restored',
    search_too_broad: 'More than $1 products match, narrow the search to sort it by an attribute',
    search_too_long:
      'The search took longer than $1 seconds, ask for less at once or narrow the search or relation',
    confirm_missing: 'Deleting a project needs the query parameter confirm with its exact name',
    memory_exceeded:
      'This needed more than the $1 MiB of memory that a thread has: ask for less at once, or send smaller products',
    answer_too_large: 'The answer would be larger than $1 MiB, ask for fewer products at once',
    pipeline_file_missing: 'The source of this pipeline is a file that is sent in, send one to /upload',
    source_unreadable: 'The source cannot be read',
    format_unreadable: 'The file cannot be read in the format of the pipeline',
    mapping_unfit: 'The mapping does not fit the source',
    rows_rejected: 'Rows were rejected, the run changed nothing',
    products_too_few:
      'The source holds $1 products, this pipeline requires at least $2; the run changed nothing',
    channel_served: 'A channel of the format $1 is served live, it is never built',
    channel_unfit: 'The channel does not fit the catalog, nothing was published',
    channel_rows_left_out: 'Too many products lack what the format requires, nothing was published',
    channel_shrunk:
      'The build has $1 rows and the published one $2, which is too great a loss; nothing was published',
    channel_undelivered: 'What the channel made is published, and was not delivered to every destination',
  },
  401: {
    token_missing: 'No token set',
    scope_refused: 'You are not allowed to access the requested resource',
    not_signed_in: 'You are not signed in',
    sign_in_refused: 'The e-mail address or the password is wrong',
    provider_refused: 'The sign-in provider did not sign you in',
    passkey_refused: 'The passkey was not accepted, begin again with the password',
    key_beyond_own: 'You are not allowed to access the requested resource',
    webhook_token_missing: 'Missing authorization header',
    webhook_refused: 'Wrong authentication credentials',
  },
  403: {
    csrf_refused:
      'A request with a console session needs the header X-CSRF-Token with the csrfToken of the session',
    host_refused:
      'The request names another host: set RELATA_PUBLIC_URL where a proxy is in front of the service',
    origin_refused: 'The request comes from another origin',
    role_refused: 'Your role does not allow this',
    no_role: 'Your company account has no role here',
  },
  404: {
    company_sign_in_absent: 'Sign-in with a company account is not set up here',
    not_found: 'Not Found',
    search_absent:
      'There is nothing at this address: a shop searches at /search and /search/suggestions, other programs at /search/products',
    console_missing:
      'The console is not built here: run npm ci && npm run build, then start the service again',
  },
  405: { method_not_allowed: 'Method Not Allowed' },
  408: {
    body_stalled: 'The body stalled for $1 seconds',
    body_slow: 'The body came too slowly: send at least 1 MiB a minute, and all of it within $1 seconds',
  },
  409: {
    email_taken: 'There is a user with this e-mail address already',
    role_of_groups: 'The groups of the company account decide the role of this user',
    last_owner: 'An account keeps its last owner',
    table_exists: 'There is a table $1 already',
    table_in_use: 'Relations use the table $1, change or delete them first',
    links_of_rule: 'The relation $1 is a rule, only a relation of links has links',
    relation_not_ready: 'The relation answers nothing yet',
    task_ended: 'The task has ended already',
    task_uploading: 'An upload cannot be cancelled, initiate a new full update instead',
    task_taking_effect: 'The task is taking effect already',
    group_not_empty: 'The project group still holds projects',
    answer_not_kept:
      'The first request with this Idempotency-Key was done, its answer was too large to keep: read what there is now',
    pipeline_busy: 'The pipeline is running, wait for its run or cancel it first',
    secret_unreadable:
      'A stored secret cannot be decrypted: give the service the key it had (RELATA_SECRET_KEYS), or enter the secret again',
    channel_busy: 'The channel is being built, wait for the build or cancel it first',
  },
  412: { changed_meanwhile: 'It was changed meanwhile' },
  413: { body_too_large: 'The body is larger than $1 MiB' },
  414: { uri_too_long: 'URI Too Long' },
  415: { body_encoding: 'Content-Encoding can be gzip, zstd, br or absent' },
  417: { expectation_failed: 'Expectation Failed' },
  422: { idempotency_key_reused: 'This Idempotency-Key was used with another request within 24 hours' },
  429: {
    sign_in_limited: 'Too many attempts with a password, try again later',
    rate_limited: 'Too Many Requests',
    too_many_looks: 'Too Many Requests',
    channel_budget_used:
      'The callers of this channel share $1 MiB and $2 s of reading a minute and $3 requests at once, which are used up: ask again later',
    too_many_pipelined: 'Too Many Requests',
    too_many_waits: 'Too Many Requests',
    answers_unread: 'Too Many Requests',
    pipeline_running: 'Too Many Requests',
    pipeline_too_soon: 'Too Many Requests',
    channel_building: 'Too Many Requests',
  },
  431: { headers_too_large: 'Request Header Fields Too Large' },
  500: {
    payload_damaged: 'The stored payload $1 is damaged, the disk has changed or lost it: send it again',
  },
  503: {
    sign_in_unstored: 'The disk is full, so nobody can sign in with a password: make room, or use an API key',
    provider_unavailable: 'The sign-in provider cannot be reached, try again later',
    full_update_arriving: '$1 still arriving, commit it once every upload is answered',
    search_not_ready: 'The index of search is being made, try again in some seconds',
    secret_key_missing:
      'The service has no key to encrypt secrets with: set RELATA_SECRET_KEYS and start it again, or leave the secrets out',
    catalog_damaged:
      'The catalog of project $1 is damaged, or being checked because a read failed: restore it from a backup if this stays (docs/operating/backup.md, "A damaged catalog")',
    question_too_long:
      'The question took longer than $1 seconds and was stopped: try again later, or ask for less at once',
    catalog_foreign:
      'The catalog file of project $1 belongs to another project or installation, so it is not served: restore the project from a backup (docs/operating/backup.md, "A catalog file of another project")',
    storage_failed: 'The disk reports errors, nothing of this request was stored',
    schema_moved:
      'A newer version of the service has taken over the database, this process writes nothing any more',
    standby: 'This service is a standby and takes no changes, send them to the one that writes',
    superseded: 'Another service was promoted and writes in place of this one, send changes there',
    not_ready: 'Service Unavailable',
  },
  507: { storage_full: 'The disk is full, nothing of this request was stored' },
} satisfies Record<number, Readonly<Record<string, string>>>;

type Texts = typeof TEXTS;
type Code = { [Status in keyof Texts]: keyof Texts[Status] }[keyof Texts];

export const REFUSALS = Object.fromEntries(
  Object.entries(TEXTS).flatMap(([status, texts]) =>
    Object.entries(texts).map(([code, message]) => [code, { status: Number(status), message }]),
  ),
) as Readonly<Record<Code, { readonly status: number; readonly message: string }>>;
