import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { API_KEY, stripeApi } from '../../support/provider-api.ts'
import { seedJobs } from '../../support/seed.ts'
import { CTRL_C, cliInTerminal } from '../../support/terminal.ts'
import { until } from '../../support/until.ts'

const RECEIPTS = 'select count(*) from hookonce.receipt'
const BODIES = 'select count(*) from hookonce.receipt where body is not null'
const FAILED = `select count(*) from hookonce.job where state = 'failed'`

/** Holds a lock until it is released, so that the command stops at a known point. */
async function hold(db: TestDatabase, sql: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const client = await db.pool.connect()
  onTestFinished(() => client.release(true))
  await client.query('begin')
  await client.query(sql, values)
  return async () => void (await client.query('rollback'))
}

function waitsForLock(db: TestDatabase): Promise<unknown> {
  return until('the command waits for the lock', () =>
    db.number(
      `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'hookonce%'
       and datname = current_database()`,
    ),
  )
}

describe('hookonce prune', () => {
  test('counts, then deletes data past its retention, and keeps unfinished work', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url }
    await seedJobs(db, 4, { ageDays: 100, state: 'processed' })
    await seedJobs(db, 3, { ageDays: 40, state: 'failed' })
    await seedJobs(db, 2, { ageDays: 100, state: 'received' })
    await seedJobs(db, 1, { ageDays: 1, state: 'processed' })

    const dry = await cli(['prune', '--dry-run'], env)
    expect(dry).toMatchObject({
      code: 0,
      stderr: '',
      stdout: 'would delete 7 bodies, 4 receipts and 0 messages\n',
    })
    expect(await db.number(BODIES)).toBe(10)
    expect((await cli(['prune', '--dry-run', '--json'], env)).json()).toEqual({
      bodies: 7,
      receipts: 4,
      messages: 0,
      isComplete: true,
    })

    const ran = await cli(['prune', '--json'], env)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(ran.json()).toEqual({
      bodies: 7,
      receipts: 4,
      messages: 0,
      buckets: 0,
      alerts: 0,
      isComplete: true,
    })
    expect(await db.number(RECEIPTS)).toBe(6)
    expect(await db.number(BODIES)).toBe(3)
    expect(await db.number(`select count(*) from hookonce.job where state = 'received'`)).toBe(2)
    expect((await cli(['prune'], env)).stdout).toBe('deleted 0 bodies, 0 receipts and 0 messages\n')
  })

  test("continues after a batch, beyond the limit of a worker's chore", async () => {
    const db = await freshDatabase()
    // More than the twenty batches of 500 that a chore deletes per shard.
    await seedJobs(db, 10_600, { ageDays: 100, state: 'processed', shard: 3 })
    const ran = await cli(['prune', '--json'], { DATABASE_URL: db.url })
    expect(ran.json()).toMatchObject({ bodies: 10_600, receipts: 10_600, isComplete: true })
    expect(await db.number(RECEIPTS)).toBe(0)
  })

  test('deletes finished messages only if their age is given', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url }
    await db.rows(`insert into hookonce.outbox
        (shard, id, lane, seq, receipt_id, subscriber, tenant, topic, payload, state, finished_at)
      select 0, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), 1, 'default', 't', '{}', state::hookonce.message_state, at
      from (values ('published', now() - interval '8 days'), ('failed', now() - interval '8 days'),
        ('published', now()), ('waiting', null)) given(state, at)`)
    expect((await cli(['prune', '--json'], env)).json()).toMatchObject({ messages: 0 })
    const args = ['prune', '--messages-older-than', '7d', '--json']
    expect((await cli(args, env)).json()).toMatchObject({ messages: 2 })
    expect(await db.number('select count(*) from hookonce.outbox')).toBe(2)
  })

  test('shows a bar on a terminal; Ctrl-C stops it with a summary, and the next run does the rest', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url }
    await seedJobs(db, 200, { ageDays: 40, state: 'processed' })
    // Reading is allowed, so the plan is printed. Deleting is not.
    const release = await hold(db, 'lock table hookonce.receipt in exclusive mode')
    const terminal = cliInTerminal(['prune'], env)
    await waitsForLock(db)
    terminal.type(CTRL_C)
    await terminal.shows('stopping after the current step')
    await release()
    expect(await terminal.ended()).toBe(130)
    const [, bodies] = /deleted (\d+) bod/.exec(terminal.output()) ?? []
    expect(terminal.output()).toContain('run `hookonce prune` again to continue')
    // Only the shard in progress.
    const left = await db.number(BODIES)
    expect(left).toBe(200 - Number(bodies))
    expect(left).toBeGreaterThan(0)

    const again = cliInTerminal(['prune'], env)
    expect(await again.ended()).toBe(0)
    expect(again.output()).toMatch(new RegExp(`\\r\\x1b\\[K\\[#*-*\\] \\d+ of ${left} rows, \\d+ %`))
    expect(again.output()).toContain(`deleted ${left} bod`)
    expect(await db.number(BODIES)).toBe(0)
  })
})

