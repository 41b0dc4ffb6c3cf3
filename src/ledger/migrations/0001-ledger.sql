-- The ledger. Every primary key leads with the shard, so that the tables can be distributed by it.
-- A receipt is written once and not rewritten; what changes lives in the small rows of job.

create type ledger.job_state as enum ('received', 'processing', 'retrying', 'processed', 'failed', 'attention');

create table ledger.source (
  tenant text not null,
  name text not null,
  -- The two clocks of retention, as its receivers last declared them.
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

-- A worker's lease: one row a process, so that a heartbeat rewrites one row however many jobs are in flight.
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
  -- Which of the source's secrets matched, by position from 1.
  secret smallint not null,
  tenant text not null,
  source text not null,
  event_key text not null,
  event_type text not null,
  object_id text,
  -- Lines of `name: value`. Null, as the body, once past their retention.
  headers text,
  body bytea,
  -- Of a body that is gone, to recognise another body under the same key. While the body is there, it tells itself.
  body_sha256 bytea,
  primary key (shard, id)
)
-- Bodies up to this stay in their row: out of line each would cost a row and an index entry of its own.
with (toast_tuple_target = 8160);

-- New entries go to the rightmost page of their shard: cheap on accept, and what `events` and pruning walk along.
create index receipt_received on ledger.receipt (shard, received_at);

-- The default compression (pglz) costs more than the disk it saves on bodies of a few kilobytes.
do $$
begin
  alter table ledger.receipt alter column body set compression lz4;
exception when feature_not_supported then
  alter table ledger.receipt alter column body set storage external;
end
$$;

-- Further deliveries of a known event. One row an event that was repeated at all.
create table ledger.duplicate (
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  receipt_id uuid not null,
  count integer not null,
  -- How many of them came with another body, and the hash of the last such body.
  mismatches integer not null default 0,
  shard smallint not null,
  mismatch_sha256 bytea,
  primary key (shard, receipt_id)
) with (fillfactor = 70);

create table ledger.job (
  receipt_id uuid not null,
  -- When this job's age began: at the receipt, or at its last replay.
  born_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  subscriber integer not null,
  -- Raised at each claim and each rescue; never lowered, not even by a replay.
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

-- Attempts that did not end in `processed`; the last one of a processed job is told by its row in job.
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

-- What was refused, by source and reason: bounded, whatever anyone sends.
create table ledger.rejection (
  source text not null,
  code text not null,
  count bigint not null,
  first_at timestamptz not null default now(),
  last_at timestamptz not null default now(),
  last_detail text not null,
  primary key (source, code)
);

-- Up to when the bodies of a shard are swept, so that a sweep does not walk over what is swept already.
create table ledger.sweep (
  shard smallint primary key,
  bodies_swept_to timestamptz not null
);
