-- Where a session was opened, shown to its user.
alter table console_session add column address text, add column user_agent text;
