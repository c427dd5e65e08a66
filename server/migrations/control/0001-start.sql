-- The service's own tables. Instants are epoch milliseconds.

create table account (
  id integer primary key autoincrement,
  name text not null unique,
  created_at integer not null
);

create table project_group (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  name text not null,
  created_at integer not null
);
create index project_group_by_account on project_group (account_id);

create table project (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  project_group_id integer not null references project_group (id),
  name text not null,
  locale text not null,
  tags text not null,      -- JSON list of strings
  settings text not null,  -- JSON object
  created_at integer not null,
  deleted_at integer       -- null while in use; undone or purged later
);
create index project_by_account on project (account_id);
create index project_by_group on project (project_group_id);

create table api_key (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  name text not null,
  scope_type text not null, -- account, project-group, project
  scope_id integer,
  access text not null,     -- read, write, manage
  hash text not null unique,-- SHA-256 of the value, hex: the value itself is nowhere
  first_characters text not null,
  created_at integer not null,
  created_by text not null,
  expires_at integer,
  requests_per_minute integer,
  last_used_at integer,
  last_used_in_url_at integer, -- by the deprecated ?apiKey=
  rotated_to integer
);
create index api_key_by_account on api_key (account_id);

create table console_user (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  email text not null unique,  -- in lower case: people sign in with it alone
  name text not null,
  role text not null,          -- owner, editor, viewer
  password_hash text not null, -- as $argon2id$v=19$m=…,t=…,p=…$salt$hash
  created_at integer not null,
  signed_in_at integer
);
create index console_user_by_account on console_user (account_id);

create table console_session (
  id integer primary key autoincrement,
  user_id integer not null references console_user (id),
  hash text not null unique,   -- SHA-256 of the cookie's value, hex: the value itself is nowhere
  created_at integer not null,
  used_at integer not null,    -- to the minute
  expires_at integer not null
);
create index console_session_by_user on console_session (user_id);

create table owner_link (
  hash text primary key,       -- SHA-256 of the link's token, hex
  account_id integer not null references account (id),
  expires_at integer not null
) without rowid;

create table invitation (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  email text not null,
  role text not null,
  hash text not null unique,   -- SHA-256 of the link's token, hex
  created_at integer not null,
  created_by text not null,    -- JSON, as of an api_key
  user_id integer,             -- who invited, when that was a user: it goes with them
  expires_at integer not null
);
create index invitation_by_account on invitation (account_id, email);

create table password_window (
  key text primary key,        -- whose attempts are counted, hashed
  attempts integer not null,
  ends_at integer not null
) without rowid;

create table audit_log (
  id integer primary key autoincrement,
  account_id integer not null,
  project_id integer,
  project_group_id integer, -- of what belongs to no project: lets the group's keys see it
  at integer not null,
  actor text not null,   -- JSON {"type":"key"|"user"|"command","id","name"}
  action text not null,  -- e.g. api-key.created
  subject text not null, -- JSON: what was changed
  details text not null  -- JSON: how
);
create index audit_log_by_account on audit_log (account_id, id);

create table task (
  number integer primary key autoincrement, -- the order of acceptance
  id text not null unique,                  -- 24 lower-case hex digits
  project_id integer not null,
  project_name text not null,
  kind text not null,
  name text not null,
  origin text not null,
  increment_type text not null,
  status text not null,                     -- PENDING, RUNNING, FINISHED, FAILED, CANCELLED
  is_ordered integer not null,              -- 1: takes effect in order of acceptance within its project
  lane text not null default '',            -- tasks of one project and lane run one after another; '' is that of the ordered ones
  request_time integer not null,
  start_time integer not null,
  finish_time integer,
  progress integer not null default 0,
  log_counter integer not null default 0,
  payload text not null,                    -- JSON, read by the code of its kind
  failure text,                             -- JSON {"code","message","details"} of a FAILED task
  result text,                              -- JSON, what the task counted
  parent integer,                           -- number of the task that this one is a part of; parts are not listed
  leased_by text,                           -- the process that runs it
  lease_until integer,                      -- a lease that ran out says that its process is gone
  is_cancel_wanted integer not null default 0 -- asked of the process that runs it
);
create index task_by_project on task (project_id, number);
create index task_open on task (project_id, number) where status in ('PENDING', 'RUNNING');
create index task_by_parent on task (project_id, parent) where parent is not null;

