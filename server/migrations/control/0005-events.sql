-- Events of tasks and channels. The transaction of the change writes them; they are removed once they have deliveries.
create table service_event (
  number integer primary key autoincrement,
  project_id integer not null,
  id text not null, -- the webhook-id
  type text not null,
  at integer not null,
  data text not null -- JSON
);
create index service_event_by_project on service_event (project_id, number);

create table webhook_endpoint (
  id integer primary key autoincrement,
  account_id integer not null references account (id),
  url text not null,
  events text not null,     -- JSON list of types
  scope_type text not null, -- account, project-group, project
  scope_id integer,
  secrets text not null,    -- JSON, the present one first: webhooks/endpoint-secret.ts
  is_enabled integer not null,
  switched_off text,        -- JSON {"at","reason"} where the service did it
  failing_since integer,    -- null: the last attempt went well
  created_at integer not null,
  created_by text not null,
  updated_at integer not null
);
create index webhook_endpoint_by_account on webhook_endpoint (account_id);

-- The message of an event, which is the same for all endpoints.
create table webhook_message (
  number integer primary key autoincrement,
  id text not null unique, -- the webhook-id
  project_id integer,      -- null: a test
  type text not null,
  at integer not null,
  body text not null
);

create table webhook_delivery (
  id integer primary key autoincrement,
  endpoint_id integer not null,
  lane integer not null,        -- the project, whose deliveries go out in order; 0: replays and tests
  message_number integer not null,
  kind text not null,           -- event, replay, test
  status text not null,         -- pending, delivered, failed
  attempts integer not null,
  created_at integer not null,
  first_attempt_at integer,
  finished_at integer,
  last_attempt text             -- JSON
);
create index webhook_delivery_by_endpoint on webhook_delivery (endpoint_id, id);
create index webhook_delivery_pending on webhook_delivery (endpoint_id, lane, id) where status = 'pending';
create index webhook_delivery_by_message on webhook_delivery (message_number);

-- A lane of an endpoint with pending deliveries. The process that sends them holds its lease, so that they are sent in order.
create table webhook_queue (
  endpoint_id integer not null,
  lane integer not null,
  due_at integer not null,
  tries integer not null,     -- of the first delivery, that failed
  leased_by text,
  lease_until integer,
  primary key (endpoint_id, lane)
) without rowid;
create index webhook_queue_due on webhook_queue (due_at);
