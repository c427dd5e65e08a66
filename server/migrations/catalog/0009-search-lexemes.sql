-- Lexemes have a new form, so the next search builds the index again.
drop table if exists search_lexeme;
drop table if exists search_document;
drop table if exists search_walk;
