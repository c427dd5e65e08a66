-- The index of search has groups, and words to forgive typing errors with: the next search makes it anew.
drop table if exists search_lexeme;
drop table if exists search_document;
drop table if exists search_walk;
