-- The author of a commit or delete, and its kind.
alter table undo_log add column kind text not null default 'commit'; -- commit, delete
alter table undo_log add column author text;             -- JSON; null if an earlier version made the entry
alter table undo_log add column catalog_version integer; -- the new one; null if an earlier version made the entry
alter table undo_log add column created integer not null default 0;
alter table undo_log add column changed integer not null default 0;
alter table undo_log add column deleted integer not null default 0;
update undo_log set
  created = (select coalesce(sum(created), 0) from undo_created c where c.undo_id = undo_log.id)
    + (select count(*) from undo_change c where c.undo_id = undo_log.id and c.document_before is null),
  changed = (select count(*) from undo_change c where c.undo_id = undo_log.id
    and c.document_before is not null and c.document_after is not null),
  deleted = (select count(*) from undo_change c where c.undo_id = undo_log.id and c.document_after is null);
update undo_log set kind = 'delete' where created + changed = 0;
