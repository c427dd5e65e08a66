-- The second factor of users who sign in with a password (WebAuthn).
create table passkey (
  id integer primary key autoincrement,
  user_id integer not null references console_user (id),
  name text not null,
  credential_id text not null unique, -- as the authenticator names it, base64url
  public_key text not null,           -- COSE, base64url
  counter integer not null,                -- of signatures, as the authenticator counts them; 0: it does not
  transports text not null,           -- how browsers reach the authenticator, as JSON
  host text not null,                 -- where it was added: browsers use it nowhere else
  created_at integer not null,
  used_at integer
);
create index passkey_by_user on passkey (user_id);

create table passkey_challenge (
  hash text primary key,              -- SHA-256 of the challenge, hex
  user_id integer not null references console_user (id),
  purpose text not null,              -- add, sign-in
  expires_at integer not null
) without rowid;
create index passkey_challenge_by_user on passkey_challenge (user_id);

-- The number of a user's passkeys, which each sign-in reads.
alter table console_user add column passkeys integer not null default 0;
