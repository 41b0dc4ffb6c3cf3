import { expect, test } from 'vitest'
import type { Event, Handler } from '../../../src/index.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { commitMessages, newMessage } from '../../support/outbox.ts'
import { supervise } from '../../support/supervise.ts'
import { until } from '../../support/until.ts'

/* The suspects after a crash of a process: model/suspects.ts has the rule. */

const quick = { leaseMs: 1_000, pollMs: 20 }
const PROCESSED = `select count(*) from hookonce.job where state = 'processed'`

/** The delay after a crash doubles. Moves the clock until all work is done. */
async function allFinished(db: TestDatabase, count: number): Promise<void> {
  await until(
    `${count} jobs are finished`,
    async () => {
      await db.rows(
        `update hookonce.job set due_at = now() where state = 'retrying' and due_at < now() + interval '30 s'`,
      )
      const finished = `select count(*) from hookonce.job where state in ('processed', 'failed')`
      return (await db.number(finished)) === count
    },
    100_000,
  )
}

test('a payload that kills its process is buried after five crashes, and its neighbours live', async () => {
  const db = await freshDatabase()
  const app = await startApp(db, { options: quick })
  for (let n = 1; n <= 20; n += 1) await app.send({ id: `evt_${n}`, type: 'slowfirst.a', ms: 60_000 })
  await until('all are in flight', () => app.said.filter((line) => 'slow' in line).length === 20)
  const supervised = supervise(app, () => startApp(db, { options: quick, receives: false }))
  await app.send({ id: 'evt_poison', type: 'crash.a' }).catch(() => undefined)
  await allFinished(db, 21)
  await supervised.stop()

  expect(
    await db.rows(`select attempt, crashes, reason from hookonce.job where state = 'failed'`),
  ).toMatchObject([{ attempt: 5, crashes: 5, reason: expect.stringMatching(/^POISON/) }])
  expect(await db.number(PROCESSED)).toBe(20)
  expect(await db.number('select count(distinct receipt_id) from effect')).toBe(20)
  expect(supervised.deaths).toBe(5)
}, 120_000)

test('three payloads that kill their process are buried, and a slow innocent job beside each is not', async () => {
  const db = await freshDatabase()
  const start = () => startApp(db, { options: quick })
  for (const killer of ['a', 'b', 'c']) {
    const app = await start()
    if (killer === 'a') await app.send({ id: 'evt_innocent', type: 'hanguntil.a', attempt: 4 })
    await until('the innocent job runs', async () => {
      await db.rows(`update hookonce.job set due_at = now() where state = 'retrying'
        and receipt_id = (select id from hookonce.receipt where event_key = 'evt_innocent')`)
      return app.said.some((line) => 'hanging' in line)
    })
    await app.send({ id: `evt_${killer}`, type: 'crash.a' }).catch(() => undefined)
    await app.exited()
    // It comes again when the other two have come, too.
    await db.rows(`update hookonce.job set due_at = now() + interval '1 hour' where state <> 'processing'`)
  }
  const supervised = supervise(await start(), start)
  await until('the last of them is taken back', async () => {
    return (
      (await db.number(`select count(*) from hookonce.job where crashes > 0 and state <> 'processing'`)) === 4
    )
  })
  await db.rows(`update hookonce.job set due_at = now() where state = 'retrying'`)
  await allFinished(db, 4)
  await supervised.stop()

  const jobs = await db.rows(
    `select r.event_key as key, j.state::text, j.reason from hookonce.job j
     join hookonce.receipt r on r.id = j.receipt_id order by 1`,
  )
  const buried = { state: 'failed', reason: expect.stringMatching(/^POISON/) }
  expect(jobs).toEqual([
    ...['evt_a', 'evt_b', 'evt_c'].map((key) => ({ key, ...buried })),
    { key: 'evt_innocent', state: 'processed', reason: null },
  ])
}, 120_000)

test('three processes that are killed from outside bury no job, however few they ran', async () => {
  const db = await freshDatabase()
  for (let death = 1; death <= 3; death += 1) {
    const app = await startApp(db, { options: quick })
    if (death === 1) await app.send({ id: 'evt_1', type: 'hanguntil.a', attempt: 4 })
    await until('the job runs', async () => {
      await db.rows(`update hookonce.job set due_at = now() where state = 'retrying'`)
      return app.said.some((line) => 'hanging' in line)
    })
    app.kill('SIGKILL')
    await app.exited()
  }
  await startApp(db, { options: quick, receives: false })
  await allFinished(db, 1)
  expect(await db.rows('select state::text, attempt, crashes from hookonce.job')).toEqual([
    { state: 'processed', attempt: 4, crashes: 3 },
  ])
}, 90_000)

test('jobs in flight in one killed process are recovered in parallel', async () => {
  const db = await freshDatabase()
  const count = 32
  const killed = await startApp(db, { options: quick })
  for (let n = 1; n <= count; n += 1) await killed.send({ id: `evt_${n}`, type: 'gather.a', count })
  await until('all are in flight', () => killed.said.filter((line) => 'hanging' in line).length === count)
  killed.kill('SIGKILL')
  // Each run ends only when all of them run at the same time.
  await startApp(db, { options: quick, receives: false })
  await until('all are processed', async () => (await db.number(PROCESSED)) === count)
  expect(await db.rows('select distinct attempt, crashes from hookonce.job')).toEqual([
    { attempt: 2, crashes: 1 },
  ])
})

