-- The least and the largest value in a run for each compared column after the first: JSON, with bytes in hexadecimal.
-- A run without values in range is not read. null if the run is older, or if the rule compares at most one column.
alter table relation_member add column others text;
