-- The ledger. Every primary key begins with the shard, so that the tables can be distributed by it.
-- A receipt is written once and never rewritten: everything that changes is in the small rows of
-- job.

create type ledger.job_state as enum ('received', 'processing', 'retrying', 'processed', 'failed', 'attention');

create table ledger.source (
  tenant text not null,
  name text not null,
  -- How long event keys and bodies are kept, as the receivers of the source last declared it.
  key_seconds integer not null,
  body_seconds integer not null,
  paused_at timestamptz,
  primary key (tenant, name)
);

create table ledger.subscriber (
  id integer generated always as identity primary key,
  tenant text not null,
  source text not null,
  name text not null,
  pattern text not null,
  paused_at timestamptz,
  seen_at timestamptz not null default now(),
  unique (tenant, source, name)
);

-- The leases of workers. One row per process, so that a heartbeat rewrites one row, however many
-- jobs are running.
create table ledger.worker (
  id integer generated always as identity primary key,
  lease_until timestamptz not null,
  started_at timestamptz not null default now(),
  dead_at timestamptz,
  host text not null,
  pid integer not null
) with (fillfactor = 50);

create table ledger.receipt (
  received_at timestamptz not null default now(),
  occurred_at timestamptz,
  id uuid not null,
  shard smallint not null,
  -- The position, from 1, of the source's secret that verified the signature.
  secret smallint not null,
  tenant text not null,
  source text not null,
  event_key text not null,
  event_type text not null,
  object_id text,
  -- Lines of `name: value`. Headers and body are null after their retention.
  headers text,
  body bytea,
  -- Recognises a different body under the same key. Null while the body is stored: then it is
  -- computed from the body.
  body_sha256 bytea,
  primary key (shard, id)
)
-- Bodies up to this size stay in their row. Out of line, each body would cost another row and index
-- entry.
with (toast_tuple_target = 8160);

-- New entries go to the rightmost page of their shard, which keeps accepts cheap. Lists of events
-- and pruning read along this index.
create index receipt_received on ledger.receipt (shard, received_at);

-- For bodies of a few kilobytes, the default compression (pglz) costs more than the disk that it
-- saves.
do $$
begin
  alter table ledger.receipt alter column body set compression lz4;
exception when feature_not_supported then
  alter table ledger.receipt alter column body set storage external;
end
$$;

-- Repeated deliveries: one row per event that was delivered again.
create table ledger.duplicate (
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  receipt_id uuid not null,
  count integer not null,
  -- How many repeats had a different body. `mismatch_sha256` is the hash of the latest one.
  mismatches integer not null default 0,
  shard smallint not null,
  mismatch_sha256 bytea,
  primary key (shard, receipt_id)
) with (fillfactor = 70);

create table ledger.job (
  receipt_id uuid not null,
  -- The age of the job counts from here: its receipt, or its last replay.
  born_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  subscriber integer not null,
  -- Raised at each claim and rescue. Nothing lowers it, not even a replay.
  fence integer not null default 0,
  worker integer,
  state ledger.job_state not null,
  shard smallint not null,
  attempt smallint not null default 0,
  crashes smallint not null default 0,
  reason text,
  primary key (shard, receipt_id, subscriber)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index job_due on ledger.job (shard, subscriber, due_at) where state in ('received', 'retrying');
create index job_leased on ledger.job (shard, worker) where state = 'processing';
create index job_failed on ledger.job (shard, subscriber, finished_at) where state in ('failed', 'attention');

-- Attempts that did not end in `processed`. The row in job describes the last attempt of a
-- processed job.
create table ledger.attempt (
  receipt_id uuid not null,
  started_at timestamptz not null,
  ended_at timestamptz not null default now(),
  subscriber integer not null,
  fence integer not null,
  shard smallint not null,
  number smallint not null,
  outcome text not null,
  error text,
  primary key (shard, receipt_id, subscriber, fence)
);

-- Rejected deliveries: one row per source and reason, so senders cannot make the table grow.
create table ledger.rejection (
  source text not null,
  code text not null,
  count bigint not null,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  last_detail text not null,
  primary key (source, code)
);

-- The bodies of a shard are swept up to this time, so that the next sweep starts there.
create table ledger.sweep (
  shard smallint primary key,
  bodies_swept_to timestamptz not null
);
