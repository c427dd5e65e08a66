-- JSON object: the project's name of a unit -> a spelling in the table of units.
alter table catalog add column unit_aliases text not null default '{}';
