-- compatible
-- The index of search gets groups, and words to tolerate typing errors, in new tables that the next search fills. Programs of
-- the previous schema continue to use search_document and search_walk, which a later release drops.
create table search_entry (
  project_id bigint not null,
  document_id bigint not null,
  product_id bigint not null,
  group_key bigint not null,
  lexemes tsvector not null,
  primary key (project_id, document_id)
);
create index search_entry_lexemes on search_entry using gin (lexemes);
-- No statistics, as in search_document (0009-search.sql).
alter table search_entry alter column lexemes set statistics 0;
alter table search_entry alter column project_id set statistics 0;

create table search_progress (
  project_id bigint not null,
  id bigint not null, -- 1
  last_document bigint not null,
  version bigint not null, -- of the catalog, when nothing was missing
  documents bigint not null,
  untidied bigint not null,
  tidied_up_to bigint not null,
  primary key (project_id, id)
);

create table search_word (
  project_id bigint not null,
  word text collate "C" not null,
  primary key (project_id, word)
);
