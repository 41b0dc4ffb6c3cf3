import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type App, startApp } from '../../support/app.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { NEEDS_GIT_HISTORY } from '../../support/declared-skips.ts'
import { MIGRATION_FILES } from '../../support/old-schema.ts'
import { buildBefore } from '../../support/older-build.ts'
import type { TestPayload } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/* An older build and the present one, side by side on one ledger. */

const options = { pollMs: 20, retry: { baseDelayMs: 500 } }

/** A database without a ledger: the first process makes one, with the migrations that it knows. */
async function emptyDatabase(): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.rows('drop schema hookonce cascade')
  return db
}

/** Event n; a quarter of them want one of ten calls. */
function eventOf(n: number): TestPayload {
  const types = ['count.a', 'write.a', 'transaction.a', 'shared.a']
  return { id: `evt_${n}`, type: String(types[n % types.length]), key: `k${Math.floor(n / 4) % 10}` }
}

interface Load {
  /** Where events are sent now, in turns. */
  targets: readonly App[]
  sent: number
  stop(): Promise<void>
}

/** Four senders that send each event until it is acknowledged, as providers do. */
function load(first: App): Load {
  let stopped = false
  const state = { targets: [first] as readonly App[], sent: 0 }
  async function sender(): Promise<void> {
    while (!stopped) {
      const n = state.sent
      state.sent += 1
      for (let tries = 0; !(await isAcknowledged(n, tries)); tries += 1) await delay(50)
    }
  }
  async function isAcknowledged(n: number, tries: number): Promise<boolean> {
    const target = state.targets[(n + tries) % state.targets.length]
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

function handledBy(db: TestDatabase, app: App, after: string): Promise<number> {
  return db.number(`select count(*) from run where pid = $1 and at > ${after}`, [app.pid])
}

const MIGRATED = '(select max(applied_at) from hookonce.migration)'

test('events take effect once while a process of the previous build and a new one share the ledger', async (context) => {
  const newest = String(MIGRATION_FILES.at(-1))
  const dist = buildBefore(newest)
  if (dist === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await emptyDatabase()
  const old = await startApp(db, { options, dist, stop: { drainMs: 5_000 } })
  const sending = load(old)
  await until('the old process works', async () => (await handledBy(db, old, `'-infinity'`)) >= 50)
  // It migrates the ledger beneath the old one.
  const now = await startApp(db, { options })
  expect(await db.number('select count(*) from hookonce.migration')).toBe(MIGRATION_FILES.length)
  sending.targets = [old, now]
  for (const app of [old, now])
    await until('each works after the migration', async () => (await handledBy(db, app, MIGRATED)) >= 100)
  sending.targets = [now]
  old.kill('SIGTERM')
  expect(await old.exited()).toBe(0)
  await sending.stop()

  const unfinished = `select count(*) from hookonce.job where state in ('received', 'processing', 'retrying')`
  await until('all is settled', async () => (await db.number(unfinished)) === 0)
  expect(await db.rows('select state::text, count(*)::int from hookonce.job group by state')).toEqual([
    { state: 'processed', count: sending.sent },
  ])
  const own = `select count(*) as times, receipt_id from effect where type not like 'shared%' group by receipt_id`
  expect(await db.rows(`select times::int, count(*)::int as events from (${own}) e group by times`)).toEqual([
    { times: 1, events: sending.sent - Math.floor(sending.sent / 4) },
  ])
  const calls = `select type, count(*)::int as times from effect where type like 'shared%' group by type order by type`
  expect(await db.rows(calls)).toEqual(
    Array.from({ length: 10 }, (_, key) => ({ type: `shared:k${key}`, times: 1 })),
  )
})

test('a build that is too old for the schema refuses to start, and says so', async (context) => {
  const dist = buildBefore('0005-lanes.sql')
  if (dist === undefined) return context.skip(NEEDS_GIT_HISTORY)
  const db = await freshDatabase()
  const old = startApp(db, { options, dist })
  await expect(old).rejects.toThrow('this hookonce knows up to 3')
})
