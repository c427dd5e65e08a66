-- The caller that opened a full update, because others cannot commit it, and its counts when its commit began.
alter table full_update add column opened_by text;         -- `key ID` or `user ID`; null if a task or an earlier version opened it
alter table full_update add column replaced_by integer;    -- the full update that discarded it
alter table full_update add column batch_count integer;    -- as counted when the commit began
alter table full_update add column product_count integer;
-- The digest of the unpacked body, because a repeated batch counts once; null if an earlier version accepted the batch.
alter table full_update_batch add column digest text;
