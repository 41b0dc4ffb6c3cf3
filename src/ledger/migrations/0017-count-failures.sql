-- oldest binary: 1
-- Counts the existing failed jobs. It is not part of 0016, because 0016 blocks writers of jobs
-- until it commits. This migration blocks no writer; 117,000 failed jobs took 11 seconds on a busy
-- machine.
--
-- One statement has one snapshot: the notes that it deletes are of changes that its count contains.
-- Later changes add notes that it does not see.
with noted as (
  delete from ledger.failure_change
), counted as materialized (
  select subscriber, state, receipt_id, at, error, ledger.failure_fingerprint(error) as fingerprint
  from (
    select j.subscriber, j.state, j.receipt_id, coalesce(j.finished_at, j.born_at) as at,
      case when j.state = 'failed' then ledger.failure_text(j.reason) end as error
    from ledger.job j where j.state in ('failed', 'attention')
  ) j
), totals as (
  insert into ledger.failure_total (subscriber, failed, attention, recounted_at)
  select subscriber, count(*) filter (where state = 'failed'), count(*) filter (where state = 'attention'), now()
  from counted group by subscriber
), groups as (
  insert into ledger.failure_group (subscriber, fingerprint, jobs, first_at, last_at, error, receipts)
  select subscriber, fingerprint, count(*), min(at), max(at), (array_agg(error order by at desc, receipt_id))[1],
    (array_agg(receipt_id order by at desc, receipt_id))[1:10]
  from counted where state = 'failed' group by subscriber, fingerprint
)
insert into ledger.failure_hour (subscriber, fingerprint, at, jobs)
select subscriber, fingerprint, date_trunc('hour', at, 'UTC'), count(*)
from counted where state = 'failed' group by 1, 2, 3;
