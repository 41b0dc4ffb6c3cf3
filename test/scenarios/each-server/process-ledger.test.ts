import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClaimedJob, claimJobs, claimSuspect, putOffSuspect } from '../../../src/ledger/jobs/claim.ts'
import { replayJobs } from '../../../src/ledger/jobs/replay.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { type Settlement, settleJobs } from '../../../src/ledger/jobs/settle.ts'
import { discardWaiting } from '../../../src/ledger/jobs/waiting-jobs.ts'
import { jobStates, transitions } from '../../../src/model/job-state.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'
import { claim, claimAny, claimOne, JOB, replayOf, rescueOf } from '../../support/seeded-claims.ts'

test('eight concurrent claims lease each of a hundred jobs once, and never more than requested', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 100, { shard: 0 })
  const claimed: ClaimedJob[] = []
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const worker = await seedWorker(db)
      for (;;) {
        const jobs = await claim(db.pool, { worker, subscriber, slots: 7 })
        expect(jobs.length).toBeLessThanOrEqual(7)
        claimed.push(...jobs)
        if (jobs.length === 0 && claimed.length === 100) return
        expect(claimed.length).toBeLessThanOrEqual(100)
      }
    }),
  )

  expect(new Set(claimed.map((job) => job.receiptId)).size).toBe(100)
  expect(await db.rows('select distinct state::text, fence, attempt from hookonce.job')).toEqual([
    { state: 'processing', fence: 1, attempt: 1 },
  ])
})

test('a claim gives each subscriber no more than its own slots', async () => {
  const db = await freshDatabase()
  const one = await seedJobs(db, 5, { shard: 0, subscriber: 'one' })
  const two = await seedJobs(db, 5, { shard: 0, subscriber: 'two' })
  const worker = await seedWorker(db)
  const slots = new Map([
    [one, 2],
    [two, 1],
  ])
  const jobs = await claimJobs(db.pool, { shard: 0, worker, slots })

  expect(jobs.map((job) => job.subscriber).sort()).toEqual([one, one, two].sort())
  expect(await db.number(`select count(*) from hookonce.job where state = 'processing'`)).toBe(3)
})

test('a claim skips jobs that are not due, and jobs that were in flight in several crashes', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 3, { shard: 0 })
  const worker = await seedWorker(db)
  await db.rows(
    `update hookonce.job set due_at = now() + interval '1 hour' where receipt_id = (select min(receipt_id::text)::uuid from hookonce.job)`,
  )
  await db.rows(
    `update hookonce.job set crashes = 2 where receipt_id = (select max(receipt_id::text)::uuid from hookonce.job)`,
  )
  const slots = new Map([[subscriber, 10]])

  expect(await claimJobs(db.pool, { shard: 0, worker, slots })).toMatchObject([{ crashes: 0 }])
  expect(await claimJobs(db.pool, { shard: 0, worker, slots })).toEqual([])
  expect(await claimJobs(db.pool, { shard: 0, worker, slots, suspects: true })).toMatchObject([
    { crashes: 2 },
  ])
  expect(await claimJobs(db.pool, { shard: 0, worker, slots, suspects: true })).toEqual([])
})

test('a suspect that must run alone is postponed for one process, which claims it before it is due again', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 1, { shard: 0 })
  const worker = await seedWorker(db)
  await db.rows('update hookonce.job set crashes = 3')
  const slots = new Map([[subscriber, 10]])
  expect(await claimJobs(db.pool, { shard: 0, worker, slots })).toEqual([])
  expect(await claimJobs(db.pool, { shard: 0, worker, slots, suspects: true })).toEqual([])

  const asking = { shard: 0, subscribers: [subscriber], ms: 60_000 }
  const answers = await Promise.all(Array.from({ length: 8 }, () => putOffSuspect(db.pool, asking)))
  const [suspect, ...others] = answers.filter((answer) => answer !== undefined)
  expect(others).toEqual([])
  if (!suspect) throw new Error('the suspect was put off for nobody')
  // If a process dies while a job waits to run alone, the waiting job is not the cause.
  expect(await rescueJobs(db.pool, rescueOf(worker))).toEqual([])
  expect(await claimSuspect(db.pool, suspect, worker)).toMatchObject({ crashes: 3, attempt: 1, fence: 1 })
  expect(await claimSuspect(db.pool, suspect, worker)).toBeUndefined()
})

