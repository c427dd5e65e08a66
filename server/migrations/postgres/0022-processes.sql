-- Which processes serve the database, with the newest schema that each knows, and which of them an upgrade leaves running.
-- `place`: machine and process id. `takes_batches`: its end puts open full updates in doubt (0003-batch-marks.sql).
alter table upload_process
  add column schema_version bigint not null default 0,
  add column place text not null default '',
  add column takes_batches bigint not null default 1;

-- Programs that know schema `compatible_from` or a later one go on with one up to `compatible_to`.
alter table service
  add column compatible_from bigint not null default 0,
  add column compatible_to bigint not null default 0;
