-- JSON object: what the project calls a unit -> a spelling of the table of units.
alter table catalog add column unit_aliases text not null default '{}';
