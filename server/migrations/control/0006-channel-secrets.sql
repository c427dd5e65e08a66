-- What is secret of a channel's destinations, sealed; the definition says *** in its place. null: nothing is. See storage/secrets/.
alter table channel add column secrets text;
