import { type Generated, type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';

/** Columns by the type of their values. A flag is a number, 0 or 1. JSON is text, and bytes are hexadecimal text. */
type Numbers<Names extends string> = Record<Names, number>;
type Texts<Names extends string> = Record<Names, string>;
type OrNull<Columns> = { [Name in keyof Columns]: Columns[Name] | null };
/** Columns that the database fills if an insert omits them. */
type Filled<Columns> = { [Name in keyof Columns]: Generated<Columns[Name]> };
type Id = Filled<Numbers<'id'>>;

/** The tables of the control database, as in `server/migrations/control`. Instants are epoch milliseconds. */
export interface ControlSchema {
  account: Id & Numbers<'created_at'> & Texts<'name'>;
  project_group: Id & Numbers<'account_id' | 'created_at'> & Texts<'name'>;
  project: Id &
    Numbers<'account_id' | 'project_group_id' | 'created_at'> &
    Texts<'name' | 'locale' | 'tags' | 'settings'> &
    OrNull<Numbers<'deleted_at'>>;
  api_key: Id &
    Numbers<'account_id' | 'created_at'> &
    Texts<'name' | 'hash' | 'first_characters' | 'created_by'> &
    OrNull<Numbers<'scope_id' | 'expires_at' | 'requests_per_minute' | 'rotated_to'>> &
    OrNull<Numbers<'last_used_at' | 'last_used_in_url_at'>> & {
      scope_type: 'account' | 'project-group' | 'project';
      access: 'page' | 'read' | 'write' | 'manage';
    };
  console_user: Id &
    Numbers<'account_id' | 'created_at'> &
    Texts<'email' | 'name' | 'password_hash'> &
    OrNull<Numbers<'signed_in_at'> & Texts<'issuer' | 'subject'>> &
    Filled<Numbers<'passkeys'> & Texts<'roles'>> & { role: 'owner' | 'editor' | 'viewer' | 'none' };
  passkey: Id &
    Numbers<'user_id' | 'counter' | 'created_at'> &
    Texts<'name' | 'credential_id' | 'public_key' | 'transports' | 'host'> &
    OrNull<Numbers<'used_at'>>;
  passkey_challenge: Numbers<'user_id' | 'expires_at'> & Texts<'hash'> & { purpose: 'add' | 'sign-in' };
  console_session: Id &
    Numbers<'user_id' | 'created_at' | 'used_at' | 'expires_at'> &
    Texts<'hash'> &
    OrNull<Texts<'address' | 'user_agent'>>;
  owner_link: Numbers<'account_id' | 'expires_at'> & Texts<'hash'>;
  invitation: Id &
    Numbers<'account_id' | 'created_at' | 'expires_at'> &
    Texts<'email' | 'hash' | 'created_by'> &
    OrNull<Numbers<'user_id'>> &
    Filled<Texts<'roles'>> & { role: 'owner' | 'editor' | 'viewer' | 'none' };
  password_window: Numbers<'attempts' | 'ends_at'> & Texts<'key'>;
  audit_log: Id &
    Numbers<'account_id' | 'at'> &
    Texts<'actor' | 'action' | 'subject' | 'details'> &
    OrNull<Numbers<'project_id' | 'project_group_id'>>;
  task: Numbers<'project_id' | 'is_ordered' | 'request_time' | 'start_time'> &
    Texts<'id' | 'project_name' | 'kind' | 'name' | 'origin' | 'increment_type' | 'status' | 'payload'> &
    OrNull<
      Numbers<'finish_time' | 'parent' | 'lease_until'> &
        Texts<'failure' | 'result' | 'traceparent' | 'leased_by'>
    > &
    Filled<Numbers<'number' | 'progress' | 'log_counter' | 'is_cancel_wanted'> & Texts<'lane'>>;
  task_log: Numbers<'project_id' | 'task_number' | 'line_number' | 'at'> & Texts<'line'>;
  task_report: Numbers<'project_id' | 'task_number' | 'part' | 'line_count'> & Texts<'lines'>;
  full_update: Id &
    Numbers<'project_id' | 'created_at'> &
    Texts<'origin' | 'state'> &
    OrNull<Texts<'commit_task_id' | 'opened_by'>> &
    OrNull<Numbers<'replaced_by' | 'batch_count' | 'product_count'>> &
    Filled<Numbers<'last_batch_failed' | 'batch_at'>>;
  /** The last three tables exist only in PostgreSQL, which several processes share. */
  upload_process: Numbers<'seen_at'> &
    Texts<'id'> &
    Filled<Numbers<'schema_version' | 'takes_batches'> & Texts<'place'>>;
  arriving_batch: Numbers<'project_id' | 'full_update_id' | 'number' | 'after_batch_at'> &
    Texts<'process_id'>;
  full_update_batch: Numbers<'project_id' | 'full_update_id' | 'batch' | 'product_count'> &
    Texts<'task_id' | 'payload_name' | 'encoding'> &
    OrNull<Texts<'digest'>>;
  pipeline: Id &
    Numbers<'project_id' | 'revision' | 'created_at' | 'updated_at'> &
    Texts<'definition' | 'trigger_id'> &
    OrNull<Numbers<'triggered_at' | 'next_run_at'> & Texts<'secrets' | 'stamp'>>;
  pipeline_run: Numbers<'project_id' | 'task_number' | 'pipeline_id'> &
    Texts<'task_id' | 'started_by'> &
    OrNull<Texts<'upload' | 'read'>>;
  channel: Id &
    Numbers<'project_id' | 'revision' | 'created_at' | 'updated_at'> &
    Texts<'definition' | 'token'> &
    OrNull<Numbers<'next_build_at' | 'built_version' | 'published'> & Texts<'secrets'>>;
  dismissed_suggestion: Numbers<'project_id' | 'dismissed_at'> & Texts<'suggestion_id'>;
  channel_build: Numbers<'project_id' | 'task_number' | 'channel_id'> & Texts<'task_id' | 'started_by'>;
  channel_snapshot: Numbers<'project_id' | 'task_number' | 'channel_id' | 'created_at'> &
    Numbers<'catalog_version' | 'row_count'> &
    Texts<'files'>;
  service_event: Numbers<'project_id' | 'at'> & Texts<'id' | 'type' | 'data'> & Filled<Numbers<'number'>>;
  webhook_endpoint: Id &
    Numbers<'account_id' | 'is_enabled' | 'created_at' | 'updated_at'> &
    Texts<'url' | 'events' | 'secrets' | 'created_by'> &
    OrNull<Numbers<'scope_id' | 'failing_since'> & Texts<'switched_off'>> & {
      scope_type: 'account' | 'project-group' | 'project';
    };
  webhook_message: Numbers<'at'> &
    Texts<'id' | 'type' | 'body'> &
    OrNull<Numbers<'project_id'>> &
    Filled<Numbers<'number'>>;
  webhook_delivery: Id &
    Numbers<'endpoint_id' | 'lane' | 'message_number' | 'attempts' | 'created_at'> &
    OrNull<Numbers<'first_attempt_at' | 'finished_at'> & Texts<'last_attempt'>> & {
      kind: 'event' | 'replay' | 'test';
      status: 'pending' | 'delivered' | 'failed';
    };
  webhook_queue: Numbers<'endpoint_id' | 'lane' | 'due_at' | 'tries'> &
    OrNull<Numbers<'lease_until'> & Texts<'leased_by'>>;
  request_count: Numbers<'account_id' | 'api_key_id' | 'step_seconds' | 'at'> &
    Numbers<'requests' | 'refused' | 'limited' | 'failed' | 'slow' | 'total_ms'>;
  catalog_count: Numbers<'project_id' | 'step_seconds' | 'at'> &
    Numbers<'created' | 'changed' | 'deleted' | 'tasks' | 'failed_tasks'> &
    OrNull<Numbers<'products'>>;
  noted_request: Numbers<'account_id' | 'at' | 'api_key_id' | 'status' | 'ms'> &
    Texts<'request_id' | 'method' | 'route'> &
    OrNull<Numbers<'project_id'>>;
  idempotent_answer: Numbers<'created_at'> & Texts<'caller' | 'idempotency_key' | 'request_hash' | 'answer'>;
}

export type ControlTransaction = Transaction<ControlSchema>;

/** Runs statements, either separately or in a transaction. */
export type Rows = Database['read'] | ControlTransaction;

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name;
type Snake<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

/**
 * Converts each column name only once, because there are few names and a conversion takes longer than the rest of the
 * work on a field.
 */
function renaming(toName: (name: string) => string) {
  const names = new Map<string, string>();
  return (row: object): object => {
    const renamed: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(row)) renamed[names.getOrInsertComputed(name, toName)] = value;
    return renamed;
  };
}

