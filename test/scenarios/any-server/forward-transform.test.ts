import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { inState } from '../../support/forwarding.ts'
import { deliver, destination, ENV, serveArgs } from '../../support/gateway.ts'
import { until } from '../../support/until.ts'

/* Transforms of a gateway run in their own threads, which can be stopped. */

/** The key of an event determines the behaviour of its first runs. */
const TRANSFORM = `import { setTimeout as delay } from 'node:timers/promises'

let runs = 0

export default async function transform({ key, body, receivedAt }) {
  runs += 1
  if (key === 'evt_loop') for (;;);
  if (key === 'evt_hang') await new Promise(() => undefined)
  if (key === 'evt_grow') for (const all = []; ; ) all.push(new Array(1e5).fill(key))
  if (key === 'evt_exit') process.exit(7)
  if (key === 'evt_permanent') throw Object.assign(new Error('never'), { name: 'Permanent' })
  if (key === 'evt_dropped') return undefined
  if (key === 'evt_bytes') return { body: Buffer.from(body).subarray(1), headers: { 'X-Runs': 'some' } }
  if (key === 'evt_number') return { body: 1n }
  if (key === 'evt_throws') throw new TypeError('no amount')
  await delay(1)
  return { body: { key, runs, isDate: receivedAt instanceof Date } }
}
`

async function gateway(db: TestDatabase, config: string, files: Record<string, string>): Promise<number> {
  const dir = temporaryDirectory()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  const { line } = startCli(serveArgs(join(dir, config)), { ...ENV, DATABASE_URL: db.url })
  return (await line<{ port: number }>('port')).port
}

const common = { secret: 'env:FORWARD_SECRET', allowPrivate: ['127.0.0.1'] }
const sources = { stripe: { provider: 'stripe', secret: 'env:STRIPE_SECRET' } }
const reasonOf = async (db: TestDatabase, key: string): Promise<unknown> =>
  (
    await db.rows(
      `select j.reason from hookonce.job j join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id
       join hookonce.subscriber s on s.id = j.subscriber
       where r.event_key = $1 and s.name = 'changed' and j.state = 'failed'`,
      [key],
    )
  )[0]?.reason

test('a transform that loops fails its own job, and delays neither deliveries nor other events', async () => {
  const db = await freshDatabase()
  const [changed, plain] = [await destination(), await destination()]
  const destinations = {
    changed: { ...common, url: changed.url, transform: './transform.mjs', retry: { maxAttempts: 1 } },
    plain: { ...common, url: plain.url },
  }
  const port = await gateway(db, 'hookonce.json', {
    'hookonce.json': JSON.stringify({ sources, destinations }),
    'transform.mjs': TRANSFORM,
  })
  expect(await deliver(port, 'evt_1')).toBe(202)
  await until('the thread has started', () => changed.bodies.length === 1)
  expect(await deliver(port, 'evt_loop')).toBe(202)
  // The transform has begun, or would begin before the transforms of these events.
  for (const key of ['evt_2', 'evt_3']) expect(await deliver(port, key)).toBe(202)
  await until('the other destination has them', () => plain.bodies.length === 4)
  expect(await reasonOf(db, 'evt_loop')).toBeUndefined()
  const reason = await until('the loop was stopped', () => reasonOf(db, 'evt_loop'))
  expect(reason).toContain('TRANSFORM_FAILED: it computed for 5 s without a pause')
  // These calls waited for the thread, so the block is not their fault.
  await until('the others are transformed', () => changed.bodies.length === 3)
  expect(changed.bodies.map((body) => JSON.parse(body)).sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
    { key: 'evt_1', runs: 1, isDate: true },
    { key: 'evt_2', runs: expect.any(Number), isDate: true },
    { key: 'evt_3', runs: expect.any(Number), isDate: true },
  ])
})

test('any fault of a transform is the reason of its job, and the process continues', async () => {
  const db = await freshDatabase()
  const changed = await destination()
  const options = { timeoutMs: 8_000, retry: { maxAttempts: 1 } }
  const port = await gateway(db, 'hookonce.config.mjs', {
    'hookonce.config.mjs': `import transform from './transform.mjs'
const { common, sources, url, options } = ${JSON.stringify({ common, sources, url: changed.url, options })}
export default { sources, destinations: { changed: { ...common, ...options, url, transform: (event) => transform(event) } } }
`,
    'transform.mjs': TRANSFORM,
  })
  for (const [key, says] of [
    ['evt_hang', /TRANSFORM_FAILED: the transform did not finish within 8000 ms/],
    // On a busy machine the thread is stopped before its memory is used up.
    ['evt_grow', /TRANSFORM_FAILED: (its thread ended: .*memory limit|it computed for 5 s)/],
    ['evt_exit', /TRANSFORM_FAILED: its thread ended/],
    ['evt_permanent', /permanent: .*never/],
    ['evt_number', /TRANSFORM_FAILED: TypeError: Do not know how to serialize a BigInt/],
    ['evt_throws', /TRANSFORM_FAILED: TypeError: no amount/],
  ] as const) {
    expect(await deliver(port, key)).toBe(202)
    expect(await until(`${key} has failed`, () => reasonOf(db, key))).toMatch(says)
  }
  const stacks = await db.rows(`select a.error, a.stack from hookonce.attempt a where a.stack is not null`)
  // A stack of the thread, and only if the transform threw.
  expect(stacks).toEqual([
    expect.objectContaining({ stack: expect.stringMatching(/^at transform \(.*transform\.mjs:\d+:\d+\)/) }),
    expect.objectContaining({ stack: expect.stringMatching(/^at transform \(.*transform\.mjs:\d+:\d+\)/) }),
  ])
  expect(await deliver(port, 'evt_dropped')).toBe(202)
  expect(await deliver(port, 'evt_bytes')).toBe(202)
  await inState(db, 'processed', 2)
  expect(changed.bodies).toEqual(['"id":"evt_bytes","type":"invoice.paid"}'])
})
