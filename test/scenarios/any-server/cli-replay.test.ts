import { expect, test } from 'vitest'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/** Complete jobs and attempts, which a dry run must not change. */
async function allJobs(db: TestDatabase): Promise<unknown> {
  return [
    await db.rows('select * from hookonce.job order by receipt_id, subscriber'),
    await db.rows('select * from hookonce.attempt'),
  ]
}

async function onlyReceipt(db: TestDatabase): Promise<string> {
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  if (!receipt) throw new Error('there is no receipt')
  return receipt.id
}

test('a dry run of one receipt lists the jobs that would be processed again, and changes nothing', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  await seedJobs(db, 1, { state: 'processed' })
  const id = await onlyReceipt(db)
  await db.rows(`insert into hookonce.subscriber (tenant, source, name, pattern)
    values ('default', 'test', 'busy', '*'), ('default', 'test', 'late', 'count.*'), ('default', 'test', 'other', 'a')`)
  await db.rows(`insert into hookonce.job (shard, receipt_id, subscriber, state)
    select j.shard, j.receipt_id, s.id, 'received' from hookonce.job j, hookonce.subscriber s where s.name = 'busy'`)
  const before = await allJobs(db)

  const told = await cli(['replay', id.slice(0, 8), '--dry-run'], env)
  expect(told).toMatchObject({ code: 0 })
  expect(told.stdout).toContain(`2 jobs of ${id} would be received again`)
  expect(told.stdout).toMatch(/^app +processed +yes$/m)
  expect(told.stdout).toMatch(/^busy +received +no$/m)
  expect(told.stdout).toMatch(/^late +none yet +yes$/m)
  expect(told.stdout).not.toContain('other')
  const one = await cli(['replay', id, '--dry-run', '--subscriber', 'late', '--json'], env)
  expect(one.json()).toMatchObject({
    receiptId: id,
    jobs: [{ subscriber: 'late', state: null, again: true }],
  })
  expect(await allJobs(db)).toEqual(before)

  const replayed = await cli(['replay', id, '--json'], env)
  expect(replayed.json()).toMatchObject({ receiptId: id, jobs: 2 })
})

test.each([
  { args: ['abc', '--why', ' '], says: '--why is empty: give the reason, or leave it out' },
  { args: ['--retrying', '--why', ''], says: '--why is empty: give the reason, or leave it out' },
  { args: ['abc', '--yes', '--dry-run'], says: '--yes goes with --fresh' },
  { args: ['--failed', '--why', ''], says: '--why is empty: give the reason, or leave it out' },
  { args: ['abc', '--source', 'stripe'], says: '--source goes with --failed or --retrying' },
  { args: ['--retrying', '--since', '2h'], says: '--since goes with --failed' },
  { args: ['--failed', '--error', ''], says: '--error is empty: give a text, or a GROUP' },
  { args: ['--retrying', '--error', 'down'], says: '--error goes with --failed' },
  { args: ['abc', '--type', 'a'], says: '--type goes with --failed' },
  { args: ['--retrying', '--until', '2h'], says: '--until goes with --failed' },
  { args: ['--retrying', '--failed'], says: '--failed, --retrying and --fresh exclude each other' },
  { args: ['abc', '--retrying', '--limit', '3'], says: '--source and --limit are for many events' },
  { args: ['--retrying', '--limit', '0'], says: '--limit must be a number from 1, not "0"' },
  { args: ['abc', '--since', '2h'], says: '--since goes with --failed' },
  {
    args: ['abc', '--fresh', '--why', 'x', '--limit', '3'],
    says: '--limit goes with --failed or --retrying',
  },
])('replay $args is refused: $says', async ({ args, says }) => {
  const ended = await cli(['replay', ...args], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain(`CONFIG_INVALID: ${says}`)
})

test.each([
  { name: 'a replay', more: [] },
  { name: 'a dry run', more: ['--dry-run'] },
  { name: 'a fresh replay', more: ['--fresh', '--why', 'x', '--yes'] },
])('$name for an unknown subscriber reports it and ends with 1', async ({ more }) => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { state: 'processed' })
  const before = await allJobs(db)
  const ended = await cli(['replay', await onlyReceipt(db), '--subscriber', 'nosuch', ...more], {
    DATABASE_URL: db.url,
  })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain('source "test" has no subscriber "nosuch" (there are: app)')
  expect(await allJobs(db)).toEqual(before)
})

