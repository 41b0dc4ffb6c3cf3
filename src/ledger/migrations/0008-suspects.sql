-- oldest binary: 1
-- Which jobs are suspected of crashing their process, and which subscribers a worker serves. Older
-- binaries record neither: they still fail a job at its third crash, and count as serving every
-- subscriber.

-- The length of the lease that this worker renews. Null: an older binary added the row.
alter table ledger.worker add column lease_ms integer;
-- The subscribers whose jobs this worker runs. Null: an older binary added the row.
alter table ledger.worker add column serves integer[];

-- The subscriber was served until this time by workers whose rows have been deleted.
alter table ledger.subscriber add column served_until timestamptz;

-- Jobs and lanes that were running in several crashes. They are few, and claimed separately.
create index job_suspect on ledger.job (due_at) where crashes >= 2 and state in ('received', 'retrying');
create index outbox_lane_suspect on ledger.outbox_lane (shard, topic, due_at) where worker is null and crashes > 0;
