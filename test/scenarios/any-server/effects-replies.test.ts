import { expect, test } from 'vitest'
import { type EffectOptions, NotDone } from '../../../src/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { EFFECTS, QUICK_RETRIES } from '../../support/effect-records.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

/** The call of the first attempt happens and its reply is lost. Later calls succeed. */
async function lostReply(options: EffectOptions, between?: (db: TestDatabase) => Promise<unknown>) {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/mail', 'cut')
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
    if (ctx.attempt > 1) await between?.(db)
    await ctx.effect(
      'mail',
      async ({ fetch }) => (await fetch(`${other.url}/mail`, { method: 'POST', body: 'hello' })).json(),
      options,
    )
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  return { db, other, hooks }
}

test('keyed: a call whose reply was lost is repeated with the same key, and the service acts once', async () => {
  const { db, other } = await lostReply({})
  await jobsAre(db, 'processed')
  expect(other.calls.map(({ acted }) => acted)).toEqual([true, false])
  expect(new Set(other.calls.map(({ key }) => key)).size).toBe(1)
  expect(await db.rows('select downstream_key from hookonce.effect')).toEqual([
    { downstream_key: other.calls[0]?.key },
  ])
})

test('keyed: if the service may have forgotten the key, a lost reply is unknown', async () => {
  const { db, other } = await lostReply({ downstreamTtlMs: 60_000 }, (db) =>
    db.rows(`update hookonce.effect set started_at = started_at - interval '2 minutes'`),
  )
  await jobsAre(db, 'attention')
  expect(other.calls).toHaveLength(1)
  expect(await db.rows(EFFECTS)).toMatchObject([{ state: 'unknown' }])
})

test('atMostOnce: a lost reply is unknown, and the call is never repeated', async () => {
  const { db, other, hooks } = await lostReply({ mode: 'atMostOnce' })
  await jobsAre(db, 'attention')
  expect(other.calls).toHaveLength(1)
  expect(await db.rows('select state::text, reason, worker from hookonce.job')).toEqual([
    { state: 'attention', reason: expect.stringContaining('effect "mail": it was called'), worker: null },
  ])
  expect(await db.rows('select outcome from hookonce.attempt order by fence')).toEqual([
    { outcome: 'retrying' },
    { outcome: 'attention' },
  ])
  const text = await until('it is counted', async () => {
    const metrics = await hooks.metrics()
    return metrics.includes('hookonce_attention_total{source="test",subscriber="*"} 1') ? metrics : undefined
  })
  expect(text).toContain('hookonce_effects_unknown{source="test",subscriber="*"} 1')
  expect(text).toContain('hookonce_jobs_attention{source="test",subscriber="*"} 1')
})

test('atLeastOnce: a call whose reply was lost is repeated', async () => {
  const { db, other } = await lostReply({ mode: 'atLeastOnce' })
  await jobsAre(db, 'processed')
  expect(other.calls).toHaveLength(2)
})

test.each([
  { answer: { outcome: 'done', result: 'as told' }, calls: 1, state: 'processed', epochs: ['done'] },
  { answer: { outcome: 'unknown' }, calls: 1, state: 'attention', epochs: ['unknown'] },
  { answer: { outcome: 'not done' }, calls: 2, state: 'processed', epochs: ['done'] },
] as const)(
  'reconcile answers $answer.outcome: $calls calls, the job is $state',
  async ({ answer, calls, state, epochs }) => {
    const asked: unknown[] = []
    const { db, other } = await lostReply({
      mode: 'atMostOnce',
      reconcile: async ({ idempotencyKey, calledAt }) => {
        asked.push([idempotencyKey, calledAt instanceof Date])
        return answer
      },
    })
    await jobsAre(db, state)
    expect(asked).toEqual([[other.calls[0]?.key, true]])
    expect(other.calls).toHaveLength(calls)
    expect((await db.rows<{ state: string }>(EFFECTS)).map((row) => row.state)).toEqual(epochs)
    // The called service can still recognise a late caller.
    expect(new Set(other.calls.map(({ key }) => key)).size).toBe(1)
  },
)

/** A charge that the called service answers with these statuses in turn, and then with 200. */
async function charged(...statuses: number[]) {
  const db = await freshDatabase()
  const other = await startDownstream()
  other.reply('/charge', ...statuses)
  const hooks = testHooks(db, QUICK_RETRIES).on('test', '*', async (_, ctx) => {
    await ctx.effect('charge', async ({ fetch }) => {
      await fetch(`${other.url}/charge`, { method: 'POST' })
    })
  })
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'processed')
  return { db, calls: other.calls }
}

test('only a definitive reply is a failure: then the next attempt is another epoch with another key', async () => {
  const { db, calls } = await charged(402, 503)
  expect(await db.rows('select epoch, state::text, reason from hookonce.effect order by epoch')).toEqual([
    { epoch: 0, state: 'failed', reason: expect.stringContaining('/charge answered 402') },
    { epoch: 1, state: 'done', reason: null },
  ])
  const [refused, undecided, done] = calls
  expect(undecided?.key).not.toBe(refused?.key)
  expect(done?.key).toBe(undecided?.key)
})

test('a refusal of the second call proves nothing about the first, whose reply was lost: the key stays', async () => {
  const { db, calls } = await charged(503, 401)
  expect(calls).toHaveLength(3)
  expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
  expect(await db.rows(EFFECTS)).toMatchObject([{ epoch: 0, state: 'done' }])
})

test('NotDone reports a definitive refusal of your own client', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } }).on('test', '*', (_, ctx) =>
    ctx.effect('own', () => {
      throw new NotDone('the card was declined')
    }),
  )
  await hooks.start()
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  await jobsAre(db, 'failed')
  expect(await db.rows('select state::text, reason from hookonce.effect')).toEqual([
    { state: 'failed', reason: 'the card was declined' },
  ])
})
