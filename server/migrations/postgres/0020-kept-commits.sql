-- See ../catalog/0010-kept-commits.sql.
alter table undo_log add column kind text not null default 'commit', add column author text,
  add column catalog_version bigint, add column created bigint not null default 0,
  add column changed bigint not null default 0, add column deleted bigint not null default 0;
update undo_log l set
  created = (select coalesce(sum(created), 0) from undo_created c where c.project_id = l.project_id and c.undo_id = l.id)
    + (select count(*) from undo_change c where c.project_id = l.project_id and c.undo_id = l.id
      and c.document_before is null),
  changed = (select count(*) from undo_change c where c.project_id = l.project_id and c.undo_id = l.id
    and c.document_before is not null and c.document_after is not null),
  deleted = (select count(*) from undo_change c where c.project_id = l.project_id and c.undo_id = l.id
    and c.document_after is null);
update undo_log set kind = 'delete' where created + changed = 0;
