import { expect, test } from 'vitest'
import type { EventRow } from '../../../src/operate/events.ts'
import { cli, type RunningCli, startCli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'
import { until } from '../../support/until.ts'

/* events --follow prints every event once, including late commits, and can be resumed. */

function following(db: TestDatabase, ...args: string[]) {
  const running = startCli(['events', '--follow', '--json', ...args], { DATABASE_URL: db.url })
  const seen = (): EventRow[] =>
    running.output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as EventRow)
  const sees = (count: number) =>
    until(`${count} events are followed`, () => {
      if (running.child.exitCode !== null) throw new Error(`it ended: ${running.output.stderr}`)
      return seen().length >= count && seen()
    })
  return { running, seen, sees }
}

async function interrupt({ stop, output }: RunningCli): Promise<string> {
  expect(await stop('SIGINT')).toBe(0)
  return output.stderr
}

async function ids(db: TestDatabase): Promise<string[]> {
  const found = await db.rows<{ id: string }>('select id from hookonce.receipt order by received_at')
  return found.map(({ id }) => id)
}

test('follow prints the latest events, then each new one once, and Ctrl-C prints where to continue', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 5, { source: 'shop', state: 'processed', ageDays: 1 })
  const { running, sees, seen } = following(db, '--limit', '2', '--source', 'shop')
  await sees(2)
  await seedJobs(db, 1, { source: 'other' })
  await seedJobs(db, 1, { source: 'shop' })
  await sees(3)
  await seedJobs(db, 1, { source: 'shop' })
  await sees(4)
  const all = await ids(db)
  expect(seen().map(({ id }) => id)).toEqual([all[3], all[4], all[6], all[7]])

  const told = await interrupt(running)
  const [, after = ''] =
    /^4 events; to continue here, pass the same filters and --after (\S+)$/m.exec(told) ?? []
  expect(after).toBe(seen().at(-1)?.cursor)
  const missed = await seedJobs(db, 1, { source: 'shop' })
  expect(missed).toBeGreaterThan(0)
  const resumed = following(db, '--source', 'shop', '--after', after)
  await until('the missed event comes', async () => {
    const last = (await ids(db)).at(-1)
    return resumed.seen().some(({ id }) => id === last)
  })
  // Events of the last seconds are printed again, so that none is missed. Older events are not.
  const again = resumed.seen().map(({ id }) => id)
  expect(new Set(again).size).toBe(again.length)
  expect(again).not.toContain(all[4])
})

test('an event that commits late is followed although a later one was printed before', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { source: 'shop' })
  const { sees, seen } = following(db, '--limit', '1')
  await sees(1)
  const late = await db.pool.connect()
  await late.query('begin')
  const { rows } = await late.query<{ id: string }>(
    `insert into hookonce.receipt (shard, id, secret, tenant, source, event_key, event_type, body_sha256, headers, body)
     select shard, md5('late')::uuid, 1, tenant, source, 'late', event_type, body_sha256, headers, body
     from hookonce.receipt returning id`,
  )
  await seedJobs(db, 1, { source: 'shop' })
  await sees(2)
  expect(seen().map(({ id }) => id)).not.toContain(rows[0]?.id)
  await late.query('commit')
  late.release()
  await sees(3)
  expect(seen().at(-1)?.id).toBe(rows[0]?.id)
})

test('failed events are followed as they fail, and again after they failed once more', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 2, { source: 'shop' })
  const [first, second] = await ids(db)
  const { seen, sees } = following(db, '--state', 'failed')
  const fail = (id: string | undefined) =>
    db.rows(
      `update hookonce.job set state = 'failed', finished_at = clock_timestamp(), reason = 'Error: no' where receipt_id = $1`,
      [id],
    )
  await fail(second)
  await sees(1)
  await fail(first)
  await sees(2)
  await fail(second)
  await sees(3)
  expect(seen().map(({ id }) => id)).toEqual([second, first, second])
})

test('follow continues after its connections were cut, and misses nothing', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { source: 'shop' })
  const before = await db.rows<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database()',
  )
  const { sees, seen, running } = following(db)
  await sees(1)
  await db.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and not pid = any($1::integer[]) and pid <> pg_backend_pid()`,
    [before.map(({ pid }) => pid)],
  )
  await seedJobs(db, 3, { source: 'shop' })
  await sees(4)
  expect(new Set(seen().map(({ id }) => id)).size).toBe(4)
  await interrupt(running)
})

test.each([
  { args: ['--key', 'evt_1'], says: '--key names one event' },
  { args: ['--until', '2h'], says: '--until and --follow exclude each other' },
  { args: ['--state', 'retrying'], says: 'with --follow, --state must be failed or attention' },
])('follow $args is refused: $says', async ({ args, says }) => {
  const ended = await cli(['events', '--follow', ...args], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  })
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain(`CONFIG_INVALID: ${says}`)
})
