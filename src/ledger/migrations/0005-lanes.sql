-- oldest binary: 4
-- Ordered processing: the jobs of one subscriber that share an ordering key are a lane, and run one at a time.

-- A lane with unfinished jobs. Its row is the lock under which jobs are added and the next one is let go.
create table ledger.lane (
  -- Of the last job that was added. Begins at the clock, so that it also rises when a lane was gone for a while.
  seq bigint not null,
  -- How many jobs the last accept added: they count back from seq.
  added integer not null,
  id uuid not null,
  shard smallint not null,
  primary key (shard, id)
) with (fillfactor = 70);

-- A job that waits for its turn is received, and due at infinity.
alter table ledger.job add column lane uuid, add column lane_seq bigint;

create index job_lane_waiting on ledger.job (lane, lane_seq)
  where lane is not null and state = 'received' and due_at = 'infinity';
create index job_lane_live on ledger.job (lane)
  where lane is not null and state in ('received', 'processing', 'retrying', 'attention') and due_at < 'infinity';
