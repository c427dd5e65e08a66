-- The index of search has groups, and words to forgive typing errors with: the next search makes it anew.
truncate search_document, search_walk;
alter table search_document add column group_key bigint not null;
create table search_word (
  project_id bigint not null,
  word text collate "C" not null,
  primary key (project_id, word)
);
