-- Whose full update it is, and what it held when its commit began: callers may not commit what another began.
alter table full_update add column opened_by text;         -- `key ID` or `user ID`; null: of a task, or of an earlier version
alter table full_update add column replaced_by integer;    -- the full update that discarded it
alter table full_update add column batch_count integer;    -- as counted when the commit began
alter table full_update add column product_count integer;
-- Of the unpacked body: a batch that repeats another one counts once. Null: accepted by an earlier version.
alter table full_update_batch add column digest text;
