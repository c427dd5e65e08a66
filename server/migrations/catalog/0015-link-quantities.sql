-- How many of the target go with the source; null if the list has no quantity.
alter table relation_link add column quantity integer;
