-- The origin of a session, which its user can see.
alter table console_session add column address text;    -- null if an earlier version opened the session
alter table console_session add column user_agent text; -- at most 255 characters
