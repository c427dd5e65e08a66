-- Users who sign in at the company's provider; both null: with a password. Their password_hash is empty.
alter table console_user add column issuer text, add column subject text;
create unique index console_user_by_subject on console_user (issuer, subject);
