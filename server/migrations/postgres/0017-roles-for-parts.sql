-- What a user may do in parts of the account, and who is invited: [{"scope":{"type":"project-group","id":1},"role":"editor"}].
-- The role none is that of users who may do nothing elsewhere.
alter table console_user add column roles text not null default '[]';
alter table invitation add column roles text not null default '[]';
