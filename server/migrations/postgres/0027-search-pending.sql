-- compatible
-- The list of the latest rows that are not in the tree yet. Every search of every project reads all of it. The default of
-- 4 MB takes 8 ms of processor time for a search, 256 kB take 1.5 ms and make building the index a fifth slower. Without such
-- a list, building the index would take four times as long.
alter index search_entry_lexemes set (gin_pending_list_limit = 256);
