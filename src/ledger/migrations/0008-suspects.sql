-- oldest binary: 1
-- Blame for crashes, and which subscribers a worker serves. Older binaries that run beside new ones still bury a job at
-- its third crash, and record neither: they count as serving every subscriber.

-- How long the lease is that this worker renews; null: enlisted by an older binary.
alter table ledger.worker add column lease_ms integer;
-- The subscribers whose jobs this worker runs; null: enlisted by an older binary, which did not record them.
alter table ledger.worker add column serves integer[];

-- When the last worker that served it and whose row is gone by now had ended.
alter table ledger.subscriber add column served_until timestamptz;

-- Jobs and lanes that were in flight in several crashes: few, and looked for apart from the others.
create index job_suspect on ledger.job (due_at) where crashes >= 2 and state in ('received', 'retrying');
create index outbox_lane_suspect on ledger.outbox_lane (shard, topic, due_at) where worker is null and crashes > 0;
