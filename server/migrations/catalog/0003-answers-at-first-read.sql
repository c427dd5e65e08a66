-- Answers are made of the upload when they are first read, so stored answers are not read anymore. They are removed with
-- their documents, because rewriting every row takes 25 s for a million products, and more disk than the catalog has.
alter table document rename column answer to former_answer;

-- 1 if the upload is unchanged and gains facts of attributes that the full update creates.
alter table staged_product rename column ontology_revision to gains_facts;
update staged_product set gains_facts = gains_facts < 0;

-- The attributes before a change by a person, which show the facts that a product had when they were last compared.
create table past_ontology (
  revision integer primary key,
  attributes text not null -- JSON list
);
