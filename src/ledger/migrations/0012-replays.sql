-- oldest binary: 1
-- Replays of many jobs: the filter, the rate and the progress. Older binaries do not work on them.

create table ledger.bulk_replay (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now(),
  -- When the last batch was taken. The rate counts from this time.
  stepped_at timestamptz not null default now(),
  ended_at timestamptz,
  per_second integer not null,
  state text not null,
  name text not null,
  -- Null: the replay covers every tenant.
  tenant text,
  actor text not null,
  why text not null,
  filter jsonb not null,
  -- Where the next batch begins.
  position jsonb not null,
  -- The number of jobs when the replay was planned. Some may have finished or appeared since.
  expected bigint not null,
  seen bigint not null default 0,
  replayed bigint not null default 0
);

create index bulk_replay_running on ledger.bulk_replay (created_at) where state = 'running';
create index bulk_replay_listed on ledger.bulk_replay (created_at, id);
