-- The processes that serve the database with the newest schema that each knows, and those that an upgrade can leave running.
-- `place` is the machine and process id. If a process with `takes_batches` dies, open full updates are in doubt
-- (0003-batch-marks.sql).
alter table upload_process
  add column schema_version bigint not null default 0,
  add column place text not null default '',
  add column takes_batches bigint not null default 1;

-- Programs that know schema `compatible_from` or later can continue with a schema up to `compatible_to`.
alter table service
  add column compatible_from bigint not null default 0,
  add column compatible_to bigint not null default 0;
