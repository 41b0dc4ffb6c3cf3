import { expect, onTestFinished, test } from 'vitest'
import { type Hookonce, hookonce } from '../../../src/index.ts'
import { custom } from '../../../src/sources/index.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { manyLedgers } from '../../support/many-ledgers.ts'
import { SENDER, signed, type TestPayload } from '../../support/source.ts'
import { until } from '../../support/until.ts'

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
const sourceOf = (tenant: string) => custom<TestPayload, TestPayload>({ ...SENDER, tenant })
type TwoTenants = Hookonce<{ loud: ReturnType<typeof sourceOf>; quiet: ReturnType<typeof sourceOf> }>

/** A source in each of two tenants. */
function twoTenants(db: TestDatabase, concurrency: number): TwoTenants {
  const sources = { loud: sourceOf('loud'), quiet: sourceOf('quiet') }
  const hooks = hookonce({
    database: db.url,
    sources,
    ...manyLedgers(db, sources),
    logger: silent,
    pollMs: 20,
    maxConnections: 4,
    concurrency,
  })
  onTestFinished(() => hooks.stop({ drainMs: 0 }))
  return hooks
}

async function send(hooks: TwoTenants, source: 'loud' | 'quiet', id: string): Promise<void> {
  const url = `http://app.test/in/${source}`
  const { status } = await hooks.fetch(new Request(url, signed({ id, type: 'a' })))
  if (status >= 300) throw new Error(`delivery of ${id} was answered ${status}`)
}

/** Jobs of every subscriber of this tenant that have waited for an hour, in all shards. */
async function queue(db: TestDatabase, tenant: string, count: number): Promise<void> {
  await db.rows(
    `with new as (
       insert into hookonce.receipt (shard, id, tenant, source, secret, event_key, event_type, headers, body)
       select get_byte(uuid_send(id), 0) % 16, id, $1, $1, 1, 'evt_' || n, 'a', '', convert_to('{"id":"evt","type":"a"}', 'UTF8')
       from (select n, md5($1 || n)::uuid as id from generate_series(1, $2::integer) n) ids
       returning shard, id
     )
     insert into hookonce.job (shard, receipt_id, subscriber, state, due_at)
     select shard, new.id, s.id, 'received', now() - interval '1 hour'
     from new cross join hookonce.subscriber s where s.tenant = $1`,
    [tenant, count],
  )
}

test('20,000 queued jobs of a tenant do not delay the single event of another', async () => {
  const db = await freshDatabase()
  const hooks = twoTenants(db, 8)
  const order: string[] = []
  for (const name of ['a', 'b']) hooks.on('loud', '*', () => void order.push('loud'), { name })
  hooks.on('quiet', '*', () => void order.push('quiet'), { name: 'app' })
  await hooks.ledger('loud')
  await queue(db, 'loud', 10_000)
  await queue(db, 'quiet', 1)
  await hooks.start()
  await until('the single event was processed', () => order.includes('quiet'))
  const place = order.indexOf('quiet')

  // This happens in the first round of claims, which visits 16 shards with 8 slots.
  expect(place).toBeLessThan(16 * 8)
  await hooks.stop({ drainMs: 0 })
  expect(await db.number(`select count(*) from hookonce.job where state = 'received'`)).toBeGreaterThan(
    10_000,
  )
})

test('10,000 queued jobs of a tenant do not use up the rate that it shares with another', async () => {
  const db = await freshDatabase()
  const hooks = twoTenants(db, 8)
  const order: string[] = []
  const shared = { limiter: 'app', rate: { perSecond: 40, burst: 4 } }
  for (const name of ['a', 'b']) hooks.on('loud', '*', () => void order.push('loud'), { name, ...shared })
  hooks.on('quiet', '*', () => void order.push('quiet'), { name: 'app', ...shared })
  await hooks.ledger('loud')
  await queue(db, 'loud', 5_000)
  await hooks.start()
  await until('the loud tenant uses the rate', () => order.length >= 20)
  const before = order.length
  await queue(db, 'quiet', 20)
  await until('the quiet tenant is done', () => order.filter((one) => one === 'quiet').length === 20)

  // The tenants take turns: each event of one tenant waits for a few of the other, not for its
  // backlog.
  expect(order.length - before).toBeLessThan(20 * 8)
})

test('tenants with a backlog each get half of the slots, with any number of subscribers', async () => {
  const db = await freshDatabase()
  const hooks = twoTenants(db, 8)
  const running = { loud: 0, quiet: 0 }
  const hang = (tenant: 'loud' | 'quiet') => async () => {
    running[tenant] += 1
    await new Promise(() => undefined)
  }
  for (const name of ['a', 'b', 'c']) hooks.on('loud', '*', hang('loud'), { name })
  hooks.on('quiet', '*', hang('quiet'), { name: 'app' })
  await hooks.ledger('loud')
  await queue(db, 'loud', 200)
  await queue(db, 'quiet', 200)
  await hooks.start()
  await until('all slots are taken', () => running.loud + running.quiet === 8)

  expect(running).toEqual({ loud: 4, quiet: 4 })
})

test('a subscriber whose handlers hang leaves slots to idle subscribers', async () => {
  const db = await freshDatabase()
  const hooks = twoTenants(db, 8)
  let hanging = 0
  const done: string[] = []
  hooks.on('loud', '*', async () => {
    hanging += 1
    await new Promise(() => undefined)
  })
  hooks.on('quiet', '*', (event) => void done.push(event.key))
  await hooks.start()
  // Jobs are born leased until the process has no free slot. The remaining jobs wait.
  for (let n = 0; n < 20; n += 1) await send(hooks, 'loud', `loud_${n}`)
  await until('it has all the room that it gets', () => hanging === 7)
  for (let n = 0; n < 20; n += 1) await send(hooks, 'quiet', `quiet_${n}`)
  await until('the other has done its work', () => done.length === 20)

  expect(hanging).toBe(7)
})
