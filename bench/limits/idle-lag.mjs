// @ts-check

import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { percentiles } from '../load/percentiles.mjs'
import { hookonce, stripe } from '../product.mjs'
import { secret } from '../stripe/deliveries.mjs'
import { keptDatabase } from './prefilled.mjs'

const EVENTS = 500
const APART_MS = 20

/**
 * The time from the acknowledgement, as its sender receives it, to the first line of the handler,
 * one event at a time. Sender, receiver and worker share this process, so there is one clock.
 * Negative: the handler came first.
 * @param {import('../limits.mjs').Limits} limits
 */
export async function idleLag({ postgres, rounds }) {
  const rows = []
  for (let n = 1; n <= rounds; n += 1) {
    const server = await keptDatabase(postgres)
    const database = (await server.database()).url
    rows.push({ round: n, where: 'receiver and worker in one process', ...(await lags(database, true)) })
    rows.push({ round: n, where: 'worker in another process', ...(await lags(database, false)) })
    rows.push({ round: n, where: 'three bare round trips, the least of it', ...(await bareTrips(database)) })
    await server.drop()
  }
  return rows
}

/**
 * @param {string} database
 * @param {boolean} together
 */
async function lags(database, together) {
  /** @type {Map<string, number>} */
  const startedAt = new Map()
  const source = stripe({ secret })
  const make = () =>
    hookonce({ database, sources: { stripe: source } }).on(
      'stripe',
      'invoice.paid',
      async (/** @type {any} */ event) => {
        startedAt.set(event.key, performance.now())
      },
    )
  const receiver = make()
  const worker = together ? receiver : make()
  await worker.start()
  const http = createServer(receiver.node({ source: 'stripe' }))
  await new Promise((/** @type {(nothing?: undefined) => void} */ done) =>
    http.listen(0, '127.0.0.1', () => done()),
  )
  const { port } = /** @type {import('node:net').AddressInfo} */ (http.address())
  /** @type {Map<string, number>} */
  const answeredAt = new Map()
  for (let n = 0; n < EVENTS; n += 1) {
    const key = `evt_${together}_${n}`
    const body = JSON.stringify({ id: key, type: 'invoice.paid' })
    const headers = source.sign({ body })
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })
    answeredAt.set(key, performance.now())
    if (answer.status !== 202) throw new Error(`answered ${answer.status}`)
    await answer.arrayBuffer()
    await delay(APART_MS)
  }
  while (startedAt.size < EVENTS) await delay(APART_MS)
  http.close()
  http.closeAllConnections()
  await receiver.stop()
  if (!together) await worker.stop()
  return told([...answeredAt].map(([key, at]) => (startedAt.get(key) ?? 0) - at))
}

/**
 * The time that the machine needs for an announcement, its arrival and a claim, if PostgreSQL took
 * no time for each.
 * @param {string} database
 */
async function bareTrips(database) {
  const client = new pg.Client(database)
  await client.connect()
  const times = []
  for (let n = 0; n < EVENTS; n += 1) {
    const startedAt = performance.now()
    for (let trip = 0; trip < 3; trip += 1) await client.query({ name: 'bare', text: 'select 1' })
    times.push(performance.now() - startedAt)
    await delay(APART_MS)
  }
  await client.end()
  return told(times)
}

/** @param {readonly number[]} times */
function told(times) {
  const { p50, p99, max } = percentiles([...times])
  return { 'p50 ms': p50.toFixed(2), 'p99 ms': p99.toFixed(2), 'max ms': max.toFixed(2) }
}
