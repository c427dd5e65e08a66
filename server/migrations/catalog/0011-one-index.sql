-- Categories are found by the index of search, which is made when it is first needed.
drop table category_document;
drop table category_path;
drop table category_walk;