describe('hookonce replay --failed', () => {
  test('stops at Ctrl-C, prints what is left, and the next run does the rest', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url }
    await seedJobs(db, 9, { state: 'failed' })
    const plan = (await cli(['replay', '--failed', '--dry-run', '--json'], env)).json<
      { receiptId: string }[]
    >()
    const release = await hold(db, 'select from hookonce.job where receipt_id = $1 for update', [
      plan[4]?.receiptId,
    ])
    const terminal = cliInTerminal(['replay', '--failed'], env)
    await waitsForLock(db)
    terminal.type(CTRL_C)
    await terminal.shows('stopping after the current step')
    await release()
    expect(await terminal.ended()).toBe(130)
    expect(terminal.output()).toContain('5 failed jobs received again')
    expect(terminal.output()).toContain(
      'stopped before the end: 4 are left; run the same command again to continue',
    )
    expect(await db.number(FAILED)).toBe(4)

    const rest = await cli(['replay', '--failed', '--json'], env)
    expect(rest).toMatchObject({ code: 0 })
    expect(rest.json()).toMatchObject({ jobs: 4, isComplete: true })
    expect(await db.number(FAILED)).toBe(0)
  })

  test('a second Ctrl-C ends it at once', async () => {
    const db = await freshDatabase()
    await seedJobs(db, 1, { state: 'failed' })
    const release = await hold(db, 'select from hookonce.job for update')
    const terminal = cliInTerminal(['replay', '--failed'], { DATABASE_URL: db.url })
    await waitsForLock(db)
    terminal.type(CTRL_C)
    await terminal.shows('Ctrl-C again stops at once')
    terminal.type(CTRL_C)
    expect(await terminal.ended()).toBe(130)
    await release()
  })
})

/** Blocks the first commit of the command, because each commit writes to the audit. */
const holdAudit = (db: TestDatabase) => hold(db, 'lock table hookonce.audit in exclusive mode')

test.each([
  {
    args: ['replay', '--retrying'],
    noun: 'jobs',
    seed: async (db: TestDatabase) => {
      await seedJobs(db, 150)
      await db.rows(`update hookonce.job set state = 'retrying', due_at = now() + interval '1 hour'`)
    },
    left: `select count(*) from hookonce.job where due_at > now()`,
  },
  {
    args: ['outbox', 'replay', '--failed'],
    noun: 'messages',
    seed: (db: TestDatabase) =>
      db.rows(`insert into hookonce.outbox
          (shard, id, lane, seq, receipt_id, subscriber, tenant, topic, payload, state, finished_at)
        select n % 16, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), 1, 'default', 't', '{}', 'failed', now()
        from generate_series(1, 150) n`),
    left: `select count(*) from hookonce.outbox where state = 'failed'`,
  },
])('hookonce $args shows a bar, stops at Ctrl-C, and the next run does the rest', async (verb) => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  await verb.seed(db)
  const release = await holdAudit(db)
  const terminal = cliInTerminal(verb.args, env)
  await waitsForLock(db)
  await terminal.shows(`0 of 150 ${verb.noun}, 0 %`)
  terminal.type(CTRL_C)
  await terminal.shows('stopping after the current step')
  await release()
  expect(await terminal.ended()).toBe(130)
  expect(terminal.output()).toContain('stopped before the end')
  expect(await db.number(verb.left)).toBe(50)

  const rest = await cli([...verb.args, '--json'], env)
  expect(rest.json()).toMatchObject({ [verb.noun]: 50, isComplete: true })
  expect(await db.number(verb.left)).toBe(0)
  expect(await db.number('select count(*) from hookonce.audit')).toBe(2)
})

