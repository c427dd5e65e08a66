-- A row of relation_member can represent a run of members in the order of their ranks; it has the key of the first member.
-- A run has a JSON line for each member, with bytes in hexadecimal: [c1, rank, product_id, document_id, group_identifier,
-- c2, …]. `least` and `most` are the bounds of c1, so that a run out of a comparison's range is not read. Runs are stored in
-- the order of writing, because in the order of the key a batch would rewrite every page of the index.
create table relation_run (
  id integer primary key,
  members text not null
);
alter table relation_member add column run integer;
alter table relation_member add column least blob;
alter table relation_member add column most blob;
create index relation_member_least on relation_member (build_id, side, match_key, least) where least is not null;
create index relation_member_most on relation_member (build_id, side, match_key, most) where most is not null;
create trigger relation_run_of_member after delete on relation_member when old.run is not null begin
  delete from relation_run where id = old.run;
end;

-- Lists with runs, and the state of their merges. `changed` counts members that were added to or removed from runs since
-- the last merge began, which left `size` members. A merge in progress has processed `merged` members and continues at
-- at_rank and at_product.
create table relation_list (
  build_id integer not null,
  side integer not null,
  match_key blob not null,
  size integer not null default 0,
  changed integer not null default 0,
  merged integer not null default 0,
  at_rank blob,
  at_product integer,
  primary key (build_id, side, match_key)
) without rowid;
-- SQLite would not recognise a condition with `or` as the condition of this index.
create index relation_list_due on relation_list (build_id)
where (at_rank is not null) + (changed > 64 and changed * 4 > size) > 0;
create trigger relation_list_of_build after delete on relation_build begin
  delete from relation_list where build_id = old.id;
end;

-- One row for each member.
create view relation_entry as
select m.build_id, m.side, m.match_key, m.run, iif(m.run is null, m.rank, unhex(e.value ->> 1)) as rank,
  coalesce(e.value ->> 2, m.product_id) as product_id, coalesce(e.value ->> 3, m.document_id) as document_id,
  iif(m.run is null, m.group_identifier, e.value ->> 4) as group_identifier,
  iif(m.run is null, m.c1, unhex(e.value ->> 0)) as c1, iif(m.run is null, m.c2, unhex(e.value ->> 5)) as c2,
  iif(m.run is null, m.c3, unhex(e.value ->> 6)) as c3, iif(m.run is null, m.c4, unhex(e.value ->> 7)) as c4,
  iif(m.run is null, m.c5, unhex(e.value ->> 8)) as c5, iif(m.run is null, m.c6, unhex(e.value ->> 9)) as c6,
  iif(m.run is null, m.c7, unhex(e.value ->> 10)) as c7, iif(m.run is null, m.c8, unhex(e.value ->> 11)) as c8
from relation_member m left join relation_run r on r.id = m.run
left join json_each('[' || replace(r.members, char(10), ',') || ']') e;
