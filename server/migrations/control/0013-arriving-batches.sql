-- A row for each batch that is arriving. It replaces a count, which did not show whose batches had ended with a process.
create table arriving_batch (
  project_id integer not null,
  full_update_id integer not null,
  process_id text not null,        -- of upload_process
  number integer not null,         -- the process counts them
  after_batch_at integer not null, -- batch_at of the full update when the batch began
  primary key (project_id, full_update_id, process_id, number)
) without rowid;
update full_update set last_batch_failed = 1 where uploads_under_way > 0;
alter table full_update drop column uploads_under_way;
