import { expect, test } from 'vitest'
import type { EventRow } from '../../../src/operate/events.ts'
import type { Failures } from '../../../src/operate/failures.ts'
import type { Status } from '../../../src/operate/status.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'

/* The commands that answer: what is going on, what failed, and who decided. */

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
  expect(stdout).toMatch(/^workers +test 1 \(0 running\)$/m)
  expect(stdout).toMatch(/^waiting +3, retrying 0, processing 0$/m)
  expect(stdout).toMatch(/^failed +2, attention 0, effects unknown 0$/m)
  expect(stdout).toMatch(/^shop +mail +3 +0 +2 +0 +\d+ s$/m)
  expect(stdout).toContain('(hookonce resume shop mail)')
  expect(stdout).toMatch(/^no running worker serves "mail" of shop since .*: 3 waiting/m)
  const status = (await run('status', '--json')).json<Status>()
  expect(status).toMatchObject({
    schema: { name: newest?.name },
    totals: { waiting: 3, failed: 2 },
    jobs: [{ source: 'shop', subscriber: 'mail', waiting: 3, failed: 2 }],
    paused: [{ source: 'shop', subscriber: 'mail' }],
    unattended: [{ source: 'shop', subscriber: 'mail', jobs: 3 }],
  })
})

test('failures groups what failed, and names a receipt to show', async () => {
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
    new RegExp(`^3 +shop +mail +\\S+ \\S+ +${receiptId} +Error: no .\\[31m customer$`, 'm'),
  )
  expect(stdout).not.toContain('\u001b')
  expect(await run('--until', '1h')).toMatchObject({ code: 0, stdout: 'no failed jobs\n' })
  const unknown = await run('--source', 'nosuch')
  expect(unknown).toMatchObject({ code: 1, stdout: '' })
  expect(unknown.stderr).toContain('the ledger knows no source "nosuch"')
})

test('events are filtered, and --after goes on where an earlier list ended', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['events', ...args], { DATABASE_URL: db.url })
  await seedJobs(db, 5, { source: 'shop', subscriber: 'mail', state: 'processed' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'mail', state: 'failed', ageDays: 1 })
  // More than one page is read for these: the two that match are the oldest.
  await seedJobs(db, 2_500, { source: 'busy', shard: 3, state: 'processed' })
  const failed = (await run('--state', 'failed', '--json')).json<EventRow[]>()
  expect(failed.map(({ states }) => states)).toEqual([['failed'], ['failed']])
  expect((await run('--source', 'shop', '--until', '12h', '--json')).json<EventRow[]>()).toEqual(failed)
  expect(await run('--type', 'invoice.*')).toMatchObject({ code: 0, stdout: 'no events match\n' })

  const shop = (await run('--source', 'shop', '--json')).json<EventRow[]>()
  expect(shop).toHaveLength(7)
  const after = shop[3]?.cursor ?? ''
  expect((await run('--source', 'shop', '--after', after, '--json')).json()).toEqual(shop.slice(4))
  const wrong = await run('--after', 'x')
  expect(wrong).toMatchObject({ code: 1, stdout: '' })
  expect(wrong.stderr).toContain('"x" is not a cursor of an event')
})

test('audit lists who decided what, and why', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  expect(await run('audit')).toMatchObject({ code: 0, stdout: 'no decisions\n' })
  await seedJobs(db, 2, { source: 'shop', subscriber: 'gone' })
  const discard = ['subscribers', 'discard', 'shop', 'gone', '--by', 'ada', '--why', 'it was renamed']
  expect(await run(...discard)).toMatchObject({ code: 0 })
  expect((await run('audit')).stdout).toMatch(/ ada +discard-jobs +default +shop gone +it was renamed$/m)
  const [entry] = (await run('audit', '--json')).json<{ id: string; actor: string }[]>()
  expect(entry).toMatchObject({ actor: 'ada' })
  expect((await run('audit', '--after', entry?.id ?? '', '--json')).json()).toEqual([])
})
