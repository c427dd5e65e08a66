-- compatible
-- As ../catalog/0015-link-quantities.sql. The program before leaves the column out: its lists have no quantities.
alter table relation_link add column quantity bigint;
