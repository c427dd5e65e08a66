-- compatible
-- See ../control/0015-full-update-owners.sql. Full updates of the previous program have no owner, and their batches no digest.
alter table full_update
  add column opened_by text,
  add column replaced_by bigint,
  add column batch_count bigint,
  add column product_count bigint;
alter table full_update_batch add column digest text;
