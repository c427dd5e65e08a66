-- Runs that no row has any more. They are removed in the order in which they lie, many at once: a list has its runs in as many
-- places as batches brought some, and to remove them with their rows would write each of these pages anew for every list.
create table relation_dropped_run (
  id integer primary key
);
drop trigger relation_run_of_member;
create trigger relation_run_of_member after delete on relation_member when old.run is not null begin
  insert into relation_dropped_run (id) values (old.run);
end;

-- Members whose document may be gone: of a list without any a merge reads no documents.
alter table relation_list add column gone integer not null default 0;
-- A merge that is under way has forgotten what went before it began.
update relation_list set gone = changed + (at_rank is not null);
