import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type App, type AppConfig, startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { listening } from '../../support/listening-server.ts'
import { allPublished, commitMessages, newMessage } from '../../support/outbox.ts'
import { until } from '../../support/until.ts'

const RELAY = fileURLToPath(new URL('../../support/relay.mjs', import.meta.url))
const OUTBOX = 'select id, state::text, attempts, finished_at from hookonce.outbox order by id'
const POINTS = [
  { at: 'before', when: 'before it hands a message over' },
  { at: 'during', when: 'while it hands a message over' },
  { at: 'between', when: 'between the hand-over and the mark' },
  { at: 'marked', when: 'after the mark' },
] as const

/**
 * More runs, or one run again: HOOKONCE_RUNS=500 or HOOKONCE_SEED=123 npx vitest run
 * test/scenarios/any-server/publish-crash.test.ts
 */
const RUNS = Number(process.env.HOOKONCE_RUNS ?? 2)
const SEED = Number(process.env.HOOKONCE_SEED ?? Date.now() % 1_000_000)

interface Recorded {
  readonly id: string
  readonly key: string | undefined
  readonly n: number
}

/** A server that never crashes: it records messages in the order in which they arrive. */
async function recorder(): Promise<{ url: string; got: Recorded[] }> {
  const got: Recorded[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { id, key } = request.headers
    got.push({ id: String(id), key: key === 'undefined' ? undefined : String(key), n: JSON.parse(body) })
    response.writeHead(200)
    response.flushHeaders()
    response.end('taken')
  })
  return { url: `${await listening(server)}/`, got }
}

interface Crash {
  readonly at: (typeof POINTS)[number]['at']
  /** The occurrence of the point, from 1. */
  readonly nth: number
  readonly signal: 'SIGKILL' | 'SIGSTOP'
}

function startRelay(
  db: TestDatabase,
  url: string,
  trouble: { crash?: Crash; poison?: string } = {},
): Promise<App> {
  const options: AppConfig['options'] = { leaseMs: 1_000, pollMs: 20 }
  return startApp(db, { script: RELAY, options, more: { recorder: url, ...trouble } })
}

const KEYS = 3
const EVENTS = 12

/** Events whose handler writes a business row and publishes two messages in one transaction. */
async function business(db: TestDatabase): Promise<void> {
  const hooks = testHooks(db, { outbox: { publishers: 'elsewhere' } })
  hooks.on('test', '*', (event, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('insert into effect (receipt_id, type) values ($1, $2)', [event.receiptId, event.type])
      const n = event.payload.n
      tx.publish('keyed', n, { key: `k${Number(n) % KEYS}` })
      tx.publish('free', n)
    }),
  )
  await hooks.start()
  for (let n = 0; n < EVENTS; n += 1) {
    await deliver(hooks, { id: `evt_${n}`, type: 'a', n })
    // One after the other, so that the order of commits is known.
    await until('it is committed', async () => {
      return (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === n + 1
    })
  }
}

/**
 * Every message of a committed business row was published, the first time in the order of its key.
 */
async function expectWhole(db: TestDatabase, got: readonly Recorded[], why: string): Promise<void> {
  const seen = new Set<string>()
  const first = got.filter(({ id }) => !seen.has(id) && seen.add(id))
  const rows = await db.rows<{ id: string }>(OUTBOX)
  expect(await db.number('select count(*) from effect'), why).toBe(EVENTS)
  expect([...seen].sort(), why).toEqual(rows.map(({ id }) => id))
  expect(rows, why).toHaveLength(2 * EVENTS)
  for (let key = 0; key < KEYS; key += 1) {
    const order = first.filter((message) => message.key === `k${key}`).map(({ n }) => n)
    expect(order, `${why}, key ${key}`).toEqual(order.toSorted((a, b) => a - b))
    expect(order, `${why}, key ${key}`).toHaveLength(EVENTS / KEYS)
  }
  expect(await db.number('select count(*) from hookonce.outbox_lane'), why).toBe(0)
}

test.each(['inside', 'after'])(
  'a worker that is killed %s its transaction leaves one message of each kind in the end',
  async (at) => {
    const db = await freshDatabase()
    const { url, got } = await recorder()
    const options: AppConfig['options'] = { leaseMs: 1_000, pollMs: 20, outbox: { publishers: 'elsewhere' } }
    const killed = await startApp(db, { options })
    await killed.send({ id: 'evt_1', type: `publishcrash.${at}` })
    await killed.exited()
    // Committed messages are published, although their job has crashed. Messages that were not
    // committed do not exist.
    const committed = await db.rows<{ topic: string }>('select topic from hookonce.outbox')
    expect(committed).toEqual(at === 'after' ? [{ topic: 'transaction' }] : [])
    await startRelay(db, url)
    await until('it is published', () => got.length >= committed.length)
    await startApp(db, { options, receives: false })
    await until('both are published', async () => {
      return (await db.number(`select count(*) from hookonce.outbox where state = 'published'`)) === 2
    })
    // By id: a relay that lost its short lease on a busy machine counts as dead too.
    expect(new Set(got.map(({ id }) => id)).size).toBe(2)
    expect(await db.number('select count(*) from effect')).toBe(1)
    await until('the job is processed', () =>
      db.number(`select count(*) from hookonce.job where state = 'processed' and attempt > 1`),
    )
  },
)

