-- See ../catalog/0005-why-types.sql.
alter table attribute add column reason text;
alter table attribute add column typing text;
