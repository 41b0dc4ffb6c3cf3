// @ts-check
import { percentiles } from './percentiles.mjs'

/**
 * Latency: requests are due at a fixed rate, whatever the server does, and their latency counts
 * from their due time. A server that stalls is charged for all requests that should have been sent
 * meanwhile.
 * @param {import('./connection.mjs').Connection[]} connections
 * @param {() => Buffer} next
 * @param {{ seconds: number, rate: number }} schedule
 */
export async function openLoop(connections, next, { seconds, rate }) {
  const total = Math.floor(seconds * rate)
  const idle = [...connections]
  /** @type {number[]} */
  const latencies = []
  /** The delay of the generator itself, for requests that had a free connection. */
  /** @type {number[]} */
  const lags = []
  /** @type {Record<number, number>} */
  const statuses = {}
  let sent = 0
  let answered = 0
  const startedAt = performance.now() + 10

  await new Promise((/** @type {(nothing?: undefined) => void} */ done) => {
    /** @param {number} n */
    const dueAt = (n) => startedAt + (n * 1000) / rate

    function sendDue() {
      const now = performance.now()
      while (sent < total && dueAt(sent) <= now) {
        const connection = idle.pop()
        if (!connection) return
        const due = dueAt(sent)
        sent += 1
        lags.push(now - due)
        connection.send(next(), (status) => {
          latencies.push(performance.now() - due)
          statuses[status] = (statuses[status] ?? 0) + 1
          answered += 1
          if (connection.usable) idle.push(connection)
          if (answered === total || (idle.length === 0 && !connections.some(({ usable }) => usable))) done()
          // Requests that waited for a connection are sent first.
          else if (sent < total && dueAt(sent) <= performance.now()) sendDue()
        })
      }
    }
    function tick() {
      sendDue()
      if (sent < total) setTimeout(tick, Math.max(0, dueAt(sent) - performance.now()))
    }
    tick()
  })
  const elapsed = (performance.now() - startedAt) / 1000
  return {
    sent,
    elapsed,
    perSecond: answered / elapsed,
    statuses,
    latency: percentiles(latencies),
    generatorLag: percentiles(lags),
  }
}
