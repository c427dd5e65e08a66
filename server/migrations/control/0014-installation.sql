-- Identifies the installation. Each catalog file records it, so that a file of another installation is not served.
create table installation (
  id integer primary key check (id = 1),
  identity text not null -- 32 hexadecimal digits
);
insert into installation (id, identity) values (1, lower(hex(randomblob(16))));
