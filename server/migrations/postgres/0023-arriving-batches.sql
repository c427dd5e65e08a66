-- See ../control/0013-arriving-batches.sql.
create table arriving_batch (
  project_id bigint not null,
  full_update_id bigint not null,
  process_id text collate "C" not null,
  number bigint not null,
  after_batch_at bigint not null,
  primary key (project_id, full_update_id, process_id, number)
);
update full_update set last_batch_failed = 1 where uploads_under_way > 0;
alter table full_update drop column uploads_under_way;
