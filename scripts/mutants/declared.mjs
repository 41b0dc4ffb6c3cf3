/**
 * Guards that no test can miss, each with the reason: without them the statement still does the
 * same. One that matches no mutant any more is an error, so that this list does not outlive the
 * code.
 */
export const EQUIVALENT = [
  {
    file: 'src/ledger/jobs/replay.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'r.received_at > now()',
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/read/jobs.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: 'select j.receipt_id, j.reason, j.finished_at',
    reason: 'names the partial index; the condition behind it is narrower',
  },
  {
    file: 'src/ledger/read/jobs.ts',
    removed: 'j.state in ${NEEDS_OPERATOR}',
    within: "filter (where j.state = 'failed')",
    reason: 'names the partial index; each count has a condition of its own',
  },
  {
    file: 'src/ledger/read/outbox.ts',
    removed: "and m.state = 'waiting'",
    within: 'min(w.seq) as seq',
    reason: 'spares finished messages the lookup; none of them has the place of one that waits',
  },
]
