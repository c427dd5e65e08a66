create table channel (
  id integer primary key autoincrement,
  project_id integer not null,
  definition text not null,  -- JSON
  revision integer not null, -- raised by each change
  token text not null,       -- of the published address
  next_build_at integer,     -- of a schedule: when it is due; of a change: not before
  built_version integer,     -- of the catalog, when a change last started a build
  published integer,         -- the task of the snapshot that is served
  created_at integer not null,
  updated_at integer not null
);
create index channel_by_project on channel (project_id, id);
create index channel_by_token on channel (token);
create index channel_by_time on channel (next_build_at) where next_build_at is not null;

create table channel_build (
  project_id integer not null,
  task_number integer not null,
  channel_id integer not null,
  task_id text not null,
  started_by text not null, -- manual, schedule, change
  primary key (project_id, task_number)
) without rowid;
create index channel_build_by_channel on channel_build (project_id, channel_id, task_number);

-- The files that a build published. A row never changes.
create table channel_snapshot (
  project_id integer not null,
  task_number integer not null,
  channel_id integer not null,
  catalog_version integer not null,
  row_count integer not null,
  files text not null, -- JSON, each with its payloads in order
  created_at integer not null,
  primary key (project_id, task_number)
) without rowid;
create index channel_snapshot_by_channel on channel_snapshot (project_id, channel_id, task_number);
