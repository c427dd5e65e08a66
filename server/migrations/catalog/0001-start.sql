-- One project's catalog: all tables that must change in one transaction with the products.

create table meta (
  name text primary key,
  value not null
) without rowid;
insert into meta (name, value) values
  ('catalog_version', 0),      -- raised by every change that a reader can see
  ('ontology_mode', 'automatic'),
  ('ontology_revision', 1),    -- raised by every change of the ontology by a person
  ('next_product_id', 1),
  ('next_attribute_id', 1),
  ('next_relation_id', 1),
  ('derivation_revision', 0),  -- raised when anything is derived otherwise from products
  ('last_task', 0),            -- the number of the last ordered task applied
  ('last_task_result', '{}');

-- One version of a product: the answer of the lookup without its id and time, and the upload that it was made of.
create table document (
  id integer primary key autoincrement, -- never given twice: a pointer read before must not meet another product
  product_id integer not null,
  answer blob not null,
  raw blob not null
);

-- The rows are narrow because a commit compares and changes only these rows and no documents.
create table product (
  id integer primary key,
  identifier text not null unique,
  document_id integer not null,
  hash blob not null,                 -- of the raw upload
  ontology_revision integer not null, -- its facts were extracted with
  updated_at integer not null,
  updated_by integer not null         -- number of the task
);

create table attribute (
  id integer primary key,
  name text not null unique,
  type text not null,
  unit_name text,
  decimal text,
  synonyms text not null -- JSON list
);

-- Ids are never reused. A removed attribute that returns gets its former id.
create table attribute_id (
  name text primary key,
  id integer not null
) without rowid;

create table category (
  id integer primary key,
  path text not null unique -- JSON list
);

-- Products of open full updates, by the identifier that the commit joins on.
create table staged_product (
  full_update_id integer not null,
  identifier text not null,
  batch integer not null,
  document_id integer not null,
  is_fresh integer not null, -- 1: the document was made by this full update
  product_id integer not null,
  is_reserved integer not null, -- 1: no product had this id when the row was staged
  hash blob not null,
  ontology_revision integer not null,
  primary key (full_update_id, identifier)
) without rowid;

create table staged_batch (
  full_update_id integer not null,
  batch integer not null,
  observed text not null,    -- JSON: what values of unknown attributes look like
  extracted_by text not null,-- JSON: attribute name to the definition its facts were made with
  report text not null,      -- JSON lines for the task's report
  primary key (full_update_id, batch)
) without rowid;

create table undo_log (
  id integer primary key,
  task_number integer not null,
  at integer not null
);

-- The state of a product before a commit or delete. document_before is null for a created product.
create table undo_change (
  undo_id integer not null,
  product_id integer not null,
  identifier text not null,
  document_before integer,
  document_after integer, -- null for a deleted product
  hash_before blob,
  revision_before integer,
  updated_at_before integer,
  updated_by_before integer,
  primary key (undo_id, product_id)
) without rowid;

-- Documents that nothing points to. They are removed in the background.
create table garbage_document (
  document_id integer primary key,
  identifier text not null
);

-- The documents of each category, built when a caller first requests a category. Rows of removed documents are ignored.
create table category_document (
  path_key integer not null, -- computed from a category path or one above it
  document_id integer not null,
  primary key (path_key, document_id)
) without rowid;

-- The progress of the walk that builds it; no row before the first request.
create table category_walk (
  id integer primary key, -- 1
  last_document integer not null, -- -1: the rows of a former walk are being removed
  walked integer not null
);

-- Relations between products. A build is the index of one rule, made with the attributes of one moment; it never changes.
create table relation (
  id integer primary key,
  definition text not null, -- JSON
  problem text,             -- why it cannot work
  active_build integer,     -- whose members answer; null: none is complete yet
  wanted_build integer,     -- of the rule as it is; another than the active one: it is being made
  created_at integer not null,
  updated_at integer not null
);

create table relation_build (
  id integer primary key autoincrement,
  relation_id integer not null,
  rule text not null,               -- JSON: the rule with its attributes
  two_way integer not null,         -- as long as this build answers
  exclude_same_group integer not null,
  last_document integer not null    -- those up to this one are older than the build and are walked by its task
);

-- The memberships that were derived for a document, and the group of its product.
create table relation_document (
  document_id integer primary key,
  product_id integer not null,
  group_identifier text not null,
  memberships text not null -- JSON
);
create index relation_document_group on relation_document (group_identifier);

-- The join index: the current document of a product on a side of a relation, ordered by rank. Side 0 is the source and
-- 1 the target. relations/memberships/index-key.ts defines the bytes. c1 to c8 are the values that matches compare.
create table relation_member (
  build_id integer not null,
  side integer not null,
  match_key blob not null,
  rank blob not null,
  product_id integer not null,
  document_id integer not null,
  group_identifier text not null,
  c1, c2, c3, c4, c5, c6, c7, c8,
  primary key (build_id, side, match_key, rank, product_id, document_id)
) without rowid;
-- With this index, a match that compares needs one seek to find out whether a member is in range.
create index relation_member_compared on relation_member (build_id, side, match_key, c1) where c1 is not null;
