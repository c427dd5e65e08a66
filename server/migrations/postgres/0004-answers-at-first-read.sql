-- See ../catalog/0003-answers-at-first-read.sql.
alter table document rename column answer to former_answer;
alter table document alter column former_answer set default '';

alter table staged_product rename column ontology_revision to gains_facts;
update staged_product set gains_facts = case when gains_facts < 0 then 1 else 0 end;

create table past_ontology (
  project_id bigint not null,
  revision bigint not null,
  attributes text not null,
  primary key (project_id, revision)
);
