-- The sealed secrets of a channel's destinations; null if it has none. The definition has *** in their place. See
-- storage/secrets/.
alter table channel add column secrets text;
