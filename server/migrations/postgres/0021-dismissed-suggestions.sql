-- What nobody wants to see suggested again.
create table dismissed_suggestion (
  project_id bigint not null,
  suggestion_id text not null, -- of what is suggested, whatever its counts
  dismissed_at bigint not null,
  primary key (project_id, suggestion_id)
);
