// @ts-check
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { closedLoop } from '../load/closed-loop.mjs'
import { Connection } from '../load/connection.mjs'

/*
 * The process of the load generator. `first`: every request has a new key. `replay`: every request
 * has one of a few keys, which were used before the measurement.
 */
const KEYS = 500
const UNBOUNDED = 1e9

/**
 * @param {string} key
 * @param {number} bodyBytes
 */
function request(key, bodyBytes) {
  const body = JSON.stringify({ order: 'x'.repeat(bodyBytes) })
  return Buffer.from(
    `POST /orders HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `idempotency-key: ${key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/**
 * @param {{ port: number, mode: 'first' | 'replay', seconds: number, warmup: number, connections: number, bodyBytes: number }} order
 */
async function run({ port, mode, seconds, warmup, bodyBytes, connections: count }) {
  const connections = await Promise.all(Array.from({ length: count }, () => Connection.open(port)))
  const known = Array.from({ length: KEYS }, () => request(randomUUID(), bodyBytes))
  let at = 0
  const nextKnown = () => known[at++ % KEYS] ?? Buffer.alloc(0)
  const next = mode === 'replay' ? nextKnown : () => request(randomUUID(), bodyBytes)
  await closedLoop(connections, nextKnown, { seconds: 60, count: KEYS })
  // Counts requests instead of seconds: on a busy machine a second may be too short for the code to
  // be compiled.
  await closedLoop(connections, next, { seconds: 60, count: warmup })
  process.send?.('ready')
  await once(process, 'message')
  const { sent, perSecond, statuses } = await closedLoop(connections, next, { seconds, count: UNBOUNDED })
  for (const connection of connections) connection.close()
  process.send?.({ sent, perSecond, statuses })
}

process.once('message', (/** @type {Parameters<typeof run>[0]} */ order) => run(order))
process.on('disconnect', () => process.exit(0))
