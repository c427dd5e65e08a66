-- A batch is staged as one row. Open full updates are staged again from their bodies, and their documents are removed.
insert or ignore into garbage_document select document_id, identifier from staged_product s
  where is_fresh = 1 and not exists (select 1 from meta where name = 'committed:' || s.full_update_id);
delete from meta where name like 'committed:%';
drop table staged_product;
drop table staged_batch;

-- Products are in the order created, changed, unchanged, with consecutive ids. A committed batch only keeps the report.
create table staged_batch (
  full_update_id integer not null,
  batch integer not null,
  observed text not null,     -- JSON: what values of unknown attributes look like
  extracted_by text not null, -- JSON: attribute name to the definition its facts were made with
  report text not null,       -- JSON lines for the task's report
  catalog_version integer not null, -- that its products were compared with
  first_product integer not null,   -- created products have their ids already
  first_document integer not null,  -- of created and changed products
  created integer not null,
  changed integer not null,
  identifiers text not null,  -- JSON list: of created products
  products text not null,     -- JSON list: the ids of changed and unchanged products
  gaining text not null,      -- JSON list: of these, unchanged ones that gain facts of attributes that the full update creates
  hashes blob not null,       -- 16 bytes a product
  primary key (full_update_id, batch)
) without rowid;

-- The products that a commit created. Their ids are consecutive, and so are the ids of their documents.
create table undo_created (
  undo_id integer not null,
  first_product integer not null,
  first_document integer not null,
  created integer not null,
  primary key (undo_id, first_product)
) without rowid;

-- The identifier is not needed, because a document refers to its product.
alter table garbage_document drop column identifier;
