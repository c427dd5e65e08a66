-- Numbers among the lexemes have a new form, so the next search builds the index again.
drop table if exists search_lexeme;
drop table if exists search_entry;
drop table if exists search_progress;
drop table if exists search_word;
