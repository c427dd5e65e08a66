-- See ../catalog/0011-one-index.sql.
drop table category_document;
drop table category_path;
drop table category_walk;
