-- Tables of values that go together. Matches of relations use them by name.
create table value_table (
  name text primary key,
  definition text not null, -- JSON: description and pairs
  created_at integer not null,
  updated_at integer not null
) without rowid;