test('a replay that replays nothing prints the true reason', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  await seedJobs(db, 1, { state: 'received' })
  const id = await onlyReceipt(db)
  await db.rows(`insert into hookonce.subscriber (tenant, source, name, pattern)
    values ('default', 'test', 'other', 'invoice.*')`)
  const unwanted = await cli(['replay', id, '--subscriber', 'other'], env)
  expect(unwanted).toMatchObject({
    code: 0,
    stdout: `nothing to replay: other does not want events of type count.seed\n`,
  })
  const waiting = await cli(['replay', id], env)
  expect(waiting).toMatchObject({ code: 0 })
  expect(waiting.stdout).toContain('not finished yet')
})

test('a replay warns of subscribers that no running worker has', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  const hooks = testHooks(db)
  hooks.on('test', '*', () => undefined, { name: 'here' })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  expect(await cli(['replay', id, '--dry-run'], env)).toMatchObject({ code: 0, stderr: '' })

  await db.rows(`insert into hookonce.subscriber (tenant, source, name, pattern, seen_at)
    values ('default', 'test', 'gone', '*', now() - interval '1 hour')`)
  for (const more of [['--dry-run'], []]) {
    const told = await cli(['replay', id, ...more], env)
    expect(told.code).toBe(0)
    expect(told.stderr).toMatch(
      /warning: no running worker serves "gone" of test \(since .*\): its job waits until one does/,
    )
    expect(told.stderr).not.toContain('here')
  }
  await db.rows(`update hookonce.job set state = 'failed', finished_at = now()`)
  const failed = await cli(['replay', '--failed', '--json'], env)
  expect(failed.json()).toMatchObject({ jobs: 2, unattended: [{ source: 'test', subscriber: 'gone' }] })
  expect(failed.stderr).toContain('"gone"')
})

test('a replay warns if no worker runs at all, and not about a served subscriber', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  await seedJobs(db, 1, { state: 'failed' })
  const id = await onlyReceipt(db)
  const nobody = await cli(['replay', id, '--dry-run'], env)
  expect(nobody.stderr).toContain('warning: no worker is running')

  // An older build does not record its subscribers, so it may serve all of them.
  await seedWorker(db)
  await db.rows('update hookonce.worker set serves = null')
  expect(await cli(['replay', id, '--dry-run'], env)).toMatchObject({ code: 0, stderr: '' })
})

/** Jobs whose next attempt is due in an hour. */
async function retrying(db: TestDatabase, count: number, source: string): Promise<void> {
  const subscriber = await seedJobs(db, count, { source, state: 'received' })
  await db.rows(
    `update hookonce.job set state = 'retrying', attempt = 3, fence = 3, reason = 'Error: down',
       due_at = now() + interval '1 hour' where subscriber = $1 and state = 'received'`,
    [subscriber],
  )
}

async function dueJobs(db: TestDatabase): Promise<unknown> {
  return db.rows(`select s.source, j.state::text as state, j.attempt, count(*)::integer as jobs
    from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber
    where j.due_at <= now() group by 1, 2, 3 order by 1, 2`)
}

