-- The index of search (catalog/search/search-index.ts): what each document is found by, each lexeme behind the project.
-- Embedded catalogs make theirs at the first search.
create table search_document (
  project_id bigint not null,
  document_id bigint not null,
  product_id bigint not null,
  lexemes tsvector not null,
  primary key (project_id, document_id)
);
create index search_document_lexemes on search_document using gin (lexemes);
-- Lists of words are skewed: what the planner makes of them changes its plans for the worse.
alter table search_document alter column lexemes set statistics 0;
alter table search_document alter column project_id set statistics 0;

-- How far the documents were walked for it; no row until somebody searches.
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
