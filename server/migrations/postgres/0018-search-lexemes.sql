-- Lexemes have a new form, so the next search builds the index again.
truncate search_document, search_walk;
