import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { custom, hookdeck, type SigningSource, sign, stripe, svix } from 'hookonce/sources'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { invoiceHooks } from '../../../examples/migrate/processed-events.ts'
import { queueHooks } from '../../../examples/migrate/queue.ts'
import { redisApp } from '../../../examples/migrate/redis-set-nx.ts'
import { twoSignatureApp } from '../../../examples/migrate/two-signatures.ts'
import { cli, startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { configFile, configTo, deliver, ENV, FORWARD_SECRET, serveArgs } from '../../support/gateway.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

/* The promises of the pages in docs/migrate/, tested with the code that they show. */

const SECRET = 'whsec_of_the_endpoint'
const source = stripe({ secret: SECRET })

function request(key: string, invoice: string): Request {
  const body = JSON.stringify({
    id: key,
    type: 'invoice.paid',
    created: 1_700_000_000,
    data: { object: { id: invoice } },
  })
  return new Request('http://x/webhooks/stripe', { method: 'POST', body, headers: sign(source, { body }) })
}

async function tables(db: TestDatabase): Promise<void> {
  await db.pool.query(`
    create table processed_events (id text primary key);
    create table payments (number serial primary key, invoice text not null)`)
}

/** The old route: it marks an event in the transaction of its writes. */
async function oldRoute(pool: pg.Pool, key: string, invoice: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const marked = await client.query(
      'insert into processed_events (id) values ($1) on conflict do nothing returning id',
      [key],
    )
    if (marked.rowCount === 1) await client.query('insert into payments (invoice) values ($1)', [invoice])
    await client.query('commit')
  } finally {
    client.release()
  }
}

test('the old route and hookonce run at the same time: each event is one payment, in every order', async () => {
  const db = await freshDatabase()
  await tables(db)
  const hooks = invoiceHooks(db.url, SECRET)
  onTestFinished(() => hooks.stop())
  await hooks.start()
  const orders = ['old', 'new', 'both', 'old, new', 'new, old', 'new, old, new']
  const events = Array.from({ length: 30 }, (_, n) => ({
    key: `evt_${n}`,
    invoice: `in_${n}`,
    order: orders[n % 6] ?? '',
  }))
  await Promise.all(
    events.map(async ({ key, invoice, order }) => {
      const toOld = () => oldRoute(db.pool, key, invoice)
      const toNew = async () => {
        const { status } = await hooks.fetch(request(key, invoice))
        expect([200, 202]).toContain(status)
      }
      if (order === 'both') await Promise.all([toOld(), toNew()])
      else for (const part of order.split(', ')) await (part === 'old' ? toOld() : toNew())
    }),
  )
  await until('every job is processed', async () =>
    (await db.number(`select count(*) from hookonce.job where state <> 'processed'`)) === 0
      ? true
      : undefined,
  )
  const counted = await db.rows(
    'select count(*)::integer as payments, count(distinct invoice)::integer as invoices from payments',
  )
  expect(counted).toEqual([{ payments: 30, invoices: 30 }])
})

