-- Suggestions that were dismissed and are not shown again.
create table dismissed_suggestion (
  project_id bigint not null,
  suggestion_id text not null, -- identifies the suggestion independently of its counts
  dismissed_at bigint not null,
  primary key (project_id, suggestion_id)
);
