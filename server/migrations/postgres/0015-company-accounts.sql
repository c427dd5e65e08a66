-- The identity of users who sign in at the company's provider; their password_hash is empty. Both are null for users with a
-- password.
alter table console_user add column issuer text, add column subject text;
create unique index console_user_by_subject on console_user (issuer, subject);
