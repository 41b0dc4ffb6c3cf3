import { expect, test } from 'vitest'
import type { EffectState } from '../../../src/ledger/effects/effects.ts'
import { CLAIMABLE, NEEDS_OPERATOR, UNFINISHED } from '../../../src/ledger/jobs/states.ts'
import type { MessageRow } from '../../../src/ledger/read/outbox.ts'
import { jobStates } from '../../../src/model/job-state.ts'
import { freshDatabase } from '../../support/database.ts'

/* The states in the code and the states of a migrated database. */

/** Objects, so that the compiler detects a missing state. */
const effectStates: Readonly<Record<EffectState, true>> = {
  started: true,
  done: true,
  failed: true,
  unknown: true,
}
/** `retrying` is not stored: it is a waiting message whose lane has failed before. */
const messageStates: Readonly<Record<Exclude<MessageRow['state'], 'retrying'>, true>> = {
  waiting: true,
  published: true,
  failed: true,
}

test('every enum of the ledger holds the states of the code', async () => {
  const db = await freshDatabase()
  const enums = await db.rows<{ name: string; states: string[] }>(
    `select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as states
     from pg_type t join pg_enum e on e.enumtypid = t.oid
     where t.typnamespace = 'hookonce'::regnamespace group by t.typname order by t.typname`,
  )
  expect(enums).toEqual([
    { name: 'effect_state', states: Object.keys(effectStates) },
    { name: 'job_state', states: [...jobStates] },
    { name: 'message_state', states: Object.keys(messageStates) },
  ])
})

test.each([
  ['job_due', CLAIMABLE],
  ['job_suspect', CLAIMABLE],
  ['job_failed', NEEDS_OPERATOR],
  ['job_lane_live', UNFINISHED],
])('the index %s holds the jobs that the statements look for', async (index, states) => {
  const db = await freshDatabase()
  const [row] = await db.rows<{ predicate: string }>(
    `select pg_get_expr(indpred, indrelid) as predicate from pg_index where indexrelid = $1::regclass`,
    [`hookonce.${index}`],
  )
  const listed = [...(row?.predicate ?? '').matchAll(/'(\w+)'::hookonce\.job_state/g)].map(
    ([, state]) => state,
  )
  expect(listed).toEqual([...states.matchAll(/'(\w+)'/g)].map(([, state]) => state))
})
