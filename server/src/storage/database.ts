import { type Generated, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';

/** The tables of the control database, as in `server/migrations/control`. Instants are epoch milliseconds. */
export interface ControlSchema {
  account: { id: Generated<number>; name: string; created_at: number };
  project_group: { id: Generated<number>; account_id: number; name: string; created_at: number };
  project: {
    id: Generated<number>;
    account_id: number;
    project_group_id: number;
    name: string;
    locale: string;
    tags: string;
    settings: string;
    created_at: number;
    deleted_at: number | null;
  };
  api_key: {
    id: Generated<number>;
    account_id: number;
    name: string;
    scope_type: 'account' | 'project-group' | 'project';
    scope_id: number | null;
    access: 'page' | 'read' | 'write' | 'manage';
    hash: string;
    first_characters: string;
    created_at: number;
    created_by: string;
    expires_at: number | null;
    requests_per_minute: number | null;
    last_used_at: number | null;
    last_used_in_url_at: number | null;
    rotated_to: number | null;
  };
  console_user: {
    id: Generated<number>;
    account_id: number;
    email: string;
    name: string;
    role: 'owner' | 'editor' | 'viewer' | 'none';
    roles: Generated<string>;
    password_hash: string;
    created_at: number;
    signed_in_at: number | null;
    issuer: string | null;
    subject: string | null;
    passkeys: Generated<number>;
  };
  passkey: {
    id: Generated<number>;
    user_id: number;
    name: string;
    credential_id: string;
    public_key: string;
    counter: number;
    transports: string;
    host: string;
    created_at: number;
    used_at: number | null;
  };
  passkey_challenge: { hash: string; user_id: number; purpose: 'add' | 'sign-in'; expires_at: number };
  console_session: {
    id: Generated<number>;
    user_id: number;
    hash: string;
    created_at: number;
    used_at: number;
    expires_at: number;
    address: string | null;
    user_agent: string | null;
  };
  owner_link: { hash: string; account_id: number; expires_at: number };
  invitation: {
    id: Generated<number>;
    account_id: number;
    email: string;
    role: 'owner' | 'editor' | 'viewer' | 'none';
    roles: Generated<string>;
    hash: string;
    created_at: number;
    created_by: string;
    user_id: number | null;
    expires_at: number;
  };
  password_window: { key: string; attempts: number; ends_at: number };
  audit_log: {
    id: Generated<number>;
    account_id: number;
    project_id: number | null;
    project_group_id: number | null;
    at: number;
    actor: string;
    action: string;
    subject: string;
    details: string;
  };
  task: {
    number: Generated<number>;
    id: string;
    project_id: number;
    project_name: string;
    kind: string;
    name: string;
    origin: string;
    increment_type: string;
    status: string;
    is_ordered: number;
    lane: Generated<string>;
    request_time: number;
    start_time: number;
    finish_time: number | null;
    progress: Generated<number>;
    log_counter: Generated<number>;
    payload: string;
    failure: string | null;
    result: string | null;
    parent: number | null;
    traceparent: string | null;
    leased_by: string | null;
    lease_until: number | null;
    is_cancel_wanted: Generated<number>;
  };
  task_log: { project_id: number; task_number: number; line_number: number; at: number; line: string };
  task_report: { project_id: number; task_number: number; part: number; line_count: number; lines: string };
  full_update: {
    id: Generated<number>;
    project_id: number;
    origin: string;
    state: string;
    last_batch_failed: Generated<number>;
    batch_at: Generated<number>;
    commit_task_id: string | null;
    created_at: number;
  };
  /** The last three are of PostgreSQL alone, which several processes share. */
  upload_process: {
    id: string;
    seen_at: number;
    schema_version: Generated<number>;
    place: Generated<string>;
    takes_batches: Generated<number>;
  };
  arriving_batch: {
    project_id: number;
    full_update_id: number;
    process_id: string;
    number: number;
    after_batch_at: number;
  };
  full_update_batch: {
    project_id: number;
    full_update_id: number;
    batch: number;
    task_id: string;
    payload_name: string;
    encoding: string;
    product_count: number;
  };
  pipeline: {
    id: Generated<number>;
    project_id: number;
    definition: string;
    revision: number;
    trigger_id: string;
    triggered_at: number | null;
    next_run_at: number | null;
    secrets: string | null;
    stamp: string | null;
    created_at: number;
    updated_at: number;
  };
  pipeline_run: {
    project_id: number;
    task_number: number;
    pipeline_id: number;
    task_id: string;
    started_by: string;
    upload: string | null;
    read: string | null;
  };
  channel: {
    id: Generated<number>;
    project_id: number;
    definition: string;
    secrets: string | null;
    revision: number;
    token: string;
    next_build_at: number | null;
    built_version: number | null;
    published: number | null;
    created_at: number;
    updated_at: number;
  };
  dismissed_suggestion: { project_id: number; suggestion_id: string; dismissed_at: number };
  channel_build: {
    project_id: number;
    task_number: number;
    channel_id: number;
    task_id: string;
    started_by: string;
  };
  channel_snapshot: {
    project_id: number;
    task_number: number;
    channel_id: number;
    catalog_version: number;
    row_count: number;
    files: string;
    created_at: number;
  };
  service_event: {
    number: Generated<number>;
    project_id: number;
    id: string;
    type: string;
    at: number;
    data: string;
  };
  webhook_endpoint: {
    id: Generated<number>;
    account_id: number;
    url: string;
    events: string;
    scope_type: 'account' | 'project-group' | 'project';
    scope_id: number | null;
    secrets: string;
    is_enabled: number;
    switched_off: string | null;
    failing_since: number | null;
    created_at: number;
    created_by: string;
    updated_at: number;
  };
  webhook_message: {
    number: Generated<number>;
    id: string;
    project_id: number | null;
    type: string;
    at: number;
    body: string;
  };
  webhook_delivery: {
    id: Generated<number>;
    endpoint_id: number;
    lane: number;
    message_number: number;
    kind: 'event' | 'replay' | 'test';
    status: 'pending' | 'delivered' | 'failed';
    attempts: number;
    created_at: number;
    first_attempt_at: number | null;
    finished_at: number | null;
    last_attempt: string | null;
  };
  webhook_queue: {
    endpoint_id: number;
    lane: number;
    due_at: number;
    tries: number;
    leased_by: string | null;
    lease_until: number | null;
  };
  request_count: {
    account_id: number;
    api_key_id: number;
    step_seconds: number;
    at: number;
    requests: number;
    refused: number;
    limited: number;
    failed: number;
    slow: number;
    total_ms: number;
  };
  catalog_count: {
    project_id: number;
    step_seconds: number;
    at: number;
    products: number | null;
    created: number;
    changed: number;
    deleted: number;
    tasks: number;
    failed_tasks: number;
  };
  noted_request: {
    account_id: number;
    at: number;
    request_id: string;
    api_key_id: number;
    project_id: number | null;
    method: string;
    route: string;
    status: number;
    ms: number;
  };
  idempotent_answer: {
    caller: string;
    idempotency_key: string;
    request_hash: string;
    answer: string;
    created_at: number;
  };
}

export type ControlTransaction = Transaction<ControlSchema>;

/** What statements run on that may stand alone or in a transaction. */
export type Rows = Database['read'] | ControlTransaction;

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name;
type Snake<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

/** Columns are few: the name of each is made once, which takes longer than the rest. */
function renaming(toName: (name: string) => string) {
  const names = new Map<string, string>();
  return (row: object) => {
    const renamed: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(row)) {
      const other = names.get(name) ?? toName(name);
      names.set(name, other);
      renamed[other] = value;
    }
    return renamed as never;
  };
}

