/**
 * Every refusal the service makes on purpose. `http/answers/error-mapper.ts` gives each its status and its text, so a code
 * without them does not compile. Source: docs/interface.md §7.
 */
export type FailureCode =
  | 'token_missing'
  | 'scope_refused'
  | 'not_signed_in'
  | 'sign_in_refused'
  | 'sign_in_limited'
  | 'sign_in_unstored'
  | 'password_wrong'
  | 'csrf_refused'
  | 'origin_refused'
  | 'role_refused'
  | 'link_ended'
  | 'email_taken'
  | 'company_sign_in_absent'
  | 'provider_unavailable'
  | 'provider_refused'
  | 'attempt_ended'
  | 'no_role'
  | 'passkey_refused'
  | 'role_of_groups'
  | 'last_owner'
  | 'project_required'
  | 'bad_request'
  | 'query_invalid'
  | 'request_invalid'
  | 'product_invalid'
  | 'body_not_json'
  | 'body_not_unpacked'
  | 'body_encoding'
  | 'body_too_large'
  | 'body_stalled'
  | 'body_slow'
  | 'too_many_products'
  | 'too_many_identifiers'
  | 'no_products'
  | 'no_known_identifier'
  | 'full_update_missing'
  | 'full_update_other'
  | 'full_update_arriving'
  | 'full_update_empty'
  | 'full_update_batch_failed'
  | 'full_update_in_doubt'
  | 'full_update_incomplete'
  | 'full_update_started'
  | 'delete_guard'
  | 'deletes_not_exact'
  | 'nothing_to_restore'
  | 'not_found'
  | 'search_absent'
  | 'search_not_ready'
  | 'search_too_broad'
  | 'console_missing'
  | 'method_not_allowed'
  | 'relation_not_ready'
  | 'links_of_rule'
  | 'search_too_long'
  | 'task_ended'
  | 'task_uploading'
  | 'task_taking_effect'
  | 'group_not_empty'
  | 'confirm_missing'
  | 'key_beyond_own'
  | 'changed_meanwhile'
  | 'idempotency_key_reused'
  | 'answer_not_kept'
  | 'uri_too_long'
  | 'headers_too_large'
  | 'rate_limited'
  | 'too_many_looks'
  | 'expectation_failed'
  | 'too_many_pipelined'
  | 'too_many_waits'
  | 'answers_unread'
  | 'answer_too_large'
  | 'webhook_token_missing'
  | 'webhook_refused'
  | 'pipeline_busy'
  | 'pipeline_running'
  | 'pipeline_too_soon'
  | 'pipeline_file_missing'
  | 'source_unreadable'
  | 'format_unreadable'
  | 'mapping_unfit'
  | 'rows_rejected'
  | 'products_too_few'
  | 'secret_key_missing'
  | 'secret_unreadable'
  | 'channel_busy'
  | 'channel_building'
  | 'channel_unfit'
  | 'channel_rows_left_out'
  | 'channel_shrunk'
  | 'channel_undelivered'
  | 'payload_damaged'
  | 'catalog_damaged'
  | 'storage_full'
  | 'storage_failed'
  | 'schema_moved'
  | 'not_ready';

/** One bad product, or the whole body when `product` is null. Source: docs/interface.md §7.3. */
export interface ProductViolation {
  readonly product: { readonly identifier: string | null; readonly index: number } | null;
  readonly schemaErrors: readonly string[];
  readonly errors: readonly string[];
}

export interface FailureFacts {
  /** Fill the places `$1`, `$2`, … of the code's text. */
  readonly values?: readonly (string | number)[];
  /** What was wrong and what to do, safe to show to the caller. */
  readonly details?: readonly string[];
  readonly validation?: readonly ProductViolation[];
  readonly retryAfterSeconds?: number;
  /** Methods of a known path, for the `Allow` header. */
  readonly allow?: readonly string[];
  readonly cause?: unknown;
}

/** A refusal the caller can act on. Anything else that is thrown is a bug and becomes a 500. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: FailureCode;
  readonly facts: FailureFacts;

  constructor(code: FailureCode, facts: FailureFacts = {}) {
    super([code, ...(facts.values ?? []), ...(facts.details ?? [])].join(': '), { cause: facts.cause });
    this.code = code;
    this.facts = facts;
  }
}
