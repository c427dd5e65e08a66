-- JSON object: the project's name of a unit -> a spelling in the table of units.
insert into meta (name, value) values ('unit_aliases', '{}');
