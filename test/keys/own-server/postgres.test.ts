import { expect, onTestFinished, test } from 'vitest'
import { keyStoreContract } from '../../../src/keys/contract/index.ts'
import { once, type PostgresKeysOptions, postgresKeys } from '../../../src/keys/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { keyedServer } from '../../support/idempotent-server.ts'
import { ownServer } from '../../support/own-server.ts'
import { pooled } from '../../support/pgbouncer.ts'
import { proxyTo } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

function opened(options: PostgresKeysOptions) {
  const store = postgresKeys(options)
  onTestFinished(() => store.close())
  return store
}

test('while PostgreSQL is down requests are refused, and its records exist when it is back', async () => {
  const server = await ownServer()
  const app = await keyedServer((_request, response) => response.end('done'), {
    store: opened({ database: server.db.url }),
  })
  await app.post('before')
  await server.stop()
  expect((await app.post('during')).status).toBe(503)
  expect(app.runs()).toBe(1)
  await server.start()
  const again = await until('PostgreSQL is back', async () => {
    const reply = await app.post('before')
    return reply.status === 200 && reply.headers.get('idempotent-replayed')
  })
  expect(again).toBe('true')
  expect((await app.post('during')).status).toBe(200)
  expect(app.runs()).toBe(2)
})

test('PostgreSQL that is gone while the handler runs: the reply is sent, counted, and the key stays locked', async () => {
  const server = await ownServer()
  const app = await keyedServer(
    async (_request, response) => {
      await server.stop()
      response.end('done')
    },
    { store: opened({ database: server.db.url }) },
  )
  expect(await (await app.post('one')).text()).toBe('done')
  expect(app.events).toMatchObject([{ what: 'not_persisted' }])
  await server.start()
  const told = await until('PostgreSQL is back', async () => {
    const { status } = await app.post('one')
    return status !== 503 && status
  })
  expect(told).toBe(409)
  expect(app.runs()).toBe(1)
})

test('behind a pooler in transaction mode the contract holds, and transactional handlers commit', async () => {
  const db = await freshDatabase()
  const store = opened({ database: await pooled(db.url), prepare: 'off' })
  await Promise.all(keyStoreContract(['steps', 'sweep', 'pledges']).map(({ run }) => run(store)))
  const work = async ({ tx }: { tx: { query(text: string): Promise<unknown> } }) => {
    await tx.query(`insert into effect (type) values ('order')`)
    return 'done'
  }
  const options = { tenant: 'global', handler: 'transactional', waitMs: 20_000 } as const
  const replies = await Promise.all(Array.from({ length: 20 }, () => once(store, 'one', work, options)))
  expect(new Set(replies)).toEqual(new Set(['done']))
  expect(await db.number('select count(*) from effect')).toBe(1)
})

test('a commit without an answer times out, and its outcome is read on another connection', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const store = opened({ database: proxy.url })
  const work = async ({ tx }: { tx: { query(text: string): Promise<unknown> } }) => {
    await tx.query(`insert into effect (type) values ('order')`)
    // The whole message is compared, because statements contain synchronous_commit.
    proxy.loseRepliesTo('commit\0')
    return 'done'
  }
  expect(await once(store, 'one', work, { tenant: 'global', handler: 'transactional' })).toBe('done')
  expect(await db.number('select count(*) from effect')).toBe(1)
})
