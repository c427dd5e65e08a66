-- The state of batches that were not accepted, which a commit checks.
-- last_batch_failed: 0 no, 1 yes, 2 in doubt, because a process may have refused a batch and could not store that
alter table full_update add column uploads_under_way integer not null default 0; -- since the last one was accepted
alter table full_update add column batch_at integer not null default 0;          -- opened, or took its last batch

-- Processes that accept batches. A process removes its row when it ends normally; see catalog/updates/failed-batches.ts.
create table upload_process (
  id text primary key,
  seen_at integer not null
) without rowid;
