import { expect, test } from 'vitest'
import { evaluateAlerts } from '../../../src/alerts/evaluate.ts'
import { acknowledgeAlert, listAlerts } from '../../../src/operate/alerts.ts'
import { listAudit } from '../../../src/operate/audit.ts'
import { pruneStats } from '../../../src/upkeep/prune-stats.ts'
import { alertsOf, bucket, checkedAlerts, evaluate, timePasses, toldTo } from '../../support/alerts.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'

const ledgerOf = (db: TestDatabase) => ({ pool: db.pool, shards: 16 })

const failing = (db: TestDatabase, source = 'stripe'): Promise<void> =>
  bucket(db, '1 minute', { source, subscriber: 'app', failed: 1 })

/** The buckets are deleted, so the failures no longer count. */
async function over(db: TestDatabase, options = {}): Promise<void> {
  await db.rows('delete from hookonce.rollup')
  await evaluate(db, options)
  await timePasses(db, '6 minutes')
  await evaluate(db, options)
}

test('while a condition lasts there is one alert and one message, however often it is evaluated', async () => {
  const db = await freshDatabase()
  await failing(db)
  for (let n = 0; n < 5; n += 1) await evaluate(db)
  expect(await alertsOf(db)).toEqual([{ rule: 'failures', about: 'stripe/app', state: 'open', times: 1 }])
  expect(await toldTo(db)).toHaveLength(1)
})

test('a short pause does not resolve an alert', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db)
  await db.rows('delete from hookonce.rollup')
  await evaluate(db)
  await timePasses(db, '4 minutes')
  await evaluate(db)
  await failing(db)
  await evaluate(db)
  await db.rows('delete from hookonce.rollup')
  // The pause begins anew: the four minutes before it do not count.
  await evaluate(db)
  await timePasses(db, '4 minutes')
  await evaluate(db)
  expect(await alertsOf(db)).toMatchObject([{ state: 'open', times: 1 }])
  expect(await toldTo(db)).toHaveLength(1)
})

test('a condition that returns within an hour is the same alert, and is announced again only after the hour', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db)
  await over(db)
  await failing(db)
  await evaluate(db)
  expect(await alertsOf(db)).toEqual([{ rule: 'failures', about: 'stripe/app', state: 'open', times: 2 }])
  expect(await toldTo(db)).toHaveLength(2)

  await timePasses(db, '61 minutes')
  await failing(db)
  await evaluate(db)
  expect((await toldTo(db)).map(({ opened, resolved }) => [opened.length, resolved.length])).toEqual([
    [1, 0],
    [0, 1],
    [1, 0],
  ])
})

test('a condition that returns after more than an hour is another alert', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db)
  await over(db)
  await timePasses(db, '61 minutes')
  await failing(db)
  await evaluate(db)
  expect((await alertsOf(db)).map(({ state, times }) => [state, times])).toEqual([
    ['resolved', 1],
    ['open', 1],
  ])
  expect(await toldTo(db)).toHaveLength(3)
})

test('processes that evaluate at the same time open one alert with one message', async () => {
  const db = await freshDatabase()
  await failing(db)
  const results = await Promise.all(
    Array.from({ length: 4 }, () =>
      evaluateAlerts(ledgerOf(db), { alerts: checkedAlerts(), everyMs: 10_000 }),
    ),
  )
  expect(results.filter((result) => result !== undefined)).toHaveLength(1)
  // A second evaluation a moment later does not do it again.
  expect(await evaluate(db, {}, { everyMs: 10_000 })).toBe(undefined)
  expect(await evaluate(db, {}, { everyMs: 0 })).toEqual({ transitions: [], messages: 0 })
  expect(await alertsOf(db)).toHaveLength(1)
  expect(await toldTo(db)).toHaveLength(1)
})

test('an alert is not opened if its message cannot be committed', async () => {
  const db = await freshDatabase()
  await failing(db)
  await db.rows('alter table hookonce.outbox add constraint no_room check (false) not valid')
  await expect(evaluate(db)).rejects.toThrow('no_room')
  expect(await alertsOf(db)).toEqual([])
  await db.rows('alter table hookonce.outbox drop constraint no_room')
  await evaluate(db)
  expect(await alertsOf(db)).toHaveLength(1)
  expect(await toldTo(db)).toHaveLength(1)
})

