-- Relations that people list. A list is a build without members. Its kind is 'staged' until its task activates it.
alter table relation_build add column kind text not null default 'rule'; -- rule, links, staged

-- The lines of a list in order, with the source of each line.
create table relation_link_source (
  build_id integer not null,
  line integer not null,
  source text not null, -- an identifier; its product need not be there
  primary key (build_id, line)
) without rowid;
create unique index relation_link_source_by_name on relation_link_source (build_id, source);

-- The targets of a line in order.
create table relation_link (
  build_id integer not null,
  line integer not null,
  place integer not null, -- from 0
  target text not null,   -- an identifier; its product need not be there
  primary key (build_id, line, place)
) without rowid;
create unique index relation_link_by_target on relation_link (build_id, target, line);
