create table category_path (
  project_id bigint not null,
  path_key bigint not null,
  path text collate "C" not null,
  primary key (project_id, path_key)
);
-- Indexed by the beginning of the path, because a path of 20 levels is too long for an index.
create index category_path_by_path on category_path (project_id, left(path, 200));
alter table category_path alter column project_id set statistics 0;

-- The next request builds an index without paths again.
update category_walk set last_document = -1, walked = 0;
