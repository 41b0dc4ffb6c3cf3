import { expect, test } from 'vitest'
import { type ClaimedJob, claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import { settleJobs } from '../../../src/ledger/jobs/settle.ts'
import type { EventChain } from '../../../src/operate/receipt.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { seedJobs, seedWorker, settlement } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* show: finds an event by any of its names, and prints the next action on each job. */

type Shown = Pick<EventChain, 'jobs' | 'attempts'> & { readonly id: string }

function looking(db: TestDatabase) {
  return (...args: string[]) => cli(args, { DATABASE_URL: db.url })
}

test('show finds an event by its receipt, its key and its object, and lists several', async () => {
  const db = await freshDatabase()
  const look = looking(db)
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'app' })
  const ids = []
  for (const id of ['evt_1', 'evt_2']) ids.unshift(await deliver(hooks, { id, type: 'a' }))
  await db.rows(`update hookonce.receipt set object_id = 'in_1'`)
  const [newest = ''] = ids
  for (const name of [newest.slice(0, 12), 'evt_2'])
    expect((await look('show', name, '--json')).json<Shown>().id).toBe(newest)

  const byKey = (await look('events', '--key', 'evt_1', '--json')).json<{ id: string }[]>()
  expect(byKey.map(({ id }) => id)).toEqual(ids.slice(1))

  const several = await look('show', 'in_1')
  expect(several).toMatchObject({ code: 0 })
  for (const id of ids) expect(several.stdout).toContain(id)
  expect(several.stdout).toContain('2 events match "in_1": show one of them by its receipt')
  const { matches } = (await look('show', 'in_1', '--json')).json<{ matches: { id: string }[] }>()
  expect(matches.map(({ id }) => id)).toEqual(ids)
  await db.rows(`update hookonce.receipt set object_id = 'in_2' where id = $1`, [newest])
  const only = await look('show', 'in_2', '--since', '2020-01-01', '--source', 'test', '--json')
  expect(only.json<Shown>().id).toBe(newest)

  const none = await look('show', 'in_3')
  expect(none).toMatchObject({ code: 1, stdout: '' })
  expect(none.stderr).toContain('RECEIPT_UNKNOWN: no event has the receipt id, event key or object id "in_3"')
})

test('the same key of two tenants is two events, and --source names one', async () => {
  const db = await freshDatabase()
  const look = looking(db)
  const record = async (tenant: string): Promise<void> => {
    await seedJobs(db, 1, { source: 'shop' })
    await db.rows(`update hookonce.receipt set tenant = $1, object_id = 'in_1' where object_id is null`, [
      tenant,
    ])
  }
  await record('default')
  await db.rows(`insert into hookonce.source (tenant, name, key_seconds, body_seconds)
    values ('acme', 'shop', 7776000, 2592000)`)
  await record('acme')
  const both = await look('show', 'in_1')
  expect(both.stdout).toMatch(/ acme +shop /)
  expect(both.stdout).toContain('or narrow them with --source')
  const own = await look('show', 'in_1', '--source', 'acme/shop')
  expect(own.stdout).toMatch(/^tenant +acme$/m)
  const other = await look('show', 'in_1', '--source', 'acme/shop', '--tenant', 'default')
  expect(other.stderr).toContain('"acme/shop" is a source of tenant "acme", and --tenant is "default"')
})

/** One job of a subscriber, and a worker that may claim it. */
async function oneJob(db: TestDatabase) {
  const subscriber = await seedJobs(db, 1, { source: 'shop', subscriber: 'mail', shard: 1 })
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const worker = await seedWorker(db)
  const claim = async (): Promise<ClaimedJob> => {
    await db.rows('update hookonce.job set due_at = now()')
    const [job] = await claimJobs(db.pool, { shard: 1, worker, slots: new Map([[subscriber, 1]]) })
    if (!job) throw new Error('nothing was claimed')
    return job
  }
  return { id: receipt?.id ?? '', worker, claim }
}

