-- oldest binary: 4
-- Ordered processing: jobs of one subscriber with the same order key run one at a time. The columns
-- and indexes call the order key `lane`.

-- An order key with unfinished jobs. A transaction locks this row to add jobs, or to release the
-- next one.
create table ledger.lane (
  -- The position of the last job. The first position is the current time in microseconds, so
  -- positions also rise after the row was deleted and recreated.
  seq bigint not null,
  -- How many jobs the last accept added. `seq` is the position of the last of them.
  added integer not null,
  id uuid not null,
  shard smallint not null,
  primary key (shard, id)
) with (fillfactor = 70);

-- A job that waits for its turn has the state `received` and is due at infinity.
alter table ledger.job add column lane uuid, add column lane_seq bigint;

create index job_lane_waiting on ledger.job (lane, lane_seq)
  where lane is not null and state = 'received' and due_at = 'infinity';
create index job_lane_live on ledger.job (lane)
  where lane is not null and state in ('received', 'processing', 'retrying', 'attention') and due_at < 'infinity';
