-- Runs that no row refers to. They are removed later, many at a time, in the order of their storage. The runs of a list are
-- on as many pages as batches added runs, so removing them with their rows would rewrite each of these pages for every list.
create table relation_dropped_run (
  id integer primary key
);
drop trigger relation_run_of_member;
create trigger relation_run_of_member after delete on relation_member when old.run is not null begin
  insert into relation_dropped_run (id) values (old.run);
end;

-- The number of members whose document may be removed. If it is 0, a merge reads no documents.
alter table relation_list add column gone integer not null default 0;
-- A merge in progress has already reset the count of changes, so its list counts one more.
update relation_list set gone = changed + (at_rank is not null);
