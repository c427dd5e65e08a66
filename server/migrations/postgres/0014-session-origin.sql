-- The origin of a session, which its user can see.
alter table console_session add column address text, add column user_agent text;
