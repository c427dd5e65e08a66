-- The index of search (search/index-store/): the lexemes of each document, each after the id of its project.
-- Embedded catalogs create their index at the first search.
create table search_document (
  project_id bigint not null,
  document_id bigint not null,
  product_id bigint not null,
  lexemes tsvector not null,
  primary key (project_id, document_id)
);
create index search_document_lexemes on search_document using gin (lexemes);
-- No statistics of the words, because their distribution is skewed and makes the plans worse.
alter table search_document alter column lexemes set statistics 0;
alter table search_document alter column project_id set statistics 0;

-- The progress of the walk that builds it; no row before the first search.
create table search_walk (
  project_id bigint not null,
  id bigint not null, -- 1
  last_document bigint not null,
  version bigint not null, -- of the catalog, when nothing was missing
  documents bigint not null,
  untidied bigint not null,
  tidied_up_to bigint not null,
  primary key (project_id, id)
);
