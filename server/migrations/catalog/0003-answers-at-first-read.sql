-- Answers are made of the upload when they are first read. Those of before are never read again; they go with their
-- documents, for to rewrite every row takes 25 s for a million products, and more disk than the catalog has.
alter table document rename column answer to former_answer;

-- 1: the upload is the present one, and gains facts of attributes that the full update creates.
alter table staged_product rename column ontology_revision to gains_facts;
update staged_product set gains_facts = gains_facts < 0;

-- What the attributes were until a person changed them: what a product's facts were when they were looked at last.
create table past_ontology (
  revision integer primary key,
  attributes text not null -- JSON list
);