create table task_log (
  project_id integer not null,
  task_number integer not null,
  line_number integer not null,
  at integer not null,
  line text not null,
  primary key (project_id, task_number, line_number)
) without rowid;

create table task_report (
  project_id integer not null,
  task_number integer not null,
  part integer not null,
  line_count integer not null,
  lines text not null, -- NDJSON
  primary key (project_id, task_number, part)
) without rowid;

create table full_update (
  id integer primary key autoincrement,
  project_id integer not null,
  origin text not null,
  state text not null,               -- open, committing, committed, discarded
  last_batch_failed integer not null default 0,
  commit_task_id text,
  created_at integer not null
);
create index full_update_by_project on full_update (project_id, state);

create table full_update_batch (
  project_id integer not null,
  full_update_id integer not null references full_update (id),
  batch integer not null,
  task_id text not null,
  payload_name text not null,
  encoding text not null,  -- identity, gzip
  product_count integer not null,
  primary key (project_id, full_update_id, batch)
) without rowid;

-- Statistics over time, per minute and also per hour, each kept for a while. Every process adds to the rows.
create table request_count (
  account_id integer not null,
  api_key_id integer not null,   -- 0: all keys and sessions of the account
  step_seconds integer not null, -- 60 or 3600
  at integer not null,           -- when the step begins
  requests integer not null,
  refused integer not null,      -- answered 4xx, but for 429
  limited integer not null,      -- answered 429
  failed integer not null,       -- answered 5xx
  slow integer not null,
  total_ms integer not null,
  primary key (account_id, api_key_id, step_seconds, at)
) without rowid;

create table catalog_count (
  project_id integer not null,
  step_seconds integer not null,
  at integer not null,
  products integer,              -- in the catalog; null: not counted within the step
  created integer not null,
  changed integer not null,
  deleted integer not null,
  tasks integer not null,        -- that ended
  failed_tasks integer not null,
  primary key (project_id, step_seconds, at)
) without rowid;

-- Requests that failed or were slow.
create table noted_request (
  account_id integer not null,
  at integer not null,
  request_id text not null,
  api_key_id integer not null,   -- 0: a session
  project_id integer,
  method text not null,
  route text not null,
  status integer not null,
  ms integer not null,
  primary key (account_id, at, request_id)
) without rowid;

create table idempotent_answer (
  caller text not null, -- `key ID` or `user ID`
  idempotency_key text not null,
  request_hash text not null,
  answer text not null, -- JSON
  created_at integer not null,
  primary key (caller, idempotency_key)
) without rowid;
create index idempotent_answer_by_age on idempotent_answer (created_at);

create table pipeline (
  id integer primary key autoincrement,
  project_id integer not null,
  definition text not null,  -- JSON, the values of source headers included
  revision integer not null, -- raised by each change
  trigger_id text not null,  -- the last part of the webhook's URL
  triggered_at integer,      -- the last accepted call of the webhook
  next_run_at integer,       -- of a schedule
  stamp text,                -- JSON, by what the source of the last run that ended well is recognised
  created_at integer not null,
  updated_at integer not null
);
create index pipeline_by_project on pipeline (project_id, id);
create index pipeline_by_trigger on pipeline (trigger_id);
create index pipeline_by_schedule on pipeline (next_run_at) where next_run_at is not null;

create table pipeline_run (
  project_id integer not null,
  task_number integer not null,
  pipeline_id integer not null,
  task_id text not null,
  started_by text not null, -- manual, upload, schedule, webhook
  upload text,              -- JSON, the payloads of the file that was sent in
  read text,                -- JSON, what was read and rejected, once the writes are accepted
  primary key (project_id, task_number)
) without rowid;
create index pipeline_run_by_pipeline on pipeline_run (project_id, pipeline_id, task_number);