test('many alerts make one message per channel, with the number of those that are left out', async () => {
  const db = await freshDatabase()
  for (let n = 0; n < 25; n += 1) await failing(db, `source-${n}`)
  const channels = {
    ops: { type: 'slack', url: 'http://127.0.0.1:9/a' },
    mail: { type: 'slack', url: 'http://127.0.0.1:9/b', rules: ['attention'] },
  } as const
  await evaluate(db, { channels })
  expect(await alertsOf(db)).toHaveLength(25)
  const told = await toldTo(db)
  expect(told).toHaveLength(1)
  expect(told[0]?.opened).toHaveLength(10)
  expect(told[0]?.more).toBe(15)
  // Its channel accepts only another rule.
  expect(await toldTo(db, 'mail')).toEqual([])
})

test('messages are limited by the hour; held messages are sent when it is over', async () => {
  const db = await freshDatabase()
  const options = { maxMessagesPerHour: 2 }
  for (let n = 0; n < 5; n += 1) {
    await failing(db, `source-${n}`)
    await evaluate(db, options)
  }
  expect(await alertsOf(db)).toHaveLength(5)
  expect(await toldTo(db)).toHaveLength(2)
  await timePasses(db, '61 minutes')
  for (let n = 0; n < 5; n += 1) await failing(db, `source-${n}`)
  await evaluate(db, options)
  const told = await toldTo(db)
  expect(told).toHaveLength(3)
  expect(told[2]?.opened).toHaveLength(3)
})

test('an alert that ends while the hour is full is announced later, even if it could not return any more', async () => {
  const db = await freshDatabase()
  const options = { maxMessagesPerHour: 1 }
  await failing(db)
  await evaluate(db, options)
  await over(db, options)
  expect(await alertsOf(db)).toMatchObject([{ state: 'resolved' }])
  expect(await toldTo(db)).toHaveLength(1)
  await timePasses(db, '3 hours')
  await evaluate(db, options)
  expect((await toldTo(db)).map(({ resolved }) => resolved.length)).toEqual([0, 1])
  await evaluate(db, options)
  expect(await toldTo(db)).toHaveLength(2)
})

test('without a channel alerts are listed, and are announced to the first channel that is added', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db, { channels: {} })
  expect(await listAlerts(ledgerOf(db))).toMatchObject([
    {
      rule: 'failures',
      source: 'stripe',
      subscriber: 'app',
      next: 'hookonce failures --source stripe --subscriber app',
    },
  ])
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(0)
  await evaluate(db)
  expect(await toldTo(db)).toHaveLength(1)
})

test('an operator acknowledges an alert, which the audit records, and can mute it', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db)
  const [alert] = await listAlerts(ledgerOf(db))
  const id = alert?.id ?? ''
  const decision = { id: id.slice(0, 8), by: 'ada', why: 'deploying a fix', muteMs: 3_600_000 }
  expect(await acknowledgeAlert(ledgerOf(db), decision)).toMatchObject({ id, acknowledgedBy: 'ada' })
  const { entries } = await listAudit(ledgerOf(db), { limit: 10 })
  expect(entries).toMatchObject([
    { actor: 'ada', action: 'acknowledge-alert', why: 'deploying a fix', subject: id },
  ])
  // The next evaluations keep it.
  await evaluate(db)
  expect(await listAlerts(ledgerOf(db))).toMatchObject([{ acknowledgedBy: 'ada' }])
  await over(db)
  expect(await alertsOf(db)).toMatchObject([{ state: 'resolved' }])
  expect(await toldTo(db)).toHaveLength(1)

  await expect(acknowledgeAlert(ledgerOf(db), decision)).rejects.toThrow('ALERT_NOT_OPEN')
  await expect(acknowledgeAlert(ledgerOf(db), { ...decision, id: 'ffff' })).rejects.toThrow(
    'no alert has an id that begins with "ffff"',
  )
  await expect(acknowledgeAlert(ledgerOf(db), { ...decision, why: ' ' })).rejects.toThrow('`why`')
  await expect(acknowledgeAlert(ledgerOf(db), { ...decision, tenant: 'other' })).rejects.toThrow(
    'no alert has an id',
  )
})

test('alerts that were resolved long ago are deleted', async () => {
  const db = await freshDatabase()
  await failing(db)
  await evaluate(db)
  await over(db)
  await failing(db, 'github')
  await evaluate(db)
  await timePasses(db, '91 days')
  expect(await pruneStats(ledgerOf(db))).toMatchObject({ alerts: 1 })
  expect(await alertsOf(db)).toMatchObject([{ about: 'github/app', state: 'open' }])
})
