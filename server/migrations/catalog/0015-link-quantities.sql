-- How many of the target the source takes; null where its list does not say.
alter table relation_link add column quantity integer;
