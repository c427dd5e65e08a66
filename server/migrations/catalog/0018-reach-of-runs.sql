-- Of a run, the least and the largest value of each compared column behind the first, in turn: JSON, with bytes in hexadecimal.
-- A run that has none in reach is not read. null: not known, of a run from before, or the rule compares one column at most.
alter table relation_member add column others text;