test.each(POINTS)('a relay that is killed $when loses nothing and keeps the order', async ({ at }) => {
  const db = await freshDatabase()
  const { url, got } = await recorder()
  await business(db)
  const killed = await startRelay(db, url, { crash: { at, nth: 3, signal: 'SIGKILL' } })
  await killed.exited()
  await startRelay(db, url)
  await allPublished(db)
  await expectWhole(db, got, at)
})

test.each(POINTS)(
  'a relay that is frozen past its lease $when changes nothing when it continues',
  async ({ at }) => {
    const db = await freshDatabase()
    const { url, got } = await recorder()
    await business(db)
    const frozen = await startRelay(db, url, { crash: { at, nth: 3, signal: 'SIGSTOP' } })
    await until('it is frozen', async () => (await stateOf(frozen)) === 'T')
    await startRelay(db, url)
    await allPublished(db)
    await expectWhole(db, got, at)
    const published = await db.rows(OUTBOX)
    // All messages may be published before its lease ends: it is frozen beyond its lease only if it
    // counts as dead.
    await until('it counts as dead', () =>
      db.number('select count(*) from hookonce.worker where pid = $1 and dead_at is not null', [frozen.pid]),
    )

    frozen.kill('SIGCONT')
    await until('it is enlisted anew', () =>
      db.number(
        `select (count(*) filter (where dead_at is null) > 0 and count(*) filter (where dead_at is not null) > 0)::int
       from hookonce.worker where pid = $1`,
        [frozen.pid],
      ),
    )
    frozen.kill('SIGTERM')
    expect(await frozen.exited()).toBe(0)
    expect(await db.rows(OUTBOX)).toEqual(published)
    await expectWhole(db, got, at)
  },
)

test('a message that kills its relay fails after five crashes, and its neighbours are published', async () => {
  const db = await freshDatabase()
  const { url, got } = await recorder()
  await commitMessages(
    db,
    newMessage('poison', { key: 'k', payload: -1 }),
    newMessage('next', { key: 'k', payload: 1 }),
    ...[2, 3, 4, 5, 6].map((n) => newMessage(`free ${n}`, { payload: n })),
  )
  for (let crash = 1; crash <= 5; crash += 1) {
    const killed = await startRelay(db, url, { poison: '-1' })
    await until('its relay dies', async () => {
      // The delay after a crash doubles: move the clock.
      await db.rows(`update hookonce.outbox_lane set due_at = now() where due_at > now()`)
      return killed.process.signalCode
    })
  }
  await startRelay(db, url, { poison: '-1' })
  await allPublished(db)
  const failed = await db.rows(`select payload, attempts, reason from hookonce.outbox where state = 'failed'`)
  expect(failed).toEqual([{ payload: -1, attempts: 5, reason: expect.stringMatching(/^POISON/) }])
  expect([...new Set(got.map(({ n }) => n))].sort()).toEqual([1, 2, 3, 4, 5, 6])
}, 90_000)

test(
  `relays that are killed and frozen at random (seed ${SEED}, ${RUNS} runs)`,
  async () => {
    for (let run = 0; run < RUNS; run += 1) await randomRun(SEED + run)
  },
  RUNS * 60_000,
)

async function randomRun(seed: number): Promise<void> {
  let state = seed
  const random = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * limit)
  }
  const db = await freshDatabase()
  const { url, got } = await recorder()
  const crashes = Array.from({ length: 3 }, (): Crash => {
    const point = POINTS[random(POINTS.length)] ?? POINTS[0]
    return { at: point.at, nth: 1 + random(6), signal: random(3) === 0 ? 'SIGSTOP' : 'SIGKILL' }
  })
  const why = `HOOKONCE_SEED=${seed}: ${JSON.stringify(crashes)}`
  const making = business(db)
  const relays = await Promise.all(crashes.map((crash) => startRelay(db, url, { crash })))
  await making
  const last = await startRelay(db, url)
  await allPublished(db).catch((error) => {
    throw new Error(why, { cause: error })
  })
  for (const relay of relays) relay.kill('SIGCONT')
  for (const relay of [...relays, last]) {
    relay.kill('SIGTERM')
    await relay.exited()
  }
  await expectWhole(db, got, why)
}

async function stateOf(app: App): Promise<string | undefined> {
  const stat = await readFile(`/proc/${app.pid}/stat`, 'utf8')
  return stat.split(') ')[1]?.[0]
}
