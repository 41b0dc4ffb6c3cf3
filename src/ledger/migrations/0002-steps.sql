-- oldest binary: 1
-- Checkpoints inside one job: what is recorded here is not done again by a later attempt or a replay.
create table ledger.step (
  receipt_id uuid not null,
  at timestamptz not null default now(),
  subscriber integer not null,
  -- The run that did it.
  fence integer not null,
  shard smallint not null,
  name text not null,
  result jsonb,
  primary key (shard, receipt_id, subscriber, name)
);

-- The step whose commit also completed the job: a replay must not do it again either.
alter table ledger.job add column last_step text;
