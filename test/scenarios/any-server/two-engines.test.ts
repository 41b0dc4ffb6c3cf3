import { expect, test } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { deliver, type TestHooks, testHooks } from '../../support/hooks.ts'
import { until } from '../../support/until.ts'

/** hookonce over its own database. It does not poll: it looks for jobs only after a wake-up. */
async function engineOver(db: TestDatabase, name: string) {
  const handled: string[] = []
  const published: unknown[] = []
  const hooks = testHooks(db, {
    pollMs: 600_000,
    outbox: { publishers: { '*': ({ payload }) => void published.push(payload) } },
  })
  hooks.on('test', '*', (event, ctx) => {
    handled.push(event.key)
    ctx.publish('handled', `${name} ${event.key}`)
  })
  await hooks.start()
  return { hooks, handled, published }
}

function processed(db: TestDatabase): Promise<number> {
  return db.number(`select count(*) from hookonce.job where state = 'processed'`)
}

async function counted(hooks: TestHooks, name: string): Promise<string | undefined> {
  return new RegExp(`${name}\\{[^}]*\\} (\\d+)`).exec(await hooks.metrics())?.[1]
}

test('two engines in one process share neither events, nor metrics, nor wake-ups', async () => {
  const [dbA, dbB] = await Promise.all([freshDatabase(), freshDatabase()])
  const [a, b] = await Promise.all([engineOver(dbA, 'a'), engineOver(dbB, 'b')])

  // The same event key in both: each engine records and runs its own.
  const keysOfA = ['evt_1', 'evt_2', 'evt_3', 'evt_4']
  const keysOfB = ['evt_1', 'evt_2', 'evt_b']
  await Promise.all([
    ...keysOfA.map((id) => deliver(a.hooks, { id, type: 'x' })),
    ...keysOfB.map((id) => deliver(b.hooks, { id, type: 'x' })),
  ])
  await until('both are done', async () => (await processed(dbA)) === 4 && (await processed(dbB)) === 3)
  await until('both have published', () => a.published.length === 4 && b.published.length === 3)
  expect(a.handled.sort()).toEqual(keysOfA)
  expect(b.handled.sort()).toEqual(keysOfB)
  expect(a.published.sort()).toEqual(keysOfA.map((key) => `a ${key}`))
  expect(b.published.sort()).toEqual(keysOfB.map((key) => `b ${key}`))
  expect(await dbB.number(`select count(*) from hookonce.receipt where event_key = 'evt_4'`)).toBe(0)
  for (const [{ hooks }, count] of [
    [a, '4'],
    [b, '3'],
  ] as const) {
    expect(await counted(hooks, 'hookonce_received_total')).toBe(count)
    // A message is counted when it is marked, after it was published.
    const published = 'hookonce_messages_published_total'
    await until(`${count} messages are counted`, async () => (await counted(hooks, published)) === count)
  }

  // A job in B is due without an announcement. Work in A does not make B look for it.
  await dbB.rows(`update hookonce.job j set state = 'received', due_at = now(), attempt = 0
    from hookonce.receipt r where r.shard = j.shard and r.id = j.receipt_id and r.event_key = 'evt_b'`)
  await a.hooks.pause('test')
  await deliver(a.hooks, { id: 'evt_5', type: 'x' })
  await a.hooks.resume('test')
  await until('A was woken', async () => (await processed(dbA)) === 5)
  expect(await processed(dbB)).toBe(2)
  await b.hooks.pause('test')
  await b.hooks.resume('test')
  await until('B was woken', async () => (await processed(dbB)) === 3)

  // Stopping one engine does not affect the other.
  await a.hooks.stop()
  await deliver(b.hooks, { id: 'evt_last', type: 'x' })
  await until('B goes on', async () => (await processed(dbB)) === 4)
  expect(await b.hooks.ready()).toBe(true)
})
