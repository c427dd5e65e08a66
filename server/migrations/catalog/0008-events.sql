-- Events of the catalog. The transaction of the change writes them; they are removed once they have deliveries.
create table catalog_event (
  number integer primary key, -- given again once the event is gone
  id text not null, -- the webhook-id
  type text not null,
  at integer not null,
  data text not null -- JSON
);