test('replay --retrying makes waiting jobs due, keeps their attempts, and touches no other job', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['replay', ...args], { DATABASE_URL: db.url })
  await retrying(db, 3, 'shop')
  await retrying(db, 2, 'bank')
  // Neither may run: one waits for an earlier event with its order key, and the other failed.
  await seedJobs(db, 1, { source: 'ordered' })
  await db.rows(`update hookonce.job set due_at = 'infinity' where state = 'received'`)
  await seedJobs(db, 1, { source: 'broken', state: 'failed' })
  await db.rows(`update hookonce.job set due_at = now() + interval '1 hour' where state = 'failed'`)

  const before = await allJobs(db)
  const plan = await run('--retrying', '--dry-run')
  expect(plan.stdout).toContain('5 jobs would be due now')
  expect(plan.stdout).toMatch(/ shop +app +3 +60 min +Error: down$/m)
  expect(plan.stderr).toContain('warning: no worker is running')
  expect(await allJobs(db)).toEqual(before)

  const bank = await run('--retrying', '--source', 'bank', '--limit', '1')
  expect(bank).toMatchObject({ code: 0, stdout: '1 retrying job is due now\n' })
  expect(await dueJobs(db)).toEqual([{ source: 'bank', state: 'retrying', attempt: 3, jobs: 1 }])
  const [shop] = await db.rows<{ id: string }>(
    `select id from hookonce.receipt where source = 'shop' limit 1`,
  )
  expect((await run(shop?.id ?? '', '--retrying', '--json')).json()).toMatchObject({ jobs: 1 })
  expect((await run('--retrying', '--json')).json()).toMatchObject({ jobs: 3 })
  expect(await dueJobs(db)).toEqual([
    { source: 'bank', state: 'retrying', attempt: 3, jobs: 2 },
    { source: 'shop', state: 'retrying', attempt: 3, jobs: 3 },
  ])
  expect((await run('--retrying')).stdout).toBe('no job waits for its next attempt\n')
  const audit = await db.rows<{ action: string; actor: string; subject: string }>(
    'select action, actor, subject from hookonce.audit order by id',
  )
  expect(audit.map(({ action }) => action)).toEqual(['retry-now', 'retry-now', 'retry-now'])
  expect(audit.every(({ actor }) => actor.startsWith('cli:'))).toBe(true)
  expect(audit[1]?.subject).toBe(shop?.id)
})

test('a worker runs at once what replay --retrying made due; a pause and a circuit are warned of', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  let calls = 0
  const hooks = testHooks(db)
  const handler = (): void => {
    calls += 1
    if (calls === 1) throw new Error('down')
  }
  hooks.on('test', '*', handler, { name: 'app', retry: { scheduleMs: [3_600_000] } })
  await hooks.start()
  const id = await deliver(hooks, { id: 'evt_1', type: 'a' })
  await until('it waits for its next attempt', () =>
    db.number(`select count(*) from hookonce.job where state = 'retrying'`),
  )
  await cli(['pause', 'test'], env)
  const held = await cli(['replay', 'evt_1', '--retrying', '--dry-run'], env)
  expect(held.stderr).toContain('warning: test has been paused since')
  await cli(['resume', 'test'], env)
  expect(await cli(['replay', id, '--retrying'], env)).toMatchObject({ code: 0, stderr: '' })
  await until('it is processed', () =>
    db.number(`select count(*) from hookonce.job where state = 'processed'`),
  )
  expect(calls).toBe(2)
})

test('replay --failed of a tenant leaves the others alone, and the audit names the tenant', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['replay', '--failed', ...args], { DATABASE_URL: db.url })
  await seedJobs(db, 2, { source: 'shop', state: 'failed' })
  for (const table of ['source', 'subscriber', 'receipt'])
    await db.rows(`update hookonce.${table} set tenant = 'acme'`)
  await seedJobs(db, 1, { source: 'shop', state: 'failed' })
  expect((await run('--dry-run')).stdout).toMatch(/ acme +shop +app$/m)
  expect(await run('--source', 'acme/shop')).toMatchObject({ stdout: '2 failed jobs received again\n' })
  expect(await db.rows('select tenant, detail from hookonce.audit')).toEqual([
    { tenant: 'acme', detail: { jobs: 2, filter: { state: 'failed', source: 'shop' } } },
  ])
  expect(await db.number(`select count(*) from hookonce.job where state = 'failed'`)).toBe(1)
})

