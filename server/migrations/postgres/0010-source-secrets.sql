-- What is secret of a pipeline's source, sealed; the definition says *** in its place. null: nothing is. See storage/secrets/.
alter table pipeline add column secrets text;
