create table category_path (
  project_id bigint not null,
  path_key bigint not null,
  path text collate "C" not null,
  primary key (project_id, path_key)
);
-- By its beginning: a path of 20 levels is longer than an index takes.
create index category_path_by_path on category_path (project_id, left(path, 200));
alter table category_path alter column project_id set statistics 0;

-- An index without paths is made anew when somebody asks again.
update category_walk set last_document = -1, walked = 0;
