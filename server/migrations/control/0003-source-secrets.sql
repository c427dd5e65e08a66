-- The sealed secrets of a pipeline's source; null if it has none. The definition has *** in their place. See storage/secrets/.
alter table pipeline add column secrets text;
