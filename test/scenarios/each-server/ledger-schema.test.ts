import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { pgAdapter } from '../../../src/effects/adapters/pg.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, testHooks } from '../../support/hooks.ts'
import { signed } from '../../support/source.ts'
import { until } from '../../support/until.ts'

/* A ledger's schema may have any name. Here no schema has the default name, so a statement that
   still uses it fails. */

async function withoutDefaultSchema(): Promise<TestDatabase> {
  const db = await freshDatabase()
  await db.rows('drop schema hookonce cascade')
  await db.rows('create table done (what text)')
  return db
}

function sharedPool({ url }: TestDatabase): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

interface Given {
  readonly schema: string
  /** The caller's pool, which another ledger also uses. */
  readonly pool?: pg.Pool
}

/** An engine whose handler uses every call that reaches the ledger. */
async function engineIn(db: TestDatabase, { schema, pool }: Given) {
  const published: string[] = []
  const hooks = testHooks(db, {
    schema,
    ...(pool ? { database: pool } : {}),
    outbox: { publishers: { '*': ({ payload }) => void published.push(String(payload)) } },
  })
  const on = pgAdapter(pool ?? sharedPool(db))
  const done = (what: string) => ({
    text: 'insert into done values ($1)',
    values: [`${schema} ${what}`],
  })
  hooks.on('test', 'whole', async (event, ctx) => {
    await ctx.transaction(
      async (tx) => {
        await tx.query(done('transaction'))
        await tx.effect(`tx:${event.key}`, async () => void (await tx.query(done('tx.effect'))))
        await tx.latest(`entity:${event.key}`, 1, async () => void (await tx.query(done('tx.latest'))))
        tx.publish('done', `${schema} transaction`)
      },
      { name: 'own' },
    )
    await ctx.transaction(async (_tx, client) => void (await client.query(done('adapter'))), {
      on,
      name: 'adapter',
    })
    await ctx.step('step', async () => void (await db.pool.query(done('step'))))
    await ctx.effect(`call:${event.key}`, async () => void (await db.pool.query(done('effect'))))
    ctx.write(done('write'))
    ctx.publish('done', `${schema} write`)
  })
  hooks.on('test', 'last', (_event, ctx) =>
    ctx.transaction(async (tx) => void (await tx.query(done('last'))), { last: true }),
  )
  hooks.on(
    'test',
    'broken',
    () => {
      throw new Error('no customer')
    },
    { retry: { maxAttempts: 1 } },
  )
  await hooks.start()
  return { hooks, published }
}

const EFFECTS = ['adapter', 'effect', 'last', 'step', 'transaction', 'tx.effect', 'tx.latest', 'write']

test.each([
  ['its own connections', false],
  ["the caller's pool, shared by both", true],
])('two ledgers in one database, over %s, do the same event once each', async (_how, isShared) => {
  const db = await withoutDefaultSchema()
  const pool = isShared ? sharedPool(db) : undefined
  const schemas = ['eu', 'order'] as const
  const engines = await Promise.all(
    schemas.map((schema) => engineIn(db, { schema, ...(pool ? { pool } : {}) })),
  )

  for (const { hooks } of engines) {
    for (const type of ['whole', 'last', 'broken']) {
      await deliver(hooks, { id: `evt_${type}`, type })
      await deliver(hooks, { id: `evt_${type}`, type })
    }
  }
  for (const [index, schema] of schemas.entries()) {
    await until(`${schema} is done`, async () => {
      const ended = `select count(*) from "${schema}".job where state in ('processed', 'failed')`
      return (await db.number(ended)) === 3 && engines[index]?.published.length === 2
    })
    expect(engines[index]?.published.sort()).toEqual([`${schema} transaction`, `${schema} write`])
    expect(await db.number(`select count(*) from "${schema}".receipt`)).toBe(3)
    const rows = await db.rows<{ what: string }>('select what from done where what like $1 order by 1', [
      `${schema} %`,
    ])
    expect(rows.map(({ what }) => what)).toEqual(EFFECTS.map((what) => `${schema} ${what}`))
  }
  expect(await db.rows(`select 1 from pg_namespace where nspname = 'hookonce'`)).toEqual([])
})

test('commands and inline sources use the schema', async () => {
  const db = await withoutDefaultSchema()
  const env = { DATABASE_URL: db.url, HOOKONCE_SCHEMA: 'eu' }
  expect((await cli(['migrate'], env)).stdout).toContain('0001-ledger')
  expect((await cli(['migrate'], { ...env, HOOKONCE_SCHEMA: 'Bad-Name' })).stderr).toContain(
    'HOOKONCE_SCHEMA: a schema name is 1 to 30 lower-case letters',
  )
  const { hooks } = await engineIn(db, { schema: 'eu' })
  const id = await deliver(hooks, { id: 'evt_1', type: 'broken' })
  await until('it has failed', () => db.number(`select count(*) from eu.job where state = 'failed'`))
  expect((await cli(['events', '--json'], env)).stdout).toContain(id)
  await cli(['replay', id, '--json'], env)
  await until('it ran again', async () => (await db.number('select count(*) from eu.attempt')) === 2)

  const inline = testHooks(db, { schema: 'eu' })
  const ran: string[] = []
  const handle = inline.inline('test', async ({ key }) => void ran.push(key))
  for (let times = 0; times < 2; times += 1) {
    const response = await handle.fetch(new Request('http://app.test/', signed({ id: 'evt_2', type: 'x' })))
    expect(response.status).toBe(200)
  }
  await handle.fetch(new Request('http://app.test/', { method: 'POST', body: '{}' }))
  await until(
    'the refusal is recorded',
    async () => (await db.number('select count(*) from eu.rejection')) > 0,
  )
  expect(ran).toEqual(['evt_2'])
  expect(await db.number('select count(*) from eu.inline_key')).toBe(1)
  expect(await db.rows(`select 1 from pg_namespace where nspname = 'hookonce'`)).toEqual([])
})
