// @ts-check
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** The runner stops waiting for a server after twice the expected time. */
const PATIENCE_MS = 60_000

/**
 * @typedef {object} LoadResult
 * @property {number} sent
 * @property {number} elapsed seconds
 * @property {number} perSecond
 * @property {Record<string, number>} statuses how often each status was answered; 0 is a broken connection
 * @property {import('./percentiles.mjs').Percentiles} latency
 * @property {import('./percentiles.mjs').Percentiles} [generatorLag]
 * @property {number} unique events sent since `prepare`
 */

/** The load generator, as the runner uses it. */
export function startGenerator() {
  const child = fork(fileURLToPath(new URL('./process.mjs', import.meta.url)))

  /**
   * @param {string} order
   * @param {Record<string, unknown>} options
   */
  async function tell(order, options) {
    const withinMs = Number(options.seconds ?? 0) * 2000 + PATIENCE_MS
    child.send({ order, options })
    const ended = new AbortController()
    const [answer] = await Promise.race([
      once(child, 'message', { signal: ended.signal }),
      once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`the load generator ended with code ${code}`)
      }),
      delay(withinMs, undefined, { signal: ended.signal }).then(() => {
        throw new Error(`the load generator was not done with "${order}" after ${withinMs / 1000} s`)
      }),
    ]).finally(() => ended.abort())
    if (answer.error) throw new Error(`the load generator: ${answer.error}`)
    return answer.result
  }

  return {
    pid: child.pid,
    /** @param {import('../stripe/deliveries.mjs').DeliveriesOptions & { port: number, connections: number }} options */
    prepare: (options) => tell('prepare', options),
    /** @param {{ count: number }} options */
    stock: (options) => tell('stock', options),
    /**
     * @param {{ seconds: number, count: number, fresh: boolean }} options
     * @returns {Promise<LoadResult>}
     */
    closed: (options) => tell('closed', options),
    /**
     * @param {{ seconds: number, rate: number }} options
     * @returns {Promise<LoadResult>}
     */
    open: (options) => tell('open', options),
    stop() {
      if (child.connected) child.disconnect()
    },
  }
}

/** @typedef {ReturnType<typeof startGenerator>} Generator */
