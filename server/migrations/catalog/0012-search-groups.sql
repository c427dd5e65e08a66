-- The index of search gets groups, and words to tolerate typing errors. The next search builds it again.
drop table if exists search_lexeme;
drop table if exists search_document;
drop table if exists search_walk;
