-- oldest binary: 1
-- Checkpoints inside one job. Later attempts and replays skip a step that is recorded here.
create table ledger.step (
  receipt_id uuid not null,
  at timestamptz not null default now(),
  subscriber integer not null,
  -- The run that recorded the step.
  fence integer not null,
  shard smallint not null,
  name text not null,
  result jsonb,
  primary key (shard, receipt_id, subscriber, name)
);

-- The step whose commit also completed the job. A replay must skip this step too.
alter table ledger.job add column last_step text;
