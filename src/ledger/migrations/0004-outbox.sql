-- oldest binary: 1
-- The outbox: messages that were committed with a business write, and wait for a publisher.

create type ledger.message_state as enum ('waiting', 'published', 'failed');

-- A message is written once, and updated once: when it is published or given up. Everything that
-- changes in between is in the row of its lane.
create table ledger.outbox (
  id uuid not null,
  lane uuid not null,
  -- The event whose job added the message. `subscriber` completes the job's key.
  receipt_id uuid not null,
  created_at timestamptz not null default now(),
  -- The age of the message counts from here: its commit, or its last replay.
  born_at timestamptz not null default now(),
  finished_at timestamptz,
  -- The position of the message in its lane.
  seq bigint not null,
  subscriber integer not null,
  state ledger.message_state not null default 'waiting',
  shard smallint not null,
  attempts smallint not null default 0,
  tenant text not null,
  topic text not null,
  key text,
  reason text,
  headers json,
  payload json not null,
  primary key (shard, id)
) with (fillfactor = 90);

create index outbox_waiting on ledger.outbox (shard, lane, seq) where state = 'waiting';
create index outbox_finished on ledger.outbox (shard, finished_at) where state <> 'waiting';
create index outbox_failed on ledger.outbox (shard, topic) where state = 'failed';

-- A relay leases lanes, not messages. A lane has the messages of one tenant, topic and key; only
-- its first message may be published. A message without a key has a lane of its own. The
-- transaction that adds a message locks the lane until it commits, so messages of a lane are in
-- commit order. An empty lane is deleted.
create table ledger.outbox_lane (
  id uuid not null,
  due_at timestamptz not null default now(),
  started_at timestamptz,
  -- The position of the last message.
  tail bigint not null,
  fence bigint not null default 0,
  worker integer,
  shard smallint not null,
  -- The attempts and crashes of the first message.
  attempt smallint not null default 0,
  crashes smallint not null default 0,
  topic text not null,
  reason text,
  primary key (shard, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index outbox_lane_due on ledger.outbox_lane (shard, topic, due_at) where worker is null;
create index outbox_lane_leased on ledger.outbox_lane (shard, worker) where worker is not null;

-- A sequence, not a counter in the row: a deleted and recreated lane would restart at 0, and an old
-- fence would match.
create sequence ledger.outbox_fence;
