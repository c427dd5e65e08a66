-- The roles of users and invitations in parts of the account: [{"scope":{"type":"project-group","id":1},"role":"editor"}].
-- Users with the role none have no access outside of these parts.
alter table console_user add column roles text not null default '[]';
alter table invitation add column roles text not null default '[]';
