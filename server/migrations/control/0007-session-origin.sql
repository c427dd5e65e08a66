-- Where a session was opened, shown to its user.
alter table console_session add column address text;    -- null: before this was kept
alter table console_session add column user_agent text; -- cut at 255 characters
