-- See ../control/0002-batch-marks.sql.
alter table full_update
  add column uploads_under_way bigint not null default 0,
  add column batch_at bigint not null default 0;

create table upload_process (
  id text collate "C" primary key,
  seen_at bigint not null
);