test('replay --failed takes one group of failures, one type and a period; the audit keeps who and why', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 5, { source: 'shop', state: 'failed' })
  const failed = await db.rows<{ id: string }>('select receipt_id as id from hookonce.job order by 1')
  const [card, otherCard, oldCard, invoice, down] = failed.map(({ id }) => id)
  const reasonOf = (reason: string, ...ids: (string | undefined)[]) =>
    db.rows('update hookonce.job set reason = $1 where receipt_id = any($2)', [reason, ids])
  await reasonOf('permanent: Error: no card card_1a2b3c4d', card, invoice)
  await reasonOf('permanent: Error: no card card_5e6f7a8b', otherCard, oldCard)
  await reasonOf('permanent: Error: 100% down', down)
  await db.rows(`update hookonce.job set finished_at = now() - interval '5 hours' where receipt_id = $1`, [
    oldCard,
  ])
  await db.rows(`update hookonce.receipt set event_type = 'invoice.paid' where id = $1`, [invoice])
  // With a period, the failures are read from the jobs. Their counts do not know the reasons set above.
  const { stdout: failures } = await run('failures', '--since', '1d')
  const [, group = 'none'] = /^4 .* ([0-9a-f]{16}) +Error: no card/m.exec(failures) ?? []
  const received = async () => {
    const jobs = await db.rows<{ id: string }>(
      `select receipt_id as id from hookonce.job where state = 'received' order by 1`,
    )
    return jobs.map(({ id }) => id)
  }

  // A percent sign of the text is no wildcard.
  expect((await run('replay', '--failed', '--error', '10%d', '--dry-run')).stdout).toContain('no failed job')
  const replay = ['replay', '--failed', '--by', 'ann', '--why', 'cards are imported', '--error']
  const first = await run(...replay, group, '--type', 'count.*', '--until', '1h')
  expect(first).toMatchObject({ code: 0, stdout: '1 failed job received again\n' })
  expect(await received()).toEqual([oldCard])
  const second = await run(...replay, group, '--type', 'count.*')
  expect(second).toMatchObject({ stdout: '2 failed jobs received again\n' })
  expect(await received()).toEqual([card, otherCard, oldCard].sort())
  const plan = await run('replay', '--failed', '--error', 'No Card', '--dry-run', '--json')
  expect(plan.json<{ receiptId: string }[]>().map(({ receiptId }) => receiptId)).toEqual([invoice])
  expect(await run(...replay, '100% DOWN')).toMatchObject({ stdout: '1 failed job received again\n' })

  expect(await db.rows('select actor, action, why, detail from hookonce.audit order by id')).toEqual(
    [
      { jobs: 1, filter: { error: group, typeLike: 'count.%', until: expect.any(String) } },
      { jobs: 2, filter: { error: group, typeLike: 'count.%' } },
      { jobs: 1, filter: { error: '%100\\% DOWN%' } },
    ].map(({ jobs, filter }) => ({
      actor: 'cli:ann',
      action: 'replay-failed',
      why: 'cards are imported',
      detail: { jobs, filter: { state: 'failed', ...filter } },
    })),
  )
})

test('a replay of one event and --retrying keep who decided, and why', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['replay', ...args], { DATABASE_URL: db.url })
  await seedJobs(db, 1, { state: 'processed' })
  const id = await onlyReceipt(db)
  expect(await run(id, '--by', 'ann', '--why', 'ticket 4711')).toMatchObject({ code: 0 })
  expect(await run(id)).toMatchObject({ code: 0 })
  await retrying(db, 1, 'shop')
  expect(await run('--retrying', '--by', 'bob', '--why', 'the bank is up')).toMatchObject({ code: 0 })
  expect(await db.rows('select action, actor, why from hookonce.audit order by id')).toEqual([
    { action: 'replay', actor: 'cli:ann', why: 'ticket 4711' },
    { action: 'replay', actor: expect.stringMatching(/^cli:./), why: 'by the command line' },
    { action: 'retry-now', actor: 'cli:bob', why: 'the bank is up' },
  ])
})