test('the work of a queue runs as a subscriber, once per event, with a stable key', async () => {
  const db = await freshDatabase()
  const ran: string[] = []
  const hooks = queueHooks(db.url, SECRET, {
    handle: async (event, key) => {
      ran.push((event as { id: string }).id)
      expect(key).not.toBe('')
    },
  })
  onTestFinished(() => hooks.stop())
  await hooks.start()
  for (const _ of [1, 2]) await hooks.fetch(request('evt_1', 'in_1'))
  await until('it ran', () => (ran.length > 0 ? true : undefined))
  await until('its job is processed', async () =>
    (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 1 ? true : undefined,
  )
  expect(ran).toEqual(['evt_1'])
})

test('the keys that the page exports from pg-boss make later deliveries duplicates', async () => {
  const db = await freshDatabase()
  // The columns of pg-boss 12 that the export and the old route use.
  await db.pool.query(`
    create schema pgboss;
    create table pgboss.job (
      id uuid not null default gen_random_uuid(), name text not null, data jsonb,
      state text not null default 'created', singleton_key text, primary key (name, id));
    insert into pgboss.job (name, data, state, singleton_key)
      select name, jsonb_build_object('id', key, 'type', 'invoice.paid'), state, key from (values
        ('webhooks', 'evt_done', 'completed'), ('webhooks', 'evt_waits', 'retry'), ('mail', 'evt_mail', 'completed')
      ) as jobs (name, key, state)`)
  const page = readFileSync(join(import.meta.dirname, '../../../docs/migrate/queue.md'), 'utf8')
  const [, select = '', args = ''] =
    /copy \((.+?)\) to stdout csv header" \\\n +\| npx hookonce import (stripe --format csv) /.exec(page) ??
    []
  const keys = await db.rows<{ key: string }>(select)
  const file = join(temporaryDirectory(), 'keys')
  writeFileSync(file, ['key', ...keys.map(({ key }) => key), ''].join('\n'))
  const ran: string[] = []
  const hooks = queueHooks(db.url, SECRET, {
    handle: async (event) => void ran.push((event as { id: string }).id),
  })
  onTestFinished(() => hooks.stop())
  await hooks.start()
  const imported = await cli(['import', ...args.split(' '), file, '--why', 'switch'], {
    DATABASE_URL: db.url,
    HOOKONCE_LEDGERS: '',
  })
  expect(imported.stdout).toBe('stripe: 1 keys read, 1 imported, 0 known already, 0 repeated\n')
  const statuses: number[] = []
  for (const key of ['evt_done', 'evt_waits', 'evt_mail'])
    statuses.push((await hooks.fetch(request(key, 'in_1'))).status)
  expect(statuses).toEqual([200, 202, 202])
  await until('both new jobs are processed', async () =>
    (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 2 ? true : undefined,
  )
  expect(ran.sort()).toEqual(['evt_mail', 'evt_waits'])
})

test('the work that Redis marked runs as an effect, once per invoice', async () => {
  const db = await freshDatabase()
  const fulfilled: string[] = []
  const { hooks, app } = redisApp(db.url, SECRET, async (invoice) => {
    fulfilled.push(invoice)
  })
  onTestFinished(async () => {
    app.close()
    await hooks.stop()
  })
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  await hooks.start()
  const { port } = app.address() as AddressInfo
  for (const key of ['evt_1', 'evt_1', 'evt_2']) {
    const { headers, method } = request(key, 'in_1')
    const body = await request(key, 'in_1').arrayBuffer()
    await fetch(`http://127.0.0.1:${port}/webhooks/stripe`, { method, headers, body: Buffer.from(body) })
  }
  await until('both events are processed', async () =>
    (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 2 ? true : undefined,
  )
  expect(fulfilled).toEqual(['in_1'])
})

const oldServices: Record<string, SigningSource> = {
  Hookdeck: hookdeck({ secret: 'the-signing-secret' }),
  'Svix Ingest': svix({ secret: `whsec_${Buffer.alloc(32, 's').toString('base64')}` }),
  Convoy: custom({
    provider: 'convoy',
    secret: 'the-endpoint-secret',
    signature: { algorithm: 'hmac-sha256', header: 'x-convoy-signature', encoding: 'hex' },
    event: { key: 'json:id' },
  }),
}

test.each(Object.entries(oldServices))(
  'an app behind %s and hookonce takes each event once, from either or both',
  async (_, old) => {
    const db = await freshDatabase()
    await tables(db)
    const app = twoSignatureApp({
      old,
      forwardSecret: FORWARD_SECRET,
      pool: db.pool,
      work: async (tx, event) =>
        void (await tx.query('insert into payments (invoice) values ($1)', [event.id])),
    })
    const url = `${await listening(app)}/hooks`
    const gateway = startCli(serveArgs(configFile(configTo(url))), { ...ENV, DATABASE_URL: db.url })
    const { port } = await gateway.line<{ port: number }>('port')
    const fromOld = async (id: string, source = old): Promise<number> => {
      const { method, headers, body } = source.deliver({ body: JSON.stringify({ id, type: 'invoice.paid' }) })
      return (await fetch(url, { method, headers, body: Buffer.from(body) })).status
    }
    expect(await fromOld('evt_forged', hookdeck({ secret: 'another-secret' }))).toBe(401)
    expect([await fromOld('evt_old'), await fromOld('evt_old'), await deliver(port, 'evt_old')]).toEqual([
      204, 204, 202,
    ])
    const both = ['evt_1', 'evt_2', 'evt_3', 'evt_4'].flatMap((id) => [deliver(port, id), fromOld(id)])
    expect(new Set(await Promise.all(both))).toEqual(new Set([202, 204]))
    expect(await deliver(port, 'evt_new')).toBe(202)
    await until('hookonce has forwarded its six events', async () =>
      (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 6
        ? true
        : undefined,
    )
    const paid = await db.rows<{ invoice: string }>('select invoice from payments order by invoice')
    expect(paid.map(({ invoice }) => invoice)).toEqual([
      'evt_1',
      'evt_2',
      'evt_3',
      'evt_4',
      'evt_new',
      'evt_old',
    ])
  },
)
