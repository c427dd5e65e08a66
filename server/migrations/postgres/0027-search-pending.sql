-- compatible
-- What was inserted last and is not in the tree yet, every search of every project reads through. 4 MB, as comes by itself, take 8 ms
-- of processor time a search, 256 kB take 1.5, and cost a fifth more when the index is made; without such a list that costs four times as much.
alter index search_entry_lexemes set (gin_pending_list_limit = 256);
