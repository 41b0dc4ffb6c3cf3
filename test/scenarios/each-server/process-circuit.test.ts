import { expect, test } from 'vitest'
import type { SubscriberOptions } from '../../../src/index.ts'
import { dueProbe } from '../../../src/ledger/jobs/circuits.ts'
import { startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

/** Opens at the fourth failure of four, and probes soon. */
const CIRCUIT = { minSamples: 4, failureRate: 0.5, openMs: 30, maxOpenMs: 60, probes: 2 }
const SOON = { retry: { baseDelayMs: 1, maxDelayMs: 1 } }

interface Target {
  isDown: boolean
  /** The key of an event that it always refuses. */
  refuses?: string
  /** Keys of the events that reached it. */
  readonly calls: string[]
}

function target(): Target {
  return { isDown: true, calls: [] }
}

function subscribe(
  hooks: TestHooks,
  to: Target,
  options: Omit<SubscriberOptions, 'ordered'> = {},
): TestHooks {
  return hooks.on(
    'test',
    '*',
    (event) => {
      to.calls.push(event.key)
      if (to.isDown || to.refuses === event.key) throw new Error('connect ECONNREFUSED')
    },
    { name: 'app', circuit: CIRCUIT, ...options },
  )
}

interface LimiterState {
  readonly state: string
  readonly generation: number
  readonly failed: number
}

async function limiter(db: TestDatabase): Promise<LimiterState> {
  const [row] = await db.rows<LimiterState>(
    'select state, generation, failed_probes as failed from hookonce.limiter',
  )
  if (!row) throw new Error('there is no limiter')
  return row
}

function circuitIs(db: TestDatabase, state: string): Promise<unknown> {
  return until(`the circuit is ${state}`, async () => (await limiter(db)).state === state)
}

/** The circuit was open, and this many probes have failed. */
function probesFailed(db: TestDatabase, count: number): Promise<unknown> {
  return until(`${count} probes have failed`, async () => (await limiter(db)).failed >= count)
}

function nothingRuns(db: TestDatabase): Promise<unknown> {
  return until('no job runs', async () => {
    return (await db.number(`select count(*) from hookonce.job where state = 'processing'`)) === 0
  })
}

async function attemptsOf(db: TestDatabase): Promise<number> {
  return db.number('select coalesce(sum(attempt), 0) from hookonce.job')
}

test('a circuit opens at the failure rate; its jobs wait without attempts, and all succeed later', async () => {
  const db = await freshDatabase()
  const to = target()
  const hooks = subscribe(testHooks(db, SOON), to)
  await hooks.start()
  for (let n = 0; n < 4; n += 1) await deliver(hooks, { id: `first_${n}`, type: 'a' })
  await probesFailed(db, 1)
  const attempts = await attemptsOf(db)
  const calls = to.calls.length
  for (let n = 0; n < 40; n += 1) await deliver(hooks, { id: `later_${n}`, type: 'a' })
  await probesFailed(db, 4)

  // Only probes were called, one at a time: each ended before the next began.
  const { failed } = await limiter(db)
  expect(to.calls.length - calls).toBeLessThanOrEqual(failed)
  expect(await attemptsOf(db)).toBeLessThanOrEqual(attempts + 1)
  expect(
    await db.number(`select count(*) from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
      where r.event_key like 'later_%' and j.state = 'processing' and j.worker is not null`),
  ).toBeLessThanOrEqual(1)
  to.isDown = false
  await jobsAre(db, 'processed', 44)
  await circuitIs(db, 'closed')

  expect(await db.rows('select distinct held_at from hookonce.subscriber')).toEqual([{ held_at: null }])
  // A failed probe does not count as an attempt: jobs that only waited or were probed succeed at
  // their first attempt.
  expect(
    await db.rows(`select distinct j.attempt from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
      where r.event_key like 'later_%'`),
  ).toEqual([{ attempt: 1 }])
})

test('a circuit that one worker opened holds the jobs of the others, which accept none as their own', async () => {
  const db = await freshDatabase()
  const to = target()
  // These workers do not poll: only statements in the ledger can wake them.
  const hooks = subscribe(testHooks(db, { pollMs: 600_000 }), to)
  await hooks.start()
  await db.rows(`with l as (update hookonce.limiter set state = 'open', probe_at = 'infinity')
    update hookonce.subscriber set held_at = now()`)
  for (let n = 0; n < 3; n += 1) await deliver(hooks, { id: `evt_${n}`, type: 'a' })
  const other = subscribe(testHooks(db), to)
  await other.start()
  await until('another worker has looked', async () => {
    return (await db.number('select count(*) from hookonce.worker where dead_at is null')) === 2
  })

  expect(await db.rows('select distinct state::text, worker, fence, attempt from hookonce.job')).toEqual([
    { state: 'received', worker: null, fence: 0, attempt: 0 },
  ])
  expect(to.calls).toEqual([])
})

test('jobs that were claimed when the circuit opened are handed back without an attempt', async () => {
  const db = await freshDatabase()
  const to = target()
  const hooks = subscribe(testHooks(db, SOON), to, { circuit: { ...CIRCUIT, openMs: 1e9, maxOpenMs: 1e9 } })
  await hooks.start()
  for (let n = 0; n < 4; n += 1) await deliver(hooks, { id: `first_${n}`, type: 'a' })
  await circuitIs(db, 'open')
  await nothingRuns(db)
  const calls = to.calls.length
  const before = await attemptsOf(db)
  // A claim that began before the opening has not seen it yet.
  await db.rows('update hookonce.subscriber set held_at = null')
  await until('they were claimed', async () => {
    return (await db.number('select count(*) from hookonce.job where fence > attempt')) > 0
  })
  await db.rows('update hookonce.subscriber set held_at = now()')
  await nothingRuns(db)

  expect(to.calls.length).toBe(calls)
  expect(await attemptsOf(db)).toBe(before)
})

test('of two workers one probes at a time, and both continue when it has closed the circuit', async () => {
  const db = await freshDatabase()
  let running = 0
  let most = 0
  const to = target()
  const ran = new Set<number>()
  const workers = [0, 1].map((number) =>
    testHooks(db, SOON).on(
      'test',
      '*',
      async (event) => {
        running += 1
        if ((await limiter(db)).state !== 'closed') most = Math.max(most, running)
        to.calls.push(event.key)
        // Both workers try to claim a probe meanwhile.
        await new Promise((resolve) => setTimeout(resolve, 60))
        running -= 1
        if (to.isDown) throw new Error('connect ECONNREFUSED')
        ran.add(number)
      },
      { name: 'app', circuit: { ...CIRCUIT, probes: 4 }, concurrency: 4 },
    ),
  )
  const [first] = workers
  if (!first) throw new Error('there is no worker')
  await first.start()
  for (let n = 0; n < 4; n += 1) await deliver(first, { id: `first_${n}`, type: 'a' })
  await circuitIs(db, 'open')
  await until('none runs', () => running === 0)
  most = 0
  await workers[1]?.start()
  for (let n = 0; n < 30; n += 1) await deliver(first, { id: `later_${n}`, type: 'a' })
  await probesFailed(db, 3)
  to.isDown = false
  await jobsAre(db, 'processed', 34)

  expect(most).toBe(1)
  expect(await limiter(db)).toMatchObject({ state: 'closed' })
  expect([...ran].sort()).toEqual([0, 1])
})

test('if the process of a probe is killed, another one probes and closes the circuit', async () => {
  const db = await freshDatabase()
  const config = {
    options: { leaseMs: 1_000, pollMs: 50, ...SOON },
    subscriber: { circuit: { ...CIRCUIT, minSamples: 1, openMs: 300, maxOpenMs: 300, probes: 20 } },
  }
  const [one, two] = await Promise.all([startApp(db, config), startApp(db, config)])
  await one.send({ id: 'evt_opens', type: 'failfirst' })
  await until('a failure opens the circuit', async () => (await limiter(db)).state !== 'closed')
  // The second process may have run the failed job again before the circuit opened: this event is
  // then the only one that can probe.
  await one.send({ id: 'evt_probes', type: 'count' })
  await jobsAre(db, 'processed', 2)
  await until('the circuit waits for more probes', async () => {
    const [row] = await db.rows('select state, prober from hookonce.limiter')
    return row?.state === 'half-open' && row.prober === null
  })
  await one.send({ id: 'evt_hangs', type: 'hangfirst' })
  const prober = await until('its probe hangs', async () => {
    const [row] = await db.rows<{ pid: number }>(
      'select w.pid from hookonce.limiter l join hookonce.worker w on w.id = l.prober',
    )
    return row?.pid
  })
  process.kill(prober, 'SIGKILL')
  const survivor = one.pid === prober ? two : one
  for (let n = 0; n < 25; n += 1) await survivor.send({ id: `late_${n}`, type: 'count' })
  await circuitIs(db, 'closed')
  await jobsAre(db, 'processed', 28)

  // On a busy machine a worker may lose its lease, and a handler runs again.
  expect(await db.number('select count(distinct receipt_id) from effect')).toBe(28)
})

test('an event that always fails does not keep the circuit open for the others', async () => {
  const db = await freshDatabase()
  const to = { ...target(), refuses: 'evt_0' }
  const hooks = subscribe(testHooks(db, SOON), to)
  await hooks.start()
  for (let n = 0; n < 6; n += 1) await deliver(hooks, { id: `evt_${n}`, type: 'a' })
  await probesFailed(db, 2)
  to.isDown = false
  await jobsAre(db, 'processed', 5)
  await until('it is given up by its attempts', async () => {
    return db.number(
      `select count(*) from hookonce.job where state = 'failed' and reason like 'gave up after 20 attempts%'`,
    )
  })
})

test('a paused subscriber or source is not probed', async () => {
  const db = await freshDatabase()
  const hooks = subscribe(testHooks(db), target())
  await deliver(hooks, { id: 'evt_1', type: 'a' })
  const ask = async () => {
    const [row] = await db.rows<{ id: number; limiter: number }>(
      'select id, limiter from hookonce.subscriber',
    )
    if (!row) throw new Error('there is no subscriber')
    return dueProbe(db.pool, { shards: 16, limiter: row.limiter, subscribers: [row.id] })
  }
  const place = { shard: expect.any(Number), subscriber: expect.any(Number) }

  expect(await ask()).toEqual(place)
  await hooks.pause('test', 'app')
  expect(await ask()).toBeUndefined()
  await hooks.resume('test', 'app')
  expect(await ask()).toEqual(place)
  await hooks.pause('test')
  expect(await ask()).toBeUndefined()
})

test('a resume makes the next probe due at once', async () => {
  const db = await freshDatabase()
  const to = target()
  const hooks = subscribe(testHooks(db, SOON), to, { circuit: { ...CIRCUIT, openMs: 1e9, maxOpenMs: 1e9 } })
  await hooks.start()
  for (let n = 0; n < 4; n += 1) await deliver(hooks, { id: `evt_${n}`, type: 'a' })
  await circuitIs(db, 'open')
  await nothingRuns(db)
  to.isDown = false
  await hooks.resume('test', 'app')
  await jobsAre(db, 'processed', 4)
  await circuitIs(db, 'closed')
})

test('a probe needs a token of the rate, like any other run', async () => {
  const db = await freshDatabase()
  const to = target()
  const rate = { perSecond: 0.001, burst: 4 }
  // Opens at the first failure, so that the other tokens go to probes.
  const circuit = { ...CIRCUIT, minSamples: 1, openMs: 10, maxOpenMs: 10 }
  const hooks = subscribe(testHooks(db, SOON), to, { circuit, rate })
  await hooks.start()
  for (let n = 0; n < 6; n += 1) await deliver(hooks, { id: `evt_${n}`, type: 'a' })
  await until('each token is used', () => to.calls.length === rate.burst)
  // Each failed probe delays the next.
  await until('probes were due for many looks', () =>
    db.number(`select count(*) from hookonce.limiter where probe_at < now() - interval '500 ms'`),
  )
  expect(to.calls).toHaveLength(rate.burst)
  to.isDown = false
  await db.rows('update hookonce.limiter set tokens = 6, burst = 6')
  await circuitIs(db, 'closed')
  expect(await db.number('select floor(tokens) from hookonce.limiter')).toBeLessThanOrEqual(4)
})

test('removing a circuit from the options releases its jobs', async () => {
  const db = await freshDatabase()
  const to = target()
  const before = subscribe(testHooks(db, SOON), to)
  await before.start()
  for (let n = 0; n < 4; n += 1) await deliver(before, { id: `first_${n}`, type: 'a' })
  await circuitIs(db, 'open')
  await before.stop()
  to.isDown = false
  const after = subscribe(testHooks(db, SOON), to, { circuit: 'off', rate: { perSecond: 1_000 } })
  await after.start()
  await jobsAre(db, 'processed', 4)
})

test('subscribers with the same limiter share a circuit; different options are refused', async () => {
  const db = await freshDatabase()
  const to = target()
  const shared = { limiter: 'crm', circuit: CIRCUIT }
  const hooks = subscribe(testHooks(db, SOON), to, { ...shared, name: 'a' })
  subscribe(hooks, to, { ...shared, name: 'b' })
  await hooks.start()
  for (let n = 0; n < 2; n += 1) await deliver(hooks, { id: `first_${n}`, type: 'a' })
  await until('both are held', async () => {
    return (await db.number('select count(*) from hookonce.subscriber where held_at is not null')) === 2
  })

  const other = subscribe(testHooks(db), to, { ...shared, name: 'a' })
  subscribe(other, to, { ...shared, name: 'b', circuit: { ...CIRCUIT, probes: 9 } })
  await expect(other.start()).rejects.toThrow(
    'the subscribers of limiter "crm" differ in circuit, rate or concurrency',
  )
})
