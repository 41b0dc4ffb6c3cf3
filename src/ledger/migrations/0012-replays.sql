-- oldest binary: 1
-- Replays of many jobs: what is replayed, how fast, and how far it is. Older binaries do not work on them.

create table ledger.bulk_replay (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now(),
  -- When the last batch was taken: the rate counts from it.
  stepped_at timestamptz not null default now(),
  ended_at timestamptz,
  per_second integer not null,
  state text not null,
  name text not null,
  -- Null: every tenant.
  tenant text,
  actor text not null,
  why text not null,
  filter jsonb not null,
  -- Where the next batch begins, in the order of the walk.
  position jsonb not null,
  -- As planned; the jobs that are there may be others by now.
  expected bigint not null,
  seen bigint not null default 0,
  replayed bigint not null default 0
);

create index bulk_replay_running on ledger.bulk_replay (created_at) where state = 'running';
create index bulk_replay_listed on ledger.bulk_replay (created_at, id);