test('concurrent rescuers rescue each job once', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 60, { shard: 0 })
  const worker = await seedWorker(db)
  expect(await claim(db.pool, { worker, subscriber, slots: 60 })).toHaveLength(60)

  const rescues = await Promise.all(
    Array.from({ length: 16 }, () => rescueJobs(db.pool, { ...rescueOf(worker), limit: 7 })),
  )

  const rescued = rescues.flat().map((job) => job.receiptId)
  expect(rescued).toHaveLength(60)
  expect(new Set(rescued).size).toBe(60)
  expect(await db.rows('select distinct state::text, fence, crashes from hookonce.job')).toEqual([
    { state: 'retrying', fence: 2, crashes: 1 },
  ])
  expect(await db.number('select count(*) from hookonce.attempt')).toBe(60)
})

test('the fifth crash buries a job as poison, with its five crashes recorded', async () => {
  const db = await freshDatabase()
  const { worker, subscriber } = await claimOne(db)
  for (const buried of [false, false, false, false, true]) {
    expect(await rescueJobs(db.pool, rescueOf(worker))).toMatchObject([{ buried }])
    await db.rows('update hookonce.job set due_at = now()')
    await claimAny(db.pool, { worker, subscriber, slots: 1 })
  }

  expect(await db.rows(JOB)).toEqual([
    {
      state: 'failed',
      fence: 10,
      attempt: 5,
      crashes: 5,
      worker: null,
      finished: true,
      reason: 'POISON: 5 workers died while running it; in the last 2 crashes it ran alone in its process',
    },
  ])
  expect(await db.rows('select number, fence, outcome from hookonce.attempt order by fence')).toEqual([
    { number: 1, fence: 1, outcome: 'crashed' },
    { number: 2, fence: 3, outcome: 'crashed' },
    { number: 3, fence: 5, outcome: 'crashed' },
    { number: 4, fence: 7, outcome: 'crashed' },
    { number: 5, fence: 9, outcome: 'crashed' },
  ])
})

test('a run that ended clears the count of crashes; a run that was handed back does not', async () => {
  const db = await freshDatabase()
  const { worker, subscriber } = await claimOne(db)
  await rescueJobs(db.pool, rescueOf(worker))
  const again = async (): Promise<ClaimedJob> => {
    await db.rows('update hookonce.job set due_at = now()')
    const [job] = await claim(db.pool, { worker, subscriber, slots: 1 })
    if (!job) throw new Error('the job could not be claimed')
    return job
  }
  await settleJobs(db.pool, [settlement(await again(), 'received')])
  expect(await again()).toMatchObject({ crashes: 1 })
  await rescueJobs(db.pool, { ...rescueOf(worker), isCrash: false })
  const job = await again()
  expect(job).toMatchObject({ crashes: 1 })
  await settleJobs(db.pool, [settlement(job, 'retrying')])
  expect(await again()).toMatchObject({ crashes: 0 })
  expect(await db.rows('select outcome, error from hookonce.attempt order by fence')).toEqual([
    { outcome: 'crashed', error: 'its worker died while running it' },
    { outcome: 'returned', error: 'its process stopped while running it' },
    { outcome: 'retrying', error: 'Error: it failed' },
  ])
})

