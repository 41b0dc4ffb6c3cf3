import { expect, test } from 'vitest'
import { claimJobs } from '../../../src/ledger/jobs/claim.ts'
import { rescueJobs } from '../../../src/ledger/jobs/rescue.ts'
import type { EventRow } from '../../../src/operate/events.ts'
import type { Failures } from '../../../src/operate/failures.ts'
import type { Status } from '../../../src/operate/status.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'

/* The commands that read: the present work, the failures, and the decisions. */

test('status shows the schema, workers, backlog and pauses, and --json the same as data', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  const [newest] = await db.rows<{ name: string }>(
    'select name from hookonce.migration order by id desc limit 1',
  )
  const empty = await run('status')
  expect(empty).toMatchObject({ code: 0, stderr: '' })
  expect(empty.stdout).toMatch(new RegExp(`^schema +${newest?.name}, applied \\d{4}-`, 'm'))
  expect(empty.stdout).toMatch(/^workers +none is running$/m)

  await seedJobs(db, 3, { source: 'shop', subscriber: 'mail' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'mail', state: 'failed' })
  await seedWorker(db)
  await run('pause', 'shop', 'mail')
  const { stdout } = await run('status')
  expect(stdout).toMatch(/^workers +1 alive: test 1 \(0 running\)$/m)
  expect(stdout).toMatch(/^backlog +3 waiting, 0 retrying, 0 processing$/m)
  expect(stdout).toMatch(/^lag +[\d.]+ m?s: the oldest due job$/m)
  expect(stdout).toMatch(/^failed +2 \(hookonce failures\)$/m)
  expect(stdout).toMatch(/^paused +1$/m)
  expect(stdout).toMatch(/^shop +mail +3 +0 +2 +0 +[\d.]+ m?s$/m)
  expect(stdout).toContain('(hookonce resume shop mail)')
  expect(stdout).toMatch(/^no running worker has served "mail" of shop since .*: 3 waiting/m)
  const status = (await run('status', '--json')).json<Status>()
  expect(status).toMatchObject({
    schema: { name: newest?.name },
    totals: { waiting: 3, failed: 2 },
    jobs: [{ source: 'shop', subscriber: 'mail', waiting: 3, failed: 2 }],
    paused: [{ source: 'shop', subscriber: 'mail' }],
    unattended: [{ source: 'shop', subscriber: 'mail', jobs: 3 }],
  })
})

test('status counts the jobs of a dead worker, until they are rescued', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['status', ...args], { DATABASE_URL: db.url })
  const subscriber = await seedJobs(db, 3, { source: 'shop', subscriber: 'mail', shard: 2 })
  const worker = await seedWorker(db)
  const claim = { shard: 2, worker, slots: new Map([[subscriber, 2]]) }
  expect(await claimJobs(db.pool, claim)).toHaveLength(2)
  const totals = async () => (await run('--json')).json<Status>().totals
  expect(await totals()).toMatchObject({ waiting: 1, processing: 2, stranded: 0 })

  await db.rows(`update hookonce.worker set lease_until = now() - interval '1 second'`)
  expect(await totals()).toMatchObject({ waiting: 1, processing: 0, stranded: 2 })
  const { stdout } = await run()
  expect(stdout).toMatch(/^workers +none is running: jobs wait until one starts$/m)
  expect(stdout).toMatch(
    /^the worker test 1 is gone, its lease ended .*, and left 2 running jobs: they are taken over when a worker starts$/m,
  )
  await rescueJobs(db.pool, { shard: 2, deadWorkers: [worker], limit: 10, isCrash: true })
  expect(await totals()).toMatchObject({ waiting: 1, retrying: 2, processing: 0, stranded: 0 })
})

test('status, failures and stats name the tenant, and accept one', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'mail', state: 'failed' })
  expect((await run('status')).stdout).not.toContain('TENANT')
  for (const table of ['source', 'subscriber', 'receipt'])
    await db.rows(`update hookonce.${table} set tenant = 'acme'`)
  await seedJobs(db, 1, { source: 'shop', subscriber: 'mail', state: 'failed' })
  expect((await run('status')).stdout).toMatch(/^acme +shop +mail +0 +0 +2 /m)
  const own = (await run('status', '--tenant', 'acme', '--json')).json<Status>()
  expect(own).toMatchObject({ totals: { failed: 2 }, jobs: [{ tenant: 'acme', failed: 2 }] })
  expect((await run('failures')).stdout).toMatch(/^2 +acme +shop +mail /m)
  const groups = (await run('failures', '--tenant', 'default', '--json')).json<Failures>().groups
  expect(groups).toMatchObject([{ tenant: 'default', jobs: 1 }])
  for (const command of ['status', 'failures', 'stats', 'events', 'rejections']) {
    const wrong = await run(command, '--tenant', 'acem')
    expect(wrong).toMatchObject({ code: 1, stdout: '' })
    expect(wrong.stderr).toContain('the ledger knows no tenant "acem" (did you mean "acme"?)')
  }
})

