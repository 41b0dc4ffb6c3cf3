/**
 * Guards whose removal no test can detect, each with the reason: without the guard, the statement
 * still does the same. An entry that matches no mutant is an error, so that this list does not
 * outlive the code.
 */
export const EQUIVALENT = [
  {
    file: 'src/ledger/jobs/retry-now.ts',
    removed: 'j.state in ${CLAIMABLE}',
    within: "j.state = 'retrying'",
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/outbox/messages.ts',
    removed: "state <> 'waiting'",
    within: 'for update skip locked',
    reason:
      'names the partial index; a waiting message has no end time, so the condition behind it is narrower',
  },
  {
    file: 'src/ledger/outbox/messages.ts',
    removed: "state <> 'waiting'",
    within: 'select count(*)::integer as count',
    reason:
      'names the partial index; a waiting message has no end time, so the condition behind it is narrower',
  },
  {
    file: 'src/ledger/jobs/replay.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'r.received_at > now()',
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/jobs/bulk-replay.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'select j.receipt_id, j.finished_at, j.reason from',
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/places/hold-tenant.ts',
    removed: "state = 'waiting'",
    within: 'select distinct shard, lane from ledger.outbox',
    reason: 'skips finished messages: a lane without a waiting message is gone, or a relay will delete it',
  },
  {
    file: 'src/ledger/places/tenant-rows.ts',
    removed: "state = 'waiting'",
    within: 'select distinct lane from ledger.outbox',
    reason: 'skips finished messages: a lane without a waiting message is gone, or a relay will delete it',
  },
  {
    file: 'src/ledger/read/few-events.ts',
    removed: 'j.state in ${CLAIMABLE}',
    within: 'and j.subscriber = s.id',
    reason: 'names the partial index; the states are compared behind it',
  },
  {
    file: 'src/ledger/read/few-events.ts',
    removed: "j.state = 'processing'",
    within: 'order by j.worker',
    reason: 'names the partial index; the state is compared behind it',
  },
  {
    file: 'src/ledger/read/events.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'j.finished_at as at, j.reason',
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/stats/failure-counts.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'coalesce(j.finished_at, j.born_at) as at',
    reason: 'names the partial index; each count has a condition of its own',
  },
  {
    file: 'src/ledger/stats/failure-counts.ts',
    removed: "j.state = 'failed'",
    within: 'coalesce(j.finished_at, j.born_at) as at',
    reason: 'skips the texts of other jobs; only failed jobs are grouped by their text',
  },
  {
    file: 'src/ledger/stats/failure-counts.ts',
    removed: "c.state = 'failed'",
    within: 'c.fingerprint = g.fingerprint',
    reason: 'restricts the count to failed jobs; other jobs have no fingerprint, so they equal no failure',
  },
  {
    file: 'src/ledger/stats/failure-counts.ts',
    removed: "c.state = 'failed'",
    within: 'c.fingerprint = h.fingerprint',
    reason: 'restricts the count to failed jobs; other jobs have no fingerprint, so they equal no failure',
  },
  {
    file: 'src/ledger/read/failures.ts',
    removed: "c.state = 'failed'",
    within: 'sum(c.change) as jobs, min(c.at) as first_at',
    reason: 'restricts the count to failed jobs; other notes have no fingerprint, so no join finds them',
  },
  {
    file: 'src/ledger/read/failures.ts',
    removed: "c.state = 'failed'",
    within: "date_trunc('hour', c.at, 'UTC'), c.change",
    reason: 'restricts the count to failed jobs; other notes have no fingerprint, so no join finds them',
  },
  {
    file: 'src/ledger/read/workers.ts',
    removed: "j.state = 'processing'",
    within: 'held.jobs',
    reason: 'names the partial index; only a job that runs has a worker',
  },
  {
    file: 'src/ledger/read/outbox.ts',
    removed: "m.state = 'waiting'",
    within: 'min(w.seq) as seq',
    reason: 'skips the lookup of finished messages; none of them has the place of a waiting message',
  },
  {
    file: 'src/ledger/receipts/known-receipts.ts',
    removed: "current_setting('synchronous_commit')",
    within: "<> 'local'",
    reason: 'saves a message in the log; with `local`, its commit would not wait for a standby either',
  },
]
