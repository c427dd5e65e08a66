-- compatible
-- See ../catalog/0015-link-quantities.sql. The previous program omits the column, because its lists have no quantities.
alter table relation_link add column quantity bigint;
