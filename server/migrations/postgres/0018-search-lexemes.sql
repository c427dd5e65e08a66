-- Lexemes are written in another form: the next search makes the index anew.
truncate search_document, search_walk;
