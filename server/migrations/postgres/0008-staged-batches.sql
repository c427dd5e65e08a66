-- See ../catalog/0007-staged-batches.sql.
insert into garbage_document (project_id, document_id, identifier)
  select project_id, document_id, identifier from staged_product s where is_fresh = 1 and not exists
    (select 1 from committed_full_update c where c.project_id = s.project_id and c.full_update_id = s.full_update_id)
  on conflict do nothing;
drop table committed_full_update;
drop table staged_product;
drop table staged_batch;

create table staged_batch (
  project_id bigint not null,
  full_update_id bigint not null,
  batch bigint not null,
  observed text not null,
  extracted_by text not null,
  report text not null,
  catalog_version bigint not null,
  first_product bigint not null,
  first_document bigint not null,
  created bigint not null,
  changed bigint not null,
  identifiers text not null,
  products text not null,
  gaining text not null,
  hashes bytea not null,
  primary key (project_id, full_update_id, batch)
);
alter table staged_batch alter column hashes set storage external;
alter table staged_batch alter column project_id set statistics 0, alter column full_update_id set statistics 0;

create table undo_created (
  project_id bigint not null,
  undo_id bigint not null,
  first_product bigint not null,
  first_document bigint not null,
  created bigint not null,
  primary key (project_id, undo_id, first_product)
);

alter table garbage_document drop column identifier;
