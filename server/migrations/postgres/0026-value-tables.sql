-- compatible
-- Tables of values that go together. Matches of relations use them by name.
create table value_table (
  project_id bigint not null,
  name text collate "C" not null,
  definition text not null, -- JSON: description and pairs
  created_at bigint not null,
  updated_at bigint not null,
  primary key (project_id, name)
);
-- No statistics of project_id, as in the other tables (0001-start.sql).
alter table value_table alter column project_id set statistics 0;