test('failures groups failed jobs, and names a receipt to show', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['failures', ...args], { DATABASE_URL: db.url })
  expect(await run()).toMatchObject({ code: 0, stdout: 'no failed jobs\n' })
  await seedJobs(db, 3, { source: 'shop', subscriber: 'mail', state: 'failed' })
  await db.rows(`update hookonce.job set reason = 'permanent: Error: no \u001b[31m customer'`)
  const found = (await run('--json')).json<Failures>()
  expect(found).toMatchObject({ isComplete: true, groups: [{ jobs: 3, source: 'shop', subscriber: 'mail' }] })
  const [receiptId] = found.groups[0]?.receiptIds ?? []
  const { stdout } = await run('--since', '1h')
  expect(stdout).toMatch(
    new RegExp(
      `^3 +shop +mail +\\S+ \\S+ +${receiptId} +${found.groups[0]?.fingerprint} +Error: no .\\[31m customer$`,
      'm',
    ),
  )
  expect(stdout).not.toContain('\u001b')
  expect(await run('--until', '1h')).toMatchObject({ code: 0, stdout: 'no failed jobs match\n' })
  const unknown = await run('--source', 'nosuch')
  expect(unknown).toMatchObject({ code: 1, stdout: '' })
  expect(unknown.stderr).toContain('the ledger knows no source "nosuch"')
})

test('events are filtered, and --after continues where an earlier list ended', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['events', ...args], { DATABASE_URL: db.url })
  await seedJobs(db, 5, { source: 'shop', subscriber: 'mail', state: 'processed' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'mail', state: 'failed', ageDays: 1 })
  // More than one page is read: the two matching events are the oldest.
  await seedJobs(db, 2_500, { source: 'busy', shard: 3, state: 'processed' })
  const failed = (await run('--state', 'failed', '--json')).json<EventRow[]>()
  expect(failed.map(({ states }) => states)).toEqual([['failed'], ['failed']])
  const old = (await run('--source', 'shop', '--until', '12h', '--json')).json<EventRow[]>()
  // Failed events are ordered by their failure, so they have other cursors.
  expect(old.map(({ id }) => id).sort()).toEqual(failed.map(({ id }) => id).sort())
  expect(await run('--type', 'invoice.*')).toMatchObject({ code: 0, stdout: 'no events match\n' })

  await db.rows(`update hookonce.job set reason = 'Error: card declined' where state = 'failed'`)
  await db.rows(`update hookonce.receipt set object_id = 'in_7' where id = $1`, [failed[0]?.id])
  const found = async (...args: string[]) => (await run(...args, '--json')).json<EventRow[]>()
  expect(await found('--error', 'declined')).toHaveLength(2)
  expect(await found('--error', 'expired')).toEqual([])
  expect((await found('--object', 'in_7')).map(({ id }) => id)).toEqual([failed[0]?.id])

  const shop = (await run('--source', 'shop', '--json')).json<EventRow[]>()
  expect(shop).toHaveLength(7)
  const after = shop[3]?.cursor ?? ''
  expect((await run('--source', 'shop', '--after', after, '--json')).json()).toEqual(shop.slice(4))
  const wrong = await run('--after', 'x')
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toContain('"x" is not a cursor of this list')
})

test('audit lists who decided what, and why', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  expect(await run('audit')).toMatchObject({ code: 0, stdout: 'no decisions\n' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'gone' })
  const discard = ['subscribers', 'discard', 'shop', 'gone', '--by', 'ada', '--why', 'it was renamed']
  expect(await run(...discard)).toMatchObject({ code: 0 })
  expect((await run('audit')).stdout).toMatch(/ cli:ada +- +discard-jobs +shop gone +it was renamed$/m)
  const [entry] = (await run('audit', '--json')).json<{ id: string; actor: string }[]>()
  expect(entry).toMatchObject({ actor: 'cli:ada' })
  expect((await run('audit', '--after', entry?.id ?? '', '--json')).json()).toEqual([])
})

test('states have colours only on request, and never in JSON', async () => {
  const db = await freshDatabase()
  const run = (args: string[], env = {}) => cli(args, { DATABASE_URL: db.url, ...env })
  await seedJobs(db, 1, { source: 'shop', state: 'failed' })
  expect((await run(['events'])).stdout).not.toContain('\u001b')
  const coloured = await run(['events'], { FORCE_COLOR: '1' })
  expect(coloured.stdout).toContain('\u001b[31mfailed\u001b[39m')
  expect((await run(['status'], { FORCE_COLOR: '1' })).stdout).toContain('\u001b[31m1\u001b[39m')
  expect((await run(['events', '--json'], { FORCE_COLOR: '1' })).stdout).not.toContain('\u001b')
})