/** @returns a row whose fields are named in camelCase, such as `createdAt` for `created_at` */
export const toCamel = renaming((name) =>
  name.replace(/_[a-z]/g, ([, letter = '']) => letter.toUpperCase()),
) as <Row extends object>(row: Row) => { [Name in keyof Row as Camel<Name>]: Row[Name] };

/** @returns the fields, named like the columns; each field must be a column */
export const toSnake = renaming((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as <
  Fields extends object,
>(
  fields: Fields,
) => { [Name in keyof Fields as Snake<Name>]: Fields[Name] };

const entriesOf = (fields: object): [string, unknown][] => Object.entries(toSnake(fields));

export const assignFields = (fields: object) =>
  sql.join(entriesOf(fields).map(([name, value]) => sql`${sql.ref(name)} = ${value ?? null}`));

export const areEqual = (fields: object) =>
  sql.join(
    entriesOf(fields).map(([name, value]) => sql`${sql.ref(name)} = ${value}`),
    sql` and `,
  );

type Table = keyof ControlSchema;
type Row<Name extends Table> = Selectable<ControlSchema[Name]>;

/** Some fields of the rows of a table, each with a value or with an expression that the database computes. */
export type Fields<Name extends Table> = {
  readonly [Column in keyof Row<Name> as Camel<Column>]?:
    | Row<Name>[Column]
    | RawBuilder<Row<Name>[Column]>
    | undefined;
};

/** Statements on rows of the control database, chosen by the values of their columns. */
export const control = {
  /** @returns the first row with these values */
  async find<Name extends Table>(rows: Rows, table: Name, where: Fields<Name>) {
    const find = sql<Row<Name>>`select * from ${sql.table(table)} where ${areEqual(where)}`;
    return (await find.execute(rows)).rows[0];
  },
  /** @returns the row as it is stored */
  async insert<Name extends Table>(tx: ControlTransaction, table: Name, fields: Fields<Name>) {
    const names = sql.join(entriesOf(fields).map(([name]) => sql.ref(name)));
    const values = sql.join(entriesOf(fields).map(([, value]) => value ?? null));
    const { rows } = await sql<Row<Name>>`insert into ${sql.table(table)} (${names}) values (${values})
      returning *`.execute(tx);
    return rows[0] as Row<Name>;
  },
  /** @returns the number of rows that had these values and were changed */
  async update<Name extends Table>(
    tx: ControlTransaction,
    table: Name,
    { where, set }: { readonly where: Fields<Name>; readonly set: Fields<Name> },
  ): Promise<number> {
    const update = sql`update ${sql.table(table)} set ${assignFields(set)} where ${areEqual(where)}`;
    return Number((await update.execute(tx)).numAffectedRows);
  },
  /** @returns the number of rows that had these values */
  async remove<Name extends Table>(tx: ControlTransaction, table: Name, where: Fields<Name>) {
    const remove = sql`delete from ${sql.table(table)} where ${areEqual(where)}`;
    return Number((await remove.execute(tx)).numAffectedRows);
  },
};

/**
 * The writes that a write excludes while it runs. `all`: every other write with this scope, for example of keys and
 * projects. A project's id: writes of that project. `rows`: only writes of the rows that its statements lock. The
 * embedded store runs one write at a time.
 */
export type WriteScope = 'all' | 'rows' | number;

export interface Database {
  /** Whether other processes write to the database as well. */
  readonly isShared: boolean;
  /** The name of this process among those that share the database. */
  readonly processId: string;
  readonly read: Kysely<ControlSchema>;
  /** The database's clock in epoch milliseconds, which all processes use. */
  readonly now: RawBuilder<number>;
  /** Runs a transaction, durable when the promise resolves. */
  write<Result>(of: WriteScope, work: (tx: ControlTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/**
 * Reads the database's clock.
 * @returns epoch milliseconds
 */
export async function readNow(rows: Rows, { now }: Pick<Database, 'now'>): Promise<number> {
  const { rows: clock } = await sql<{ now: number }>`select ${now} as now`.execute(rows);
  return Number(clock[0]?.now);
}
