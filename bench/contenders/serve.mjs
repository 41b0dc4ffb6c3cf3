// @ts-check
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { secret } from '../stripe/deliveries.mjs'
import { isSigned } from '../stripe/verify.mjs'

/*
 * The common part of the servers under test: the same node:http server, one line on standard output
 * when ready, a clean end on SIGTERM. Each contender is its own program: `DATABASE_URL=… node
 * contenders/<name>.mjs`.
 */

/** `accept`: no worker runs. `end-to-end`: a worker in the same process. `drain`: a worker and no HTTP. */
export const mode = /** @type {'accept' | 'end-to-end' | 'drain'} */ (process.env.BENCH_MODE ?? 'accept')

/** @param {string} name */
export function required(name) {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

/** @param {object} fact */
export function tell(fact) {
  process.stdout.write(`${JSON.stringify(fact)}\n`)
}

/**
 * @param {import('node:http').RequestListener} listener
 * @param {() => Promise<unknown>} stop
 */
export function listen(listener, stop) {
  // Connections stay open between the warm-up and the measurement.
  const server = createServer({ keepAliveTimeout: 60_000 }, listener)
  // All connections may be opened at once.
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    const address = /** @type {import('node:net').AddressInfo} */ (server.address())
    tell({ ready: true, port: address.port })
  })
  endOnTerm(async () => {
    server.close()
    server.closeAllConnections()
    await stop()
  })
}

/** @param {() => Promise<unknown>} stop */
export function endOnTerm(stop) {
  process.once('SIGTERM', async () => {
    await stop()
    process.exit(0)
  })
}

/**
 * The receiver that the peers share: raw body, signature, parse, record, acknowledge.
 * @param {(event: StripeEvent, body: Buffer) => Promise<boolean>} record true: recorded now; false: known already
 * @returns {import('node:http').RequestListener}
 */
export function receiver(record) {
  return (request, response) => {
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = chunks.length === 1 ? /** @type {Buffer} */ (chunks[0]) : Buffer.concat(chunks)
      const signature = /** @type {string | undefined} */ (request.headers['stripe-signature'])
      if (!isSigned(body, signature, secret)) return answer(response, 401, '{"error":"signature"}')
      const event = JSON.parse(body.toString())
      record(event, body).then(
        (isNew) =>
          answer(response, isNew ? 202 : 200, isNew ? '{"status":"recorded"}' : '{"status":"duplicate"}'),
        (error) => {
          process.stderr.write(`${error.stack}\n`)
          answer(response, 503, '{"error":"not recorded"}')
        },
      )
    })
  }
}

/** @typedef {{ id: string, type: string, data: { object: { id: string, amount_paid: number } } }} StripeEvent */

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {string} body
 */
function answer(response, status, body) {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

/**
 * Drain: the runner fills the backlog, then writes a line. The worker starts. It prints a line when
 * the last handler has run.
 * @param {() => Promise<unknown>} start
 */
export function startOnLine(start) {
  createInterface({ input: process.stdin }).once('line', () => void start())
}

/** A no-op handler that prints a line when it has run once for each job of the backlog. */
export function countingHandler() {
  const backlog = Number(required('BENCH_BACKLOG'))
  let handled = 0
  return async () => {
    handled += 1
    if (handled === backlog) tell({ handled })
  }
}