test('outcomes of every kind settle in one batch, and a stale one among them alone is refused', async () => {
  const db = await freshDatabase()
  const subscriber = await seedJobs(db, 5, { shard: 0 })
  const worker = await seedWorker(db)
  const jobs = await claim(db.pool, { worker, subscriber, slots: 5 })
  const states: Settlement['state'][] = ['processed', 'retrying', 'failed', 'received', 'processed']
  const batch = jobs.map((job, n) =>
    settlement(n === 4 ? { ...job, fence: 7 } : job, states[n] ?? 'processed'),
  )

  expect(await settleJobs(db.pool, batch)).toEqual([true, true, true, true, false])

  const byId = new Map(
    (
      await db.rows<{ id: string }>(`select receipt_id as id, state::text, attempt, worker from hookonce.job`)
    ).map((row) => [row.id, row]),
  )
  expect(jobs.map((job) => byId.get(job.receiptId))).toMatchObject([
    { state: 'processed', attempt: 1, worker: null },
    { state: 'retrying', attempt: 1, worker: null },
    { state: 'failed', attempt: 1, worker: null },
    { state: 'received', attempt: 0, worker: null },
    { state: 'processing', attempt: 1, worker },
  ])
  expect(await db.rows('select outcome from hookonce.attempt order by outcome')).toEqual([
    { outcome: 'failed' },
    { outcome: 'retrying' },
  ])
})

test('for any order of actions, a job only makes the transitions of the state machine, and its fence never decreases', async () => {
  const db = await freshDatabase()
  await db.rows(`
    create table moved (was text, became text, fence_was int, fence_became int);
    create function record_move() returns trigger language plpgsql as $$
    begin
      insert into moved values (old.state, new.state, old.fence, new.fence);
      return new;
    end $$;
    create trigger record_move before update on hookonce.job for each row execute function record_move();`)
  const subscriber = await seedJobs(db, 6, { shard: 0 })
  const receiptIds = (await db.rows<{ id: string }>('select id from hookonce.receipt')).map(({ id }) => id)
  const workers = [await seedWorker(db), await seedWorker(db)]
  const verb = fc.oneof(
    fc.record({
      verb: fc.constant('claim' as const),
      worker: fc.nat(1),
      slots: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({
      verb: fc.constant('settle' as const),
      run: fc.nat(7),
      state: fc.constantFrom(
        'processed' as const,
        'retrying' as const,
        'failed' as const,
        'received' as const,
      ),
    }),
    fc.record({ verb: fc.constant('rescue' as const), worker: fc.nat(1) }),
    fc.record({ verb: fc.constant('replay' as const) }),
    fc.record({ verb: fc.constant('discard' as const) }),
  )
  // Every run so far: most of them are stale when they are settled.
  const runs: ClaimedJob[] = []

  await fc.assert(
    fc.asyncProperty(fc.array(verb, { minLength: 40, maxLength: 60 }), async (verbs) => {
      for (const step of verbs) {
        const run = 'run' in step ? runs.at(-1 - step.run) : undefined
        const worker = 'worker' in step ? (workers[step.worker] ?? 0) : 0
        if (step.verb === 'claim')
          runs.push(...(await claimAny(db.pool, { worker, subscriber, slots: step.slots })))
        if (step.verb === 'settle' && run) await settleJobs(db.pool, [settlement(run, step.state)])
        if (step.verb === 'rescue') await rescueJobs(db.pool, rescueOf(worker))
        if (step.verb === 'discard')
          await discardWaiting(db.pool, { shard: 0, subscriber, limit: 1, reason: 'DISCARDED' })
        if (step.verb === 'replay') await replayJobs(db.pool, { ...replayOf(), receiptIds })
        await db.rows(`update hookonce.job set due_at = now() where due_at > now()`)
      }
    }),
    { numRuns: 12 },
  )

  const moves = await db.rows<{ was: keyof typeof transitions; became: string }>(
    'select distinct was, became from moved where was <> became',
  )
  for (const { was, became } of moves) expect(transitions[was], `${was} → ${became}`).toContain(became)
  // Every state with a transition was reached. `attention` has none here.
  const seen = new Set(moves.map(({ was, became }) => `${was} → ${became}`))
  const expected = jobStates.flatMap((was) => transitions[was].map((became) => `${was} → ${became}`))
  expect([...seen].sort()).toEqual(expected.filter((move) => !move.includes('attention')).sort())
  expect(await db.number('select count(*) from moved where fence_became < fence_was')).toBe(0)
  expect(
    await db.number(
      `select count(*) from moved where became = 'processing' and was <> became and fence_became <> fence_was + 1`,
    ),
  ).toBe(0)
})
