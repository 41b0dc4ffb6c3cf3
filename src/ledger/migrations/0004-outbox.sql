-- oldest binary: 1
-- The outbox: messages that were committed with a business write, for publishers to carry on.

create type ledger.message_state as enum ('waiting', 'published', 'failed');

-- A message is written once, and once more when it is published or given up; what changes in between is its lane's.
create table ledger.outbox (
  id uuid not null,
  lane uuid not null,
  -- The event and the job that it came of.
  receipt_id uuid not null,
  created_at timestamptz not null default now(),
  -- When its age began: at its commit, or at its last replay.
  born_at timestamptz not null default now(),
  finished_at timestamptz,
  -- Its place in the lane.
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

-- What is leased is a lane, not a message: the messages of one tenant, topic and key, of which only the first may be
-- published; a message without a key is a lane of its own. The lane's lock, held until the commit that adds a
-- message, makes the order in a lane the order of commits. A lane goes when it is empty.
create table ledger.outbox_lane (
  id uuid not null,
  due_at timestamptz not null default now(),
  started_at timestamptz,
  -- The place of its last message.
  tail bigint not null,
  fence bigint not null default 0,
  worker integer,
  shard smallint not null,
  -- Of its first message.
  attempt smallint not null default 0,
  crashes smallint not null default 0,
  topic text not null,
  reason text,
  primary key (shard, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index outbox_lane_due on ledger.outbox_lane (shard, topic, due_at) where worker is null;
create index outbox_lane_leased on ledger.outbox_lane (shard, worker) where worker is not null;

-- Not a counter of the lane: one that went and came again would begin anew, and an old fence would fit it.
create sequence ledger.outbox_fence;