test('show names the worker of a job, and reports when the worker has ended', async () => {
  const db = await freshDatabase()
  const { id, claim } = await oneJob(db)
  const text = async () => (await looking(db)('show', id)).stdout
  expect(await text()).toMatch(/^mail +received +0 +0 +attempt 1 has been due for /m)
  await claim()
  const running = await text()
  expect(running).toMatch(/^mail +processing +1 +0 +runs on test 1 for /m)
  expect(running).toMatch(/^1 +mail +\S+ \S+ +\S+ \S+ so far +processing$/m)
  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 second'`)
  expect(await text()).toMatch(
    /^mail +processing +1 +0 +its worker test 1 has ended: another worker takes the job over$/m,
  )
  const [held] = (await looking(db)('show', id, '--json')).json<Shown>().jobs
  expect(held?.holder).toEqual({ host: 'test', pid: 1, isAlive: false })
})

test('after a crash and a drain, show lists the known runs, and when the next is due', async () => {
  const db = await freshDatabase()
  const { id, worker, claim } = await oneJob(db)
  const text = async () => (await looking(db)('show', id)).stdout
  await claim()
  // The time of death is unknown, so the time until it was noticed is not printed as a duration.
  await db.rows(`update hookonce.job set started_at = now() - interval '40 seconds'`)
  await rescueJobs(db.pool, { shard: 1, deadWorkers: [worker], limit: 1, isCrash: true })
  await db.rows(`update hookonce.job set due_at = now() + interval '90 minutes'`)
  const crashed = await text()
  expect(crashed).toMatch(/^1 +mail +\S+ \S+ +up to 40 s +crashed +its worker died while running it$/m)
  expect(crashed).toMatch(/^mail +retrying +1 +1 +attempt 2 in 90 min, at 2\d{3}-/m)
  expect(crashed).not.toContain('returned')

  // Handed back at a drain: the run is listed, and its number goes to the next run.
  await settleJobs(db.pool, [settlement(await claim(), 'received')])
  const drained = await text()
  expect(drained).toMatch(/^mail +received +1 /m)
  expect(drained).toMatch(
    /^- +mail +\S+ \S+ +- +returned +handed back before it ended: it does not count as an attempt$/m,
  )
  await settleJobs(db.pool, [settlement(await claim(), 'processed')])
  const { attempts } = (await looking(db)('show', id, '--json')).json<Shown>()
  expect(attempts.map(({ number, outcome }) => [number, outcome])).toEqual([
    [1, 'crashed'],
    [2, 'processed'],
  ])
})

test('show names the pause or order that holds a job, and that a moved job never ran', async () => {
  const db = await freshDatabase()
  const look = looking(db)
  await seedJobs(db, 1, { source: 'shop', subscriber: 'mail' })
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const text = async () => (await look('show', receipt?.id ?? '')).stdout
  await db.rows(`update hookonce.job set due_at = 'infinity'`)
  expect(await text()).toMatch(/^mail +received +0 +0 +waits for earlier events with its order key$/m)
  await look('pause', 'shop')
  expect(await text()).toMatch(/^mail +received +0 +0 +held: paused$/m)
  await db.rows(
    `update hookonce.job set state = 'processed', finished_at = now(), reason = 'MOVED to post by ann'`,
  )
  const moved = await text()
  expect(moved).toMatch(/^mail +processed +0 +0 +- +MOVED to post by ann$/m)
  expect(moved).not.toContain('STARTED')
})

test('show --stack prints where the error of an attempt was thrown, and --json always does', async () => {
  const db = await freshDatabase()
  const hooks = testHooks(db, { retry: { maxAttempts: 1 } })
  hooks.on('test', '*', function sendMail() {
    throw new Error('no mail', { cause: new TypeError('the socket is closed') })
  })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it has failed', () => db.number(`select count(*) from hookonce.job where state = 'failed'`))
  const look = looking(db)
  const place = /^ {2}at \S*sendMail .*cli-show\.test\.ts:\d+:\d+\)$/gm
  expect((await look('show', id)).stdout).not.toMatch(place)
  const { stdout } = await look('show', id, '--stack')
  // The frames of the error and of its cause.
  expect(stdout.match(place)).toHaveLength(2)
  expect(stdout).toContain('  caused by TypeError: the socket is closed')
  const [attempt] = (await look('show', id, '--json')).json<Shown>().attempts
  expect(attempt?.stack).toMatch(/^at \S*sendMail /)
  expect(attempt?.stack).not.toContain('/src/process/')
})
