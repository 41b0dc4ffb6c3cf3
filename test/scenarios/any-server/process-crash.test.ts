import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type App, startApp } from '../../support/app.ts'
import { temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

const quick = { leaseMs: 1_000, pollMs: 20 }
const JOB = `select state::text, fence, attempt, crashes, worker, finished_at, reason from hookonce.job`
const PROCESSED = `select count(*) from hookonce.job where state = 'processed'`

function workersOf(db: TestDatabase, app: App): Promise<{ id: number; dead: boolean }[]> {
  return db.rows('select id, dead_at is not null as dead from hookonce.worker where pid = $1 order by id', [
    app.pid,
  ])
}

test('if a worker is killed during a handler, another takes over the job after the lease', async () => {
  const db = await freshDatabase()
  const killed = await startApp(db, { options: quick })
  await startApp(db, { options: quick, receives: false })
  await killed.send({ id: 'evt_1', type: 'hangfirst.a' })
  await killed.says('hanging')
  killed.kill('SIGKILL')

  await until('the job is processed', () => db.number(PROCESSED))

  // Claimed (1), rescued (2), claimed again (3).
  expect(await db.rows(JOB)).toMatchObject([
    { state: 'processed', fence: 3, attempt: 2, crashes: 1, worker: null },
  ])
  expect(await db.rows('select number, fence, outcome, error from hookonce.attempt')).toEqual([
    { number: 1, fence: 1, outcome: 'crashed', error: 'its worker died while running it' },
  ])
  expect(await db.number('select count(*) from effect')).toBe(1)
  expect(await workersOf(db, killed)).toMatchObject([{ dead: true }])
})

test('a worker that was frozen past its lease cannot complete, and continues under a new id', async () => {
  const db = await freshDatabase()
  const frozen = await startApp(db, { options: quick })
  const successor = await startApp(db, { options: quick, receives: false })
  await frozen.send({ id: 'evt_1', type: 'slowfirst.a', ms: 300 })
  await frozen.says('slow')
  frozen.kill('SIGSTOP')
  await until('the successor has processed the job', () => db.number(PROCESSED))
  const completed = await db.rows(JOB)
  expect(completed).toMatchObject([{ state: 'processed', fence: 3, attempt: 2, crashes: 1 }])

  frozen.kill('SIGCONT')
  await frozen.says('handled')
  await until('it is enlisted anew', async () => (await workersOf(db, frozen)).length === 2)

  successor.kill('SIGTERM')
  expect(await successor.exited()).toBe(0)
  await frozen.send({ id: 'evt_2', type: 'count.a' })
  await until('it processes new work', async () => (await db.number(PROCESSED)) === 2)
  expect(await db.rows(`${JOB} where fence > 1`)).toEqual(completed)
  expect(await db.rows('select outcome, fence from hookonce.attempt')).toEqual([
    { outcome: 'crashed', fence: 1 },
  ])
  expect(await workersOf(db, frozen)).toMatchObject([{ dead: true }, { dead: false }])
  expect(await db.rows('select type, pid from effect order by type desc')).toEqual([
    { type: 'slowfirst.a', pid: successor.pid },
    { type: 'count.a', pid: frozen.pid },
  ])
})

test('a handler that blocks its process past the lease cannot complete what another worker took over', async () => {
  const db = await freshDatabase()
  const blocked = await startApp(db, { options: quick })
  const successor = await startApp(db, { options: quick, receives: false })
  const unblock = join(temporaryDirectory(), 'unblock')
  await blocked.send({ id: 'evt_1', type: 'blockfirst.a', until: unblock })
  await blocked.says('blocking')
  await until('the successor has processed the job', () => db.number(PROCESSED))
  const completed = await db.rows(JOB)
  expect(blocked.said.some((line) => 'unblocked' in line)).toBe(false)

  writeFileSync(unblock, '')
  await blocked.says('handled')
  await until('it is enlisted anew', async () => (await workersOf(db, blocked)).length === 2)

  expect(await db.rows(JOB)).toEqual(completed)
  expect(completed).toMatchObject([{ state: 'processed', fence: 3, attempt: 2, crashes: 1 }])
  expect(await db.rows('select pid from effect')).toEqual([{ pid: successor.pid }])
})

test('a lone process that was blocked past its lease completes its own job, and does not declare itself dead', async () => {
  const db = await freshDatabase()
  const app = await startApp(db, { options: quick })
  await app.send({ id: 'evt_1', type: 'blockfirst.a', ms: 3_000 })
  await app.says('handled')
  await until('the job is processed', () => db.number(PROCESSED))
  await app.send({ id: 'evt_2', type: 'count.a' })
  await until('it goes on', async () => (await db.number(PROCESSED)) === 2)

  expect(await db.rows('select distinct state::text, fence, attempt, crashes from hookonce.job')).toEqual([
    { state: 'processed', fence: 1, attempt: 1, crashes: 0 },
  ])
  expect(await db.number('select count(*) from run')).toBe(2)
  expect(await workersOf(db, app)).toMatchObject([{ dead: false }])
})
