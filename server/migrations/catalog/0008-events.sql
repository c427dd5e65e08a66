-- Events of the catalog, written in the transaction that makes the change, until they are with their deliveries.
create table catalog_event (
  number integer primary key, -- given again once the event is gone
  id text not null, -- the webhook-id
  type text not null,
  at integer not null,
  data text not null -- JSON
);
