-- JSON object: what the project calls a unit -> a spelling of the table of units.
insert into meta (name, value) values ('unit_aliases', '{}');
