-- Relations that somebody lists. A list is a build without members; 'staged' until its task puts it in place.
alter table relation_build add column kind text not null default 'rule'; -- rule, links, staged

-- The lines of a list, in its order, and the source of each.
create table relation_link_source (
  build_id integer not null,
  line integer not null,
  source text not null, -- an identifier; its product need not be there
  primary key (build_id, line)
) without rowid;
create unique index relation_link_source_by_name on relation_link_source (build_id, source);

-- The targets of a line, in its order.
create table relation_link (
  build_id integer not null,
  line integer not null,
  place integer not null, -- from 0
  target text not null,   -- an identifier; its product need not be there
  primary key (build_id, line, place)
) without rowid;
create unique index relation_link_by_target on relation_link (build_id, target, line);
