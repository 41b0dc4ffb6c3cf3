import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { App } from './app.ts'
import { freshDatabase, type TestDatabase } from './database.ts'
import type { TestPayload } from './source.ts'
import { until } from './until.ts'

/** A database without a ledger: the first process creates it, with the migrations that it knows. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.rows('drop schema hookonce cascade')
  return db
}

const TYPES = ['count.a', 'write.a', 'transaction.a', 'shared.a']

/** Event n. A quarter of the events request one of ten calls. */
function eventOf(n: number): TestPayload {
  const type = String(TYPES[n % TYPES.length])
  return { id: `evt_${n}`, type, key: `k${Math.floor(n / TYPES.length) % 10}` }
}

export interface Load {
  /** The current addresses to which events are sent, in turns. */
  targets: () => readonly App[]
  readonly sent: number
  stop(): Promise<void>
}

/** Four senders that send each event until it is acknowledged, like providers. */
export function load(first: () => readonly App[]): Load {
  let stopped = false
  const state = { targets: first, sent: 0 }
  async function sender(): Promise<void> {
    while (!stopped) {
      const n = state.sent
      state.sent += 1
      for (let tries = 0; !(await isAcknowledged(n, tries)); tries += 1) await delay(50)
      // Leaves CPU time to the processes that start meanwhile.
      await delay(10)
    }
  }
  async function isAcknowledged(n: number, tries: number): Promise<boolean> {
    const targets = state.targets()
    const target = targets[(n + tries) % targets.length]
    const response = await target?.send(eventOf(n)).catch(() => undefined)
    return response?.ok === true
  }
  const senders = Array.from({ length: 4 }, sender)
  return Object.assign(state, {
    async stop() {
      stopped = true
      await Promise.all(senders)
    },
  })
}

/**
 * Waits until every event is settled, and asserts that each took effect once. `sent` events came
 * from the load.
 */
export async function expectEachOnce(
  db: TestDatabase,
  { events, sent }: { events: number; sent: number },
): Promise<void> {
  const unfinished = `select count(*) from hookonce.job where state in ('received', 'processing', 'retrying')`
  await until('all is settled', async () => (await db.number(unfinished)) === 0)
  expect(await db.rows('select state::text, count(*)::int from hookonce.job group by state')).toEqual([
    { state: 'processed', count: events },
  ])
  const own = `select count(*) as times, receipt_id from effect where type not like 'shared%' group by receipt_id`
  expect(await db.rows(`select times::int, count(*)::int as events from (${own}) e group by times`)).toEqual([
    { times: 1, events: events - Math.floor(sent / TYPES.length) },
  ])
  const calls = `select type, count(*)::int as times from effect where type like 'shared%' group by type order by type`
  expect(await db.rows(calls)).toEqual(
    Array.from({ length: 10 }, (_, key) => ({ type: `shared:k${key}`, times: 1 })),
  )
}