/** @returns the columns of a row in the names of fields, `created_at` as `createdAt` */
export const toCamel: <Row extends object>(row: Row) => { [Name in keyof Row as Camel<Name>]: Row[Name] } =
  renaming((name) => name.replace(/_[a-z]/g, ([, letter = '']) => letter.toUpperCase()));

/** @returns fields in the names of columns; every field must be one */
export const toSnake: <Fields extends object>(
  fields: Fields,
) => { [Name in keyof Fields as Snake<Name>]: Fields[Name] } = renaming((name) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

/**
 * What a write locks while it runs. `all`: every other write of this kind, for example of keys and projects. A project's
 * id: writes of that project. `rows`: only what its statements lock. The embedded store has one writer for all.
 */
export type WriteScope = 'all' | 'rows' | number;

export interface Database {
  /** Whether other processes write to it as well. */
  readonly isShared: boolean;
  /** How this process calls itself among those. */
  readonly processId: string;
  /** Many readers. */
  readonly read: Kysely<ControlSchema>;
  /** The database's clock in epoch milliseconds, the same for all processes. */
  readonly now: RawBuilder<number>;
  /** A transaction, durable when the promise resolves. */
  write<Result>(of: WriteScope, work: (tx: ControlTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** The one clock that all processes share. @returns epoch milliseconds */
export async function readNow(rows: Rows, { now }: Pick<Database, 'now'>): Promise<number> {
  const { rows: found } = await sql<{ now: number }>`select ${now} as now`.execute(rows);
  return Number(found[0]?.now);
}
