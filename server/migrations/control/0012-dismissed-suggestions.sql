-- Suggestions that were dismissed and are not shown again.
create table dismissed_suggestion (
  project_id integer not null,
  suggestion_id text not null, -- of what is suggested, whatever its counts
  dismissed_at integer not null,
  primary key (project_id, suggestion_id)
) without rowid;