/** Handlers that record how many ran at once, and of which kinds. */
function watched(meanwhile: (event: Event) => Promise<unknown> = async () => undefined): {
  handler: Handler
  kinds: string[][]
} {
  const running: string[] = []
  const kinds: string[][] = []
  return {
    kinds,
    async handler(event) {
      const { type } = event
      running.push(type)
      kinds.push([...running])
      await meanwhile(event)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running.splice(running.indexOf(type), 1)
    },
  }
}

/** Delivers events and sets the number of crashes of each type. */
async function suspected(db: TestDatabase, crashes: Record<string, number>, events: string[]): Promise<void> {
  const receiver = testHooks(db).on('test', '*', () => undefined, { name: 'app' })
  for (const [n, type] of events.entries()) await deliver(receiver, { id: `${n}`, type })
  for (const [type, count] of Object.entries(crashes))
    await db.rows(
      `update hookonce.job j set crashes = $2 from hookonce.receipt r where r.id = j.receipt_id and r.event_type = $1`,
      [type, count],
    )
}

test('jobs of two crashes run a few at a time, in parallel to others', async () => {
  const db = await freshDatabase()
  const types = [...Array(12).fill('twice'), ...Array(12).fill('other')]
  await suspected(db, { twice: 2 }, types)
  const isMixed = (kind: readonly string[]): boolean =>
    kind.includes('other') && kind.filter((type) => type === 'twice').length > 1
  // Each run lasts until both kinds have been seen at once.
  const { handler, kinds } = watched(() => until('both kinds run', () => kinds.some(isMixed)))
  const hooks = testHooks(db, { concurrency: 64 }).on('test', '*', handler, { name: 'app' })
  await hooks.start()
  await jobsAre(db, 'processed', types.length)

  expect(
    Math.max(...kinds.map((kind) => kind.filter((type) => type === 'twice').length)),
  ).toBeLessThanOrEqual(4)
})

test('jobs of more crashes run alone', async () => {
  const db = await freshDatabase()
  const types = [...Array(12).fill('other'), ...Array(4).fill('often')]
  await suspected(db, { often: 3 }, types)
  const { handler, kinds } = watched(async ({ type, key }) => {
    // An event that arrives meanwhile is recorded, and does not disturb the job that must run
    // alone.
    if (type === 'often') await deliver(hooks, { id: `while ${key} runs`, type: 'other' })
  })
  const hooks = testHooks(db, { concurrency: 64 }).on('test', '*', handler, { name: 'app' })
  await hooks.start()
  await jobsAre(db, 'processed', types.length + 4)

  expect(kinds.filter((kind) => kind.includes('often'))).toEqual(Array(4).fill(['often']))
})

test('a job that runs alone runs in parallel to no published message either', async () => {
  const db = await freshDatabase()
  await suspected(db, { often: 3 }, ['often'])
  await commitMessages(db, ...Array.from({ length: 40 }, (_, n) => newMessage(`m${n}`, { key: `k${n % 8}` })))
  let publishing = 0
  const seen: number[] = []
  const hooks = testHooks(db, {
    outbox: {
      publishers: {
        '*': async () => {
          publishing += 1
          await new Promise((resolve) => setTimeout(resolve, 20))
          publishing -= 1
        },
      },
    },
  }).on(
    'test',
    '*',
    async () => {
      seen.push(publishing)
      await commitMessages(db, newMessage('late'))
      // Waits for several polls of the relay.
      for (let n = 0; n < 10; n += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        seen.push(publishing)
      }
    },
    { name: 'app' },
  )
  await hooks.start()
  await jobsAre(db, 'processed')
  await until('all are published', async () => {
    return (await db.number(`select count(*) from hookonce.outbox where state = 'published'`)) === 41
  })
  expect(seen).toEqual(Array(11).fill(0))
})

test('a claim whose reply is lost does not blame the job for what happens next', async () => {
  const db = await freshDatabase()
  await suspected(db, { often: 3 }, ['often'])
  const { handler, kinds } = watched()
  const hooks = testHooks(db).on('test', '*', handler, { name: 'app' })
  const { pool } = await hooks.ledger('test')
  const query = pool.query.bind(pool) as (query: unknown) => Promise<unknown>
  let lost = 0
  Object.assign(pool, {
    query: async (asked: { name?: string }) => {
      const result = await query(asked)
      if (asked.name !== 'hookonce_claim_suspect' || lost++ > 0) return result
      throw new Error('connection reset')
    },
  })
  await hooks.start()
  await until('the reply is lost', () => lost)
  await until('the job is handed back', async () => {
    return (await db.number(`select count(*) from hookonce.job where state <> 'processing'`)) === 1
  })
  await deliver(hooks, { id: 'new', type: 'other' })
  await jobsAre(db, 'processed', 2)
  expect(kinds).toContainEqual(['often'])
  expect(await db.number(`select max(crashes) from hookonce.job`)).toBe(3)
})
