-- Numbers among the lexemes are written in another form: the next search makes the index anew.
drop table if exists search_lexeme;
drop table if exists search_entry;
drop table if exists search_progress;
drop table if exists search_word;
