import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import { lintEventKeys } from '../../../src/upkeep/lint-event-keys.ts'
import { pruneOutbox } from '../../../src/upkeep/prune-outbox.ts'
import { pruneReceipts } from '../../../src/upkeep/prune-receipts.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { jobsAre } from '../../support/jobs.ts'
import { until } from '../../support/until.ts'

/*
 * The roles of docs/reference/database-role.md, created by its statements, and the engine under the
 * restricted role.
 */

const PAGE = readFileSync(new URL('../../../docs/reference/database-role.md', import.meta.url), 'utf8')

function sqlAfter(mark: string): string {
  const [, sql] = PAGE.split(`<!-- ${mark} -->\n\`\`\`sql\n`)
  return sql?.split('```', 1)[0] ?? ''
}

interface Roles {
  readonly owner: pg.Pool
  readonly app: pg.Pool
  readonly appUrl: string
  /** Statements of the page, with the role names of this test. */
  named(sql: string): string
}

/** Drops the template's ledger: the roles create this one. */
async function makeRoles(db: TestDatabase): Promise<Roles> {
  const id = randomBytes(4).toString('hex')
  const names = { owner: `owner_${id}`, app: `app_${id}` }
  const named = (sql: string): string =>
    sql.replaceAll('hookonce_owner', names.owner).replaceAll('hookonce_app', names.app)
  await db.pool.query('drop schema hookonce cascade')
  await db.pool.query(named(sqlAfter('the roles')))
  const urlAs = (user: string, password: string): string => {
    const url = new URL(db.url)
    url.username = user
    url.password = password
    return url.toString()
  }
  const appUrl = urlAs(names.app, 'change me too')
  const owner = new pg.Pool({ connectionString: urlAs(names.owner, 'change me'), max: 1 })
  const app = new pg.Pool({ connectionString: appUrl, max: 1 })
  onTestFinished(async () => {
    await Promise.all([owner.end(), app.end()])
    for (const name of [names.app, names.owner]) {
      await db.pool.query(`drop owned by ${name}`)
      await db.pool.query(`drop role ${name}`)
    }
  })
  return { owner, app, appUrl, named }
}

test('as documented, one role migrates, and the engine does everything with another role that can create nothing', async () => {
  const db = await freshDatabase()
  const { owner, app, appUrl, named } = await makeRoles(db)
  await expect(migrate(app)).rejects.toThrow(/permission denied/)
  expect((await migrate(owner)).length).toBeGreaterThan(0)
  expect(await migrate(owner)).toEqual([])
  await db.pool.query(named(sqlAfter('after the first migration')))
  await db.pool.query(named('grant select, insert on public.effect to hookonce_app'))

  const published: string[] = []
  const hooks = testHooks(
    { ...db, url: appUrl },
    {
      outbox: { publishers: { '*': ({ topic }) => void published.push(topic) } },
      retry: { baseDelayMs: 1, maxDelayMs: 1, maxAttempts: 2 },
    },
  )
  hooks.on(
    'test',
    'written',
    (event, ctx) => {
      ctx.write({ text: 'insert into effect (receipt_id) values ($1)', values: [event.receiptId], rows: 1 })
      ctx.publish('told', { id: event.key })
    },
    { ordered: () => 'one lane' },
  )
  hooks.on('test', 'worked', async (event, ctx) => {
    await ctx.step('look', () => 1)
    await ctx.transaction(async (tx) => {
      await tx.query('insert into effect (receipt_id) values ($1)', [event.receiptId])
      tx.publish('told', { id: event.key })
    })
    await ctx.latest('object:1', 1, async () => undefined)
    await ctx.effect('mail:1', () => 'sent')
  })
  hooks.on('test', 'failing', () => {
    throw new Error('never')
  })
  hooks.on('test', 'unsure', (_, ctx) =>
    ctx.effect('charge:1', () => Promise.reject(new Error('the reply was lost')), { mode: 'atMostOnce' }),
  )
  await hooks.start()
  for (const type of ['written', 'worked', 'failing', 'unsure']) await deliver(hooks, { id: type, type })
  await deliver(hooks, { id: 'written', type: 'written' })
  await jobsAre(db, 'processed', 2)
  await jobsAre(db, 'failed', 1)
  await jobsAre(db, 'attention', 1)
  await until('both messages are published', () => published.length === 2)
  expect(await db.number('select count(*) from public.effect')).toBe(2)

  expect(await hooks.ready()).toBe(true)
  expect(await hooks.metrics()).toContain('hookonce_ledger_up 1')
  await hooks.attention.confirmDone('charge:1', { by: 'ann', why: 'asked the bank', result: 1 })
  await jobsAre(db, 'processed', 3)
  await hooks.pause('test')
  await hooks.resume('test')
  const ledger = await hooks.ledger('test')
  await pruneReceipts(ledger)
  await pruneOutbox(ledger, 1)
  await lintEventKeys(ledger)
  const replayed = await cli(['replay', '--failed', '--json'], { DATABASE_URL: appUrl })
  expect(replayed).toMatchObject({ code: 0, stderr: '' })
  expect((await cli(['events', '--json'], { DATABASE_URL: appUrl })).json<unknown[]>()).toHaveLength(4)
  await until('the repeat is counted', () => db.number('select count(*) from hookonce.duplicate'))
})

test.each([
  'create table hookonce.mine (id int)',
  'create table public.mine (id int)',
  'create schema mine',
  'drop table hookonce.receipt',
  'truncate hookonce.receipt',
  'alter table hookonce.receipt add column mine int',
  `update hookonce.setting set value = 1`,
  'delete from hookonce.migration',
  'select * from public.run',
  'create role mine',
])('the role of the running processes is not allowed to: %s', async (sql) => {
  const db = await freshDatabase()
  const { owner, app, named } = await makeRoles(db)
  await migrate(owner)
  await db.pool.query(named(sqlAfter('after the first migration')))
  // The default of PostgreSQL 15 and later.
  await db.pool.query('revoke create on schema public from public')
  await expect(app.query(sql)).rejects.toThrow(/permission denied|must be owner/)
})
