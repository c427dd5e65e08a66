-- compatible
-- Tables of values that go together, which matches of relations name.
create table value_table (
  project_id bigint not null,
  name text collate "C" not null,
  definition text not null, -- JSON: description and pairs
  created_at bigint not null,
  updated_at bigint not null,
  primary key (project_id, name)
);
-- As those of the other tables (0001-start.sql).
alter table value_table alter column project_id set statistics 0;
