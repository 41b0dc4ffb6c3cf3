// @ts-check
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'

/*
 * Runs one contender without HTTP: `node calls.mjs <file> <port of Redis>`. A fixed number of
 * callers call the protected function, each again as soon as it has its answer. `first`: each call
 * has a new key. `replay`: each call has one of a few keys that were used before the measurement.
 */
const KEYS = 500
const UNBOUNDED = 1e9

const [file, redisPort] = process.argv.slice(2)
const { caller } = await import(`./contenders/${file}`)
/** @type {(asked: import('./work.mjs').Asked) => Promise<import('./work.mjs').Made>} */
const call = await caller({ redisPort: Number(redisPort) })

/**
 * @param {{ mode: 'first' | 'replay', seconds: number, warmup: number, connections: number, bodyBytes: number }} order
 */
async function run({ mode, seconds, warmup, bodyBytes, connections }) {
  const order = 'x'.repeat(bodyBytes)
  const known = Array.from({ length: KEYS }, () => randomUUID())
  let at = 0
  const nextKnown = () => known[at++ % KEYS] ?? ''
  const next = mode === 'replay' ? nextKnown : randomUUID
  const loop = (/** @type {() => string} */ next, /** @type {number} */ count, endAt = Infinity) =>
    callAll({ connections, count, endAt, next, order })
  await loop(nextKnown, KEYS)
  await loop(next, warmup)
  process.send?.('ready')
  await once(process, 'message')
  const startedAt = performance.now()
  const { sent, statuses } = await loop(next, UNBOUNDED, startedAt + seconds * 1000)
  process.send?.({ sent, perSecond: (sent / (performance.now() - startedAt)) * 1000, statuses })
}

/**
 * @param {{ connections: number, count: number, endAt: number, next: () => string, order: string }} options
 */
async function callAll({ connections, count, endAt, next, order }) {
  /** @type {Record<number, number>} */
  const statuses = {}
  let sent = 0
  async function one() {
    while (sent < count && performance.now() < endAt) {
      sent++
      const headers = { 'content-type': 'application/json', 'idempotency-key': next() }
      const { status } = await call({ method: 'POST', url: '/orders', headers, body: { order } })
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  return { sent, statuses }
}

process.on('message', (message) => {
  if (typeof message === 'object') void run(/** @type {Parameters<typeof run>[0]} */ (message))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: 0 })
