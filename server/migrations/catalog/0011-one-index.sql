-- The index of search also finds categories. It is built when it is first needed.
drop table category_document;
drop table category_path;
drop table category_walk;
