-- See ../catalog/0004-links.sql. No two keys have the same beginning: without statistics PostgreSQL expects one row for a
-- build of a project, and would read a whole list although another key finds one line.
alter table relation_build add column kind text not null default 'rule';

create table relation_link_source (
  project_id bigint not null,
  build_id bigint not null,
  line bigint not null,
  source text collate "C" not null,
  primary key (project_id, line, build_id)
);
create unique index relation_link_source_by_name on relation_link_source (project_id, source, build_id);

create table relation_link (
  project_id bigint not null,
  build_id bigint not null,
  line bigint not null,
  place bigint not null,
  target text collate "C" not null,
  primary key (project_id, line, build_id, place)
);
create unique index relation_link_by_target on relation_link (project_id, target, build_id, line);

-- No statistics of project_id, as in the other tables (0001-start.sql).
alter table relation_link_source alter column project_id set statistics 0, alter column build_id set statistics 0;
alter table relation_link alter column project_id set statistics 0, alter column build_id set statistics 0;