describe('hookonce import', () => {
  test('shows a bar, stops at Ctrl-C, and the next run does the rest', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url }
    await seedJobs(db, 1)
    const file = join(temporaryDirectory(), 'keys')
    // Long keys, so that the first batch of 1,000 is a part of the chunks of the file.
    const keys = Array.from({ length: 3_000 }, (_, n) => `evt_${n}_${'x'.repeat(200)}`)
    writeFileSync(file, `${keys[1_500]}\n`)
    expect(await cli(['import', 'test', file, '--why', 'switch'], env)).toMatchObject({ code: 0 })
    writeFileSync(file, `${keys.join('\n')}\n`)
    const imported = `select count(*) from hookonce.receipt where secret = -1`

    // The second batch waits for the end of this transaction, to see whether its key is taken.
    const release = await hold(db, 'delete from hookonce.receipt where event_key = $1', [keys[1_500]])
    const terminal = cliInTerminal(['import', 'test', file, '--why', 'switch'], env)
    await waitsForLock(db)
    await terminal.shows(/\r\x1b\[K\[#+-+\] 1000 keys, \d\d %/)
    terminal.type(CTRL_C)
    await terminal.shows('stopping after the current step')
    await release()
    expect(await terminal.ended()).toBe(130)
    expect(terminal.output()).toContain('test: 2000 keys read, 1999 imported, 1 known already')
    expect(terminal.output()).toContain('stopped before the end')
    expect(await db.number(imported)).toBe(2_000)

    const rest = await cli(['import', 'test', file, '--why', 'switch', '--json'], env)
    expect(rest.json()).toMatchObject({ read: 3_000, imported: 1_000, known: 2_000, isComplete: true })
    expect(await db.number(imported)).toBe(3_000)
  })
})

describe('hookonce reconcile', () => {
  test('shows a bar, stops at Ctrl-C, and the next run does the rest', async () => {
    const db = await freshDatabase()
    const env = { DATABASE_URL: db.url, STRIPE_API_KEY: API_KEY }
    await seedJobs(db, 1, { source: 'stripe' })
    const api = await stripeApi(
      [400, 300, 200, 100].map((age) => ({ id: `evt_${age}`, type: 'invoice.paid', age })),
    )
    // Two pages to the oldest event, and one of them again. The third request gets no answer.
    api.fault = (_url, count) => (count === 3 ? new Promise(() => undefined) : undefined)
    const args = ['reconcile', 'stripe', '--since', '1h', '--type', 'invoice.*', '--api-url', api.url]
    const recorded = `select count(*) from hookonce.receipt where secret = 0`
    const terminal = cliInTerminal(args, env)
    await terminal.shows(/\r\x1b\[K\[#+-*\] 2 listed, \d\d %/)
    await until('two events are recorded', async () => (await db.number(recorded)) === 2)
    terminal.type(CTRL_C)
    await terminal.shows('stopping after the current step')
    expect(await terminal.ended()).toBe(130)
    expect(terminal.output()).toContain('2 missing, 2 recorded')
    expect(terminal.output()).toContain('not complete: the run was interrupted')
    expect(await db.number(recorded)).toBe(2)

    api.fault = () => undefined
    const rest = await cli([...args, '--json'], env)
    expect(rest.json()).toMatchObject({ arrived: 2, recorded: 2 })
    expect(await db.number(recorded)).toBe(4)
  })
})
