-- Lexemes are written in another form: the next search makes the index anew.
drop table if exists search_lexeme;
drop table if exists search_document;
drop table if exists search_walk;
