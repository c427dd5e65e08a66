/**
 * Every refusal that the service makes on purpose: its code, and its status and text on the wire. `$1`, `$2`, … of a text are filled
 * from the values of the error. Source: docs/interface.md §7.4.
 */
export const REFUSALS = {
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
  host_refused: {
    status: 403,
    message: 'The request names another host: set RELATA_PUBLIC_URL where a proxy is in front of the service',
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
      'There is nothing at this address: a shop searches at /search and /search/suggestions, other programs at /search/products',
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
  table_exists: { status: 409, message: 'There is a table $1 already' },
  table_in_use: { status: 409, message: 'Relations use the table $1, change or delete them first' },
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
  channel_served: {
    status: 400,
    message: 'A channel of the format $1 is served live, it is never built',
  },
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
  standby: {
    status: 503,
    message: 'This service is a standby and takes no changes, send them to the one that writes',
  },
  superseded: {
    status: 503,
    message: 'Another service was promoted and writes in place of this one, send changes there',
  },
  not_ready: { status: 503, message: 'Service Unavailable' },
} satisfies Record<string, { readonly status: number; readonly message: string }>;
